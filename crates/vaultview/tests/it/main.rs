//! Tests of `vaultview` from outside, in one program: `cargo test --profile checked -p vaultview --test it view::` runs one module.

mod query;
mod view;
