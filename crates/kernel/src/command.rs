//! The commands of parts to other parts.
//!
//! A part changes only its own state. It adds a command to the round's context for each change that another part has to make. The
//! router carries the commands to their parts, in order, directly after the call that made them. A command may cause further ones.
//! They are carried before the next command of the same call.

use std::collections::BTreeSet;
use std::sync::Arc;

use flow::messaging::RequestId;
use flow::{
    EffectResult, EngineAction, Fetching, FlowError, FlowId, Service, SessionMessage, StartRecord,
};
use ledger::{
    CheckedTearOff, DataMark, NotarisedTearOff, NotaryError, NotaryResponse, OwnershipProof,
    PartyId, Rejection, SelectionRequest, SignedTransaction, StateAndRef, StateRef, TearOffError,
    TokenId, Transition, TxId, VerifiedTransaction,
};
use notary::UniquenessOutcome;
use primitives::{Hash, PublicKey, SignatureContext, Timestamp};
use vault::CoinRow;

use crate::event::{Found, Start, Token, Wait};
use crate::files::FileFailure;
use crate::flows::filter::FlowFilter;
use crate::flows::history::look_up::FoundEnd;
use crate::flows::orders::Order;
use crate::flows::waits::EffectId;
use crate::intake::fault::Fault;
use crate::intake::goal::Goal;
use crate::intake::item_id::ItemId;
use crate::integrity::IntegrityOrder;
use crate::message::{Answer, Standing};
use crate::notarisation::tear_off_job::AskedWith;
use crate::rows::Outcome;
use crate::schedule::table::Due;

/// A change that one part requests of another, or an answer to such a request.
#[derive(Debug)]
pub(crate) enum Command {
    /// To all parts: record a verified transaction.
    Record(Arc<SignedTransaction>),
    /// To the links and the intake: stop all work for a flow that is paused, parked or waits for a retry. Its locks stay.
    StopWork { flow: FlowId },
    /// To all parts: forget a flow that has ended.
    ForgetFlow { flow: FlowId },
    /// To the back chains.
    BackChains(BackChainsCommand),
    /// To the watch of the clock.
    Clock(ClockCommand),
    /// To the consents.
    Consents(ConsentsCommand),
    /// To the checks against this node's own ledger.
    Contradictions(ContradictionsCommand),
    /// To the files.
    Files(FilesCommand),
    /// To the flows.
    Flows(FlowsCommand),
    /// To the checks of this node's data.
    Integrity(IntegrityCommand),
    /// To the intake.
    Intake(IntakeCommand),
    /// To the keys.
    Keys(KeysCommand),
    /// To the service of a notary, if this node is one.
    Notary(NotaryCommand),
    /// To the links to the peers.
    Peers(PeersCommand),
    /// To the schedule.
    Schedule(ScheduleCommand),
    /// To the selection of coins.
    Selection(SelectionCommand),
}

/// A command to the back chains.
#[derive(Debug)]
pub(crate) enum BackChainsCommand {
    /// Fetches the dependencies that an item lacks, at once or as soon as there is a place.
    Fetch {
        item: ItemId,
        peer: PartyId,
        root: TxId,
        missing: BTreeSet<TxId>,
        fetching: Fetching,
    },
    /// Makes an item wait for a chain that is being fetched.
    Join { number: u64, item: ItemId },
    /// Removes an item that needs a chain no longer.
    Leave { number: u64, item: ItemId },
    /// Removes an item that waits for a place no longer.
    Unhold { peer: PartyId, item: ItemId },
    /// Takes the answer of a peer to a request for a part of a chain.
    Fetched { number: u64, answer: Answer },
    /// Answers a peer that requests a part of a chain.
    Serve {
        peer: PartyId,
        id: RequestId,
        body: Vec<u8>,
    },
}

/// A command to the watch of the clock.
#[derive(Debug)]
pub(crate) enum ClockCommand {
    /// Takes the answer of a peer to a question for its clock.
    Told {
        number: u64,
        peer: PartyId,
        answer: Answer,
    },
}

/// A command to the consents.
#[derive(Debug)]
pub(crate) enum ConsentsCommand {
    /// Decides for a flow whether this node signs a transition of states that a peer proposes.
    Judge {
        effect: EffectId,
        transition: Transition,
        inputs: Vec<StateAndRef>,
        from: PartyId,
    },
}

