//! The other parts as the intake sees them.

use crate::back_chains::BackChains;
use crate::files::Files;
use crate::flows::Flows;
use crate::keys::KeyBook;
use crate::ledger_view::LedgerView;

/// Read-only views of the parts that decide on a transaction together with the intake.
#[derive(Clone, Copy)]
pub(crate) struct IntakeViews<'a> {
    pub(crate) ledger: LedgerView<'a>,
    pub(crate) chains: &'a BackChains,
    pub(crate) files: &'a Files,
    pub(crate) keys: &'a KeyBook,
    pub(crate) flows: &'a Flows,
    /// This node's data is known to be an older copy.
    pub(crate) is_older_copy: bool,
}
