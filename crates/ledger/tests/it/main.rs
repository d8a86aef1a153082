//! Tests of `ledger` from outside, in one program: `cargo test --release -p ledger --test it golden::` runs one module.

mod golden;
mod rules;