/// A command to the checks against this node's own ledger.
#[derive(Debug)]
pub(crate) enum ContradictionsCommand {
    /// Keeps the proof that a notary has signed two consumers of a state.
    Keep {
        state: StateRef,
        brought_by: Option<PartyId>,
        first: Box<SignedTransaction>,
        second: Arc<SignedTransaction>,
    },
}

/// A command to the files.
#[derive(Debug)]
pub(crate) enum FilesCommand {
    /// Notes that a flow of this node has verified a transaction, which it may propose to others.
    NoteProposal {
        flow: FlowId,
        transaction: Arc<SignedTransaction>,
    },
    /// Deletes the files that were fetched for a transaction which is refused because of its files.
    DropBrought { from: PartyId, files: Vec<Hash> },
}

/// A command to the flows. Those with a token are answered to the client with that token.
#[derive(Debug)]
pub(crate) enum FlowsCommand {
    /// Starts a flow for a client.
    Start(Box<Start>),
    /// Returns a flow's outcome to a client, at once or when it ends.
    Attach {
        flow: FlowId,
        wait: Wait,
        token: Token,
    },
    /// Answers a client about a flow that the history tells.
    Recall {
        outcome: Arc<Outcome>,
        wait: Wait,
        token: Token,
    },
    /// Takes the oldest rows of the history.
    HistoryLookedUp { found: Vec<FoundEnd> },
    /// Removes the wait of a client that has left.
    Detach { token: Token },
    /// Cancels a flow for a client.
    Cancel { flow: FlowId, token: Token },
    /// Forgets a client id and its outcome, for a client.
    RemoveClient {
        user: String,
        client_id: String,
        token: Token,
    },
    /// Carries out an operator's order for all flows that match a filter, in order of id after `after`.
    Order {
        order: Order,
        filter: Box<FlowFilter>,
        after: Option<FlowId>,
        dry_run: bool,
        token: Token,
    },
    /// Takes the answer of the vault view to an effect.
    LookedUp { effect: EffectId, found: Found },
    /// Carries out an action of the flow engine.
    Act(EngineAction),
    /// Gives an effect its result. Its flow continues within this round.
    Complete {
        flow: FlowId,
        effect: u32,
        result: EffectResult,
    },
    /// Answers an effect whose transaction is in the ledger, since this round or before.
    Recorded { flow: FlowId, effect: u32, id: TxId },
    /// Answers an effect whose signatures were checked.
    Checked {
        flow: FlowId,
        effect: u32,
        is_good: bool,
    },
    /// Answers the clients of a flow that has ended and that the other parts have forgotten.
    Ended {
        flow: FlowId,
        /// `None` if its journal could not be read.
        start: Option<Box<StartRecord>>,
        /// The other parties of its sessions.
        peers: BTreeSet<PartyId>,
        outcome: Result<Vec<u8>, FlowError>,
    },
    /// Answers an effect with locked states. The second list are those that it has locked itself.
    Locked {
        effect: EffectId,
        states: Vec<StateRef>,
        locked: Vec<StateRef>,
    },
    /// Removes a queued start, because the state that scheduled it is consumed.
    WithdrawStart { flow: FlowId },
    /// Takes a peer's session message that is next in order.
    Session {
        peer: PartyId,
        message: SessionMessage,
    },
    /// Notes that a participant refused a transaction.
    NoteRefusal { id: TxId },
    /// Notes that all participants have answered for a transaction.
    AllAnswered { id: TxId },
    /// Notes that a peer's standing does not contradict this node's data.
    Met { peer: PartyId, shows_mark: bool },
    /// Pauses the flows found in the store and refuses the queued starts, because this data, which ends at `data_until`, is an
    /// older copy.
    StopCopied {
        data_until: Timestamp,
        reason: String,
    },
    /// Restores the flows that wait for peers and accepts starts again, because an operator has finished a recovery.
    RecoveryFinished,
}

