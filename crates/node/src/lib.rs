//! node

pub mod http;
pub mod metrics;
