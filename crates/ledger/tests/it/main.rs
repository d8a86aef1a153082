//! Tests of `ledger` from outside, in one program: `cargo test --profile checked -p ledger --test it golden::` runs one module.

mod golden;
mod rules;
