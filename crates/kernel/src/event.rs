//! What happens to a node (events) and what it wants done (actions).
//!
//! ```text
//!   shell: sockets, clock, disk, clients                      kernel
//!   ───────────────────────────────────────────────────────────────────────────────
//!   Start, Attach, Cancel ─────────────┐
//!   PeerUp, PeerDown, Message ─────────┤
//!   FileStored, FileArrived, … ────────┤
//!   Committed, Refilled, LookedUp ─────┤
//!   Tick, Drain ───────────────────────┴─► handle() … handle() ─► flush()
//!                                                                  │
//!        Commit { batch, then: [Send, Reply, View, …] } ◄──────────┘   one a round
//! ```
//! `then` is performed only when that batch, and every one before it, is durable.

use flow::{FlowId, FlowStatus};
use ledger::{ContractName, PartyId, Rejection, StateAndRef, StateRef, TokenId, TxId};
use primitives::{Hash, Seed, Timestamp};
use vault::{CoinRow, Lock, RefillRequest, ViewChange};

use crate::consents::rows::{ConsentChange, Consents};
use crate::files::{FileFailure, FileOffer, FileRecord};
use crate::flows::filter::{FlowFilter, Standing};
use crate::flows::hospital::{Order, Ordered};
use crate::integrity::{IntegrityOrder, IntegrityReport};
use crate::notes::NoteId;
use crate::peers::refusals::DeliveryRefusal;
use crate::port::WriteBatch;
use crate::rows::Outcome;

/// Names a client's wait; the shell chose it and gets it back with each [`Reply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// How long a client wants to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until the start is durable.
    Accepted,
    /// Until the flow has ended and its writes are durable here: *finalised*.
    Finalised,
    /// Until every participant has recorded what the flow recorded: *delivered*.
    Delivered,
}

/// A client's wish to start a flow.
#[derive(Clone, Debug)]
pub struct Start {
    /// Fresh and random; ignored when the client id is known already.
    pub flow: FlowId,
    /// Fresh and random: everything random in the flow is derived from it.
    pub seed: Seed,
    /// The flow's registered name.
    pub name: String,
    /// A version, or the newest.
    pub version: Option<u32>,
    /// Encoded arguments, already checked against the flow's type.
    pub args: Vec<u8>,
    /// Who starts it.
    pub user: String,
    /// Makes the start exactly once for this user.
    pub client_id: Option<String>,
    /// What to wait for.
    pub wait: Wait,
    /// Where the reply goes.
    pub token: Token,
}

