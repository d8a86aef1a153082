//! Tests of `pgstore` against real PostgreSQL servers, each private to its test.

mod rig;
mod workload;

mod crashes;
mod errors;
mod fencing;
mod folds;
mod model;
mod moves;
mod server_settings;
mod tls;
mod vault_tables;
