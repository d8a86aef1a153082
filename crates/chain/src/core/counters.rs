//! Counters of a core since its start.

/// Counters since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) accepted: u64,
    pub(super) refused: u64,
    pub(super) transactions: u64,
    pub(super) forged: u64,
    pub(super) failed_forgings: u64,
    pub(super) bundled: u64,
    pub(super) forks: u64,
    pub(super) deepest_fork: u32,
    pub(super) deep_branches: u64,
    pub(super) bad_blocks: u64,
    pub(super) last_bad: Option<&'static str>,
    pub(super) equivocations: u64,
    pub(super) forged_again: u64,
    pub(super) turns_refused: u64,
}
