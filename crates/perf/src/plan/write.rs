//! Writes a plan as TOML that reads back as the same plan.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::chain::{Bundlers, ChainPlan, ChainServers, default_accounts, default_chains};
use super::model::{
    Axis, ConnectorProgram, DatabaseKind, FaultKind, Link, Load, Network, NodeSettings,
    NotaryBackend, NotaryKind, Plan, PublishedLine, Restart, Run, Shape, Step, Target, Think, Work,
};
use crate::chain::Chain;

/// Below this, floats represent every whole number exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Plan {
    /// Returns the exact scenario with every default filled in. Reading it gives this plan again.
    pub fn to_toml(&self) -> String {
        self.to_table().to_string()
    }

    /// Returns the same as a table.
    pub(super) fn to_table(&self) -> Table {
        let mut table = Table::new();
        put(&mut table, "name", self.name.as_str());
        put(&mut table, "title", self.title.as_str());
        put(&mut table, "about", self.about.as_str());
        put(&mut table, "seed", whole(self.seed));
        put(&mut table, "main_metric", self.main_metric.as_str());
        match &self.chain {
            Some(plan) => {
                put(&mut table, "chain", chain(plan));
                put_list(&mut table, "work", &self.work, work);
            }
            None => {
                put(&mut table, "network", network(&self.network));
                put(&mut table, "work", list(&self.work, work));
            }
        }
        put(&mut table, "load", load(&self.load));
        put(&mut table, "run", run(&self.run));
        put_list(&mut table, "sweep", &self.sweep, axis);
        let mut monitors = Table::new();
        put(&mut monitors, "every_ms", whole(self.monitors.every_ms));
        put(&mut monitors, "metrics", self.monitors.metrics.clone());
        put(&mut monitors, "machine", self.monitors.machine);
        put(&mut table, "monitors", monitors);
        let mut audit = Table::new();
        put(&mut audit, "read_max", i64::from(self.audit.read_max));
        put(&mut table, "audit", audit);
        put_list(&mut table, "published", &self.published, published);
        table
    }
}

fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key.to_owned(), value.into());
}

fn put_list<T>(table: &mut Table, key: &str, things: &[T], one: impl Fn(&T) -> Table) {
    if !things.is_empty() {
        put(table, key, list(things, one));
    }
}

fn list<T>(things: &[T], one: impl Fn(&T) -> Table) -> Value {
    Value::Array(
        things
            .iter()
            .map(|thing| Value::Table(one(thing)))
            .collect(),
    )
}

/// Converts to TOML's signed whole number.
fn whole(number: u64) -> i64 {
    i64::try_from(number).expect("the range of every field ends at TOML's largest number")
}

/// Writes whole numbers without a fraction: `5`, not `5.0`.
fn number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < EXACT {
        Value::Integer(number as i64)
    } else {
        Value::Float(number)
    }
}

fn target(target: &Target) -> Table {
    let path = |path: &std::path::PathBuf| path.display().to_string();
    let mut table = Table::new();
    match target {
        Target::Nodes { banks, notary } => {
            let banks: Vec<String> = banks.iter().map(path).collect();
            put(&mut table, "banks", banks);
            if let Some(notary) = notary {
                put(&mut table, "notary", path(notary));
            }
        }
        Target::Connector(ConnectorProgram::Postgres) => put(&mut table, "connector", "postgres"),
        Target::Connector(ConnectorProgram::Command(words)) => {
            put(&mut table, "command", words.clone());
        }
    }
    table
}

fn network(network: &Network) -> Table {
    let mut table = Table::new();
    if let Some(target) = &network.target {
        put(&mut table, "target", self::target(target));
        return table;
    }
    put(&mut table, "banks", i64::from(network.banks));
    let notary = match network.notary {
        NotaryKind::Single => "single",
        NotaryKind::Validating => "validating",
        NotaryKind::Replicated { backend, workers } => {
            let backend = match backend {
                NotaryBackend::Galera => "galera",
                NotaryBackend::Postgres => "postgres",
            };
            put(&mut table, "notary_backend", backend);
            put(&mut table, "notary_workers", workers);
            "replicated"
        }
    };
    put(&mut table, "notary", notary);
    if network.requesters > 0 {
        put(&mut table, "requesters", network.requesters);
    }
    let database = match network.database {
        DatabaseKind::Embedded => "embedded",
        DatabaseKind::Postgres => "postgres",
    };
    put(&mut table, "database", database);
    if let Some(latency_ms) = network.database_latency_ms {
        put(&mut table, "database_latency_ms", latency_ms);
    }
    settings(&mut table, &network.settings);
    if let Some(between) = &network.link {
        put(&mut table, "link", link(between));
    }
    let nodes: Table = network
        .nodes
        .iter()
        .map(|(name, own)| (name.clone(), Value::Table(node(own))))
        .collect();
    if !nodes.is_empty() {
        put(&mut table, "nodes", nodes);
    }
    table
}

