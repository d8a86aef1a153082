//! primitives
