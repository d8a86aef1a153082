//! Tests of forging.
