//! A ledger of our own: its lives, and the preparations that they share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::care::{Shape, care, link_speeds};
use super::error::RunError;
use super::event::{Event, Events, Step};
use super::life::{Life, LifeEnd};
use super::next_stretch::NextStretch;
use super::own_network::{died, long_step, site, subjects};
use super::shown::Shown;
use super::stretch::outstanding;
use super::target::Target;
use crate::monitor::Subject;
use crate::plan::{self, Restart};
use crate::topology::{Network, NetworkError, PlacedProcess, Placement, Who};
use crate::workload::{Boxed, Site, SiteBooks, done};

/// The folder within a network's folder that holds copies of its data.
const SNAPSHOTS: &str = "snapshots";

/// A network of ledger nodes that this run brings up.
pub(super) struct OwnLedger {
    /// `None` only while a step is using it.
    network: Option<Network>,
    /// Whether anything was recorded since it was bootstrapped or wiped.
    used: bool,
    /// Copies of all nodes' data, with the matching books, by preparation key.
    snapshots: BTreeMap<String, (PathBuf, SiteBooks)>,
    life: Option<Life>,
    /// Remaining units prepared ahead in this life, by preparation key.
    ahead: BTreeMap<String, u64>,
    /// How long the slowest node took to start, if all were restarted for the next stretch.
    restart_time: Option<Duration>,
}

impl OwnLedger {
    /// Creates keys, certificates and folders. Nothing runs yet.
    pub async fn bootstrap(
        usual: PathBuf,
        shape: &Shape,
        hosts: &Placement,
    ) -> Result<Self, RunError> {
        if shape.binary.is_some() {
            hosts.refuse_other_binary()?;
        }
        let options = shape.options(usual, hosts);
        let made = tokio::task::spawn_blocking(move || Network::bootstrap(&options));
        Ok(Self {
            network: Some(made.await??),
            used: false,
            snapshots: BTreeMap::new(),
            life: None,
            ahead: BTreeMap::new(),
            restart_time: None,
        })
    }

    async fn step<T: Send + 'static>(
        &mut self,
        step: impl FnOnce(&mut Network) -> Result<T, NetworkError> + Send + 'static,
    ) -> Result<T, RunError> {
        let stepped = long_step(&mut self.network, step).await?;
        Ok(stepped.ok_or_else(gone)??)
    }

    fn network(&self) -> Result<&Network, RunError> {
        Ok(self.network.as_ref().ok_or_else(gone)?)
    }

    fn site_for(&self, next: &NextStretch<'_>) -> Result<Site, RunError> {
        let outstanding = outstanding(&next.plan.load);
        Ok(site(self.network()?, next.run.seed, outstanding)?)
    }

    /// Applies the scenario's configuration to every node. Nodes with a different configuration are restarted. Returns
    /// whether any was.
    async fn configure(&mut self, network: &plan::Network) -> Result<bool, RunError> {
        let plan = network.clone();
        self.step(move |network| {
            if let Some(links) = network.links() {
                links.set(link_speeds(&plan));
            }
            if let Some(latency_ms) = plan.database_latency_ms {
                network.set_database_latency(latency_ms);
            }
            network.configure(|who| care(&plan, who))
        })
        .await
    }

    /// Begins a prepared life: from a copy if there is one, otherwise from an empty network. If a stop was requested, no life
    /// begins: nothing has been measured yet, and the network is discarded with the units begun.
    async fn begin_life(&mut self, next: &NextStretch<'_>) -> Result<(), RunError> {
        let (events, key) = (next.run.events, &next.prepared.key);
        self.ahead.clear();
        let copy = self.snapshots.get(key).cloned();
        let is_up = self.network()?.pid(Who::Notary).is_some();
        if is_up && (self.used || copy.is_some()) {
            self.step(Network::stop_all).await?;
        }
        self.configure(&next.plan.network).await?;
        let was_used = std::mem::replace(&mut self.used, true);
        if let Some((folder, books)) = copy {
            let step = Shown::begin(events, Step::Restore);
            self.step(move |network| network.restore(&folder)).await?;
            self.life = Some(Life::restored(self.site_for(next)?, books, key));
            step.end("as prepared before");
            return Ok(());
        }
        if was_used {
            let step = Shown::begin(events, Step::Wipe);
            self.step(Network::wipe).await?;
            step.end("done");
        } else {
            let step = Shown::begin(events, Step::Network);
            self.step(Network::start_all).await?;
            step.end(&format!("{} banks and a notary", next.plan.network.banks));
        }
        let mut life = Life::new(self.site_for(next)?);
        if !next.is_made_ahead() {
            life.prepare(next).await?;
            if !life.has(&next.prepared) {
                return Ok(());
            }
            if next
                .prepared
                .is_needed_again(&next.later, next.plan.run.fresh)
            {
                let step = Shown::begin(events, Step::Snapshot);
                let books = life.site.books();
                self.snapshot(key, books.clone()).await?;
                life = Life::restored(self.site_for(next)?, books, key);
                step.end("kept for later");
            }
        }
        self.life = Some(life);
        Ok(())
    }

    /// Copies the data unchanged.
    async fn snapshot(&mut self, key: &str, books: SiteBooks) -> Result<(), RunError> {
        let number = self.snapshots.len().to_string();
        let copied = self.step(move |network| {
            let folder = network.root().join(SNAPSHOTS).join(number);
            network.snapshot(&folder)?;
            Ok(folder)
        });
        let folder = copied.await?;
        self.snapshots.insert(key.to_owned(), (folder, books));
        Ok(())
    }

    /// Continues the life: applies settings and restarts.
    async fn keep_life(&mut self, next: &NextStretch<'_>) -> Result<(), RunError> {
        let must_restart = match next.plan.run.restart {
            Restart::Needed => false,
            Restart::Points => next.is_other_point,
            Restart::Repeats => true,
        };
        let step = Shown::begin(next.run.events, Step::Restart);
        let mut restarted = self.configure(&next.plan.network).await?;
        if must_restart && !restarted {
            self.restart_time = Some(self.step(Network::restart_all).await?);
            restarted = true;
        }
        step.end(if restarted { "done" } else { "" });
        if restarted {
            let site = self.site_for(next)?;
            if let Some(life) = &mut self.life {
                site.restore(life.site.books());
                life.site = Arc::new(site);
            }
        }
        Ok(())
    }

    /// Takes a stretch's units from those prepared ahead. If they are too few, prepares for the remaining stretches
    /// first.
    async fn take_ahead(&mut self, next: &NextStretch<'_>) -> Result<(), RunError> {
        let Some(life) = &self.life else {
            return Ok(());
        };
        let prepared = &next.prepared;
        let there = self.ahead.entry(prepared.key.clone()).or_default();
        if *there < prepared.units {
            let units = prepared.units_ahead(&next.later);
            let words = format!("{units} units");
            if !next.prepare(&life.site, units, &words).await? {
                return Ok(());
            }
            *there += units;
        }
        *there -= prepared.units;
        Ok(())
    }
}

