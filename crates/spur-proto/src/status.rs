//! A `SlurmError` as a gRPC status and back: the number travels in the metadata, the text as message.

use spur_core::errors::SlurmError;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

use crate::client::Address;

const NUMBER: &str = "slurm-error";
const LEADER: &str = "spur-leader-bin";
const REMARK: &str = "spur-remark-bin";

/// The status that carries this error.
pub fn to_status(error: SlurmError) -> Status {
    let code = match error {
        SlurmError::AccessDenied => Code::PermissionDenied,
        SlurmError::InvalidJobId => Code::NotFound,
        SlurmError::InStandbyMode | SlurmError::Disabled => Code::Unavailable,
        _ => Code::FailedPrecondition,
    };
    let mut status = Status::new(code, error.text());
    status.metadata_mut().insert(NUMBER, MetadataValue::from(error.number()));
    status
}

/// The same error in other words: its number is what decides, the text is for people.
pub fn worded(error: SlurmError, text: String) -> Status {
    let plain = to_status(error);
    Status::with_metadata(plain.code(), text, plain.metadata().clone())
}

/// The same with something that is said before it.
pub fn remarked(error: SlurmError, remark: &str) -> Status {
    let mut status = to_status(error);
    let value = MetadataValue::from_bytes(remark.as_bytes());
    status.metadata_mut().insert_bin(REMARK, value);
    status
}

/// What is said before the error, if anything is.
pub fn remark(status: &Status) -> Option<String> {
    let bytes = status.metadata().get_bin(REMARK)?.to_bytes().ok()?;
    String::from_utf8(bytes.to_vec()).ok()
}

/// The error a status carries, if it does.
pub fn from_status(status: &Status) -> Option<SlurmError> {
    let number = status.metadata().get(NUMBER)?.to_str().ok()?.parse().ok()?;
    SlurmError::from_number(number)
}

/// Says that another controller leads, and where it is if that is known. The caller goes there and shows
/// its own proof of who it is: nobody speaks for it.
pub fn standby(leader: Option<&str>) -> Status {
    let mut status = to_status(SlurmError::InStandbyMode);
    if let Some(leader) = leader {
        let value = MetadataValue::from_bytes(leader.as_bytes());
        status.metadata_mut().insert_bin(LEADER, value);
    }
    status
}

/// Where the leader is, as a controller that does not lead has it.
pub fn leader_hint(status: &Status) -> Option<Address> {
    let bytes = status.metadata().get_bin(LEADER)?.to_bytes().ok()?;
    Address::parse(std::str::from_utf8(&bytes).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_survives_the_wire() {
        for error in SlurmError::ALL {
            assert_eq!(from_status(&to_status(*error)), Some(*error));
        }
    }

    #[test]
    fn an_error_in_other_words_is_the_same_error() {
        let error = SlurmError::JobsRunningOnAssoc;
        let status = worded(error, "jobs 1, 2".to_string());
        assert_eq!((from_status(&status), status.message()), (Some(error), "jobs 1, 2"));
    }

    #[test]
    fn the_way_to_the_leader_survives_the_wire() {
        let status = standby(Some("unix:/tmp/größe.sock"));
        assert_eq!(from_status(&status), Some(SlurmError::InStandbyMode));
        assert_eq!(leader_hint(&status), Address::parse("/tmp/größe.sock"));
        assert_eq!(leader_hint(&standby(None)), None);
    }
}
