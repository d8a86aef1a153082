//! A chain as a target. Each stretch has its own life, from a new chain's genesis to its audit. A running chain goes on.
//!
//! ```text
//! nodes up -> balances noted -> load, look-outs on every node -> pools empty -> forging stops -> one tip -> audit -> result
//!          -> size of the first node's database: exported, after a shutdown, after a restart
//! ```
//! The steps after the load belong to every stretch, even after a failure.

mod nodes;
mod settle;
mod sizes;
mod sync;

use std::path::PathBuf;
use std::sync::Arc;

use super::error::RunError;
use super::event::{Event, Events, Step};
use super::life::{LifeEnd, lost_host};
use super::next_stretch::{NextStretch, RunContext};
use super::shown::Shown;
use super::target::Target;
use crate::agent::ChainTask;
use crate::chain::ChainSite;
use crate::chain::audit::{self, Audited, Question, Start};
use crate::chain::backlog::{Backlog, Share};
use crate::chain::left::{count_as_failed, measured_left};
use crate::chain::line::Line;
use crate::chain::outcome::outcome;
use crate::chain::result_input::ResultInput;
use crate::chain::watch::Watch;
use crate::monitor::Subject;
use crate::plan::{ChainPlan, Load, Plan};
use crate::results::Stretch;
use crate::topology::PlacedProcess;
use crate::workload::{Boxed, Site, done};
use nodes::ChainNodes;
pub use sync::{Synced, sync};

/// A chain under load: nodes of ours, brought up or running, or servers of the Ardor/Nxt family.
pub(super) struct ChainUnderLoad {
    plan: ChainPlan,
    /// The executable of nodes that are brought up.
    binary: PathBuf,
    life: Option<ChainLife>,
}

/// The life of a chain: one stretch.
struct ChainLife {
    nodes: ChainNodes,
    site: Arc<Site>,
    /// The chain before the load.
    start: Start,
    /// A look-out on each node.
    watches: Vec<Watch>,
}

impl ChainUnderLoad {
    /// Nothing runs yet.
    pub fn new(plan: &ChainPlan, binary: PathBuf) -> Self {
        Self {
            plan: plan.clone(),
            binary,
            life: None,
        }
    }
}

impl Target for ChainUnderLoad {
    fn site(&self) -> Option<&Arc<Site>> {
        self.life.as_ref().map(|life| &life.site)
    }

    fn can_continue(&self, _: &NextStretch<'_>) -> bool {
        false
    }

    fn prepare<'a>(&'a mut self, next: &'a NextStretch<'a>) -> Boxed<'a, Result<(), RunError>> {
        Box::pin(async move {
            let binary = self.binary.clone();
            let nodes =
                ChainNodes::begin(&self.plan, binary, &next.run.options.hosts, next.run.events)
                    .await?;
            self.life = Some(ChainLife::begin(nodes, &self.plan, next.run).await?);
            Ok(())
        })
    }

    fn subjects(&self) -> Result<Vec<Subject>, RunError> {
        let life = self.life.as_ref();
        Ok(life.map_or(Vec::new(), |life| life.nodes.subjects()))
    }

    fn disk_bytes(&self) -> Option<u64> {
        self.life.as_ref()?.nodes.disk_bytes()
    }

    fn process(&self, node: &str) -> Option<PlacedProcess> {
        self.life.as_ref()?.nodes.process(node)
    }

    fn chain_for_agents(&self) -> Option<ChainTask> {
        Some(ChainTask::new(
            &self.plan,
            self.life.as_ref()?.nodes.endpoints(),
        ))
    }

    fn revive<'a>(&'a mut self, node: &'a str) -> Boxed<'a, Result<(), RunError>> {
        match &mut self.life {
            Some(life) => Box::pin(life.nodes.revive(node)),
            None => done(Ok(())),
        }
    }

    fn died(&mut self) -> Option<RunError> {
        self.life.as_mut()?.nodes.died()
    }

    /// Waits until the chain has settled, audits it, reads the sizes of its database, and takes the nodes down.
    fn end_life<'a>(&'a mut self, mut end: LifeEnd<'a>) -> Boxed<'a, Result<(), RunError>> {
        Box::pin(async move {
            let Some(mut life) = self.life.take() else {
                return Ok(());
            };
            if let Some(plan) = end.last.as_ref().map(|last| last.plan) {
                let hosts = &end.run.options.hosts;
                tokio::select! {
                    () = life.audit(&self.plan, plan, &mut end) => {}
                    // Nothing that still waits for a node there would end in reasonable time.
                    lost = hosts.until_lost() => end.audit(async { lost_host(&lost) }).await,
                }
            }
            if end.keep {
                self.life = Some(life);
                return Ok(());
            }
            let mut nodes = life.nodes;
            let died = nodes.died();
            let last = end.last.and_then(|last| last.stretch);
            if let Some(chain) = last.and_then(|stretch| stretch.chain.as_mut())
                && died.is_none()
            {
                chain.sizes = nodes
                    .store_sizes(chain.transactions, end.run.events)
                    .await?;
            }
            nodes.take_down().await;
            died.map_or(Ok(()), Err)
        })
    }

    fn tear_down(self: Box<Self>, keep: bool, events: &Events) -> Boxed<'_, ()> {
        let life = self.life.filter(|_| keep);
        if let Some((folder, pids)) = life.and_then(|life| life.nodes.keep()) {
            events(Event::Kept { folder, pids });
        }
        done(())
    }
}

