//! The time of a network between two beginnings.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::run::prepared::Prepared;
use crate::workload::Site;

/// A life of a network: the time between two beginnings.
pub(super) struct Life {
    pub site: Arc<Site>,
    /// Points that ran at least one stretch in it, in order.
    pub ran: Vec<usize>,
    /// The key of its preparation; `None` if nothing is prepared.
    pub prepared: Option<String>,
    /// Remaining units prepared ahead, by preparation key.
    pub ahead: BTreeMap<String, u64>,
}

impl Life {
    /// Begins a prepared life.
    pub fn new(site: Arc<Site>, prepared: &Prepared) -> Self {
        Self {
            site,
            ran: Vec::new(),
            prepared: prepared.is_needed().then(|| prepared.key.clone()),
            ahead: BTreeMap::new(),
        }
    }

    /// Returns whether the preparation that a point needs is present.
    pub fn has(&self, prepared: &Prepared) -> bool {
        !prepared.is_needed() || self.prepared.as_ref() == Some(&prepared.key)
    }
}
