//! Tests of `runtime` from outside, in one program: `cargo test --profile checked -p runtime --test it`.

mod runtime;