impl ChainLife {
    /// Notes the balances, and begins to watch the nodes.
    async fn begin(
        mut nodes: ChainNodes,
        plan: &ChainPlan,
        run: RunContext<'_>,
    ) -> Result<Self, RunError> {
        let accounts = plan.accounts.len();
        let first = nodes.targets().first().cloned();
        let first = first.expect("a plan has at least one node");
        let start = match audit::start(&*first, accounts).await {
            Ok(start) => start,
            // A node that ended explains more than the failure that followed.
            Err(fault) => {
                let failed = RunError::of("reading balances")(fault);
                return Err(nodes.died().unwrap_or(failed));
            }
        };
        let targets = nodes.targets();
        // Agents watch the pools themselves.
        let most = plan.waiting_max.filter(|_| run.options.agents.is_none());
        let backlog = most.map(|most| Arc::new(Backlog::new(most, targets.len(), Share::WHOLE)));
        let watch = |(at, target)| {
            let backlog = backlog.clone().map(|backlog| (backlog, at));
            Watch::begin(Arc::clone(target), start.height + 1, run.epoch, backlog)
        };
        let watches = targets.iter().enumerate().map(watch).collect();
        let chains = plan.chains.iter().map(|chain| chain.id).collect();
        let chain = ChainSite::new(targets, chains, accounts, plan.batch as usize, backlog);
        Ok(Self {
            site: Arc::new(Site::new(Vec::new(), None, run.seed).with_chain(chain)),
            start,
            watches,
            nodes,
        })
    }

    /// Waits until the chain has settled, audits it, and completes the result of the stretch. Failures to settle are ignored,
    /// because the audit finds them and names the nodes.
    async fn audit(&mut self, chain: &ChainPlan, plan: &Plan, end: &mut LifeEnd<'_>) {
        let step = Shown::begin(end.run.events, Step::Settle);
        let (well, words) = settle::settle(self.nodes.targets(), chain).await;
        step.close(well, &words);
        let ((accepted, every), total) = self.site.with_books(|books| {
            let payments = books.payments();
            (payments.kept(), payments.total())
        });
        let question = Question {
            targets: self.nodes.targets(),
            chains: &chain.chains,
            accounts: chain.accounts.len(),
            accepted: &accepted,
            every,
            start: &self.start,
            read_max: u64::from(plan.audit.read_max),
        };
        let mut audited = Audited::default();
        end.audit(async {
            audited = audit::audit(&question).await;
            audited.result.clone()
        })
        .await;
        let last = end.last.as_mut();
        let Some(stretch) = last.and_then(|last| last.stretch.as_mut()) else {
            return;
        };
        let lines: Vec<Line> = self.watches.iter().map(Watch::line).collect();
        let seen = ResultInput {
            lines: &lines,
            audited: &audited,
            accepted: &accepted,
            total,
            chains: &chain.chains,
            measured_ms: measured_ms(plan, stretch),
            began_s: self.start.time_s,
            block_s: f64::from(chain.block_s),
            processes: &stretch.processes,
        };
        let (result, left) = (outcome(&seen), measured_left(&seen));
        count_as_failed(stretch, left);
        stretch.chain = Some(Box::new(result));
    }
}

/// Returns the begin and the end of a measurement, milliseconds since the scenario began.
fn measured_ms(plan: &Plan, stretch: &Stretch) -> (u64, u64) {
    let seconds = match plan.load {
        // A search's figures are those of its last trial.
        Load::Knee(_) => stretch.seconds,
        Load::Closed(_) | Load::Open(_) => stretch.seconds.min(plan.run.seconds),
    };
    let began = stretch.started_ms;
    (began, began + (seconds * 1000.0) as u64)
}