/// Something that happened to the node.
#[derive(Debug)]
pub enum Event {
    /// A client starts a flow.
    Start(Box<Start>),
    /// A client asks for a flow's outcome.
    Attach {
        /// The flow.
        flow: FlowId,
        /// What to wait for; `Accepted` answers at once with the state.
        wait: Wait,
        /// Where the reply goes.
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
        /// Where the reply goes.
        token: Token,
    },
    /// A client forgets a client id and the outcome kept for it.
    RemoveClient {
        /// The user.
        user: String,
        /// The client id.
        client_id: String,
        /// Where the reply goes.
        token: Token,
    },
    /// A user makes a note of a recorded transaction.
    Note {
        /// The transaction.
        transaction: TxId,
        /// Fresh and random: tells notes of the same moment apart.
        salt: [u8; 4],
        /// Who.
        user: String,
        /// What it says.
        text: String,
        /// Where the reply goes.
        token: Token,
    },
    /// A user takes a note away.
    RemoveNote {
        /// The transaction.
        transaction: TxId,
        /// The note.
        note: NoteId,
        /// Where the reply goes.
        token: Token,
    },
    /// A connection to a peer stands.
    PeerUp {
        /// The peer.
        peer: PartyId,
        /// The number that names the peer's store.
        epoch: u64,
    },
    /// A connection is gone.
    PeerDown {
        /// The peer.
        peer: PartyId,
    },
    /// A message from a peer, as it came; anything can be in it.
    Message {
        /// The peer, authenticated.
        peer: PartyId,
        /// A `PeerMessage`, or garbage.
        bytes: Vec<u8>,
    },
    /// An operator's order for live flows.
    Order {
        /// What is to be done.
        order: Order,
        /// With which.
        filter: Box<FlowFilter>,
        /// With a greater id.
        after: Option<FlowId>,
        /// Only count them.
        dry_run: bool,
        /// Where the reply goes.
        token: Token,
    },
    /// Somebody lists the live flows.
    Flows {
        /// Which.
        filter: Box<FlowFilter>,
        /// Flows with a greater id.
        after: Option<FlowId>,
        /// At most so many.
        limit: usize,
        /// Where the reply goes.
        token: Token,
    },
    /// Somebody asks which states flows hold locked. The answer waits until everything recorded before it is durable, so
    /// that a state which is in neither the answer nor consumed then was held by nobody.
    Locks {
        /// Of these flows; of all, if there are none.
        of: Vec<FlowId>,
        /// At most so many.
        limit: usize,
        /// Where the reply goes.
        token: Token,
    },
    /// Every batch up to this number is durable.
    Committed {
        /// The highest such number.
        number: u64,
    },
    /// Coins from the vault view.
    Refilled {
        /// The token asked for.
        token: TokenId,
        /// Unconsumed coins.
        rows: Vec<CoinRow>,
        /// The ledger position that the view had reached.
        view_seq: u64,
        /// The sum of all unconsumed coins of the token in the view.
        total: u128,
        /// Whether the view holds more than these.
        more: bool,
    },
    /// The answer to an [`Action::LookUp`].
    LookedUp {
        /// Whose.
        flow: FlowId,
        /// The effect.
        effect: u32,
        /// What was found.
        found: Found,
    },
    /// An operator changes which transitions of others this node signs, or asks for it.
    Consents {
        /// The change, if any.
        change: Option<ConsentChange>,
        /// Who.
        user: String,
        /// Where the reply goes: [`Reply::Consents`].
        token: Token,
    },
    /// A user's upload is published on this node's disk.
    FileStored {
        /// SHA-256 of its bytes.
        hash: Hash,
        /// Its bytes.
        size: u64,
        /// What the user calls it; a hint, unhashed.
        name: String,
        /// What the user says it is; a hint, unhashed.
        media_type: String,
        /// Who.
        user: String,
        /// Where the reply goes: [`Reply::FileKnown`].
        token: Token,
    },
    /// A file asked for by [`Action::FetchFile`] is published on this node's disk.
    FileArrived {
        /// SHA-256 of its bytes, as they came.
        hash: Hash,
        /// Its bytes.
        size: u64,
        /// What the peer calls it.
        name: String,
        /// What the peer says it is.
        media_type: String,
        /// Who sent it.
        peer: PartyId,
    },
    /// A peer that was asked for a file says how large it is; none of its bytes have come.
    FileOffered {
        /// The file.
        hash: Hash,
        /// Who.
        peer: PartyId,
        /// Its bytes, as the peer says; more never come.
        size: u64,
    },
    /// A file asked for does not come, for now or at all; what came of it stays where it can be gone on with.
    FileFailed {
        /// The file.
        hash: Hash,
        /// Who was asked.
        peer: PartyId,
        /// Why.
        failure: FileFailure,
    },
    /// A peer asks for a file: may it have it? Answered by [`Action::PermitFile`].
    FilePermit {
        /// Who.
        peer: PartyId,
        /// The file.
        hash: Hash,
        /// The transaction for which the peer wants it.
        transaction: TxId,
    },
    /// A user takes a file away that nothing refers to.
    FileRemove {
        /// The file.
        hash: Hash,
        /// Where the reply goes.
        token: Token,
    },
    /// A user trusts a file, or no longer does.
    FileTrust {
        /// The file.
        hash: Hash,
        /// Whether it is trusted.
        trusted: bool,
        /// Who.
        user: String,
        /// Where the reply goes: [`Reply::FileKnown`].
        token: Token,
    },
    /// Somebody asks what is known of a file, also if its row is not durable yet.
    FileLook {
        /// The file.
        hash: Hash,
        /// Where the reply goes: [`Reply::FileKnown`].
        token: Token,
    },
    /// An operator vouches for the node's clock as it is.
    ConfirmClock {
        /// Who.
        user: String,
        /// Where the reply goes.
        token: Token,
    },
    /// An operator asks how the data stands against what others have seen of it, or orders what is to be done about it.
    Integrity {
        /// The order.
        order: IntegrityOrder,
        /// The place of the reply: [`Reply::Integrity`].
        token: Token,
    },
    /// The time asked for by `next_wakeup` has come (or nothing else happened).
    Tick,
    /// Accept no more starts; say so when the last flow has ended.
    Drain,
}

/// A wait's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The start is durable; the flow runs.
    Accepted {
        /// The flow, which is the earlier one when the client id was known.
        flow: FlowId,
    },
    /// The flow ended.
    Ended {
        /// What it came to.
        outcome: Outcome,
        /// Whether every participant has recorded its transactions.
        delivered: bool,
        /// What participants refused to record of them.
        refused: Vec<DeliveryRefusal>,
    },
    /// The flow has not ended.
    Running {
        /// The flow.
        flow: FlowId,
        /// Its last progress step, or why it takes none.
        step: String,
        /// Where it stands.
        standing: Standing,
    },
    /// Live flows in order of id.
    Flows(Vec<FlowStatus>),
    /// States that flows held when they were asked for.
    Locks {
        /// They.
        locks: Vec<Lock>,
        /// There were more.
        more: bool,
    },
    /// What became of an order.
    Ordered(Ordered),
    /// No room: try again later.
    Busy {
        /// A guess from the rate of late.
        retry_after_ms: u64,
    },
    /// A note is made.
    Noted {
        /// Its name.
        note: NoteId,
        /// When.
        at: Timestamp,
    },
    /// Which transitions of others this node signs.
    Consents(Box<Consents>),
    /// A file is here.
    FileKnown {
        /// What is known of it.
        record: Box<FileRecord>,
        /// Whether it was not here before.
        is_new: bool,
    },
    /// How the data stands.
    Integrity(Box<IntegrityReport>),
    /// The wish is refused.
    Rejected(Rejection),
    /// Done.
    Done,
}

