//! A `SlurmError` as a gRPC status and back: the number travels in the metadata, the text as message.

use spur_core::errors::SlurmError;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

const NUMBER: &str = "slurm-error";

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

/// The error a status carries, if it does.
pub fn from_status(status: &Status) -> Option<SlurmError> {
    let number = status.metadata().get(NUMBER)?.to_str().ok()?.parse().ok()?;
    SlurmError::from_number(number)
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
}
