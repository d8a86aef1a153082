//! Tests of `perf` from outside, in one program: `cargo test --profile checked -p perf --test it agents::` runs one module.

mod agents;
mod chain_run;
mod honesty;
mod nxt;
mod nxt_recorded;
