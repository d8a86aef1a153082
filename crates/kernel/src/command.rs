//! The commands of parts to other parts.
//!
//! A part changes only its own state. It adds a command to the round's context for each change that another part has to make. The
//! router carries the commands to their parts, in order, directly after the call that made them. A command may cause further ones.
//! They are carried before the next command of the same call.

use flow::{FlowId, SessionMessage};
use ledger::{PartyId, Rejection, StateRef, TxId};
use primitives::Hash;

use crate::intake::fault::Fault;
use crate::intake::item_id::ItemId;
use crate::schedule::table::Due;

/// A change that one part asks of another.
#[derive(Debug)]
pub(crate) enum Command {
    /// To the starts: the state that scheduled this flow is consumed, so it is not to be started.
    WithdrawStart { flow: FlowId },
    /// To the schedule: a scheduled flow runs.
    ScheduledStarted {
        due: Due,
        flow: FlowId,
        name: String,
    },
    /// To the schedule: a scheduled flow cannot be started.
    RefuseScheduled {
        due: Due,
        name: String,
        rejection: Rejection,
    },
    /// To the schedule: an operator has cancelled a scheduled start.
    EndScheduled { due: Due },
    /// To the links and the intake: a flow takes no step any more. Nothing is done for it, but its locks stay.
    StopWork { flow: FlowId },
    /// To all parts: a flow is gone.
    ForgetFlow { flow: FlowId },
    /// To the selection: a flow came back from its journal, and these are all its locks.
    KeepLocks { flow: FlowId, locked: Vec<StateRef> },
    /// To the flows: a peer's session message is the next in its order.
    Session {
        peer: PartyId,
        message: SessionMessage,
    },
    /// To the budgets: a peer sent a message that makes no sense.
    BadMessage { peer: PartyId, what: String },
    /// To the flows: a participant refuses a transaction.
    NoteRefusal { id: TxId },
    /// To the flows: all participants have answered for a transaction.
    AllAnswered { id: TxId },
    /// To the intake: a file is on the disk. After an upload, a running request to a peer for it is given up.
    FileIsHere {
        hash: Hash,
        size: u64,
        is_upload: bool,
    },
    /// To the intake: a transaction cannot be recorded.
    Refuse { item: ItemId, fault: Fault },
    /// To the intake and the files: a transaction cannot be recorded because of its files. The files that came for it go again.
    RefuseForFiles { item: ItemId, rejection: Rejection },
    /// To the intake: a transaction is given up without an answer to its sender.
    LeaveUnanswered {
        item: ItemId,
        code: &'static str,
        rejection: Rejection,
    },
}
