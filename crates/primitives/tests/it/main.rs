//! Tests of `primitives` from outside, in one program: `cargo test --profile checked -p primitives --test it allocation::` runs one module.

mod allocation;
mod codec;
mod composite;
mod crypto_counters;
mod hash;
mod merkle;
mod signatures;
