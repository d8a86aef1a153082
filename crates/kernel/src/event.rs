//! The kernel's input (events) and output (actions).
//!
//! ```text
//!   shell: sockets, clock, disk, clients                      kernel
//!   ───────────────────────────────────────────────────────────────────────────────
//!   Start, Attach, Cancel ─────────────┐
//!   PeerUp, PeerDown, Message ─────────┤
//!   FileStored, FileArrived, … ────────┤
//!   Committed, Refilled, LookedUp, … ──┤
//!   Tick, Drain ───────────────────────┴─► handle() … handle() ─► flush()
//!                                                                  │
//!        Commit { batch, then: [Send, Reply, View, …] } ◄──────────┘   one a round
//! ```
//! The shell performs `then` only after that batch and all earlier ones are durable.

use std::sync::Arc;

use flow::{FlowId, FlowStatus};
use ledger::{ContractName, PartyId, Rejection, StateAndRef, StateRef, TokenId, TxId};
use notary::{UniquenessCheck, UniquenessOutcome};
use primitives::{Hash, Seed, SignedMessage, Timestamp};
use vault::{CoinRow, Lock, RefillRequest, ViewChange};

use crate::consents::{ConsentChange, Consents};
use crate::files::{FileFailure, FileOffer, FileRecord};
use crate::flows::filter::{FlowFilter, Standing};
use crate::flows::history::look_up::{FoundEnd, HistoryLookUp};
use crate::flows::orders::{Order, Ordered};
use crate::folder::AuditMark;
use crate::integrity::{IntegrityOrder, IntegrityReport};
use crate::notes::NoteId;
use crate::peers::refusals::DeliveryRefusal;
use crate::port::{StoreFailure, WriteBatch};
use crate::rows::Outcome;

/// Identifies a client's wait. The shell chooses it, and each [`Reply`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// The event that a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until the start is durable.
    Accepted,
    /// Until the flow has ended and its writes are durable here: *finalised*.
    Finalised,
    /// Until every participant has recorded the flow's transactions (*delivered*).
    Delivered,
}

/// A client's request to start a flow.
#[derive(Clone, Debug)]
pub struct Start {
    /// A fresh random id. It is ignored if the client id is already known.
    pub flow: FlowId,
    /// A fresh random value. All random values of the flow derive from it.
    pub seed: Seed,
    /// The flow's registered name.
    pub name: String,
    /// The version. `None` selects the newest one.
    pub version: Option<u32>,
    /// Encoded arguments, already checked against the flow's type.
    pub args: Vec<u8>,
    /// The user that starts it.
    pub user: String,
    /// The client id: the same user's starts with one client id start one flow.
    pub client_id: Option<String>,
    /// The event to wait for.
    pub wait: Wait,
    /// The token of the reply.
    pub token: Token,
}

/// Signatures to be checked beside the rounds. Batches have ascending numbers from 1, and one is out at a time.
#[derive(Debug, PartialEq, Eq)]
pub struct SignatureBatch {
    /// The number of the batch in this run of the node.
    pub number: u64,
    /// The signatures.
    pub messages: Vec<SignedMessage>,
}