fn chain(plan: &ChainPlan) -> Table {
    let mut table = Table::new();
    match &plan.target {
        None => {
            put(&mut table, "nodes", i64::from(plan.nodes));
            put(&mut table, "profile", plan.profile.as_str());
            put(&mut table, "history", whole(plan.history));
            let bundlers = match plan.bundlers {
                Bundlers::First => "first",
                Bundlers::All => "all",
            };
            put(&mut table, "bundlers", bundlers);
            settings(&mut table, &plan.settings);
        }
        Some(target) => put(&mut table, "target", servers(target)),
    }
    put(&mut table, "block_s", i64::from(plan.block_s));
    // Writes defaults as defaults, so that a case of a sweep may have other nodes or fewer children.
    // All chains but the parent are children; without chains there are none.
    let children = plan.chains.len().saturating_sub(1);
    let children = u32::try_from(children).expect("a chain's id is one byte");
    match plan.chains == default_chains(children) {
        true => put(&mut table, "children", i64::from(children)),
        false => put(&mut table, "chains", list(&plan.chains, token)),
    }
    put(&mut table, "accounts", accounts(plan));
    put(&mut table, "batch", i64::from(plan.batch));
    if let Some(most) = plan.waiting_max {
        put(&mut table, "waiting_max", whole(most));
    }
    put(&mut table, "drain_s", number(plan.drain_s));
    put(
        &mut table,
        "deadline_minutes",
        i64::from(plan.deadline_minutes),
    );
    table
}

fn token(chain: &Chain) -> Table {
    let mut table = Table::new();
    put(&mut table, "id", i64::from(chain.id.0));
    put(&mut table, "name", chain.name.as_str());
    put(&mut table, "decimals", i64::from(chain.decimals));
    put(&mut table, "fee", whole(chain.fee));
    table
}

/// Writes the number of accounts, their passphrases, or each with its node.
fn accounts(plan: &ChainPlan) -> Value {
    let count = u32::try_from(plan.accounts.len()).expect("at most CHAIN_ACCOUNTS_MAX");
    let dealt = default_accounts(count, plan.nodes);
    if plan.accounts == dealt {
        return Value::Integer(i64::from(count));
    }
    let in_turn = plan
        .accounts
        .iter()
        .zip(&dealt)
        .all(|(account, dealt)| account.node == dealt.node);
    if in_turn {
        let passphrases = plan.accounts.iter();
        let passphrases =
            passphrases.map(|account| Value::String(account.passphrase.expose().clone()));
        return Value::Array(passphrases.collect());
    }
    list(&plan.accounts, |account| {
        let mut table = Table::new();
        put(
            &mut table,
            "passphrase",
            account.passphrase.expose().as_str(),
        );
        put(&mut table, "node", i64::from(account.node));
        table
    })
}

fn servers(target: &ChainServers) -> Table {
    let mut table = Table::new();
    match target {
        ChainServers::Tally(folders) => {
            let folders: Vec<String> = folders
                .iter()
                .map(|folder| folder.display().to_string())
                .collect();
            put(&mut table, "kind", "tally");
            put(&mut table, "servers", folders);
        }
        ChainServers::Nxt { urls, prepared } => {
            put(&mut table, "kind", "nxt");
            put(&mut table, "servers", urls.clone());
            put(
                &mut table,
                "signing",
                if *prepared { "prepared" } else { "passphrase" },
            );
        }
    }
    table
}

fn node(node: &NodeSettings) -> Table {
    let mut table = Table::new();
    settings(&mut table, &node.settings);
    if let Some(cores) = node.cores {
        put(&mut table, "cores", i64::from(cores));
    }
    if let Some(own) = &node.link {
        put(&mut table, "link", link(own));
    }
    table
}

fn link(link: &Link) -> Table {
    let mut table = Table::new();
    put(&mut table, "delay_ms", number(link.delay_ms));
    if let Some(mbit_per_s) = link.mbit_per_s {
        put(&mut table, "mbit_per_s", number(mbit_per_s));
    }
    table
}

fn settings(table: &mut Table, settings: &BTreeMap<String, Value>) {
    if settings.is_empty() {
        return;
    }
    let settings: Table = settings.clone().into_iter().collect();
    put(table, "settings", settings);
}

fn work(work: &Work) -> Table {
    let mut table: Table = work.knobs.clone().into_iter().collect();
    put(&mut table, "kind", work.kind.as_str());
    // A label equal to the kind is left out, so that a case that sets another kind gets that kind's label.
    if work.label != work.kind {
        put(&mut table, "label", work.label.as_str());
    }
    put(&mut table, "weight", i64::from(work.weight));
    table
}

