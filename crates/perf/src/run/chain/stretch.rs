//! One measured stretch on a chain, with its audit.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::ground::Ground;
use super::settle;
use crate::chain::audit::{self, Question};
use crate::chain::backlog::Backlog;
use crate::chain::books::Books;
use crate::chain::line::Line;
use crate::chain::outcome::{ResultInput, outcome};
use crate::chain::payments::Payments;
use crate::chain::watch::Watch;
use crate::load::engine::{
    self, LoadEnvironment, Real, SampleSink, Settings, Stop, UNFINISHED_AFTER,
};
use crate::load::{Fault, Live};
use crate::monitor::{Monitor, Options as Watching};
use crate::plan::{ChainPlan, Load, Plan};
use crate::results::{AuditResult, Stretch};
use crate::run::course::shown::Shown;
use crate::run::error::RunError;
use crate::run::event::{Event, Events, Step};
use crate::run::stretch::{expected_seconds, growth, seconds};

/// Minimum time limit for reaching one tip, and the limit in block times.
const SETTLE_MIN: Duration = Duration::from_secs(30);
const SETTLE_BLOCKS: u32 = 6;

/// The input of a stretch.
pub(super) struct Measure<'a> {
    /// The point's plan.
    pub plan: &'a Plan,
    pub chain: &'a ChainPlan,
    pub ground: &'a Ground,
    /// Its point and repeat, for people.
    pub label: String,
    pub labels: Vec<String>,
    /// The origin of the scenario's time axis.
    pub epoch: Instant,
    pub units: Arc<AtomicU64>,
    /// The seed of all its random choices.
    pub seed: u64,
    pub stop: Stop,
    pub samples: Option<SampleSink>,
    pub events: &'a Events,
}

/// The result of a stretch.
pub(super) struct Measured {
    pub stretch: Stretch,
    pub audit: AuditResult,
}

