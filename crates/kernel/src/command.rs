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
    DataMark, NotarisedTearOff, NotaryError, NotaryResponse, OwnershipProof, PartyId, Rejection,
    SelectionRequest, SignedTransaction, StateAndRef, StateRef, TokenId, Transition, TxId,
    VerifiedTransaction,
};
use notary::UniquenessAnswer;
use primitives::{Hash, PublicKey, SignatureContext, Timestamp};
use vault::CoinRow;

use crate::event::{Found, Start, Token, Wait};
use crate::files::FileFailure;
use crate::flows::filter::FlowFilter;
use crate::flows::orders::Order;
use crate::flows::waits::EffectId;
use crate::intake::fault::Fault;
use crate::intake::goal::Goal;
use crate::intake::item_id::ItemId;
use crate::integrity::IntegrityOrder;
use crate::message::{Answer, Standing};
use crate::schedule::table::Due;

/// A change that one part asks of another.
#[derive(Debug)]
pub(crate) enum Command {
    /// To all parts: a transaction is verified. It is recorded.
    Record(Arc<SignedTransaction>),
    /// To the links and the intake: a flow takes no step any more. Nothing is done for it, but its locks stay.
    StopWork { flow: FlowId },
    /// To all parts: a flow is gone.
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
    /// An item waits for a part of a chain that is being fetched.
    Join { number: u64, item: ItemId },
    /// An item does not need a chain any more.
    Leave { number: u64, item: ItemId },
    /// An item needs no place for a chain any more.
    Unhold { peer: PartyId, item: ItemId },
    /// A peer has answered a request for a part of a chain.
    Fetched { number: u64, answer: Answer },
    /// A peer asks for a part of a chain.
    Serve {
        peer: PartyId,
        id: RequestId,
        body: Vec<u8>,
    },
}

/// A command to the watch of the clock.
#[derive(Debug)]
pub(crate) enum ClockCommand {
    /// A peer has answered a question for the time of its clock.
    Told {
        number: u64,
        peer: PartyId,
        answer: Answer,
    },
}

/// A command to the consents.
#[derive(Debug)]
pub(crate) enum ConsentsCommand {
    /// A flow asks whether this node signs a transition of states that a peer proposes.
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
    /// A notary has signed two consumers of a state.
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
    /// A flow of this node has verified a transaction, which it may propose to others.
    NoteProposal {
        flow: FlowId,
        transaction: Arc<SignedTransaction>,
    },
    /// A transaction is refused because of its files. The files that came for it go again.
    DropBrought { from: PartyId, files: Vec<Hash> },
}

/// A command to the flows. Each that has a token is answered to the client with this token.
#[derive(Debug)]
pub(crate) enum FlowsCommand {
    /// A client starts a flow.
    Start(Box<Start>),
    /// A client asks for a flow's outcome.
    Attach {
        flow: FlowId,
        wait: Wait,
        token: Token,
    },
    /// A client no longer waits.
    Detach { token: Token },
    /// A client cancels a flow.
    Cancel { flow: FlowId, token: Token },
    /// A client forgets a client id and the outcome kept for it.
    RemoveClient {
        user: String,
        client_id: String,
        token: Token,
    },
    /// An operator orders something for all flows that meet a filter, after one.
    Order {
        order: Order,
        filter: Box<FlowFilter>,
        after: Option<FlowId>,
        dry_run: bool,
        token: Token,
    },
    /// The vault view has answered an effect.
    LookedUp { effect: EffectId, found: Found },
    /// The flow engine has an action to be carried out.
    Act(EngineAction),
    /// An effect has its result. Its flow continues within this round.
    Complete {
        flow: FlowId,
        effect: u32,
        result: EffectResult,
    },
    /// The transaction of an effect is in the ledger, since this round or before.
    Recorded { flow: FlowId, effect: u32, id: TxId },
    /// The signatures of an effect are checked.
    Checked {
        flow: FlowId,
        effect: u32,
        is_good: bool,
    },
    /// A flow has ended. The other parts have forgotten it.
    Ended {
        flow: FlowId,
        start: Box<StartRecord>,
        outcome: Result<Vec<u8>, FlowError>,
    },
    /// States are locked for an effect. The second list are those that it has locked itself.
    Locked {
        effect: EffectId,
        states: Vec<StateRef>,
        locked: Vec<StateRef>,
    },
    /// The state that scheduled this flow is consumed, so it is not to be started.
    WithdrawStart { flow: FlowId },
    /// A peer's session message is the next in its order.
    Session {
        peer: PartyId,
        message: SessionMessage,
    },
    /// A participant refuses a transaction.
    NoteRefusal { id: TxId },
    /// All participants have answered for a transaction.
    AllAnswered { id: TxId },
    /// A peer's standing does not contradict this node's data.
    Met { peer: PartyId, shows_mark: bool },
    /// This node's data, which ends at a time, is an older copy. The reason is for the operator.
    StopCopied {
        data_until: Timestamp,
        reason: String,
    },
    /// An operator has finished a recovery.
    RecoveryFinished,
}

