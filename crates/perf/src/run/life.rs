//! The life of a target, and its end.

use std::sync::Arc;

use primitives::Coded;

use super::error::RunError;
use super::event::{Event, Step};
use super::next_stretch::{NextStretch, RunContext};
use super::prepared::Prepared;
use super::shown::Shown;
use crate::plan::Plan;
use crate::results::{AuditResult, Stretch};
use crate::topology::host::HostError;
use crate::workload::{Site, SiteBooks};

/// The life of a ledger or of another system.
pub(super) struct Life {
    pub site: Arc<Site>,
    /// The key of its preparation; `None` if nothing is prepared.
    pub prepared: Option<String>,
}

impl Life {
    /// Begins a life without a preparation.
    pub fn new(site: Site) -> Self {
        Self {
            site: Arc::new(site),
            prepared: None,
        }
    }

    /// Begins a life from a copy of a preparation, with the books of that time.
    pub fn restored(site: Site, books: SiteBooks, key: &str) -> Self {
        site.restore(books);
        Self {
            site: Arc::new(site),
            prepared: Some(key.to_owned()),
        }
    }

    /// Returns whether the preparation that a stretch needs is present.
    pub fn has(&self, prepared: &Prepared) -> bool {
        !prepared.is_needed() || self.prepared.as_ref() == Some(&prepared.key)
    }

    /// Prepares a system in its current state, if it lacks what a stretch needs.
    pub async fn prepare(&mut self, next: &NextStretch<'_>) -> Result<(), RunError> {
        let prepared = &next.prepared;
        if self.has(prepared) && !prepared.is_used_up() {
            return Ok(());
        }
        self.prepared = None;
        if next.prepare(&self.site, prepared.units, "done").await? {
            self.prepared = Some(prepared.key.clone());
        }
        Ok(())
    }
}

/// The end of a life.
pub(super) struct LifeEnd<'a> {
    pub run: RunContext<'a>,
    /// The last stretch of this life; `None` if nothing ran in it.
    pub last: Option<LastStretch<'a>>,
    /// Whether a network of this run stays as the load left it, because the run ends and is to leave it running.
    pub keep: bool,
}

/// The last stretch of a life.
pub(super) struct LastStretch<'a> {
    /// Its point's plan.
    pub plan: &'a Plan,
    /// Its result, for figures that only an audit knows; `None` if it is not among the results.
    pub stretch: Option<&'a mut Stretch>,
    /// The audits of its point.
    pub audits: &'a mut Vec<AuditResult>,
}

impl LifeEnd<'_> {
    /// Shows an audit and keeps its result. Does nothing if there is nothing to audit. A failed audit is a result, not an
    /// error.
    pub async fn audit(&mut self, audit: impl Future<Output = AuditResult>) {
        let Some(last) = &mut self.last else {
            return;
        };
        let step = Shown::begin(self.run.events, Step::Audit);
        let result = audit.await;
        step.close(result.clean, &result.words);
        (self.run.events)(Event::Audited(result.clone()));
        last.audits.push(result);
    }

    /// Audits the ledger of a life with its books.
    pub async fn audit_ledger(&mut self, life: Option<Life>) {
        if let (Some(life), Some(last)) = (life, &self.last) {
            let read_max = last.plan.audit.read_max;
            let lost = self.run.options.hosts.lost();
            let audit = async {
                match &lost {
                    Some(lost) => lost_host(lost),
                    None => audit_ledger(&life.site, read_max).await,
                }
            };
            self.audit(audit).await;
        }
    }
}

/// Returns the result of an audit that a host which is gone has made impossible.
pub(super) fn lost_host(lost: &HostError) -> AuditResult {
    AuditResult {
        clean: false,
        words: format!("{}: {lost}", lost.code()),
        transactions: 0,
    }
}

async fn audit_ledger(site: &Site, read_max: u32) -> AuditResult {
    match site.audit(read_max).await {
        Ok(_) if site.banks() == 0 => AuditResult {
            clean: true,
            words: "there is no node whose books could be read".to_owned(),
            transactions: 0,
        },
        Ok(verdict) => AuditResult {
            clean: verdict.is_clean(),
            words: verdict.to_string(),
            transactions: verdict.transactions as u64,
        },
        Err(error) => AuditResult {
            clean: false,
            words: format!("{}: {error}", error.code()),
            transactions: 0,
        },
    }
}
