//! Tests of bundling.
