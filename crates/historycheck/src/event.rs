//! The events of a history.

use serde::{Deserialize, Serialize};

use crate::ids::{Digest, StateRef};

/// One line of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Time since the run began, in microseconds, on one clock for all clients.
    pub at_us: u64,
    /// The event itself.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of events.
///
/// A request is named by its client and its number, which no other request of that client has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum EventKind {
    /// The run begins. The first event.
    Begin {
        /// The seed of the run, so that it can be repeated.
        seed: u64,
        /// Longest time without an answer while a majority is alive, in milliseconds.
        answers_within_ms: u64,
    },
    /// A client is about to send a request.
    Ask {
        /// The client.
        client: u64,
        /// The number of the request.
        request: u64,
        /// The transaction to be notarised.
        transaction: Digest,
        /// The hash of this transaction in conflicts.
        consumed_as: Digest,
        /// The states that the transaction consumes.
        consumes: Vec<StateRef>,
        /// The states that it only reads.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reads: Vec<StateRef>,
    },
    /// The service has signed the transaction.
    Signed {
        /// The client.
        client: u64,
        /// The number of the request.
        request: u64,
    },
    /// The service has refused the transaction because other transactions consumed its states.
    Conflict {
        /// The client.
        client: u64,
        /// The number of the request.
        request: u64,
        /// The states that the answer names.
        states: Vec<ConflictingState>,
    },
    /// The service has refused the transaction for another reason, for good.
    Refused {
        /// The client.
        client: u64,
        /// The number of the request.
        request: u64,
        /// The stable code of the refusal.
        code: String,
        /// The text of the refusal.
        message: String,
    },
    /// The client has given up. The outcome is unknown.
    Unanswered {
        /// The client.
        client: u64,
        /// The number of the request.
        request: u64,
    },
    /// The test begins to take the majority away.
    MajorityLost,
    /// The test begins to give the majority back. May be left out if nothing can be signed before `MajorityBack`.
    MajorityReturning,
    /// The test has finished giving the majority back.
    MajorityBack,
    /// The test begins a fault.
    Fault {
        /// The fault, such as `crash of server 1`.
        kind: String,
    },
    /// The test has ended a fault.
    Healed {
        /// The fault, as it began.
        kind: String,
    },
    /// From now on the clients ask again for every transaction whose outcome matters.
    EndPhase,
    /// The run has ended. The last event.
    End,
}

/// A state that a refusal names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConflictingState {
    /// The state.
    pub state: StateRef,
    /// The hash of the transaction that consumed it.
    pub consumed_by: Digest,
    /// Whether the refused transaction only reads the state.
    pub is_reference: bool,
}
