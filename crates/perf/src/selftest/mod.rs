//! A self-test of the laboratory's comparison: how often it finds a change where there is none, and whether it finds a
//! planted one.
//!
//! On the fake target everything happens in virtual time, with known noise. Each stretch resembles the one before it, as
//! on a machine where other processes come and go. On a network the noise is the machine's own.

mod fake;
mod network;

use serde::{Deserialize, Serialize};

pub use fake::{on_fake, planted};
pub use network::{SCENARIO, judge, sides};

/// Comparisons of identical sides.
pub const COMPARISONS: u32 = 20;

/// The results of comparisons of identical sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// How many comparisons were made.
    pub comparisons: u32,
    /// Pairs of stretches in each.
    pub pairs: u32,
    /// Comparisons that found a change; one in a hundred is expected, 0.2 of twenty.
    pub false_findings: u32,
    /// The findings, in words.
    pub found: Vec<String>,
}

/// A planted change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Planted {
    /// The change of the target's service time, as a ratio.
    pub planted: f64,
    /// The measured change of the mean latency.
    pub measured: f64,
    /// Whether it was found.
    pub found: bool,
    /// The smallest change that would have been found four times out of five, as a ratio; `None` if none would.
    pub seen_from: Option<f64>,
}
