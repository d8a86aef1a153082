//! Tests of `flow` from outside, in one program: `cargo test --profile checked -p flow --test it engine::` runs one module.

mod engine;
mod messaging;