fn load(load: &Load) -> Table {
    let mut table = Table::new();
    match load {
        Load::Closed(closed) => {
            put(&mut table, "outstanding", i64::from(closed.outstanding));
            let (think, ms) = match closed.think {
                Think::Fixed(ms) => ("fixed", ms),
                Think::Random(ms) => ("random", ms),
                Think::Uniform(ms) => ("uniform", ms),
            };
            put(&mut table, "think", think);
            put(&mut table, "think_ms", number(ms));
        }
        Load::Open(open) => {
            match &open.shape {
                Shape::Constant(rate) => put(&mut table, "rate", number(*rate)),
                Shape::Ramp { from, to } => {
                    let mut ramp = Table::new();
                    put(&mut ramp, "from", number(*from));
                    put(&mut ramp, "to", number(*to));
                    put(&mut table, "ramp", ramp);
                }
                Shape::Steps(steps) => put(&mut table, "steps", list(steps, step)),
            }
            put(&mut table, "poisson", open.poisson);
            put(
                &mut table,
                "outstanding_max",
                i64::from(open.outstanding_max),
            );
        }
        Load::Knee(knee) => {
            let mut inner = Table::new();
            put(&mut inner, "from_per_s", number(knee.from_per_s));
            put(&mut inner, "to_per_s", number(knee.to_per_s));
            put(&mut inner, "percentile", number(knee.percentile));
            put(&mut inner, "latency_ms", number(knee.latency_ms));
            put(&mut inner, "within", number(knee.within));
            put(&mut table, "knee", inner);
            put(
                &mut table,
                "outstanding_max",
                i64::from(knee.outstanding_max),
            );
        }
    }
    table
}

fn step(step: &Step) -> Table {
    let mut table = Table::new();
    put(&mut table, "per_s", number(step.per_s));
    put(&mut table, "seconds", number(step.seconds));
    table
}

fn run(run: &Run) -> Table {
    let mut table = Table::new();
    put(&mut table, "warm_up_s", number(run.warm_up_s));
    put(&mut table, "seconds", number(run.seconds));
    if let Some(count) = run.count {
        put(&mut table, "count", whole(count));
    }
    put(&mut table, "repeats", i64::from(run.repeats));
    put(&mut table, "interleave", run.interleave);
    let restart = match run.restart {
        Restart::Needed => "needed",
        Restart::Points => "points",
        Restart::Repeats => "repeats",
    };
    put(&mut table, "restart", restart);
    put(&mut table, "fresh", run.fresh);
    put(&mut table, "each_unit", run.each_unit);
    if let Some(fault) = &run.fault {
        let mut inner = Table::new();
        put(&mut inner, "node", fault.node.as_str());
        put(&mut inner, "at_s", number(fault.at_s));
        match fault.kind {
            FaultKind::Kill => put(&mut inner, "kind", "kill"),
            FaultKind::Freeze(for_s) => {
                put(&mut inner, "kind", "freeze");
                put(&mut inner, "for_s", number(for_s));
            }
        }
        put(&mut table, "fault", inner);
    }
    table
}

fn axis(axis: &Axis) -> Table {
    let mut table = Table::new();
    put(&mut table, "label", axis.label.as_str());
    let cases = list(&axis.cases, |case| {
        let mut table = Table::new();
        put(&mut table, "name", case.name.as_str());
        if let Some(at) = case.number {
            put(&mut table, "number", number(at));
        }
        if !case.set.is_empty() {
            let set: Table = case.set.clone().into_iter().collect();
            put(&mut table, "set", set);
        }
        table
    });
    put(&mut table, "case", cases);
    table
}

fn published(line: &PublishedLine) -> Table {
    let mut table = Table::new();
    put(&mut table, "label", line.label.as_str());
    put(&mut table, "source", line.source.as_str());
    if !line.url.is_empty() {
        put(&mut table, "url", line.url.as_str());
    }
    if !line.conditions.is_empty() {
        let conditions: Table = line
            .conditions
            .iter()
            .map(|(key, text)| (key.clone(), Value::String(text.clone())))
            .collect();
        put(&mut table, "conditions", conditions);
    }
    put(&mut table, "metric", line.metric.as_str());
    match line.values.get("") {
        Some(value) => put(&mut table, "value", number(*value)),
        None => {
            put(&mut table, "values", figures(&line.values));
        }
    }
    if !line.deviations.is_empty() {
        put(&mut table, "deviations", figures(&line.deviations));
    }
    table
}

fn figures(figures: &BTreeMap<String, f64>) -> Table {
    let figures = figures.iter();
    figures
        .map(|(case, value)| (case.clone(), number(*value)))
        .collect()
}
