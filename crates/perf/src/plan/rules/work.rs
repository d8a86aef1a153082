//! `[work]`, or several `[[work]]`.

use std::collections::BTreeSet;

use super::Rules;
use crate::plan::limits::KNOBS_MAX;
use crate::plan::model::{Load, Work};

/// The only kind that runs without a network, and the only one that runs on another system.
const FAKE: &str = "fake";
const COMMAND: &str = "command";
/// The only kind that runs on a chain.
const PAYMENT: &str = crate::workload::PAYMENT;

impl Rules<'_, '_> {
    pub(super) fn work(&mut self) {
        let plan = self.plan;
        if plan.chain.is_some() && !self.has("work") {
            // It is payments.
            return;
        }
        if plan.work.is_empty() {
            self.wrong("work", "there has to be some work");
        }
        let mut labels = BTreeSet::new();
        for (number, work) in plan.work.iter().enumerate() {
            let path = format!("work.{number}");
            if !labels.insert(&work.label) {
                let label = format!("{path}.label");
                let path = match self.has(&label) {
                    true => label,
                    false => format!("{path}.kind"),
                };
                let message = format!(
                    "two kinds of work are called `{}`; give each a label",
                    work.label
                );
                self.wrong(&path, message);
            }
            if work.knobs.len() > KNOBS_MAX {
                let message = format!("{} knobs; at most {KNOBS_MAX}", work.knobs.len());
                self.wrong(&path, message);
            }
        }
        // A scenario with a sweep runs only as its points. The work is checked there.
        if plan.sweep.is_empty() {
            self.supported();
            self.search();
        }
    }

    /// Checks that the network and the workloads support the works.
    fn supported(&mut self) {
        let network = &self.plan.network;
        let target = network.target.as_ref();
        let is_other = target.is_some_and(|target| target.connector().is_some());
        if is_other && self.plan.work.len() > 1 {
            self.wrong("work", "a connector does one kind of work");
        }
        for (number, work) in self.plan.work.iter().enumerate() {
            let is_chain = self.plan.chain.is_some();
            if let Some(message) = misplaced(work, is_chain, is_other, network.banks) {
                self.wrong(&format!("work.{number}.kind"), message);
            }
            if let Err(error) = self.checks.work(work, network) {
                // An error without a key concerns the work as a whole, and a missing key has no place.
                let key = error.key.as_deref();
                let key = key.filter(|key| self.has(&format!("work.{number}.{key}")));
                let path = format!("work.{number}.{}", key.unwrap_or("kind"));
                self.wrong(&path, format!("work `{}`: {}", work.label, error.message));
            }
        }
    }

    /// Refuses a search with work that runs out. Its trials share one preparation, so the later ones would find nothing
    /// left, which looks like a knee.
    fn search(&mut self) {
        let plan = self.plan;
        if !matches!(plan.load, Load::Knee(_)) {
            return;
        }
        if let Some(work) = plan.work.iter().find(|work| self.checks.is_used_up(work)) {
            let message = format!(
                "work `{}`: each unit of `{}` uses up something that was prepared for it, so that a search runs out in the \
                 middle; try rates one by one, with `load.rate` and a sweep over it",
                work.label, work.kind
            );
            self.wrong("load.knee", message);
        }
    }
}

/// Returns why a kind of work cannot run in this network.
fn misplaced(work: &Work, is_chain: bool, is_other: bool, banks: u32) -> Option<&'static str> {
    match (work.kind.as_str(), is_other, banks) {
        (PAYMENT, ..) if is_chain => None,
        (PAYMENT, ..) => Some("work of the kind `payment` needs `chain`"),
        _ if is_chain => Some("only work of the kind `payment` can be done on a chain"),
        (COMMAND, true, _) | (FAKE, false, 0) => None,
        (COMMAND, false, _) => {
            Some("work of the kind `command` needs `network.target.command` or `.connector`")
        }
        (_, true, _) => Some("a connector can only do work of the kind `command`"),
        (FAKE, ..) => Some("work of the kind `fake` needs `network.banks = 0`"),
        (_, false, 0) => Some("only work of the kind `fake` can be done with `network.banks = 0`"),
        _ => None,
    }
}
