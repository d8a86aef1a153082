//! Tests of `flow` from outside, in one program: `cargo test --release -p flow --test it engine::` runs one module.

mod engine;
mod messaging;