impl Target for OwnLedger {
    fn site(&self) -> Option<&Arc<Site>> {
        self.life.as_ref().map(|life| &life.site)
    }

    fn can_continue(&self, next: &NextStretch<'_>) -> bool {
        let prepared = &next.prepared;
        let is_fresh = next.plan.run.fresh && next.is_other_point;
        let has_all = |life: &Life| life.has(prepared) && !prepared.is_used_up() && !is_fresh;
        let life = self.life.as_ref();
        life.is_some_and(|life| next.is_made_ahead() || has_all(life))
    }

    fn prepare<'a>(&'a mut self, next: &'a NextStretch<'a>) -> Boxed<'a, Result<(), RunError>> {
        Box::pin(async move {
            self.restart_time = None;
            match self.life {
                None => self.begin_life(next).await?,
                Some(_) => self.keep_life(next).await?,
            }
            if next.is_made_ahead() {
                self.take_ahead(next).await?;
            }
            Ok(())
        })
    }

    fn restart_time(&self) -> Option<Duration> {
        self.restart_time
    }

    fn subjects(&self) -> Result<Vec<Subject>, RunError> {
        Ok(subjects(self.network()?)?)
    }

    fn disk_bytes(&self) -> Option<u64> {
        let size = self.network.as_ref()?.disk_use().ok()?;
        Some(size.live_bytes)
    }

    fn process(&self, node: &str) -> Option<PlacedProcess> {
        let network = self.network.as_ref()?;
        network.placed(network.find(node)?)
    }

    fn revive<'a>(&'a mut self, node: &'a str) -> Boxed<'a, Result<(), RunError>> {
        let node = node.to_owned();
        Box::pin(self.step(move |network| {
            let Some(who) = network.find(&node) else {
                return Ok(());
            };
            network.kill(who);
            network.start(who).map(drop)
        }))
    }

    fn died(&mut self) -> Option<RunError> {
        died(self.network.as_mut()?)
    }

    fn end_life<'a>(&'a mut self, mut end: LifeEnd<'a>) -> Boxed<'a, Result<(), RunError>> {
        let life = self.life.take();
        Box::pin(async move {
            end.audit_ledger(life).await;
            Ok(())
        })
    }

    fn set_aside(&mut self) -> Boxed<'_, Result<(), RunError>> {
        Box::pin(self.step(Network::stop_all))
    }

    fn tear_down(self: Box<Self>, keep: bool, events: &Events) -> Boxed<'_, ()> {
        if let Some(network) = self.network.filter(|_| keep) {
            let pids = network.everybody().into_iter();
            let pids = pids.filter_map(|who| network.pid(who)).collect();
            let folder = network.keep();
            events(Event::Kept { folder, pids });
        }
        done(())
    }
}

fn gone() -> NetworkError {
    NetworkError::Bootstrap("the network is gone".to_owned())
}
