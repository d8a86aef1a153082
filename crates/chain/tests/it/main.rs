//! Tests of `chain` from outside, in one program: `cargo test --profile checked -p chain --test it core::` runs one module.

mod core;
mod genesis;
mod grinding;
mod history;
mod messages;
mod state;
mod vectors;