/// An input of the kernel.
#[derive(Debug)]
pub enum Event {
    /// A client starts a flow.
    Start(Box<Start>),
    /// A client asks for a flow's outcome.
    Attach {
        /// The flow.
        flow: FlowId,
        /// The event to wait for. `Accepted` answers at once with the flow's state.
        wait: Wait,
        /// The token of the reply.
        token: Token,
    },
    /// A client no longer waits.
    Detach {
        /// The wait to forget.
        token: Token,
    },
    /// A client cancels a flow.
    Cancel {
        /// The flow.
        flow: FlowId,
        /// The token of the reply.
        token: Token,
    },
    /// A client forgets a client id and the outcome kept for it.
    RemoveClient {
        /// The user.
        user: String,
        /// The client id.
        client_id: String,
        /// The token of the reply.
        token: Token,
    },
    /// A user adds a note to a recorded transaction.
    Note {
        /// The transaction.
        transaction: TxId,
        /// A fresh random value that distinguishes notes of the same moment.
        salt: [u8; 4],
        /// The user.
        user: String,
        /// The note's text.
        text: String,
        /// The token of the reply.
        token: Token,
    },
    /// A user removes a note.
    RemoveNote {
        /// The transaction.
        transaction: TxId,
        /// The note.
        note: NoteId,
        /// The token of the reply.
        token: Token,
    },
    /// A connection to a peer was opened.
    PeerUp {
        /// The peer.
        peer: PartyId,
        /// The number that identifies the peer's store.
        epoch: u64,
    },
    /// The connection to a peer has ended.
    PeerDown {
        /// The peer.
        peer: PartyId,
    },
    /// A message from a peer. Its bytes were not checked.
    Message {
        /// The authenticated peer.
        peer: PartyId,
        /// The encoded `PeerMessage`, or any other bytes.
        bytes: Vec<u8>,
    },
    /// An operator's order for live flows.
    Order {
        /// The order.
        order: Order,
        /// The flows that it concerns.
        filter: Box<FlowFilter>,
        /// Only flows with a greater id.
        after: Option<FlowId>,
        /// Whether to count the flows only.
        dry_run: bool,
        /// The token of the reply.
        token: Token,
    },
    /// A user lists the live flows.
    Flows {
        /// The selected flows.
        filter: Box<FlowFilter>,
        /// Only flows with a greater id.
        after: Option<FlowId>,
        /// The maximum number of rows.
        limit: usize,
        /// The token of the reply.
        token: Token,
    },
    /// A user asks for the states that flows have locked. The answer waits until everything recorded before it is durable. So a state
    /// that is neither in the answer nor consumed afterwards was not locked.
    Locks {
        /// The flows. An empty list selects all.
        of: Vec<FlowId>,
        /// The maximum number of rows.
        limit: usize,
        /// The token of the reply.
        token: Token,
    },
    /// Every batch up to this number is durable.
    Committed {
        /// The number of the last durable batch.
        number: u64,
    },
    /// Coins from the vault view, for an [`Action::Refill`].
    Refilled {
        /// The requested token.
        token: TokenId,
        /// Unconsumed coins.
        rows: Vec<CoinRow>,
        /// The ledger position of the view at that time.
        view_seq: u64,
        /// The sum of all unconsumed coins of the token in the view.
        total: u128,
        /// Whether the view has further coins.
        more: bool,
    },
    /// The answer to an [`Action::LookUp`].
    LookedUp {
        /// The flow that asked.
        flow: FlowId,
        /// The effect.
        effect: u32,
        /// The result.
        found: Found,
    },
    /// A client asks for the outcome of a flow that the history tells, see [`crate::ended_flow`]. It is answered as for
    /// [`Event::Attach`].
    Recall {
        /// The flow's outcome.
        outcome: Arc<Outcome>,
        /// The event to wait for.
        wait: Wait,
        /// The token of the reply.
        token: Token,
    },
    /// The answer to an [`Action::LookUpHistory`].
    HistoryLookedUp {
        /// The oldest rows of the history. The kernel stops if they could not be read.
        found: Result<Vec<FoundEnd>, StoreFailure>,
    },
    /// The answer to an [`Action::CheckUniqueness`].
    UniquenessChecked {
        /// The number of the question.
        number: u64,
        /// The rows that exist, or that a shared record could not be reached. The kernel stops if the rows of its own store could not
        /// be read.
        outcome: Result<UniquenessOutcome, StoreFailure>,
    },
    /// The answer to an [`Action::CheckSignatures`].
    SignaturesChecked {
        /// The batch.
        batch: SignatureBatch,
        /// Whether each signature is valid.
        good: Vec<bool>,
    },
    /// An operator reads or changes the consents: the transitions by other parties that this node signs.
    Consents {
        /// The change, if any.
        change: Option<ConsentChange>,
        /// The user.
        user: String,
        /// The token of the reply, a [`Reply::Consents`].
        token: Token,
    },
    /// A user's upload is complete on this node's disk.
    FileStored {
        /// SHA-256 of its bytes.
        hash: Hash,
        /// Its length in bytes.
        size: u64,
        /// The name that the user gave. It is a hint and not hashed.
        name: String,
        /// The media type that the user gave. It is a hint and not hashed.
        media_type: String,
        /// The user.
        user: String,
        /// The token of the reply, a [`Reply::FileKnown`].
        token: Token,
    },
    /// A file requested by [`Action::FetchFile`] is complete on this node's disk.
    FileArrived {
        /// SHA-256 of the received bytes.
        hash: Hash,
        /// Its length in bytes.
        size: u64,
        /// The name that the peer gave.
        name: String,
        /// The media type that the peer gave.
        media_type: String,
        /// The peer that sent it.
        peer: PartyId,
    },
    /// A peer announces the length of a requested file, before any of its bytes.
    FileOffered {
        /// The file.
        hash: Hash,
        /// The peer.
        peer: PartyId,
        /// The announced length in bytes. The transfer never exceeds it.
        size: u64,
    },
    /// The transfer of a requested file failed. The received part is kept for a later attempt.
    FileFailed {
        /// The file.
        hash: Hash,
        /// The peer that was asked.
        peer: PartyId,
        /// The reason.
        failure: FileFailure,
    },
    /// A peer requests a file. The answer is an [`Action::PermitFile`].
    FilePermit {
        /// The peer.
        peer: PartyId,
        /// The file.
        hash: Hash,
        /// The transaction that lists the file.
        transaction: TxId,
    },
    /// A user removes a file that no transaction refers to.
    FileRemove {
        /// The file.
        hash: Hash,
        /// The token of the reply.
        token: Token,
    },
    /// A user marks a file as trusted or not trusted.
    FileTrust {
        /// The file.
        hash: Hash,
        /// Whether it is trusted.
        trusted: bool,
        /// The user.
        user: String,
        /// The token of the reply, a [`Reply::FileKnown`].
        token: Token,
    },
    /// A user asks for the record of a file, even if its row is not durable yet.
    FileLook {
        /// The file.
        hash: Hash,
        /// The token of the reply, a [`Reply::FileKnown`].
        token: Token,
    },
    /// The audit log has reached this position. The next start compares the log with it.
    AuditMarked(AuditMark),
    /// An operator confirms that the node's clock is right.
    ConfirmClock {
        /// The user.
        user: String,
        /// The token of the reply.
        token: Token,
    },
    /// An operator asks for the report on a rollback of the data, or orders an action on it.
    Integrity {
        /// The order.
        order: IntegrityOrder,
        /// The token of the reply, a [`Reply::Integrity`].
        token: Token,
    },
    /// The time of `next_wakeup` has come. It has no effect before.
    Tick,
    /// Accepts no more starts. [`Action::Drained`] follows when the last flow has ended.
    Drain,
}

