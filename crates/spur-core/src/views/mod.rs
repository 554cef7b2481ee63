//! What a reader is shown. Views are records: the wire carries them as they stand, the tables in
//! `fields` turn them into columns and JSON.

pub mod accounting;
pub mod association;
pub mod job;
pub mod members;
pub mod node;
pub mod partition;
pub mod priority;
pub mod qos;
mod request;
pub mod reservation;
pub mod rules;
pub mod share;
pub mod step;
pub mod table;
pub mod usage;

pub use accounting::{
    AccountingRecord, AccountingView, EventView, TresSeconds, TresUsage, UsageView,
};
pub use association::AssociationView;
pub use job::{JobDetail, JobNodeShare, JobView};
pub use members::JOB_MEMBERS;
pub use node::{NODE_MEMBERS, NodeView};
pub use partition::PartitionView;
pub use priority::PriorityView;
pub use qos::QosView;
pub use request::{TOLD, Told};
pub use reservation::ReservationView;
pub use rules::{
    AccountView, ClusterView, FederationView, ResourceShare, ResourceView, RuleRow, RulesView,
    TransactionView, UserView, WckeyView,
};
pub use share::ShareView;
pub use step::StepView;
pub use table::{Members, Rows, Table, TableColumn, TableWriter};
pub use usage::{GpuUsage, Spread, TaskUsage, Usage};
