//! States in quarantine on their way from the kernel's rows into the vault's view.
//!
//! The view hears of each state that enters quarantine, and copies all rows of the store when it is opened. It ends a state's
//! quarantine by itself, with the change that consumes the state.

use kernel::port::{Reads, StoreFailure, Table};
use kernel::quarantined_states;
use kernel::rows::seq_of;
use ledger::StateRef;
use vaultview::{QuarantinedState, VaultView, ViewChange};

use super::view_fill::FillError;

/// The number of states in quarantine that an opened view copies from the store. The kernel keeps at most as many.
const TAKEN_OVER_MAX: usize = 100_000;

/// Returns the states in quarantine that the store knows.
pub(super) fn all(reads: &dyn Reads) -> Result<Vec<StateRef>, StoreFailure> {
    quarantined_states(reads, TAKEN_OVER_MAX)
}

/// Shows states as quarantined. States that the view does not hold, or holds as consumed, are passed over.
pub(super) fn show(
    view: &mut VaultView,
    reads: &dyn Reads,
    states: &[StateRef],
) -> Result<(), FillError> {
    let mut changes = Vec::new();
    for state in states {
        let of_seq = reads.get(Table::TxIndex, state.tx.as_bytes())?;
        if let Some(of_seq) = of_seq.as_deref().and_then(seq_of) {
            changes.push(ViewChange::Quarantined(QuarantinedState {
                of_seq,
                output: state.index,
            }));
        }
    }
    if !changes.is_empty() {
        view.apply(view.upto(), &changes)?;
    }
    Ok(())
}
