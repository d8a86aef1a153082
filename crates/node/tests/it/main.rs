//! Tests of `node` from outside, in one program: `cargo test --profile checked -p node --test it bootstrap::` runs one module.

mod bootstrap;
mod http_api;
mod quantities;
mod running;