/// A command to the intake.
#[derive(Debug)]
pub(crate) enum IntakeCommand {
    /// Takes in a transaction to be verified, and recorded if its goal says so.
    TakeIn {
        transaction: Arc<SignedTransaction>,
        goal: Goal,
        from: Option<PartyId>,
    },
    /// Records a transaction for a flow.
    Record {
        flow: FlowId,
        effect: u32,
        transaction: SignedTransaction,
        deliver_to: Vec<PartyId>,
    },
    /// Takes the delivery of transactions by a peer.
    Deliver {
        peer: PartyId,
        transactions: Vec<Vec<u8>>,
        dependencies: Vec<Vec<u8>>,
    },
    /// Answers a peer that delivered a transaction which was meanwhile recorded as part of another back chain.
    DeliveredToo {
        peer: PartyId,
        transaction: Arc<SignedTransaction>,
    },
    /// Takes the verdict on the signatures of an item.
    Checked { item: ItemId, is_good: bool },
    /// Looks for the dependencies of an item, whose signatures are good.
    LookForDependencies(ItemId),
    /// Runs the contracts of an item whose dependencies are recorded.
    Conclude(ItemId),
    /// Looks for an item's dependencies again, after everything else in the round.
    LookAgain(ItemId),
    /// Makes an item wait for a chain that was begun for it.
    WaitsForChain { item: ItemId, number: u64 },
    /// Keeps an item that waits for the notary's decision alone.
    AwaitDecision(ItemId),
    /// Refuses a transaction that cannot be recorded.
    Refuse { item: ItemId, fault: Fault },
    /// Refuses a transaction because of its files.
    RefuseForFiles { item: ItemId, rejection: Rejection },
    /// Drops a transaction without an answer to its sender.
    LeaveUnanswered {
        item: ItemId,
        code: &'static str,
        rejection: Rejection,
    },
    /// Drops an item that is needed no longer.
    Drop(ItemId),
    /// Drops the item of an effect that its flow has cancelled.
    DropEffect(EffectId),
    /// Drops everything that these flows have asked for, recorded or not.
    DropFlows(BTreeSet<FlowId>),
    /// Drops the items of requests for notarisation.
    DropRequests(BTreeSet<u64>),
    /// Notes that a file is on the disk. If it was uploaded, a running request to a peer for it is cancelled.
    FileIsHere {
        hash: Hash,
        size: u64,
        is_upload: bool,
    },
    /// Notes the size of a file that a peer announces.
    FileOffered {
        hash: Hash,
        peer: PartyId,
        size: u64,
    },
    /// Notes that a request to a peer for a file has failed.
    FileFailed {
        hash: Hash,
        peer: PartyId,
        failure: FileFailure,
    },
}

/// A command to the service of a notary.
#[derive(Debug)]
pub(crate) enum NotaryCommand {
    /// Takes a peer's request for notarisation.
    Notarise {
        peer: PartyId,
        id: RequestId,
        body: Vec<u8>,
    },
    /// Takes the tear-off of a request whose proofs were checked.
    Proved {
        asked: Box<AskedWith>,
        tear_off: Result<Box<CheckedTearOff>, TearOffError>,
    },
    /// Takes the verdict on the signature of a requester.
    Checked { number: u64, is_good: bool },
    /// Takes a whole transaction that was verified.
    Verified {
        number: u64,
        item: ItemId,
        proof: VerifiedTransaction,
    },
    /// Refuses a whole transaction for a reason other than its validity.
    RefuseVerified { number: u64, error: NotaryError },
    /// Refuses a whole transaction that is not valid.
    RefuseWhole { number: u64, rejection: Rejection },
    /// Asks the requester to repeat a request whose transaction cannot be verified now.
    AskToComeAgain { number: u64 },
    /// Forgets a request whose requester has disconnected before the verification.
    Forget { number: u64 },
    /// Takes the answer to a question: which states of a batch are consumed.
    UniquenessChecked {
        number: u64,
        outcome: UniquenessOutcome,
    },
    /// Answers a decided request, after its transaction is recorded.
    Answer {
        peer: PartyId,
        id: RequestId,
        response: NotaryResponse,
    },
    /// Refuses a request because this notary's data is an older copy.
    RefuseOnOlderCopy { peer: PartyId, id: RequestId },
    /// Drops the items of requests that can no longer be decided, and refuses them.
    RefuseOverdue(BTreeSet<u64>),
    /// Enters transactions that this notary has signed and that its data lacks, as shown by peers.
    EnterAgain(Vec<NotarisedTearOff>),
}

