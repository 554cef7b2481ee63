//! Calls under Slurm's names and numbers, which watchers of clusters look for.

use spur_proto::slurm::{CallCount, GetDiagnosticsReply};

/// Our methods as Slurm calls what they do.
#[rustfmt::skip]
const NAMES: &[(&str, &str, u32)] = &[
    ("AccessStep", "REQUEST_STEP_LAYOUT", 4010),
    ("Administer", "REQUEST_UPDATE_NODE", 3002),
    ("Attend", "REQUEST_JOB_ALLOCATION_INFO", 4014),
    ("CancelJob", "REQUEST_KILL_JOB", 5032),
    ("Connect", "MESSAGE_NODE_REGISTRATION_STATUS", 1002),
    ("ControlJob", "REQUEST_UPDATE_JOB", 3001),
    ("CreateStep", "REQUEST_JOB_STEP_CREATE", 5001),
    ("EndAllocation", "REQUEST_COMPLETE_JOB_ALLOCATION", 5017),
    ("GetConfig", "REQUEST_BUILD_INFO", 2001),
    ("GetDiagnostics", "REQUEST_STATS_INFO", 2035),
    ("GetScript", "REQUEST_BATCH_SCRIPT", 2051),
    ("IssueToken", "REQUEST_AUTH_TOKEN", 5039),
    ("ListHoldings", "REQUEST_ASSOC_MGR_INFO", 2048),
    ("ListJobTable", "REQUEST_JOB_INFO", 2003),
    ("ListJobs", "REQUEST_JOB_INFO", 2003),
    ("ListLicenses", "REQUEST_LICENSE_INFO", 1021),
    ("ListNodes", "REQUEST_NODE_INFO", 2007),
    ("ListPartitions", "REQUEST_PARTITION_INFO", 2009),
    ("ListPriorities", "REQUEST_PRIORITY_FACTORS", 2026),
    ("ListReservations", "REQUEST_RESERVATION_INFO", 2024),
    ("ListShares", "REQUEST_SHARE_INFO", 2022),
    ("ListSteps", "REQUEST_JOB_STEP_INFO", 2005),
    ("Ping", "REQUEST_PING", 1008),
    ("Reconfigure", "REQUEST_RECONFIGURE", 1003),
    ("SignalStep", "REQUEST_CANCEL_JOB_STEP", 5005),
    ("SubmitJob", "REQUEST_SUBMIT_BATCH_JOB", 4003),
    ("TryJob", "REQUEST_JOB_WILL_RUN", 4012),
    ("WaitJob", "REQUEST_JOB_INFO_SINGLE", 2021),
];

/// A kind of call and how often it came.
#[derive(Debug, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    /// Slurm's number; 0 for what only we have.
    pub id: u32,
    pub count: u64,
    pub micros: u64,
}

impl Call {
    /// What one took.
    pub fn average(&self) -> u64 {
        self.micros / self.count.max(1)
    }
}

/// What comes first.
#[derive(Clone, Copy)]
pub enum Order {
    Count,
    Id,
    Time,
    Average,
}

/// All calls in an order.
pub fn named(told: &GetDiagnosticsReply, order: Order) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for call in told.calls.iter().map(call) {
        match calls.iter_mut().find(|known| known.name == call.name) {
            Some(known) => {
                known.count += call.count;
                known.micros += call.micros;
            }
            None => calls.push(call),
        }
    }
    calls.sort_by_key(|call| match order {
        Order::Id => u64::from(call.id),
        Order::Count => u64::MAX - call.count,
        Order::Time => u64::MAX - call.micros,
        Order::Average => u64::MAX - call.average(),
    });
    calls
}

fn call(counted: &CallCount) -> Call {
    let method = counted.method.rsplit('/').next().unwrap_or_default();
    let known = NAMES.iter().find(|(ours, ..)| *ours == method);
    let (name, id) = match known {
        Some((_, name, id)) => (name.to_string(), *id),
        None => (own_name(method), 0),
    };
    Call { name, id, count: counted.count, micros: counted.micros }
}

/// `SPUR_EXPLAIN_JOB` for `ExplainJob`
fn own_name(method: &str) -> String {
    let mut name = String::from("SPUR");
    for letter in method.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_slurms_names_and_come_most_frequent_first() {
        let call = |method: &str, count, micros| CallCount {
            method: format!("/slurm.Controller/{method}"),
            count,
            micros,
        };
        let told = GetDiagnosticsReply {
            calls: vec![call("ListJobs", 2, 10), call("ExplainJob", 7, 7)],
            ..GetDiagnosticsReply::default()
        };
        let names = |order| -> Vec<(String, u32)> {
            named(&told, order).into_iter().map(|call| (call.name, call.id)).collect()
        };
        let (jobs, own) = (("REQUEST_JOB_INFO".into(), 2003), ("SPUR_EXPLAIN_JOB".into(), 0));
        assert_eq!(names(Order::Count), [own.clone(), jobs.clone()]);
        assert_eq!(names(Order::Time), [jobs.clone(), own.clone()]);
        assert_eq!(names(Order::Id), [own, jobs]);
    }
}
