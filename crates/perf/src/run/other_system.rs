//! Another system, which a connector prepares, drives and audits.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::error::RunError;
use super::event::Events;
use super::life::{Life, LifeEnd};
use super::next_stretch::{NextStretch, asked_to_stop};
use super::options::Options;
use super::target::Target;
use crate::connector::{Connector, postgres};
use crate::measure::DiskUse;
use crate::monitor::Subject;
use crate::plan::ConnectorProgram;
use crate::results::AuditResult;
use crate::workload::{Boxed, Site};

/// The name of a connector among processes.
const CONNECTOR: &str = "connector";
/// Time for an audit by a connector after the run was stopped.
const AUDIT_AFTER_STOP_MAX: Duration = Duration::from_secs(60);

/// Another system, by its connector.
pub(super) struct OtherSystem {
    connector: Arc<Connector>,
    life: Option<Life>,
}

impl OtherSystem {
    /// Starts the connector. `usual` is the executable that has the shipped one.
    pub async fn start(program: &ConnectorProgram, usual: &Path) -> Result<Self, RunError> {
        let command = match program {
            ConnectorProgram::Postgres => postgres::command(usual),
            ConnectorProgram::Command(words) => words.clone(),
        };
        let started = Connector::start(&command).await;
        let connector = started.map_err(RunError::of("starting the connector"))?;
        Ok(Self {
            connector: Arc::new(connector),
            life: None,
        })
    }
}

impl Target for OtherSystem {
    fn site(&self) -> Option<&Arc<Site>> {
        self.life.as_ref().map(|life| &life.site)
    }

    /// A connector may discard at its preparation what was there before.
    fn can_continue(&self, next: &NextStretch<'_>) -> bool {
        let life = self.life.as_ref();
        life.is_some_and(|life| life.has(&next.prepared))
    }

    fn prepare<'a>(&'a mut self, next: &'a NextStretch<'a>) -> Boxed<'a, Result<(), RunError>> {
        let life = self.life.get_or_insert_with(|| {
            let site = Site::new(Vec::new(), None, next.run.seed);
            Life::new(site.with_connector(Arc::clone(&self.connector)))
        });
        Box::pin(life.prepare(next))
    }

    fn subjects(&self) -> Result<Vec<Subject>, RunError> {
        let processes = self.connector.hello().processes.iter();
        let mut subjects: Vec<Subject> = processes
            .map(|process| Subject {
                name: process.name.clone(),
                pid: Some(process.pid),
                with_children: true,
                folder: process.folder.clone(),
                ..Subject::default()
            })
            .collect();
        subjects.push(Subject {
            name: CONNECTOR.to_owned(),
            pid: self.connector.pid(),
            connector: Some(Arc::clone(&self.connector)),
            ..Subject::default()
        });
        Ok(subjects)
    }

    /// Returns the bytes of the folders that the connector names; `None` if it names none, or one cannot be read.
    fn disk_bytes(&self) -> Option<u64> {
        let processes = self.connector.hello().processes.iter();
        let folders = processes.filter_map(|process| process.folder.as_deref());
        let sizes: Option<Vec<u64>> = folders
            .map(|folder| Some(DiskUse::of(folder).ok()?.live_bytes))
            .collect();
        let sizes = sizes.filter(|sizes| !sizes.is_empty())?;
        Some(sizes.iter().sum())
    }

    fn died(&mut self) -> Option<RunError> {
        self.connector.ended().map(RunError::of("the connector"))
    }

    fn end_life<'a>(&'a mut self, mut end: LifeEnd<'a>) -> Boxed<'a, Result<(), RunError>> {
        self.life = None;
        let options = end.run.options;
        Box::pin(async move {
            let audit = async {
                tokio::select! {
                    result = self.connector.audit() => result,
                    () = asked_to_stop_long_ago(options) => AuditResult {
                        clean: false,
                        words: "the connector did not audit in time after the run was stopped".to_owned(),
                        transactions: 0,
                    },
                }
            };
            end.audit(audit).await;
            Ok(())
        })
    }

    fn tear_down(self: Box<Self>, _: bool, _: &Events) -> Boxed<'_, ()> {
        Box::pin(async move { self.connector.end().await })
    }
}

/// Waits for a stop, and then for as long as an audit may take after it.
async fn asked_to_stop_long_ago(options: &Options) {
    asked_to_stop(options).await;
    tokio::time::sleep(AUDIT_AFTER_STOP_MAX).await;
}
