//! Tests of `runtime` from outside, in one program: `cargo test --release -p runtime --test it`.

mod runtime;
