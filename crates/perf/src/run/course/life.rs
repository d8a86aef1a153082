//! The time of a network between two beginnings.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::run::prepared::Prepared;
use crate::workload::Site;

/// See the module.
pub(super) struct Life {
    pub site: Arc<Site>,
    /// Points of which something ran in it, in order.
    pub ran: Vec<usize>,
    /// What was prepared at its beginning, or since; nothing if `None`.
    pub prepared: Option<String>,
    /// Units prepared ahead that are still there, by what they are.
    pub ahead: BTreeMap<String, u64>,
}

impl Life {
    /// One that begins, prepared.
    pub fn new(site: Arc<Site>, prepared: &Prepared) -> Self {
        Self {
            site,
            ran: Vec::new(),
            prepared: prepared.is_needed().then(|| prepared.key.clone()),
            ahead: BTreeMap::new(),
        }
    }

    /// Whether what a point needs is there.
    pub fn has(&self, prepared: &Prepared) -> bool {
        !prepared.is_needed() || self.prepared.as_ref() == Some(&prepared.key)
    }
}
