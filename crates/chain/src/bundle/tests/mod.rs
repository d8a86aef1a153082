//! Tests of bundling.

mod plan;
mod propose;
mod rates;
