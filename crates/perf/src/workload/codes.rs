//! The error codes of units and preparations of the shipped workloads, in addition to those of nodes and flows.

use primitives::ErrorInfo;

use crate::load::NO_PYTHON;

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: BAD_ANSWER,
        cause: "A flow completed, but its result is not the one that the workload expects.",
        action: "Check that node and laboratory are of the same version.",
    },
    ErrorInfo {
        code: BAD_BOOKS,
        cause: "A node answered an audit with values that contradict each other.",
        action: "Check that node and laboratory are of the same version.",
    },
    ErrorInfo {
        code: NO_CHAIN,
        cause: "A payment was to be made on a chain that the network does not have.",
        action: "Set chain.children, or leave out the knob chains.",
    },
    ErrorInfo {
        code: NO_CONNECTION,
        cause: "The laboratory did not reach a node's API to move a file, or lost it meanwhile.",
        action: "Look whether the node runs, and into its log.",
    },
    ErrorInfo {
        code: NO_FOLDER,
        cause: "A node's folder is not on this machine, or its files cannot be read, and the page cache was to be dropped there.",
        action: "Use temperature = \"warm\", or run the laboratory where the sender's node runs, as its user.",
    },
    ErrorInfo {
        code: NO_PYTHON,
        cause: "Flows were to be started from Python coroutines, and the interpreter or the package tallystick is missing, or the process ended.",
        action: "Run 'pip install ./clients/python' for the python3 that is first in PATH, or name another interpreter in TALLY_PYTHON; the message is what it said.",
    },
    ErrorInfo {
        code: NO_REQUESTER,
        cause: "A notary was to be asked directly, and no member of the network can do it: there is none without a node, its folder cannot be read, or it gets no connection to the notary.",
        action: "Set network.requesters; the message says more.",
    },
    ErrorInfo {
        code: NO_TRANSACTION,
        cause: "A flow ended well without a transaction where the workload expects one.",
        action: "Check that the node has the flow that the workload means.",
    },
    ErrorInfo {
        code: NO_WORKER,
        cause: "A unit came to a worker that is not set up.",
        action: "Report this.",
    },
    ErrorInfo {
        code: USED_UP,
        cause: "More units ran than were prepared for.",
        action: "Set run.count, so that it is known how many to prepare.",
    },
    ErrorInfo {
        code: STORE_FULL,
        cause: "A workload puts away more for later units than the laboratory keeps.",
        action: "Run fewer units (run.count).",
    },
    ErrorInfo {
        code: TOO_FEW_BANKS,
        cause: "A kind of work needs more banks than the network has.",
        action: "Raise network.banks, or name more folders under network.target.banks.",
    },
    ErrorInfo {
        code: TOO_MUCH_TO_PREPARE,
        cause: "A preparation would take more flows than the laboratory makes.",
        action: "Run fewer units (run.count), or make back chains less deep.",
    },
    ErrorInfo {
        code: VIEW_BEHIND,
        cause: "The vault view of a node has not caught up with its ledger in time.",
        action: "Lower the load; if it stays behind without one, run 'tally doctor' on the node.",
    },
    ErrorInfo {
        code: WORKER_PANICKED,
        cause: "A workload's own code panicked.",
        action: "Correct the workload; the message is the panic's.",
    },
    ErrorInfo {
        code: WRONG_DECISION,
        cause: "A notary that was asked again about a transaction that it had signed did not sign it, or signed another one that consumes the same state.",
        action: "Report this with the files of the notary and of its database: a record of consumed states that forgets is worthless.",
    },
    ErrorInfo {
        code: WRONG_FILE,
        cause: "A node has other bytes under a file's hash than the laboratory made, or gave values about it that contradict each other.",
        action: "Believe the node's disk the least: run 'tally doctor' on it, and report this if it finds nothing.",
    },
];

pub(super) const BAD_ANSWER: &str = "lab.bad_answer";
pub(super) const BAD_BOOKS: &str = "lab.bad_books";
pub(super) const NO_CHAIN: &str = "lab.no_chain";
pub(super) const NO_CONNECTION: &str = "lab.no_connection";
pub(super) const NO_FOLDER: &str = "lab.no_folder";
pub(super) const NO_REQUESTER: &str = "lab.no_requester";
pub(super) const NO_TRANSACTION: &str = "lab.no_transaction";
pub(super) const NO_WORKER: &str = "lab.no_worker";
pub(super) const USED_UP: &str = "lab.prepared_used_up";
pub(super) const STORE_FULL: &str = "lab.store_full";
pub(super) const TOO_FEW_BANKS: &str = "lab.too_few_banks";
pub(super) const TOO_MUCH_TO_PREPARE: &str = "lab.too_much_to_prepare";
pub(super) const VIEW_BEHIND: &str = "lab.view_behind";
pub(super) const WORKER_PANICKED: &str = "lab.worker_panicked";
pub(super) const WRONG_DECISION: &str = "lab.wrong_decision";
pub(super) const WRONG_FILE: &str = "lab.wrong_file";

#[cfg(test)]
mod tests {
    use super::ERRORS;

    #[test]
    fn codes_are_in_order() {
        assert!(ERRORS.is_sorted_by(|a, b| a.code < b.code));
    }
}
