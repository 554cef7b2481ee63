//! What a reader is shown. Views are records: the wire carries them as they stand, the tables in
//! `fields` turn them into columns and JSON.

pub mod job;
pub mod node;
pub mod partition;

pub use job::JobView;
pub use node::NodeView;
pub use partition::PartitionView;