impl Event {
    /// Returns whether it asks for flows or has them changed. They take their due steps before it, so that it finds them as they are
    /// after all earlier events.
    pub(crate) fn concerns_flows(&self) -> bool {
        matches!(
            self,
            Self::Attach { .. } | Self::Cancel { .. } | Self::Order { .. } | Self::Flows { .. }
        )
    }
}

/// The answer to a client's wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The start is durable, and the flow runs.
    Accepted {
        /// The flow. It is the earlier one if the client id was known.
        flow: FlowId,
    },
    /// The flow ended.
    Ended {
        /// The flow's outcome.
        outcome: Arc<Outcome>,
        /// Whether every participant has recorded its transactions.
        delivered: bool,
        /// The deliveries of them that participants refused.
        refused: Vec<DeliveryRefusal>,
        /// The participants that have not answered for them yet, by legal name.
        undelivered: Vec<String>,
    },
    /// The flow has not ended.
    Running {
        /// The flow.
        flow: FlowId,
        /// Its last progress step, or the reason why it waits.
        step: String,
        /// Its state.
        standing: Standing,
    },
    /// Live flows in order of id.
    Flows(Vec<FlowStatus>),
    /// The states that flows had locked at the time of the question.
    Locks {
        /// The locks.
        locks: Vec<Lock>,
        /// Whether there are more.
        more: bool,
    },
    /// The result of an order.
    Ordered(Ordered),
    /// The node has no room. The client may try again later.
    Busy {
        /// The recommended delay, estimated from the recent rate.
        retry_after_ms: u64,
    },
    /// A note was added.
    Noted {
        /// Its id.
        note: NoteId,
        /// The time of the note.
        at: Timestamp,
    },
    /// The transitions by other parties that this node signs.
    Consents(Box<Consents>),
    /// A file is on this node.
    FileKnown {
        /// Its record.
        record: Box<FileRecord>,
        /// Whether it is new on this node.
        is_new: bool,
    },
    /// The report on a rollback of the data.
    Integrity(Box<IntegrityReport>),
    /// The request was refused.
    Rejected(Rejection),
    /// The request was carried out.
    Done,
}

/// A question to the vault view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookUp {
    /// Finds the unconsumed states of one contract with a linear id, among the last [`LINEAR_LOOKED_AT_MAX`] recorded states with the id.
    Linear {
        /// The contract.
        contract: ContractName,
        /// The id.
        id: Hash,
    },
    /// Finds the first of these states that is consumed.
    Consumed(Vec<StateRef>),
}

/// The answer of the vault view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// States, the last recorded one first.
    States(Vec<StateAndRef>),
    /// The first consumed state, if there is one. A state that the view does not know counts as unconsumed.
    Consumed(Option<StateRef>),
}

/// Maximum number of states that a look-up by linear id examines: the last recorded ones with the id.
pub const LINEAR_LOOKED_AT_MAX: usize = 64;

/// The urgency of a message to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Small messages.
    Normal,
    /// Back chains and other bulk.
    Bulk,
}

