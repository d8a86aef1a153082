//! The waits of flows, as operators see them.

use ledger::{PartyId, TokenId, TxId};
use primitives::Timestamp;

use crate::{EffectKind, EffectRequest, Service};

/// An effect that a flow waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEffect {
    /// Its number.
    pub effect: u32,
    /// Its kind.
    pub kind: EffectKind,
    /// The subject of the wait.
    pub on: WaitsFor,
    /// The time since which it waits, in this run of the node.
    pub since: Timestamp,
}

/// The subject of an effect that a flow waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Nothing that an operator could look at.
    Nothing,
    /// A service of another node.
    Service(PartyId, Service),
    /// Coins of a token.
    Token(TokenId),
    /// A transaction, whose back chain another node may have.
    Transaction(TxId, Option<PartyId>),
    /// A time.
    Until(Timestamp),
    /// An external operation.
    Operation(String),
}

impl WaitsFor {
    pub(crate) fn of(request: &EffectRequest) -> WaitsFor {
        match request {
            EffectRequest::Request { party, service, .. } => WaitsFor::Service(*party, *service),
            EffectRequest::SelectStates(request) => WaitsFor::Token(request.token),
            EffectRequest::Verify {
                transaction, from, ..
            } => WaitsFor::Transaction(transaction.id(), *from),
            EffectRequest::Record { transaction, .. } => {
                WaitsFor::Transaction(transaction.id(), None)
            }
            EffectRequest::AwaitTransaction(id) | EffectRequest::Transaction(id) => {
                WaitsFor::Transaction(*id, None)
            }
            EffectRequest::Sleep { until, .. } => WaitsFor::Until(*until),
            EffectRequest::External { name, .. } => WaitsFor::Operation(name.clone()),
            _ => WaitsFor::Nothing,
        }
    }
}