impl Measure<'_> {
    /// Loads, lets the chain settle, audits.
    pub async fn run(self) -> Result<Measured, RunError> {
        let targets = self.ground.targets();
        let accounts = self.chain.accounts.len();
        let first = targets
            .first()
            .ok_or_else(|| said("a target", no_target()))?;
        let start = audit::start(&**first, accounts)
            .await
            .map_err(|fault| said("reading balances", fault))?;
        let books = Arc::new(Books::default());
        let most = self.chain.waiting_max;
        let backlog = most.map(|most| Arc::new(Backlog::new(most, targets.len())));
        let watches: Vec<Watch> = targets
            .iter()
            .enumerate()
            .map(|(at, target)| {
                let backlog = backlog.clone().map(|backlog| (backlog, at));
                Watch::begin(Arc::clone(target), start.height + 1, self.epoch, backlog)
            })
            .collect();
        let mut stretch = self.loaded(&books, backlog).await;
        (self.events)(Event::Loaded {
            label: self.label.clone(),
            stretch: Arc::new(stretch.clone()),
        });
        self.settle().await;
        let step = Shown::begin(self.events, Step::Audit);
        let (accepted, every) = books.kept();
        let question = Question {
            targets,
            chains: &self.chain.chains,
            accounts,
            accepted: &accepted,
            every,
            start: &start,
            read_max: u64::from(self.plan.audit.read_max),
        };
        let audited = audit::audit(&question).await;
        step.close(audited.result.clean, &audited.result.words);
        (self.events)(Event::Audited(audited.result.clone()));
        let lines: Vec<Line> = watches.iter().map(Watch::line).collect();
        let measured_s = match self.plan.load {
            // A search's figures are those of its last trial.
            Load::Knee(_) => stretch.seconds,
            Load::Closed(_) | Load::Open(_) => stretch.seconds.min(self.plan.run.seconds),
        };
        let began = stretch.started_ms;
        let seen = ResultInput {
            lines: &lines,
            audited: &audited,
            accepted: &accepted,
            total: books.total(),
            chains: &self.chain.chains,
            measured_ms: (began, began + (measured_s * 1000.0) as u64),
            began_s: start.time_s,
            block_s: f64::from(self.chain.block_s),
            processes: &stretch.processes,
        };
        let result = outcome(&seen);
        for left in &result.left {
            stretch.faults.push(left.clone());
        }
        stretch.chain = Some(Box::new(result));
        Ok(Measured {
            stretch,
            audit: audited.result,
        })
    }

    async fn loaded(&self, books: &Arc<Books>, backlog: Option<Arc<Backlog>>) -> Stretch {
        let chains = self.chain.chains.iter().map(|chain| chain.id).collect();
        let batch = self.chain.batch as usize;
        let targets = self.ground.targets();
        let payments = Payments::new(
            targets,
            chains,
            self.chain.accounts.len(),
            batch,
            Arc::clone(books),
        )
        .held_by(backlog);
        let live = Arc::new(Live::default());
        (self.events)(Event::Load {
            label: self.label.clone(),
            seconds: expected_seconds(self.plan),
            live: Arc::clone(&live),
        });
        let run = &self.plan.run;
        let settings = Settings {
            warm_up: seconds(run.warm_up_s),
            measured: seconds(run.seconds),
            count: run.count,
            seed: self.seed,
            labels: self.labels.clone(),
            unfinished_after: UNFINISHED_AFTER,
        };
        let around = LoadEnvironment {
            live,
            stop: self.stop.clone(),
            samples: self.samples.clone(),
            slices: None,
            units: Arc::clone(&self.units),
        };
        let monitor = self.monitor().await;
        let disk_before = self.ground.disk_bytes();
        let clock = Real::since(self.epoch);
        let driven = Arc::new(payments);
        let mut stretch = engine::stretch(
            &clock,
            &driven,
            &self.plan.load,
            &settings,
            &around,
            async {},
        )
        .await;
        stretch.disk_bytes = growth(disk_before, self.ground.disk_bytes());
        if let Some(monitor) = monitor {
            let watched = monitor.stop().await;
            stretch.processes = watched.processes;
            stretch.metrics = watched.metrics;
        }
        stretch
    }

    async fn monitor(&self) -> Option<Monitor> {
        let monitors = &self.plan.monitors;
        if monitors.every_ms == 0 {
            return None;
        }
        let options = Watching {
            every: Duration::from_millis(monitors.every_ms),
            metrics: monitors.metrics.clone(),
            epoch: self.epoch,
        };
        Some(Monitor::start(self.ground.subjects(), options).await)
    }

    /// Waits until the chain has settled. Failures are ignored here, because the audit finds them and names the nodes.
    async fn settle(&self) {
        let targets = self.ground.targets();
        let step = Shown::begin(self.events, Step::Settle);
        let begun = Instant::now();
        let drained = settle::drained(targets, seconds(self.chain.drain_s)).await;
        let patience =
            SETTLE_MIN.max(Duration::from_secs(u64::from(self.chain.block_s)) * SETTLE_BLOCKS);
        let one = settle::one_tip(targets, patience).await;
        let (well, words) = match (drained, one) {
            (Ok(true), Ok(true)) => (
                true,
                format!(
                    "pools empty, one tip after {:.1} s",
                    begun.elapsed().as_secs_f64()
                ),
            ),
            (Ok(false), _) => (
                false,
                format!("pools are not empty after {} s", self.chain.drain_s),
            ),
            (_, Ok(false)) => (
                false,
                format!("no common tip within {} s", patience.as_secs()),
            ),
            (Err(fault), _) | (_, Err(fault)) => (false, fault.to_string()),
        };
        step.close(well, &words);
    }
}

fn said(what: &'static str, fault: Fault) -> RunError {
    RunError::Chain { what, fault }
}

fn no_target() -> Fault {
    Fault {
        code: crate::run::error::RUN_FAILED.to_owned(),
        message: "there is no node".to_owned(),
    }
}
