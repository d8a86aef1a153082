//! The laboratory's comparison tried on itself: how often it finds a change where there is none, and whether it finds one that is
//! there.
//!
//! On the fake target everything happens in virtual time, with noise that is known: each stretch is much like the one before it, as
//! on a machine on which something else comes and goes. On a network the noise is the machine's own.

mod fake;
mod network;

use serde::{Deserialize, Serialize};

pub use fake::{on_fake, planted};
pub use network::{SCENARIO, judge, sides};

/// Comparisons of the same with itself.
pub const COMPARISONS: u32 = 20;

/// What comparisons of the same with itself found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// How many comparisons were made.
    pub comparisons: u32,
    /// Pairs of stretches in each.
    pub pairs: u32,
    /// Comparisons that found a change; one in a hundred is expected, 0.2 of twenty.
    pub false_findings: u32,
    /// What they found, in words.
    pub found: Vec<String>,
}

/// A change that was put there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Planted {
    /// The change of the target's service time, as a ratio.
    pub planted: f64,
    /// The change of the mean latency as found.
    pub measured: f64,
    /// Whether it was found.
    pub found: bool,
    /// The smallest change that would have been found four times of five, as a ratio; `None` if none would.
    pub seen_from: Option<f64>,
}
