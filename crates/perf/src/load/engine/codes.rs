//! The load engine's error codes: of units that it gave up, and of findings about a stretch.

use primitives::ErrorInfo;

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "lab.generator_limit",
        cause: "The load generator was near its own limit, which may have determined the figures.",
        action: "Leave it a core of its own (nodes.NAME.cores), lower the load, or generate it from other machines.",
    },
    ErrorInfo {
        code: "lab.knee_above",
        cause: "In a search for the knee every rate met the target.",
        action: "Allow a higher one (load.knee.to_per_s).",
    },
    ErrorInfo {
        code: "lab.knee_below",
        cause: "In a search for the knee no rate met the target.",
        action: "Begin lower (load.knee.from_per_s) or allow more latency (load.knee.latency_ms).",
    },
    ErrorInfo {
        code: "lab.knee_unsteady",
        cause: "In a search for the knee a rate met the target once and missed it another time.",
        action: "Measure for longer (run.seconds), or on a quieter machine.",
    },
    ErrorInfo {
        code: "lab.other_codes",
        cause: "Units failed with more different codes than are told apart.",
        action: "Look at the codes that are told; a node's log has all.",
    },
    ErrorInfo {
        code: "lab.unfinished",
        cause: "Some units were still outstanding when the wait for them ended.",
        action: "Look for flows that are parked or retried ('tally flow list'), or lower the load.",
    },
    ErrorInfo {
        code: "lab.unit_panicked",
        cause: "A workload's own code panicked in the middle of a unit.",
        action: "Correct the workload.",
    },
];
