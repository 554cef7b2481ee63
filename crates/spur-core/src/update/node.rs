//! `scontrol update NodeName=…`: what of a node can be changed.

use crate::config::Setting;
use crate::config::words::CpuBind;
use crate::errors::SlurmError;
use crate::node::NextState;

/// What is to become of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeChange {
    /// `State=`
    pub verb: Option<NodeVerb>,
    /// `Reason=`
    pub reason: Option<String>,
    /// `Weight=`
    pub weight: Option<u32>,
    /// `AvailableFeatures=`
    pub features: Option<Vec<String>>,
    /// `ActiveFeatures=`
    pub active_features: Option<Vec<String>>,
    /// `Comment=`
    pub comment: Option<String>,
    /// `Extra=`
    pub extra: Option<String>,
    /// `CpuBind=`; `off` is none.
    pub cpu_bind: Option<Option<CpuBind>>,
    /// `NextState=`, of a restart.
    pub next_state: Option<NextState>,
}

/// `State=` of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeVerb {
    /// Takes no new jobs.
    Drain,
    /// Out of service; its jobs end.
    Down,
    /// About to fail.
    Fail,
    /// Back in service, where it was not.
    Resume,
    /// The same; one that is in service stays so.
    Idle,
    /// Takes new jobs again, and stays down if it is.
    Undrain,
    /// Not heard of; an agent that is there is heard again at once.
    NoResponse,
    /// Switched on or off: there is no power saving to do it.
    Power,
    /// To restart when it is idle; it is drained for that if said so.
    Reboot {
        /// As soon as possible.
        asap: bool,
    },
    /// Not to restart after all.
    CancelReboot,
}

/// One key.
struct Key {
    names: &'static [&'static str],
    set: fn(&mut NodeChange, &str) -> Result<(), SlurmError>,
}

static KEYS: &[Key] = &[
    Key {
        names: &["State"],
        set: |change, text| {
            change.verb = Some(verb(text)?);
            Ok(())
        },
    },
    Key {
        names: &["Reason"],
        set: |change, text| {
            change.reason = Some(text.to_string());
            Ok(())
        },
    },
    // What a node has is found by its agent, or declared in the configuration.
    Key { names: &["Gres"], set: |_, _| Err(SlurmError::InvalidGres) },
    Key {
        names: &["Weight"],
        set: |change, text| {
            change.weight = Some(text.parse().map_err(|_| SlurmError::NotSupported)?);
            Ok(())
        },
    },
    Key {
        names: &["AvailableFeatures", "Features"],
        set: |change, text| {
            change.features = Some(words(text));
            Ok(())
        },
    },
    Key {
        names: &["ActiveFeatures"],
        set: |change, text| {
            change.active_features = Some(words(text));
            Ok(())
        },
    },
    Key {
        names: &["Comment"],
        set: |change, text| {
            change.comment = Some(text.to_string());
            Ok(())
        },
    },
    Key {
        names: &["CpuBind"],
        set: |change, text| {
            change.cpu_bind = Some(binding(text)?);
            Ok(())
        },
    },
    Key {
        names: &["NextState"],
        set: |change, text| {
            change.next_state = Some(NextState::read(text).ok_or(SlurmError::InvalidNodeState)?);
            Ok(())
        },
    },
    Key {
        names: &["Extra"],
        set: |change, text| {
            change.extra = Some(text.to_string());
            Ok(())
        },
    },
];

fn verb(text: &str) -> Result<NodeVerb, SlurmError> {
    match text.to_ascii_lowercase().as_str() {
        "drain" => Ok(NodeVerb::Drain),
        "down" | "down_force" => Ok(NodeVerb::Down),
        "fail" | "failing" => Ok(NodeVerb::Fail),
        "resume" => Ok(NodeVerb::Resume),
        "idle" => Ok(NodeVerb::Idle),
        "undrain" => Ok(NodeVerb::Undrain),
        "noresp" => Ok(NodeVerb::NoResponse),
        "reboot" => Ok(NodeVerb::Reboot { asap: false }),
        "reboot_asap" => Ok(NodeVerb::Reboot { asap: true }),
        "cancel_reboot" => Ok(NodeVerb::CancelReboot),
        "power_up" | "power_down" | "power_down_asap" | "power_down_force" | "future" | "cloud" => {
            Ok(NodeVerb::Power)
        }
        _ => Err(SlurmError::InvalidNodeState),
    }
}

/// `core`, `off`
pub(super) fn binding(text: &str) -> Result<Option<CpuBind>, SlurmError> {
    match text.to_ascii_lowercase().as_str() {
        "off" => Ok(None),
        _ => CpuBind::from_slurm(text).map(Some).map_err(|_| SlurmError::NotSupported),
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(',').filter(|word| !word.is_empty()).map(str::to_string).collect()
}

/// Writes one `Key=value`; `None` when there is no such key.
pub fn set(change: &mut NodeChange, key: &str, value: &str) -> Option<Result<(), SlurmError>> {
    let row = super::find(KEYS, |row| row.names, key)?;
    Some((row.set)(change, value))
}
