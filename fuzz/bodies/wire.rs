//! What strangers send is read or refused: tokens, a machine's word for a user, frames of a step's streams,
//! and requests.

use prost::Message;
use spur_net::assertion::Assertion;
use spur_net::{JoinToken, PublicKey, jwt};
use spur_proto::slurm::{EnrolRequest, ListJobsRequest, SubmitJobRequest};
use spur_proto::step_io::Frames;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let nobody = |_: &str| PublicKey::new(&[7; 32]);
    assert!(Assertion::read(bytes, &[0; 32], 0, nobody).is_none(), "nobody signed it");
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = JoinToken::parse(text);
        let keys = jwt::Keys {
            cluster: PublicKey(vec![7; 32]),
            audience: "here".to_string(),
            site: Some(vec![9; 32]),
        };
        let _ = jwt::verify(text, &keys, 0);
    }
    let mut frames = Frames::default();
    for part in bytes.chunks(7) {
        frames.push(part);
        while let Ok(Some(_)) = frames.take_frame() {}
    }
    let _ = SubmitJobRequest::decode(bytes);
    let _ = ListJobsRequest::decode(bytes);
    let _ = EnrolRequest::decode(bytes);
}