/// A command to the checks of this node's data.
#[derive(Debug)]
pub(crate) enum IntegrityCommand {
    /// Counts transactions that the notary has accepted.
    NotaryAccepted(u64),
    /// Counts transactions that the notary has entered again.
    NotaryEntered { notarised: u64, conflicts: u64 },
    /// Reports to an operator, or begins or finishes a recovery.
    Order { order: IntegrityOrder, token: Token },
    /// Sends a peer that has connected this node's standing.
    SendStanding { peer: PartyId },
    /// Sends the marks and questions that are due, at the end of a round.
    Tend,
    /// Searches this node's ledger for a peer that has lost data.
    Search {
        peer: PartyId,
        id: RequestId,
        body: Vec<u8>,
    },
    /// Takes the answer of a peer that has searched a part of its ledger for this node.
    Searched { peer: PartyId, answer: Answer },
    /// Takes the answer of a peer to a request of a flow. A notary's answer may be evidence.
    Answered {
        peer: PartyId,
        id: RequestId,
        answer: Answer,
    },
    /// Checks the standing that a peer has sent.
    CheckStanding { peer: PartyId, standing: Standing },
    /// Handles session numbers of a peer that contradict those of this node: one of the two has older data.
    LinkContradicts { peer: PartyId, text: String },
    /// Notes that a peer's standing is checked and that its link is in order.
    Meet { peer: PartyId, shows_mark: bool },
    /// Keeps a data mark that a peer gives.
    KeepMark { peer: PartyId, mark: DataMark },
}

/// A command to the keys. Each but the last is an effect of a flow.
#[derive(Debug)]
pub(crate) enum KeysCommand {
    /// Signs a message with one of this node's keys.
    Sign {
        effect: EffectId,
        key: PublicKey,
        purpose: SignatureContext,
        message: Hash,
    },
    /// Makes a fresh key, for a peer if `audience` names one.
    Fresh {
        effect: EffectId,
        audience: Option<PartyId>,
    },
    /// Keeps the owner of a key, according to a proof that was checked.
    KeepOwner {
        effect: EffectId,
        proof: Box<OwnershipProof>,
    },
    /// Returns the known owners of keys.
    Owners {
        effect: EffectId,
        keys: Vec<PublicKey>,
    },
    /// Proves to a peer that a fresh key belongs to this node.
    Prove {
        effect: EffectId,
        key: PublicKey,
        audience: PartyId,
    },
    /// Makes `count` keys again, which this node may have made before its data was replaced by an older copy.
    MakeLost { count: usize },
}

/// A command to the links to the peers.
#[derive(Debug)]
pub(crate) enum PeersCommand {
    /// Sends a request to a service of another node, or of this one.
    Ask {
        peer: PartyId,
        id: RequestId,
        service: Service,
        body: Vec<u8>,
    },
    /// Cancels a request.
    ForgetRequest(RequestId),
    /// Answers the delivery of a transaction that is in the ledger.
    AnswerDelivery { peer: PartyId, id: TxId },
    /// Adds deliveries of a recorded transaction to its participants.
    Owe {
        id: TxId,
        bytes: usize,
        participants: Vec<PartyId>,
    },
    /// Keeps a recorded transaction that no other node gets for now, to send it along with a later one.
    KeepUnshared(Arc<SignedTransaction>),
    /// Notes that a peer has fetched these transactions.
    NoteFetched { peer: PartyId, ids: Vec<TxId> },
    /// Sends a session message of a flow to another node.
    SendSession {
        peer: PartyId,
        message: SessionMessage,
    },
    /// Compares a peer's session numbers with this node's, renumbers the link if they contradict, and releases its messages.
    CompareNumbers { peer: PartyId, standing: Standing },
}

/// A command to the schedule.
#[derive(Debug)]
pub(crate) enum ScheduleCommand {
    /// Deletes the row of a scheduled flow that runs.
    Started {
        due: Due,
        flow: FlowId,
        name: String,
    },
    /// Keeps the reason why a scheduled flow cannot be started.
    Refuse {
        due: Due,
        name: String,
        rejection: Rejection,
    },
    /// Deletes the row of a scheduled start that an operator has cancelled.
    End { due: Due },
}

