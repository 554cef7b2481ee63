//! Accounting: keeps what happened, and the rules of who may use how much, on SQLite or PostgreSQL.

mod api;
pub mod db;
mod events;
mod history;
mod ingest;
mod migrate;
mod pool;
mod rules;
pub mod serve;
mod told;
mod usage;