/// What is asked of the vault view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookUp {
    /// The unconsumed states with a linear id, of one contract, among the [`LINEAR_LOOKED_AT_MAX`] recorded last with the id.
    Linear {
        /// The contract.
        contract: ContractName,
        /// The id.
        id: Hash,
    },
    /// Which of these states is consumed.
    Consumed(Vec<StateRef>),
}

/// What the vault view found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// States, those recorded last first.
    States(Vec<StateAndRef>),
    /// The first state that is consumed, if one is; what the view does not know is not.
    Consumed(Option<StateRef>),
}

/// States that a look-up by linear id examines: those recorded last with the id.
pub const LINEAR_LOOKED_AT_MAX: usize = 64;

/// How urgent a message to a peer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Everything small.
    Normal,
    /// Back chains and other bulk.
    Bulk,
}

/// Something to be done by the shell.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Make the batch durable after all earlier ones, then perform `then` in order, then report `Committed`.
    Commit {
        /// Consecutive from 1.
        number: u64,
        /// The rows; may be empty, then only the order matters.
        batch: WriteBatch,
        /// What waits for it.
        then: Vec<Action>,
    },
    /// Send a message; lost ones are sent again by the protocols above.
    Send {
        /// To whom.
        peer: PartyId,
        /// How urgent.
        priority: Priority,
        /// A `PeerMessage`.
        bytes: Vec<u8>,
    },
    /// End a client's wait.
    Reply {
        /// Whose.
        token: Token,
        /// With what.
        reply: Reply,
    },
    /// Feed the vault view; comes in the order of the ledger.
    View {
        /// The transaction's position.
        seq: u64,
        /// The transaction.
        id: TxId,
        /// When it was recorded.
        at: Timestamp,
        /// What it changes in the vault.
        changes: Vec<ViewChange>,
    },
    /// Tell the vault view that a state is in quarantine; its transaction was fed before.
    Quarantined(StateRef),
    /// Ask the vault view for coins; answered by [`Event::Refilled`].
    Refill(RefillRequest),
    /// Ask the vault view something for a flow, after all that it was fed before; answered by [`Event::LookedUp`].
    LookUp {
        /// Whose.
        flow: FlowId,
        /// The effect.
        effect: u32,
        /// What.
        what: LookUp,
    },
    /// A flow was started because a state had scheduled it, or could not be: for the audit log.
    Scheduled {
        /// The flow; all zeros if it was not started.
        flow: FlowId,
        /// Its name.
        name: String,
        /// The state.
        state: StateRef,
        /// Why it was not started.
        refusal: Option<Rejection>,
    },
    /// Fetch a file from a peer, until [`Event::FileArrived`] or [`Event::FileFailed`] or [`Action::AbandonFile`]; asked for
    /// again, another peer's name takes the place of the earlier one's.
    FetchFile {
        /// The file.
        hash: Hash,
        /// From whom.
        peer: PartyId,
        /// The transaction that entitles to it.
        transaction: TxId,
        /// Most bytes that it may have.
        size_max: u64,
    },
    /// Nobody waits for a file any more; what has come of it may stay for another try.
    AbandonFile {
        /// The file.
        hash: Hash,
    },
    /// Whether a peer may have a file: the answer to [`Event::FilePermit`].
    PermitFile {
        /// Who asked.
        peer: PartyId,
        /// For what.
        hash: Hash,
        /// What it may have; nothing if the file is not here, or not for this peer, and the peer is not told which.
        offer: Option<FileOffer>,
    },
    /// A file has no row any more: take it from the disk, unless it has one again.
    DropFile {
        /// The file.
        hash: Hash,
    },
    /// End the connection to a peer, and let it make none for a while: it sent too much garbage.
    CutOff {
        /// The peer.
        peer: PartyId,
        /// For how long, in milliseconds.
        ms: u64,
    },
    /// The drain is complete.
    Drained,
    /// Something that an operator should read.
    Log {
        /// True for warnings, false for information.
        warning: bool,
        /// A stable code.
        code: &'static str,
        /// What happened.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KernelOptions;

    #[test]
    fn debug_output_hides_seeds() {
        let seed = Seed::new([171; 32]);
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
            assert!(!shown.contains("171"), "{shown}");
        }
    }
}
