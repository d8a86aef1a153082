//! The other parts as the flows see them.

use flow::EffectResult;
use ledger::{StateAndRef, StateRef};
use primitives::Timestamp;

use crate::errors;
use crate::ledger_book::Book;
use crate::peers::unanswered::Unanswered;
use crate::port::{Reads, StoreFailure};
use crate::selection::CoinSelection;

/// Read-only views of the parts that flows ask.
#[derive(Clone, Copy)]
pub(crate) struct FlowViews<'a> {
    pub(crate) book: &'a Book,
    pub(crate) selection: &'a CoinSelection,
    /// The peers that have not answered for a transaction.
    pub(crate) deliveries: &'a Unanswered,
    /// The wall clock is not in doubt.
    pub(crate) trusts_wall: bool,
    /// The end of this node's data, if it is known to be an older copy.
    pub(crate) older_copy: Option<Timestamp>,
    pub(crate) reads: &'a dyn Reads,
}

impl FlowViews<'_> {
    /// Returns recorded states, or the failure of an effect that needs them: one is not recorded here.
    pub(super) fn states(
        self,
        refs: Vec<StateRef>,
    ) -> Result<Result<Vec<StateAndRef>, EffectResult>, StoreFailure> {
        let mut states = Vec::with_capacity(refs.len());
        for reference in refs {
            let Some(state) = self.book.state(&reference, self.reads)? else {
                let error = errors::unknown_state(&reference);
                return Ok(Err(EffectResult::Failed(error)));
            };
            states.push(StateAndRef { state, reference });
        }
        Ok(Ok(states))
    }
}
