//! The kernel's own error codes.

use flow::{FlowError, FlowId};
use ledger::{Rejection, StateRef, TxId};
use primitives::{ErrorInfo, Hash, PublicKey};

macro_rules! errors {
    ($($constant:ident = $code:literal, $cause:literal, $action:literal;)*) => {
        $(#[doc = $cause] pub const $constant: ErrorInfo = ErrorInfo { code: $code, cause: $cause, action: $action };)*
        /// Every code of this crate, for the error pages.
        pub const ERRORS: &[ErrorInfo] = &[$($constant),*];
    };
}

errors! {
    UNKNOWN_KEY = "node.unknown_key", "A flow asked for a signature with a key that this node does not hold.",
        "Let the owner of the key sign, or spend only states whose owner key this node holds.";
    UNKNOWN_STATE = "node.unknown_state", "A flow asked for a state of a transaction that is not recorded here.",
        "Check the state's reference; resolve the transaction first if another node has it.";
    UNKNOWN_EXTERNAL = "node.unknown_external", "A flow asked for an external operation that this node does not offer.",
        "Register the operation with the node, or use a node that has it.";
    CLIENT_ID_REUSED = "node.client_id_reused", "The client id was used before for another flow or other arguments.",
        "Use a fresh client id for each new start; repeat the same arguments to attach to the earlier one.";
    KILL_PENDING = "node.kill_pending", "The flow has asked the notary. It is killed or paused only after the answer and the steps that follow from it.",
        "Wait: once the notary has answered, most flows end by themselves.";
    DEPENDENCY_MISSING = "tx.dependency_missing", "The transaction consumes outputs of one that is not recorded here.",
        "Let the sender's back chain be resolved first, or verify with the name of a peer that has it.";
    DEPENDENCY_UNAVAILABLE = "tx.dependency_unavailable", "The peer that sent the transaction does not have its back chain.",
        "Ask the sender to resolve the transaction's back chain before sending it.";
    DEPENDENCY_INVALID = "tx.dependency_invalid", "A transaction in the back chain is not valid.",
        "The transaction can't be recorded; ask the sender where the invalid ancestor came from.";
    BACK_CHAIN_TOO_WIDE = "tx.back_chain_too_wide", "More than 20,000 ancestors would have to be fetched side by side.",
        "Re-issue the states to cut their back chain.";
    PEER_ANSWER_INVALID = "node.peer_answer_invalid", "A peer's answer to a request is not valid.",
        "Ask the peer's operator to check its version and logs.";
    SERVICE_UNKNOWN = "node.service_unknown", "The peer does not offer the service that was asked for.",
        "Check the network map: the request may have gone to a node that is not a notary.";
    VERSIONS_MISSING = "node.versions_missing", "Flows are in flight on versions that this binary does not have.",
        "Start the version of the node that ran them, let the flows end (drain), then upgrade.";
    MEMBER_LOST = "network.member_lost", "The file of a member of the network is not in network/nodes of the node's folder, and was there at an earlier start. Without it the node could name no owner of the member's states and would refuse its deliveries.",
        "Restore the file from a backup or from network-root/network/nodes; if the member has left the network for good, run tally node forget-member.";
    REQUESTER_MISMATCHED = "notary.requester_mismatched", "A notarisation request names another requester or key than the node that sent it.",
        "Sign requests with the key that the network map lists for the sending node.";
    BACK_CHAIN_TOO_LONG = "tx.back_chain_too_long", "The back chain holds more bytes than this node fetches for one transaction.",
        "Re-issue the states to cut their back chain, or raise the node's limit.";
    BACK_CHAIN_NOT_SHARED = "node.back_chain_not_shared", "A non-validating notary asked for the back chain of a transaction that does not concern it.",
        "Nothing has to be done: a notary that does not validate sees tear-offs only.";
    NOT_A_PARTICIPANT = "node.not_a_participant", "A peer delivered a transaction that concerns no key of this node, and that no flow of this node waits for.",
        "Deliver transactions to their participants; for others run a flow whose responder waits for the transaction. If this node was restored, restore its keys too.";
    KEY_MISSING = "node.key_missing", "The node does not hold the key of its own party.",
        "Give the node the private key that belongs to the key in its node info.";
    DAMAGED = "store.damaged", "Rows of the node's own data contradict each other or do not decode.",
        "Stop the node, keep a copy of its data folder, and restore it from a backup.";
    BAD_MESSAGE = "node.bad_message", "A peer sent an invalid message. It was counted and ignored.",
        "Ask the peer's operator to check its version and logs.";
    PEER_CUT_OFF = "node.peer_cut_off", "A peer sent so many invalid messages or signatures that its connection was ended for a while.",
        "Ask the peer's operator to check its version and logs; tally node peers shows when the peer may connect again.";
    STALE_DATA = "node.stale_data", "A peer acknowledges messages that this node has never sent: this node's data is older than the peer's. The link with that peer is renumbered, and the peer does not vouch for this node's data until a recovery is finished.",
        "Find out whether the node was restored from a backup, then run tally recover: it fetches what is missing and lets the peer vouch again.";
    PEER_ROLLED_BACK = "node.peer_rolled_back", "A peer has sent fewer messages than this node has taken from it: its data is older than this node's.",
        "Tell the peer's operator that its node was restored from an older copy; it has to run tally recover.";
    ROLLED_BACK = "node.rolled_back", "A peer holds a signed statement of this node that its data does not justify: the data is an older copy, or another process runs with this node's key.",
        "Make sure that no other process runs with this identity, then run tally recover: it fetches the lost transactions from the other nodes. Repeat no start of that time before you have read its report.";
    FLOWS_HELD = "node.flows_held", "Flows of the journal wait after a start, because too few peers have shown their marks of this node's data: the data could be an older copy, and their effects could have happened already.",
        "Start the peers that tally flow list names. If the data is a restored copy or node.stale_data is shown, run tally recover. If it is not and the peers are gone for good, run tally flow resume.";
    NOTARY_STOPPED = "notary.rolled_back", "The notary has signed more than its data shows, so the data is an older copy. It signs nothing until its operator acts.",
        "Start the flow again after the notary's operator has run tally recover, or use another notary.";
    RECOVERY_INCOMPLETE = "node.recovery_incomplete", "The recovery was not begun, or some peers have not given everything that they have.",
        "Run tally recover and wait until all peers are done; give --accept-missing to go on without those that are gone for good.";
    CLAIM_LOST = "node.claim_lost", "A flow of an older copy claims a transaction that is recorded already. The transaction may have had its effect after the copy was made, so the flow gives nothing for it.",
        "Compare the ledgers of both sides. If the other side lacks what it was promised for this transaction, settle that with its operator.";
    TRANSACTION_REFUSED = "node.transaction_refused", "A transaction that a peer delivered is not recorded; the peer is told why.",
        "Read the reason in the message and settle it with the peer's operator.";
    DELIVERY_WAITS = "node.delivery_waits", "The node that a transaction was delivered to cannot record it as it is now: its parameters, programs, keys, data or limits stand in the way.",
        "Read the reason and settle it with the receiving node's operator; the delivery is repeated by itself until then.";
    DELIVERY_REFUSED = "node.delivery_refused", "A participant refuses to record a transaction that is final; that undoes nothing.",
        "Read the reason in the message and settle it with the participant's operator.";
    CLOCK_JUMPED = "node.clock_jumped", "The machine's clock was set forward or back, or shows an earlier time than this notary's latest judgement of a time window. Until peers' clocks or the operator confirm the clock, it is in doubt, and a notary judges no time window.",
        "Synchronise the machine's clock with NTP. If the clock is right and too few peers can confirm it, run tally node clock confirm.";
    NOT_SCHEDULABLE = "node.not_schedulable", "A state schedules a flow that is not registered here as one that states may schedule.",
        "Start a binary that registers the flow as one that states may schedule; it then tries again. If you do not trust the state, do nothing.";
    PARKED = "flow.parked", "A flow can't go on by itself: it panicked, its retries are used up, or its journal does not fit. It keeps its journal and its locks.",
        "Read its errors (tally flow list --status parked), remove their cause, then retry or kill the flow.";
    STUCK = "flow.stuck", "Flows have waited for a minute and more without a step, for something that is not just a time.",
        "Find the cause with tally flow stuck: a peer that is away, a notary, or coins that other flows hold.";
    RETRIED = "flow.retried", "A flow failed with a transient error, and is retried from its journal after a delay.",
        "No action is needed. If it comes often, check the cause that the message names.";
    TOO_MANY_KEPT = "node.too_many_kept", "The node keeps too many flows for an operator, so it accepts no new starts.",
        "Look at them (tally flow list --status parked), then retry or kill them, singly or by query.";
    NOTARY_CHANGE_REFUSED = "node.notary_change_refused", "The participant's node signs no change of notary.",
        "Ask the participant's operator to accept them (tally contract notary-changes accept, or transitions.accept_notary_changes in node.toml), or leave the states where they are.";
    UPGRADE_NOT_AUTHORISED = "node.upgrade_not_authorised", "The participant's operator has not authorised the upgrade between these two codes.",
        "Let the participant's operator look at the new code and authorise it: tally contract authorise, or transitions.accept_upgrades in node.toml.";
    PROPOSER_UNCONCERNED = "node.proposer_unconcerned", "A party proposed to move a state that does not concern it.",
        "Let the state's owner or one of its participants propose it.";
    PROPOSER_NOT_OWNER = "node.proposer_not_owner", "A party that takes part in a state and does not own it proposed to move the state to another notary.",
        "Let the state's owner propose the change of notary.";
    FILE_MISSING = "tx.attachment_missing", "The transaction lists a file that this node does not have.",
        "Upload the file first (tally attachment upload), then start the flow again.";
    FILE_TOO_LARGE = "tx.attachment_too_large", "A file has more bytes than the network's parameters allow.",
        "Split the file, or have the network's operator raise max_attachment_bytes.";
    FILES_TOO_LARGE = "tx.attachments_too_large", "The files that a transaction lists have more bytes together than the network's parameters allow.",
        "List fewer files in a transaction, or have the network's operator raise max_transaction_attachment_bytes.";
    FILE_UNAVAILABLE = "tx.attachment_unavailable", "The peer that sent a transaction does not provide a file that the transaction lists, or cannot provide it now.",
        "Check that the peer is up and has the file. A delivery comes again by itself; a flow has to be started again.";
    FILE_MISMATCH = "tx.attachment_mismatch", "The bytes that a peer sent as a file have another hash and were discarded.",
        "Ask the peer's operator to check its disk and its version.";
    FILE_UNKNOWN = "file.unknown", "The node has no file with this hash.",
        "Check the hash; list the files that are here (tally attachment list).";
    FILE_REFERENCED = "file.referenced", "Recorded transactions list the file: it stays as long as they do.",
        "Leave it. Only a file that no transaction refers to can be removed.";
    FILE_IN_USE = "file.in_use", "A running flow has a transaction that lists the file.",
        "Remove the file when the flow has ended.";
    FILE_NOT_STORED = "file.not_stored", "A file that a peer sent could not be stored on this node's disk. It will be requested again.",
        "See the code in the message: most often the disk is full.";
    INPUT_CONSUMED = "tx.input_consumed", "The transaction consumes a state that this node's ledger records as consumed by another transaction, although the notary signed both.",
        "Export the proof (tally notary equivocations), and settle with the notary's operator which of the two transactions stands.";
    EQUIVOCATED = "notary.equivocated", "A notary has signed two transactions that consume the same state. The second one is refused here.",
        "Export the proof (tally notary equivocations --export FILE) and send it to the network's operator; move states to another notary until the matter is settled.";
    SIGNATURE_INVALID = "tx.signature_invalid", "A signature does not verify.",
        "The transaction or request was changed after it was signed, or signed with another key: sign it again.";
}

/// Codes that belong to the API, whose pages the crate `api` holds.
pub(crate) const UNKNOWN_FLOW_ID: ErrorInfo = ErrorInfo {
    code: "node.unknown_flow",
    cause: "No flow with this id is live, and neither the flows that ended lately nor the flow history have it.",
    action: "Check the id. The history keeps flows for flows.history_days, and the outcome of a start with a client id is kept until you delete it",
};
pub(crate) const UNKNOWN_CLIENT_ID: ErrorInfo = ErrorInfo {
    code: "node.unknown_client_id",
    cause: "No start with this client id is known.",
    action: "Check the id, and the user whose token you send.",
};
pub(crate) const UNKNOWN_TRANSACTION: ErrorInfo = ErrorInfo {
    code: "node.unknown_transaction",
    cause: "The node's ledger does not hold a transaction with this id.",
    action: "Check the id, or ask a participant of the transaction.",
};
pub(crate) const NOTE_REFUSED: ErrorInfo = ErrorInfo {
    code: "node.note_refused",
    cause: "The transaction has the maximum number of notes, or the note is too long.",
    action: "Remove a note that is no longer needed, or write a shorter one.",
};
pub(crate) const UNKNOWN_NOTE: ErrorInfo = ErrorInfo {
    code: "node.unknown_note",
    cause: "The transaction has no note with this id.",
    action: "List the transaction's notes; another user may have removed it.",
};
pub(crate) const UNKNOWN_CONTRACT: ErrorInfo = ErrorInfo {
    code: "node.unknown_contract",
    cause: "No contract with this descriptor is registered in the node's binary.",
    action: "Copy the hash from GET /v1/contracts or 'tally contract list'; start a binary with the new code first.",
};
pub(crate) const UNKNOWN_CONSENT: ErrorInfo = ErrorInfo {
    code: "node.unknown_consent",
    cause: "The upgrade is not authorised, so there is nothing to withdraw.",
    action: "List the authorised changes: tally contract consents.",
};
pub(crate) const CONSENT_CONFIGURED: ErrorInfo = ErrorInfo {
    code: "node.consent_configured",
    cause: "The upgrade is authorised in node.toml, which the API does not change.",
    action: "Remove the entry from transitions.accept_upgrades and start the node again.",
};
pub(crate) const TOO_MANY_CONSENTS: ErrorInfo = ErrorInfo {
    code: "node.too_many_consents",
    cause: "The maximum number of upgrades is authorised already.",
    action: "Withdraw the consents to upgrades that are complete.",
};
pub(crate) const DRAINING: ErrorInfo = ErrorInfo {
    code: "node.draining",
    cause: "The node finishes its present work and accepts no new work.",
    action: "Start the flow on another node, or after the node is back.",
};

pub(crate) fn rejection(info: &ErrorInfo, message: impl Into<String>) -> Rejection {
    Rejection::new(info.code, message, info.action)
}

/// Returns the answer to clients that wait for a cancelled start.
pub(crate) fn start_cancelled(flow: &FlowId) -> Rejection {
    let code = "flow.killed";
    let hint = ErrorInfo::action_of(flow::ERRORS, code);
    Rejection::new(
        code,
        format!("flow {flow} was cancelled before it started"),
        hint,
    )
}

pub(crate) fn failed(info: &'static ErrorInfo, message: impl Into<String>) -> FlowError {
    FlowError::new(info.code, message, info.action)
}

pub(crate) fn unknown_transaction(id: &TxId) -> Rejection {
    let text = format!("transaction {id} is not recorded here");
    rejection(&UNKNOWN_TRANSACTION, text)
}

pub(crate) fn unknown_file(hash: &Hash) -> Rejection {
    rejection(&FILE_UNKNOWN, format!("file {hash} is not here"))
}

pub(crate) fn unknown_key(key: &PublicKey) -> FlowError {
    failed(
        &UNKNOWN_KEY,
        format!("this node does not hold the key {key}"),
    )
}

pub(crate) fn unknown_state(reference: &StateRef) -> FlowError {
    failed(
        &UNKNOWN_STATE,
        format!("state {reference} is not recorded here"),
    )
}

pub(crate) fn claim_lost(evidence: &TxId) -> FlowError {
    failed(
        &CLAIM_LOST,
        format!(
            "transaction {evidence} is recorded, and its claim is not: the node's data was an older copy"
        ),
    )
}

pub(crate) fn unknown_external(name: &str) -> FlowError {
    failed(
        &UNKNOWN_EXTERNAL,
        format!("no external operation is called '{name}'"),
    )
}

pub(crate) fn dependency_missing(id: &TxId) -> Rejection {
    rejection(
        &DEPENDENCY_MISSING,
        format!("transaction {id} is not recorded here"),
    )
}
