//! Tests of `diskimage` from outside, in one program: `cargo test --profile checked -p diskimage --test it images::` runs one module.

mod images;
