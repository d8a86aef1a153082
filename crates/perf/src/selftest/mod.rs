//! A self-test of the laboratory's comparison: how often it finds a change where there is none, and whether it finds a
//! planted one.
//!
//! On the fake target everything happens in virtual time, with known noise. Each stretch resembles the one before it, as
//! on a machine where other processes come and go. On a network the noise is the machine's own.

mod fake;
mod network;
mod outcome;

pub use fake::{on_fake, planted};
pub use network::{SCENARIO, judge, sides};
pub use outcome::{COMPARISONS, Planted, Tried};
