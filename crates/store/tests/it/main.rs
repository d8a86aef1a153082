//! Tests of `store` from outside, in one program: `cargo test --profile checked -p store --test it cache::` runs one module.

mod workload;

mod cache;
mod committer;
mod copies;
mod custody;
mod durability;
mod files;
mod files_durability;
mod fixtures;
mod growth;
mod keys;
mod model;
mod record_limit;
mod schedule;
mod space;
