//! How often agents look at what a job's tasks use.

use spur_core::config::Config;
use spur_core::job::JobSpec;

/// In seconds, 0 for never: what the job says of its tasks, else what the site says.
pub(super) fn period(config: &Config, spec: &JobSpec) -> u32 {
    let said = spec.rare.as_deref().map_or("", |rare| rare.acctg_freq.as_str());
    let of_tasks = said.split(',').find_map(|part| match part.split_once('=') {
        Some((kind, secs)) if kind.eq_ignore_ascii_case("task") => secs.parse().ok(),
        Some(_) => None,
        None => part.parse().ok(),
    });
    of_tasks.unwrap_or(u32::try_from(config.accounting.sample_interval.0).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_job_comes_before_the_site() {
        let config = Config::default();
        let mut spec = JobSpec::default();
        assert_eq!(period(&config, &spec), 30);
        for (said, expected) in [("5", 5), ("energy=3,task=7", 7), ("energy=3", 30), ("0", 0)] {
            spec.rare_mut().acctg_freq = said.to_string();
            assert_eq!(period(&config, &spec), expected, "{said}");
        }
    }
}
