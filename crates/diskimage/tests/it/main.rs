//! Tests of `diskimage` from outside, in one program: `cargo test --release -p diskimage --test it images::` runs one module.

mod images;
