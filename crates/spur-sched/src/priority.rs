//! How important a job is: the weighted sum of factors, as `sprio` shows it.

use spur_core::config::sections;
use spur_core::config::words::PriorityKind;

/// What a job's priority is told from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Since when it could start, in seconds before the moment.
    pub age_secs: i64,
    /// Its nodes or processors as a part of the cluster's, from 0 to 1.
    pub size: f64,
    /// Its partition's factor as a part of the largest.
    pub partition: f64,
    /// Its QOS's priority as a part of the largest.
    pub qos: f64,
    /// Its association's priority as a part of the largest.
    pub association: f64,
    /// Its fair-share factor.
    pub fair_share: f64,
    /// Set by the site.
    pub site: i64,
    /// Subtracted.
    pub nice: i64,
}

/// The terms of a priority: each factor times its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// For waiting.
    pub age: f64,
    /// For size.
    pub job_size: f64,
    /// For the partition.
    pub partition: f64,
    /// For the QOS.
    pub qos: f64,
    /// For the association.
    pub association: f64,
    /// For fair share.
    pub fair_share: f64,
    /// By the site.
    pub site: f64,
    /// Taken away.
    pub nice: f64,
}

impl Terms {
    /// The terms by a configuration.
    pub fn of(facts: &Facts, rules: &sections::Priority) -> Terms {
        let weigh = |weight: u32, factor: f64| f64::from(weight) * factor.clamp(0.0, 1.0);
        let max_age = rules.max_age.0.number().map_or(0, |minutes| minutes.saturating_mul(60));
        let age = if max_age == 0 { 0.0 } else { facts.age_secs.max(0) as f64 / max_age as f64 };
        Terms {
            age: weigh(rules.weight_age, age),
            job_size: weigh(rules.weight_job_size, facts.size),
            partition: weigh(rules.weight_partition, facts.partition),
            qos: weigh(rules.weight_qos, facts.qos),
            association: weigh(rules.weight_association, facts.association),
            fair_share: weigh(rules.weight_fairshare, facts.fair_share),
            site: facts.site as f64,
            nice: facts.nice as f64,
        }
    }

    /// Their sum; a job that is not held has at least 1.
    pub fn sum(&self) -> u32 {
        let sum = self.age
            + self.job_size
            + self.partition
            + self.qos
            + self.association
            + self.fair_share
            + self.site
            - self.nice;
        sum.clamp(1.0, f64::from(u32::MAX - 1)) as u32
    }
}

/// The size factor: large jobs are favoured, or small ones.
pub fn size(cpus: u64, all: u64, rules: &sections::Priority) -> f64 {
    let part = if all == 0 { 0.0 } else { (cpus as f64 / all as f64).min(1.0) };
    if rules.favor_small { 1.0 - part } else { part }
}

/// Whether priorities are told from factors at all.
pub fn is_multifactor(rules: &sections::Priority) -> bool {
    rules.plugin == PriorityKind::Multifactor
}
