//! An existing ledger, which is neither wiped nor restarted. Without nodes it serves work that needs none.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::RunError;
use super::event::{Events, Step};
use super::life::{Life, LifeEnd};
use super::next_stretch::NextStretch;
use super::shown::Shown;
use super::target::Target;
use crate::monitor::Subject;
use crate::topology::{ExternalNode, NetworkError, Who};
use crate::workload::{Boxed, Site, SiteNode, done};

/// RunContext nodes, or none.
pub(super) struct RunningLedger {
    banks: Vec<ExternalNode>,
    notary: Option<ExternalNode>,
    life: Option<Life>,
}

impl RunningLedger {
    /// Reads how to reach the nodes from their folders.
    pub fn open(banks: &[PathBuf], notary: Option<&Path>) -> Result<Self, NetworkError> {
        let banks = banks.iter();
        let banks: Result<Vec<ExternalNode>, NetworkError> = banks
            .map(|folder| ExternalNode::of_folder(folder))
            .collect();
        let notary = notary.map(ExternalNode::of_folder);
        Ok(Self {
            banks: banks?,
            notary: notary.transpose()?,
            life: None,
        })
    }

    fn connect(&self, seed: u64) -> Result<Site, RunError> {
        let node = |node: &ExternalNode| {
            let connected = SiteNode::connect(node.name.clone(), node.endpoint.clone(), 1);
            connected.map_err(NetworkError::from)
        };
        let banks: Result<Vec<SiteNode>, NetworkError> = self.banks.iter().map(node).collect();
        let notary = self.notary.as_ref().map(node).transpose()?;
        Ok(Site::new(banks?, notary, seed))
    }
}

impl Target for RunningLedger {
    fn site(&self) -> Option<&Arc<Site>> {
        self.life.as_ref().map(|life| &life.site)
    }

    fn can_continue(&self, _: &NextStretch<'_>) -> bool {
        true
    }

    fn prepare<'a>(&'a mut self, next: &'a NextStretch<'a>) -> Boxed<'a, Result<(), RunError>> {
        Box::pin(async move {
            let life = match self.life.take() {
                Some(life) => life,
                None => {
                    let site = self.connect(next.run.seed)?;
                    if site.banks() > 0 {
                        site.begin_among_others().await?;
                    }
                    Life::new(site)
                }
            };
            self.life.insert(life).prepare(next).await
        })
    }

    fn subjects(&self) -> Result<Vec<Subject>, RunError> {
        let subject = |who: Who, node: &ExternalNode| Subject {
            name: who.to_string(),
            endpoint: Some(node.endpoint.clone()),
            ..Subject::default()
        };
        let notary = self.notary.iter().map(|node| subject(Who::Notary, node));
        let banks = self.banks.iter().enumerate();
        let banks = banks.map(|(at, node)| subject(Who::Bank(at), node));
        Ok(notary.chain(banks).collect())
    }

    /// Takes back changes that the load has made, because the network continues without us.
    fn end_life<'a>(&'a mut self, mut end: LifeEnd<'a>) -> Boxed<'a, Result<(), RunError>> {
        let life = self.life.take();
        Box::pin(async move {
            let site = life.as_ref().map(|life| &*life.site);
            let taken = match site.filter(|site| site.banks() > 0) {
                Some(site) => take_back(site, end.run.events).await,
                None => Ok(()),
            };
            end.audit_ledger(life).await;
            taken
        })
    }

    fn tear_down(self: Box<Self>, _: bool, _: &Events) -> Boxed<'_, ()> {
        done(())
    }
}

async fn take_back(site: &Site, events: &Events) -> Result<(), RunError> {
    let step = Shown::begin(events, Step::TakingBack);
    let taken = site.take_back().await;
    let taken = taken.map_err(RunError::of("taking back what was given for the load"))?;
    let words = match taken {
        0 => String::new(),
        taken => format!("{taken} standing rights"),
    };
    step.end(&words);
    Ok(())
}
