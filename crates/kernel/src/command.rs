//! The commands of parts to other parts.
//!
//! A part changes only its own state. It adds a command to the round's context for each change that another part has to make. The
//! router carries the commands to their parts, in order, directly after the call that made them. A command may cause further ones.
//! They are carried before the next command of the same call.

use flow::FlowId;
use ledger::Rejection;
use primitives::Hash;

use crate::intake::fault::Fault;
use crate::intake::item_id::ItemId;

/// A change that one part asks of another.
#[derive(Debug)]
pub(crate) enum Command {
    /// To the starts: the state that scheduled this flow is consumed, so it is not to be started.
    WithdrawStart { flow: FlowId },
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
