//! Figures published elsewhere, shown with a run's own. Each names its source.

/// A reference line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The kind of work, as in this laboratory's tables.
    pub work: &'static str,
    /// Corda Enterprise 4.0, node on 24 cores with a database server of its own ("Performance benchmarking results"), a second.
    pub enterprise_per_s: Option<f64>,
    /// Corda Open Source 4.10, measured by us: notary, two nodes and client on two cores, a second.
    pub open_source_per_s: Option<f64>,
}

/// Issues of one state to the issuer itself.
pub const ISSUE: Published = Published {
    work: "Issue",
    enterprise_per_s: Some(2580.0),
    open_source_per_s: Some(146.0),
};

/// Issue, then pay with the issued state. The enterprise figure is CE 3.0 on a 32-core machine with a notary machine.
pub const ISSUE_AND_PAY: Published = Published {
    work: "Issue + Pay",
    enterprise_per_s: Some(205.0),
    open_source_per_s: Some(11.0),
};

/// Issue once, then pay from it again and again.
pub const REPEATED_PAY: Published = Published {
    work: "Issue + Repeated Pay",
    enterprise_per_s: Some(617.0),
    open_source_per_s: Some(14.8),
};

/// Output states a second by states per transaction, Corda Enterprise 4.0 on 24 cores.
pub const STATES_PER_S: [(u32, f64); 5] = [
    (1, 617.0),
    (5, 2525.0),
    (20, 6560.0),
    (40, 8880.0),
    (160, 10240.0),
];