/// A command to the intake.
#[derive(Debug)]
pub(crate) enum IntakeCommand {
    /// A transaction is to be verified, and perhaps recorded.
    TakeIn {
        transaction: Arc<SignedTransaction>,
        goal: Goal,
        from: Option<PartyId>,
    },
    /// A flow has a transaction recorded.
    Record {
        flow: FlowId,
        effect: u32,
        transaction: SignedTransaction,
        deliver_to: Vec<PartyId>,
    },
    /// A peer delivers transactions.
    Deliver {
        peer: PartyId,
        transactions: Vec<Vec<u8>>,
        dependencies: Vec<Vec<u8>>,
    },
    /// A peer delivered a transaction that was recorded meanwhile as another one's back chain.
    DeliveredToo {
        peer: PartyId,
        transaction: Arc<SignedTransaction>,
    },
    /// The signatures of an item are checked.
    Checked { item: ItemId, is_good: bool },
    /// The signatures of an item are good, or its dependencies have to be looked for again.
    LookForDependencies(ItemId),
    /// The dependencies of an item are recorded.
    Settle(ItemId),
    /// An item that waited for a part of a chain looks again, after everything else that the round has to do.
    LookAgain(ItemId),
    /// An item waits for a chain that was begun for it.
    WaitsForChain { item: ItemId, number: u64 },
    /// An item waits for nothing but the notary's decision.
    AwaitDecision(ItemId),
    /// A transaction cannot be recorded.
    Refuse { item: ItemId, fault: Fault },
    /// A transaction cannot be recorded because of its files.
    RefuseForFiles { item: ItemId, rejection: Rejection },
    /// A transaction is given up without an answer to its sender.
    LeaveUnanswered {
        item: ItemId,
        code: &'static str,
        rejection: Rejection,
    },
    /// An item is not needed any more.
    Drop(ItemId),
    /// The item of an effect that its flow has given up is not needed any more.
    DropEffect(EffectId),
    /// These requests for notarisation are not needed any more.
    DropRequests(BTreeSet<u64>),
    /// A file is on the disk. After an upload, a running request to a peer for it is given up.
    FileIsHere {
        hash: Hash,
        size: u64,
        is_upload: bool,
    },
    /// A peer announces the size of a file.
    FileOffered {
        hash: Hash,
        peer: PartyId,
        size: u64,
    },
    /// A file does not come from the peer that was asked.
    FileFailed {
        hash: Hash,
        peer: PartyId,
        failure: FileFailure,
    },
}

/// A command to the service of a notary.
#[derive(Debug)]
pub(crate) enum NotaryCommand {
    /// A peer asks for a notarisation.
    Notarise {
        peer: PartyId,
        id: RequestId,
        body: Vec<u8>,
    },
    /// The signature of a requester is checked.
    Checked { number: u64, is_good: bool },
    /// A whole transaction is verified.
    Verified {
        number: u64,
        item: ItemId,
        proof: VerifiedTransaction,
    },
    /// A whole transaction is refused, although it may be valid.
    RefuseVerified { number: u64, error: NotaryError },
    /// A whole transaction is not valid.
    RefuseWhole { number: u64, rejection: Rejection },
    /// A whole transaction cannot be verified now.
    AskToComeAgain { number: u64 },
    /// A requester is gone before its transaction is verified.
    Forget { number: u64 },
    /// The store has told which states of a batch are consumed.
    UniquenessChecked {
        number: u64,
        answer: UniquenessAnswer,
    },
    /// A decided request is answered, after its transaction is recorded.
    Answer {
        peer: PartyId,
        id: RequestId,
        response: NotaryResponse,
    },
    /// A request is refused because this notary's data is an older copy.
    RefuseOnOlderCopy { peer: PartyId, id: RequestId },
    /// The items of these requests are dropped, which can no longer be decided. The requests are refused.
    RefuseOverdue(BTreeSet<u64>),
    /// Peers have shown transactions that this notary has signed and that its data lacks.
    EnterAgain(Vec<NotarisedTearOff>),
}

