//! The codes that units and preparations of the shipped workloads fail with, beside those of nodes and flows.

use primitives::ErrorInfo;

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "lab.bad_answer",
        cause: "A flow ended well, but what it returned is not what the workload expects of it.",
        action: "Check that node and laboratory are of the same version.",
    },
    ErrorInfo {
        code: "lab.bad_books",
        cause: "A node answered an audit with something that makes no sense.",
        action: "Check that node and laboratory are of the same version.",
    },
    ErrorInfo {
        code: "lab.no_transaction",
        cause: "A flow ended well without a transaction where the workload expects one.",
        action: "Check that the node has the flow that the workload means.",
    },
    ErrorInfo {
        code: "lab.no_worker",
        cause: "A unit came to a worker that is not set up.",
        action: "Report this.",
    },
    ErrorInfo {
        code: "lab.prepared_used_up",
        cause: "More units ran than were prepared for.",
        action: "Set run.count, so that it is known how many to prepare.",
    },
    ErrorInfo {
        code: "lab.store_full",
        cause: "A workload puts away more for later units than the laboratory keeps.",
        action: "Run fewer units (run.count).",
    },
    ErrorInfo {
        code: "lab.too_few_banks",
        cause: "A kind of work needs more banks than the network has.",
        action: "Raise network.banks, or name more folders under network.target.banks.",
    },
    ErrorInfo {
        code: "lab.too_much_to_prepare",
        cause: "A preparation would take more flows than the laboratory makes.",
        action: "Run fewer units (run.count), or make back chains less deep.",
    },
    ErrorInfo {
        code: "lab.view_behind",
        cause: "The vault view of a node has not caught up with its ledger in time.",
        action: "Lower the load; if it stays behind without one, run 'tally doctor' on the node.",
    },
    ErrorInfo {
        code: "lab.worker_panicked",
        cause: "A workload's own code panicked.",
        action: "Correct the workload; the message is the panic's.",
    },
];
