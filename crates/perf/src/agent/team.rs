//! All agents of a run, as one generator.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use client::Endpoint;
use tokio::task::JoinSet;

use super::AgentAddress;
use super::channel::Token;
use super::error::{AgentError, LOST};
use super::member::{Following, Halt, Member};
use super::merge::{Part, merge};
use super::split;
use super::wire::{ChainJob, Job, NodeAccess};
use crate::chain::backlog::Share;
use crate::load::engine::knee::{Next, Search, meets};
use crate::load::engine::{Clock, LoadEnvironment, Real, Settings};
use crate::measure::whole_micros;
use crate::plan::{ChainPlan, ChainServers, Knee, Load, Open, Shape, Work};
use crate::results::{Stretch, Trial};
use crate::workload::{Failed, Site, SiteBooks, UNITS_EACH};

/// Delay between the readiness of all agents and the beginning, so that the message reaches all of them.
const LEAD: Duration = Duration::from_millis(300);
/// Between two signs of life to agents that wait for others.
const ALIVE_EVERY: Duration = Duration::from_secs(5);
/// After an agent's death: how often and how many times it is looked at whether its flows have come to rest.
const SETTLE_EVERY: Duration = Duration::from_millis(500);
const SETTLE_LOOKS_MAX: u32 = 120;

/// The work of a stretch, and the nodes of the banks that do it.
#[derive(Clone)]
pub struct Task {
    /// Banks in order: legal name, and how to reach its API.
    pub banks: Vec<(String, Endpoint)>,
    /// Streams that each agent opens to each.
    pub streams: u32,
    /// A chain instead of banks.
    pub chain: Option<ChainTask>,
    /// The scenario's work.
    pub work: Vec<Work>,
    /// Decides which work a unit is.
    pub mix_seed: u64,
    /// Maximum number of workers of an open loop, over all agents.
    pub workers_max: u32,
}

/// A chain to load, and how agents reach its nodes.
#[derive(Clone)]
pub struct ChainTask {
    plan: ChainPlan,
    nodes: Vec<Endpoint>,
}

impl ChainTask {
    /// Returns the task for a chain. `nodes` are those of ours; the plan has the addresses of servers of the Ardor/Nxt family.
    #[must_use]
    pub fn new(plan: &ChainPlan, nodes: &[Endpoint]) -> Self {
        let is_ours = matches!(plan.target, Some(ChainServers::Tally(_)));
        Self {
            plan: ChainPlan {
                // Agents need neither the folders nor the settings of nodes.
                target: plan.target.clone().filter(|_| !is_ours),
                settings: BTreeMap::new(),
                ..plan.clone()
            },
            nodes: nodes.to_vec(),
        }
    }

    fn job(&self, share: Share) -> ChainJob {
        let nodes = self.nodes.iter().enumerate();
        let node = |(at, endpoint)| NodeAccess::new(&format!("node-{}", at + 1), endpoint);
        ChainJob {
            plan: self.plan.clone(),
            nodes: nodes.map(node).collect(),
            share,
        }
    }
}

/// The outcome of a stretch.
pub struct TeamOutcome {
    /// The merged stretch of all agents.
    pub stretch: Stretch,
    /// The reason if it stopped early.
    pub failure: Option<Failed>,
}

/// All agents of a run. They act as one generator.
pub struct Team {
    members: Vec<Member>,
    lost: u32,
}

impl Team {
    /// Connects to all agents. Fails if one cannot be reached.
    pub async fn connect(addresses: &[AgentAddress], token: &Token) -> Result<Self, AgentError> {
        let mut members = Vec::with_capacity(addresses.len());
        for address in addresses {
            members.push(Member::connect(address.clone(), token).await?);
        }
        Ok(Self { members, lost: 0 })
    }

    /// Returns the address and certificate fingerprint of each agent.
    pub fn members(&self) -> impl Iterator<Item = (String, String)> {
        let members = self.members.iter();
        members.map(|member| (member.address.to_string(), member.fingerprint.to_string()))
    }

    /// Sends a keep-alive to all agents. Agents give up a coordinator that is silent for half a minute.
    pub async fn alive(&self) {
        for member in &self.members {
            signs_of_life(member).await;
        }
    }

    /// Puts a load on the network from all agents; see [`crate::load::engine::stretch`], whose meaning it has.
    pub async fn stretch(
        &mut self,
        clock: &Real,
        task: &Task,
        load: &Load,
        settings: &Settings,
        around: &LoadEnvironment,
        site: &Arc<Site>,
    ) -> TeamOutcome {
        let Load::Knee(knee) = load else {
            return self.once(clock, task, load, settings, around, site).await;
        };
        self.search(clock, task, knee, settings, around, site).await
    }