/// A command to the checks of this node's data.
#[derive(Debug)]
pub(crate) enum IntegrityCommand {
    /// The notary has accepted so many further transactions.
    NotaryAccepted(u64),
    /// The notary has entered transactions again that it had signed.
    NotaryEntered { notarised: u64, conflicts: u64 },
    /// An operator asks for a report, or orders a recovery.
    Order { order: IntegrityOrder, token: Token },
    /// A peer has connected. It is told where its link stands.
    SendStanding { peer: PartyId },
    /// A round ends: marks and questions that are due are sent.
    Tend,
    /// A peer that has lost data asks for a search of this node's ledger.
    Search {
        peer: PartyId,
        id: RequestId,
        body: Vec<u8>,
    },
    /// A peer has searched a part of its ledger for this node.
    Searched { peer: PartyId, answer: Answer },
    /// A peer has answered a request of a flow. The answer of a notary may be evidence.
    Answered {
        peer: PartyId,
        id: RequestId,
        answer: Answer,
    },
    /// A peer shows what it holds of this node.
    CheckStanding { peer: PartyId, standing: Standing },
    /// The numbers of a peer contradict those of this node.
    LinkContradicts { peer: PartyId, text: String },
    /// The standing of a peer is checked, and its link is in order.
    Meet { peer: PartyId, shows_mark: bool },
    /// A peer gives its mark.
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
    /// Makes a fresh key.
    Fresh {
        effect: EffectId,
        audience: Option<PartyId>,
    },
    /// Keeps the owner of a key, by a proof that was checked.
    KeepOwner {
        effect: EffectId,
        proof: Box<OwnershipProof>,
    },
    /// Tells the owners of keys, as far as they are known.
    Owners {
        effect: EffectId,
        keys: Vec<PublicKey>,
    },
    /// Proves to a peer that a fresh key is this node's.
    Prove {
        effect: EffectId,
        key: PublicKey,
        audience: PartyId,
    },
    /// Makes so many keys again that this node may have made before its data was replaced by an older copy.
    MakeLost { count: usize },
}

/// A command to the links to the peers.
#[derive(Debug)]
pub(crate) enum PeersCommand {
    /// A service of another node is asked, or of this one.
    Ask {
        peer: PartyId,
        id: RequestId,
        service: Service,
        body: Vec<u8>,
    },
    /// A request is given up.
    ForgetRequest(RequestId),
    /// A transaction that a peer delivered is in the ledger.
    AnswerDelivery { peer: PartyId, id: TxId },
    /// A recorded transaction is owed to participants.
    Owe {
        id: TxId,
        bytes: usize,
        participants: Vec<PartyId>,
    },
    /// A recorded transaction goes to no other node for now.
    KeepUnshared(Arc<SignedTransaction>),
    /// A peer has fetched these transactions.
    NoteFetched { peer: PartyId, ids: Vec<TxId> },
    /// A flow sends a session message to another node.
    SendSession {
        peer: PartyId,
        message: SessionMessage,
    },
    /// Compares a peer's numbers of session messages with this node's, mends the link if need be, and lets its messages go.
    CompareNumbers { peer: PartyId, standing: Standing },
}

/// A command to the schedule.
#[derive(Debug)]
pub(crate) enum ScheduleCommand {
    /// A scheduled flow runs.
    Started {
        due: Due,
        flow: FlowId,
        name: String,
    },
    /// A scheduled flow cannot be started.
    Refuse {
        due: Due,
        name: String,
        rejection: Rejection,
    },
    /// An operator has cancelled a scheduled start.
    End { due: Due },
}

/// A command to the selection of coins.
#[derive(Debug)]
pub(crate) enum SelectionCommand {
    /// A flow needs coins.
    Select {
        effect: EffectId,
        request: SelectionRequest,
    },
    /// A flow locks these states.
    Lock {
        effect: EffectId,
        states: Vec<StateRef>,
    },
    /// States that a flow has locked are free.
    Unlock { flow: FlowId, states: Vec<StateRef> },
    /// A flow came back from its journal, and these are all its locks.
    KeepOnly { flow: FlowId, states: Vec<StateRef> },
    /// A flow is gone, with its locks.
    Release { flow: FlowId },
    /// The vault view gives coins of a token that the selection has asked for.
    Refilled {
        token: TokenId,
        rows: Vec<CoinRow>,
        view_seq: u64,
        total: u128,
        more: bool,
    },
    /// A notary reports these states as consumed elsewhere.
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

    /// Returns whether no command waits.
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

    /// Carries all commands of the last call. Each makes those that `causes` names.
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
