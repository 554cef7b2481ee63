//! Accounting: keeps what happened, and the rules of who may use how much, on SQLite or PostgreSQL.

mod amend;
mod api;
pub mod db;
mod events;
mod history;
mod ingest;
mod migrate;
mod network;
mod pool;
pub mod purge;
mod removed;
mod revoked;
mod rollup;
mod rules;
pub mod serve;
mod settings;
mod told;
pub mod url;
mod usage;