    async fn search(
        &mut self,
        clock: &Real,
        task: &Task,
        knee: &Knee,
        settings: &Settings,
        around: &LoadEnvironment,
        site: &Arc<Site>,
    ) -> TeamOutcome {
        let mut search = Search::new(knee);
        let mut last = None;
        let mut trials = Vec::new();
        for trial in 0u64.. {
            let (per_s, samples) = match search.next() {
                Next::Try(per_s) => (per_s, None),
                Next::Confirm(per_s) => (per_s, around.samples.clone()),
                Next::Below => break,
            };
            let load = Load::Open(Open {
                shape: Shape::Constant(per_s),
                poisson: true,
                outstanding_max: knee.outstanding_max,
            });
            let settings = Settings {
                seed: settings.seed.wrapping_add(trial),
                ..settings.clone()
            };
            let around = LoadEnvironment {
                samples,
                ..around.clone()
            };
            let trial = self
                .once(clock, task, &load, &settings, &around, site)
                .await;
            let is_cut_short = trial.failure.is_some() || around.stop.is_asked();
            if !is_cut_short {
                trials.push(Trial::of(per_s, &trial.stretch));
            }
            let over = is_cut_short || search.tell(meets(knee, &trial.stretch));
            last = Some(trial);
            if over {
                break;
            }
        }
        let mut together = last.unwrap_or_else(|| nobody(None));
        together.stretch.tried = search.tried().to_vec();
        together.stretch.trials = trials;
        together
    }

    async fn once(
        &mut self,
        clock: &Real,
        task: &Task,
        load: &Load,
        settings: &Settings,
        around: &LoadEnvironment,
        site: &Arc<Site>,
    ) -> TeamOutcome {
        let weights: Vec<u32> = self
            .members
            .iter()
            .map(|member| member.address.weight)
            .collect();
        let loads = split::loads(load, &weights);
        let counts = split::counts(settings, &weights, &loads);
        let stagger = split::stagger(load, self.members.len());
        let busy = loads.iter().filter(|load| load.is_some()).count();
        let working = weights.iter().zip(&loads);
        let working = working.filter_map(|(weight, load)| load.as_ref().map(|_| *weight));
        let all = working.fold(0u32, u32::saturating_add);
        let mut dealt = site.with_books(|books| books.deal(busy)).into_iter();
        let units = UNITS_EACH * busy as u64;
        let mut units_from = around.units.fetch_add(units, Ordering::AcqRel);
        let mut preparing = JoinSet::new();
        let mut idle = Vec::new();
        let members = std::mem::take(&mut self.members).into_iter();
        for (at, (member, (load, count))) in members.zip(loads.into_iter().zip(counts)).enumerate()
        {
            let Some((load, books)) = load.and_then(|load| Some((load, dealt.next()?))) else {
                idle.push(member);
                continue;
            };
            let job = job(
                task,
                load,
                count,
                settings,
                around,
                books,
                AgentPart {
                    at: at as u64,
                    units_from,
                    share: Share {
                        own: weights[at],
                        all,
                    },
                },
            );
            units_from += UNITS_EACH;
            preparing.spawn(prepare(member, job, *clock, stagger[at]));
        }
        let mut ready: Vec<(Member, SiteBooks, i64, f64)> = Vec::new();
        let lost_before = self.lost;
        let mut failure = None;
        loop {
            let prepared = tokio::select! {
                prepared = preparing.join_next() => prepared,
                // Agents that are ready wait for the others.
                () = tokio::time::sleep(ALIVE_EVERY) => {
                    for (member, ..) in &ready {
                        signs_of_life(member).await;
                    }
                    continue;
                }
            };
            let Some(prepared) = prepared else {
                break;
            };
            match prepared {
                Ok((member, books, Ok(ahead), stagger)) => {
                    ready.push((member, books, ahead, stagger))
                }
                Ok((member, books, Err(halt), _)) => {
                    // The agent has done nothing, so its share of the books is returned.
                    site.with_books(|all| all.join(books, |at_ms| at_ms));
                    match halt {
                        Halt::Gone => self.lost += 1,
                        Halt::Failed(failed) => {
                            failure.get_or_insert(of(&member, failed));
                            idle.push(member);
                        }
                    }
                }
                Err(error) => {
                    failure.get_or_insert(Failed::new(LOST, error.to_string()));
                }
            }
        }
        if failure.is_some() || ready.is_empty() || around.stop.is_asked() {
            for (member, books, ..) in ready {
                member.forget().await;
                site.with_books(|all| all.join(books, |at_ms| at_ms));
                idle.push(member);
            }
            self.members = idle;
            self.order();
            let nobody_left = self.members.is_empty();
            failure =
                failure.or_else(|| nobody_left.then(|| Failed::new(LOST, "no agent is left")));
            return nobody(failure);
        }
        let lost_preparing = self.lost - lost_before;
        let parts = self
            .followed(clock, around, site, ready, &mut idle, &mut failure)
            .await;
        self.members = idle;
        self.order();
        if parts.iter().any(|part| part.lost) {
            settle(site).await;
        }
        if self.members.is_empty() {
            failure.get_or_insert(Failed::new(LOST, "every agent was lost"));
        }
        let mut stretch = merge(parts);
        // Agents that died before the beginning take no part in the stretch.
        stretch.generator.agents += lost_preparing;
        stretch.generator.agents_lost += lost_preparing;
        TeamOutcome { stretch, failure }
    }

