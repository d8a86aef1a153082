//! Flows that move states without changing their contents: `ledger.change_notary` and `ledger.upgrade`, with their responders.
//!
//! The initiator locks the states, plans the transition, collects the signatures of all parties that the states concern, and
//! makes it final. A responder verifies the proposal like any transaction, asks its node for consent, signs and ends. The node
//! delivers the final transaction to it like any other, and no flow waits for it.

mod change_notary;
mod moving;
mod upgrade;

use crate::FlowRegistry;

pub use change_notary::{ChangeNotary, ChangeNotaryArgs, ChangeNotaryResponder};
pub use moving::Moved;
pub use upgrade::{Upgrade, UpgradeArgs, UpgradeResponder};

/// Registers these flows and their responders.
pub fn register_flows(registry: &mut FlowRegistry) {
    registry.register::<ChangeNotary>();
    registry.register_responder::<ChangeNotaryResponder>();
    registry.register::<Upgrade>();
    registry.register_responder::<UpgradeResponder>();
}
