//! Tests of `sim` from outside, in one program: `cargo test --profile checked -p sim --test it chain::` runs one module.

mod chain;
mod rollback;
mod seeds;