/// An output of the kernel, which the shell performs.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Makes the batch durable after all earlier ones, performs `then` in order, and reports `Committed`.
    Commit {
        /// The batch's number, consecutive from 1.
        number: u64,
        /// The rows. An empty batch only keeps the order.
        batch: WriteBatch,
        /// The actions that wait for it.
        then: Vec<Action>,
    },
    /// Sends a message. The protocols above repeat a lost one.
    Send {
        /// The receiver.
        peer: PartyId,
        /// The urgency.
        priority: Priority,
        /// The encoded `PeerMessage`.
        bytes: Vec<u8>,
    },
    /// Ends a client's wait.
    Reply {
        /// The wait.
        token: Token,
        /// The answer.
        reply: Reply,
    },
    /// Adds a recorded transaction to the vault view, in the order of the ledger.
    View {
        /// The transaction's position in the ledger.
        seq: u64,
        /// The transaction.
        id: TxId,
        /// The time of its recording.
        at: Timestamp,
        /// Its changes of the vault.
        changes: Vec<ViewChange>,
    },
    /// Tells the vault view that a state is in quarantine. Its transaction is in the view already.
    Quarantined(StateRef),
    /// Asks the vault view for coins. The answer is an [`Event::Refilled`].
    Refill(RefillRequest),
    /// Asks the vault view a question for a flow, after all earlier changes. The answer is an [`Event::LookedUp`].
    LookUp {
        /// The flow that asked.
        flow: FlowId,
        /// The effect.
        effect: u32,
        /// The question.
        what: LookUp,
    },
    /// Asks the store for the oldest rows of the flow history. The answer is an [`Event::HistoryLookedUp`]; see
    /// [`crate::look_up_history`].
    LookUpHistory(HistoryLookUp),
    /// Asks which states of a notary's batch are consumed: the node's store, or the record that several notaries share. It waits for no
    /// commit, and no round waits for it. The answer is an [`Event::UniquenessChecked`]; see [`crate::check_uniqueness`].
    CheckUniqueness(UniquenessCheck),
    /// Has signatures checked that peers caused beyond their rate. It waits for no commit, and no round waits for it. The answer is
    /// an [`Event::SignaturesChecked`].
    CheckSignatures(SignatureBatch),
    /// A state's scheduled flow was started or refused. The audit log gets a line.
    Scheduled {
        /// The flow. It is all zeros if the start was refused.
        flow: FlowId,
        /// Its name.
        name: String,
        /// The state.
        state: StateRef,
        /// The reason of a refusal.
        refusal: Option<Rejection>,
    },
    /// Fetches a file from a peer, until [`Event::FileArrived`], [`Event::FileFailed`] or [`Action::AbandonFile`]. A later request for
    /// the file replaces the peer.
    FetchFile {
        /// The file.
        hash: Hash,
        /// The peer that has it.
        peer: PartyId,
        /// The transaction that gives the right to it.
        transaction: TxId,
        /// The maximum length in bytes.
        size_max: u64,
    },
    /// Ends the transfer of a file that no transaction waits for. The received part may stay for another attempt.
    AbandonFile {
        /// The file.
        hash: Hash,
    },
    /// Answers an [`Event::FilePermit`].
    PermitFile {
        /// The peer that asked.
        peer: PartyId,
        /// The file.
        hash: Hash,
        /// The offer. `None` if the file is not here or not for this peer. The peer cannot distinguish the two.
        offer: Option<FileOffer>,
    },
    /// Deletes a file without a row from the disk, unless it has a row again.
    DropFile {
        /// The file.
        hash: Hash,
    },
    /// Ends the connection to a peer that sent too much invalid input, and refuses new ones for a time.
    CutOff {
        /// The peer.
        peer: PartyId,
        /// The duration in milliseconds.
        ms: u64,
    },
    /// The drain is complete.
    Drained,
    /// Writes a line to the log for the operator.
    Log {
        /// True for warnings, false for information.
        warning: bool,
        /// A stable code.
        code: &'static str,
        /// The description.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KernelOptions;

    #[test]
    fn debug_output_hides_seeds() {
        let seed = Seed::new([238; 32]);
        let start = Start {
            flow: FlowId([1; 16]),
            seed: seed.clone(),
            name: "a.b".to_owned(),
            version: None,
            args: Vec::new(),
            user: "ann".to_owned(),
            client_id: None,
            wait: Wait::Accepted,
            token: Token(1),
        };
        let event = Event::Start(Box::new(start));
        let options = KernelOptions {
            entropy: seed,
            ..KernelOptions::default()
        };
        for shown in [
            format!("{event:?}"),
            format!("{event:#?}"),
            format!("{options:?}"),
            format!("{options:#?}"),
        ] {
            assert!(!shown.contains("238"), "{shown}");
        }
    }
}