/// A command to the selection of coins.
#[derive(Debug)]
pub(crate) enum SelectionCommand {
    /// Selects coins for a flow.
    Select {
        effect: EffectId,
        request: SelectionRequest,
    },
    /// Locks states for a flow.
    Lock {
        effect: EffectId,
        states: Vec<StateRef>,
    },
    /// Unlocks states that a flow has locked.
    Unlock { flow: FlowId, states: Vec<StateRef> },
    /// Sets the locks of a flow that came back from its journal, which are all its locks.
    KeepOnly { flow: FlowId, states: Vec<StateRef> },
    /// Releases all locks of a flow that has ended.
    Release { flow: FlowId },
    /// Takes coins of a token, which the selection requested from the vault view.
    Refilled {
        token: TokenId,
        rows: Vec<CoinRow>,
        view_seq: u64,
        total: u128,
        more: bool,
    },
    /// Puts states in quarantine that a notary reports as consumed elsewhere.
    Quarantine(Vec<StateRef>),
}

/// The commands that the router has not carried yet.
///
/// They are a stack: the next command is the last one. Commands of the present call are added in the order in which they are
/// made, and turned round before the first of them is taken. So no command is moved twice, and the memory is kept for later calls.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    stack: Vec<Command>,
    /// Commands below this place are turned round already.
    turned: usize,
}

impl Commands {
    /// Adds a command after those of the present call.
    pub(crate) fn push(&mut self, command: Command) {
        self.stack.push(command);
    }

    /// Begins with the commands of the last call. Returns how many commands of earlier calls stay below them.
    pub(crate) fn begin(&self) -> usize {
        self.turned
    }

    /// Returns the next command above the commands of earlier calls, of which there are `below`.
    pub(crate) fn next(&mut self, below: usize) -> Option<Command> {
        assert!(
            below <= self.turned && self.turned <= self.stack.len(),
            "{below} of {} commands belong to earlier calls, and {} are in order",
            self.stack.len(),
            self.turned
        );
        self.stack[self.turned..].reverse();
        self.turned = self.stack.len();
        if self.turned == below {
            return None;
        }
        self.turned -= 1;
        self.stack.pop()
    }

    /// Returns whether no command is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }
}

/// Lets a command to one part stand for a command of the router.
macro_rules! addressed {
    ($($part:ident($command:ty)),* $(,)?) => {
        $(impl From<$command> for Command {
            fn from(command: $command) -> Self {
                Command::$part(command)
            }
        })*
    };
}

addressed![
    BackChains(BackChainsCommand),
    Clock(ClockCommand),
    Consents(ConsentsCommand),
    Contradictions(ContradictionsCommand),
    Files(FilesCommand),
    Flows(FlowsCommand),
    Integrity(IntegrityCommand),
    Intake(IntakeCommand),
    Keys(KeysCommand),
    Notary(NotaryCommand),
    Peers(PeersCommand),
    Schedule(ScheduleCommand),
    Selection(SelectionCommand),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn command(number: u8) -> Command {
        let flow = FlowId([number; 16]);
        Command::ForgetFlow { flow }
    }

    /// Carries all commands of the last call. Each command queues those listed for it in `causes`.
    fn carry(commands: &mut Commands, causes: &BTreeMap<u8, Vec<u8>>, carried: &mut Vec<u8>) {
        let below = commands.begin();
        while let Some(next) = commands.next(below) {
            let Command::ForgetFlow { flow } = next else {
                panic!("another command than was added: {next:?}");
            };
            let number = flow.0[0];
            carried.push(number);
            let caused = causes.get(&number).into_iter().flatten();
            caused.for_each(|number| commands.push(command(*number)));
            // Some calls have their commands carried themselves.
            if number % 2 == 0 {
                carry(commands, causes, carried);
            }
        }
    }

    #[test]
    fn a_command_comes_after_those_that_its_predecessor_caused() {
        let causes = BTreeMap::from([(1, vec![10, 11]), (2, vec![20, 21]), (10, vec![30])]);
        let mut commands = Commands::default();
        for _ in 0..2 {
            [1, 2, 3]
                .map(command)
                .into_iter()
                .for_each(|next| commands.push(next));
            let mut carried = Vec::new();
            carry(&mut commands, &causes, &mut carried);
            assert_eq!(carried, [1, 10, 30, 11, 2, 20, 21, 3]);
            assert!(commands.is_empty() && commands.begin() == 0);
        }
    }
}
