//! Tests of bundling.

mod bundler_rate;
mod plan;
mod propose;
mod rates;
