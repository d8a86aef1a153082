//! Limits of the selection.

/// The limits of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectionOptions {
    /// Maximum number of free coins of one token at one notary in memory; the rest stays in the view. At least
    /// `states_per_selection_max`.
    pub coins_per_pool_max: usize,
    /// Approximate memory for the free coins of all tokens, in bytes.
    pub coins_bytes_max: usize,
    /// Maximum number of tokens with coins in memory. Tokens in use are kept beyond it. If another token needs the place, the
    /// idle token that was requested longest ago is forgotten.
    pub tokens_max: usize,
    /// If a token has fewer free coins in memory than this, more are fetched from the view.
    pub low_water: usize,
    /// Number of coins in one refill; at least 2.
    pub refill_rows: usize,
    /// Maximum number of states in one selection.
    pub states_per_selection_max: usize,
    /// Maximum number of waiting selections of all tokens.
    pub waiting_max: usize,
    /// Maximum number of consumed states remembered while refills are outstanding. Beyond it, the refills are requested again.
    pub consumed_remembered_max: usize,
    /// Maximum number of states in quarantine. Beyond it, further states are not put into quarantine.
    pub quarantined_max: usize,
    /// Whether [`Selection::restore_lock`](crate::Selection::restore_lock) does anything. Always true in a node. The simulator
    /// sets it to false to prove that its auditor notices lost locks.
    pub restores_locks: bool,
}

impl Default for SelectionOptions {
    fn default() -> Self {
        Self {
            coins_per_pool_max: 10_000,
            coins_bytes_max: 16 << 20,
            tokens_max: 1_000,
            low_water: 1_000,
            refill_rows: 2_000,
            states_per_selection_max: 1_000,
            waiting_max: 20_000,
            consumed_remembered_max: 50_000,
            quarantined_max: 100_000,
            restores_locks: true,
        }
    }
}
