//! The phases of a simulation.

/// The current phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Cash is issued, without faults.
    Funding,
    /// The work, with faults.
    Work,
    /// One bank pays everything to the other. The number is the index of the payer.
    Sweep(usize),
    /// No more flows are started.
    Rest,
}
