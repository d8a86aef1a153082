//! Tests of `vault` from outside, in one program: `cargo test --profile checked -p vault --test it relevancy::` runs one module.

mod relevancy;
mod selection;
