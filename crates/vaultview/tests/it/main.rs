//! Tests of `vaultview` from outside, in one program: `cargo test --release -p vaultview --test it view::` runs one module.

mod query;
mod view;