    /// Has all that are ready begin, and follows them to the end; those that live go to `back`.
    async fn followed(
        &mut self,
        clock: &Real,
        around: &LoadEnvironment,
        site: &Arc<Site>,
        ready: Vec<(Member, SiteBooks, i64, f64)>,
        back: &mut Vec<Member>,
        failure: &mut Option<Failed>,
    ) -> Vec<Part> {
        let begin = clock.now() + LEAD;
        let outstanding = ready.iter().map(|_| AtomicU64::new(0)).collect();
        let outstanding: Arc<Vec<AtomicU64>> = Arc::new(outstanding);
        let mut running = JoinSet::new();
        for (at, (mut member, _, ahead, stagger)) in ready.into_iter().enumerate() {
            let following = Following {
                site: Arc::clone(site),
                around: around.clone(),
                clock: *clock,
                outstanding: Arc::clone(&outstanding),
                at,
            };
            let begin = begin + Duration::from_secs_f64(stagger);
            let begin_us = whole_micros(begin);
            running.spawn(async move {
                let (part, halt) = member.follow(begin_us, ahead, &following).await;
                (member, part, halt)
            });
        }
        let mut parts = Vec::new();
        loop {
            let ended = tokio::select! {
                ended = running.join_next() => ended,
                () = tokio::time::sleep(ALIVE_EVERY) => {
                    for member in back.iter() {
                        signs_of_life(member).await;
                    }
                    continue;
                }
            };
            let Some(ended) = ended else {
                break;
            };
            match ended {
                Ok((member, part, halt)) => {
                    match halt {
                        None => back.push(member),
                        Some(Halt::Gone) => self.lost += 1,
                        Some(Halt::Failed(failed)) => {
                            failure.get_or_insert(of(&member, failed));
                            back.push(member);
                        }
                    }
                    parts.push(part);
                }
                Err(error) => {
                    failure.get_or_insert(Failed::new(LOST, error.to_string()));
                }
            }
        }
        parts
    }

    /// Sorts the agents, so that the shares are the same each time.
    fn order(&mut self) {
        self.members
            .sort_by(|one, other| one.address.address.cmp(&other.address.address));
    }
}

/// Sends a sign of life. A dead agent is detected at its next use.
async fn signs_of_life(member: &Member) {
    let _ = member.alive().await;
}

/// Returns an empty result, for a stretch that no agent ran.
fn nobody(failure: Option<Failed>) -> TeamOutcome {
    TeamOutcome {
        stretch: Stretch::default(),
        failure,
    }
}

fn of(member: &Member, mut failed: Failed) -> Failed {
    failed.fault.message = format!("agent {}: {}", member.address, failed.fault.message);
    failed
}

async fn prepare(
    mut member: Member,
    job: Job,
    clock: Real,
    stagger: f64,
) -> (Member, SiteBooks, Result<i64, Halt>, f64) {
    let books = job.books.clone();
    let ahead = member.prepare(job, &clock).await;
    (member, books, ahead, stagger)
}

/// The part of a load that one agent generates.
struct AgentPart {
    /// Its position.
    at: u64,
    /// Its first unit's number.
    units_from: u64,
    share: Share,
}

fn job(
    task: &Task,
    load: Load,
    count: Option<u64>,
    settings: &Settings,
    around: &LoadEnvironment,
    books: SiteBooks,
    part: AgentPart,
) -> Job {
    let workers = match &load {
        Load::Closed(closed) => closed.outstanding,
        Load::Open(open) => open.outstanding_max.min(task.workers_max.max(1)),
        Load::Knee(_) => 1,
    };
    let banks = task.banks.iter();
    Job {
        banks: banks
            .map(|(name, endpoint)| NodeAccess::new(name, endpoint))
            .collect(),
        streams: task.streams,
        chain: task.chain.as_ref().map(|chain| chain.job(part.share)),
        work: task.work.clone(),
        mix_seed: task.mix_seed,
        load,
        workers,
        warm_up_us: whole_micros(settings.warm_up),
        measured_us: whole_micros(settings.measured),
        count,
        seed: settings.seed ^ part.at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        units_from: part.units_from,
        unfinished_after_us: whole_micros(settings.unfinished_after),
        books,
        rows: around.samples.is_some(),
    }
}

/// Waits until the flows of a dead agent have come to rest: until the ledgers stop growing.
async fn settle(site: &Site) {
    let mut before: Option<BTreeMap<usize, u64>> = None;
    for _ in 0..SETTLE_LOOKS_MAX {
        let mut now = BTreeMap::new();
        for at in 0..site.banks() {
            if let Ok(bank) = site.bank(at)
                && let Ok(health) = bank.client().health().await
            {
                now.insert(at, health.ledger_seq);
            }
        }
        if before.as_ref() == Some(&now) {
            return;
        }
        before = Some(now);
        tokio::time::sleep(SETTLE_EVERY).await;
    }
}
