//! Limits of the selection.

/// See the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectionOptions {
    /// Free coins of one token at one notary kept in memory; the rest stays in the view. No less than
    /// `states_per_selection_max`.
    pub coins_per_pool_max: usize,
    /// Memory for the free coins of all tokens, in bytes, about.
    pub coins_bytes_max: usize,
    /// Tokens kept in mind; the one asked for longest ago is forgotten first, unless it is in use.
    pub tokens_max: usize,
    /// With fewer free coins of a token than this, more are fetched from the view if it has any.
    pub low_water: usize,
    /// Coins fetched at once; at least 2.
    pub refill_rows: usize,
    /// States of one selection.
    pub states_per_selection_max: usize,
    /// Selections that wait, of all tokens.
    pub waiting_max: usize,
    /// Consumed states remembered while a refill is on its way; with more, the refill is asked for again.
    pub consumed_remembered_max: usize,
    /// States set aside because the notary knows them as consumed; beyond, further ones are not remembered.
    pub quarantined_max: usize,
    /// Whether [`Selection::restore_lock`](crate::Selection::restore_lock) does anything. A node never says no; the
    /// simulator does, to prove that its auditor notices forgotten locks.
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
