//! A reservation as `scontrol show reservation` and `sinfo -T` see it.

/// One reservation.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct ReservationView {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int64, tag = "2")]
    pub start_time: i64,
    #[prost(int64, tag = "3")]
    pub end_time: i64,
    /// Compressed.
    #[prost(string, tag = "4")]
    pub nodes: String,
    #[prost(uint32, tag = "5")]
    pub node_count: u32,
    #[prost(uint32, tag = "6")]
    pub core_count: u32,
    #[prost(string, tag = "7")]
    pub partition: String,
    #[prost(string, tag = "8")]
    pub features: String,
    /// As `scontrol` spells them: `MAINT`, `SPEC_NODES`.
    #[prost(string, repeated, tag = "9")]
    pub flags: Vec<String>,
    #[prost(string, tag = "10")]
    pub tres: String,
    #[prost(string, tag = "11")]
    pub users: String,
    #[prost(string, tag = "12")]
    pub groups: String,
    #[prost(string, tag = "13")]
    pub accounts: String,
    #[prost(string, tag = "14")]
    pub licenses: String,
    #[prost(string, tag = "15")]
    pub burst_buffer: String,
    #[prost(uint32, tag = "16")]
    pub max_start_delay_secs: u32,
    #[prost(uint32, optional, tag = "17")]
    pub purge_completed_secs: Option<u32>,
    #[prost(string, tag = "18")]
    pub comment: String,
}
