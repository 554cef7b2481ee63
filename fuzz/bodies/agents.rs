//! What agents, controllers and `srun` say to each other, and what lies in files, is read or refused.

use prost::Message;
use spur_core::audit::{self, End};
use spur_proto::credential::{self, Key, Used};
use spur_proto::internal::{
    AgentMessage, AppendRequest, ControllerMessage, Credential, Launch, StepHello, VoteRequest,
};

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let _ = AgentMessage::decode(bytes);
    let _ = ControllerMessage::decode(bytes);
    let _ = Launch::decode(bytes);
    let _ = StepHello::decode(bytes);
    let _ = AppendRequest::decode(bytes);
    let _ = VoteRequest::decode(bytes);
    let half = bytes.len() / 2;
    let key = Key::new(&[7; 32], 0).public();
    let good = credential::verify(&[key], &bytes[..half], &bytes[half..], 0);
    assert!(good.is_err(), "nobody signed it");
    if let Ok(credential) = Credential::decode(bytes) {
        let mut used = Used::default();
        assert_eq!(used.take(&credential, credential.expires), Ok(()));
        assert!(used.take(&credential, credential.expires).is_err());
    }
    if let Ok(line) = std::str::from_utf8(bytes) {
        let _ = audit::end_of(line);
        let _ = audit::check(&End::default(), line);
    }
}
