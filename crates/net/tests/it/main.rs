//! Tests of `net` from outside, in one program: `cargo test --profile checked -p net --test it gossip::` runs one module.

mod gossip;
mod peers;
mod properties;
