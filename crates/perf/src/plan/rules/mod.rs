//! Refuses contradictions between keys, and values that another part of the program refuses.

mod chain;
mod published;
mod run;
mod sweep;
mod work;

use super::checks::Checks;
use super::complete::{self, plain_name};
use super::document::Document;
use super::limits::{NAME_CHARS_MAX, SECONDS_MAX};
use super::model::{Load, Plan, Shape};
use super::network::{DatabaseKind, Network, NotaryKind, Target};
use super::problems::Problems;

/// The minimum interval between two readings of a process. Below it, the readings distort the result.
const EVERY_MS_MIN: u64 = 50;
/// The kinds of load. A scenario has exactly one.
const WAYS: [&str; 5] = ["outstanding", "rate", "ramp", "steps", "knee"];

/// A scenario to check: its document, for the keys that it has and their places, and the plan made of it.
struct Rules<'r, 'p> {
    document: &'r Document,
    plan: &'r Plan,
    checks: &'r dyn Checks,
    problems: &'r mut Problems<'p>,
}

/// Checks a plan against the document that it was made of.
pub(super) fn check(
    document: &Document,
    plan: &Plan,
    checks: &dyn Checks,
    problems: &mut Problems<'_>,
) {
    let mut rules = Rules {
        document,
        plan,
        checks,
        problems,
    };
    rules.top();
    if let Some(chain) = &plan.chain {
        rules.chain(chain);
    }
    rules.network(&plan.network);
    rules.load();
    rules.run();
    rules.work();
    rules.sweep();
    rules.published();
}

impl Rules<'_, '_> {
    /// Notes a problem with the value of a path.
    fn wrong(&mut self, path: &str, message: impl Into<String>) {
        self.problems.wrong(self.document.at(path), message);
    }

    /// Refuses keys of a section that contradict another key.
    fn forbid(&mut self, section: &str, keys: &[&str], why: &str) {
        self.problems.forbid(self.document, section, keys, why);
    }

    fn has(&self, path: &str) -> bool {
        self.document.has(path)
    }

    fn top(&mut self) {
        if self.plan.name != plain_name(&self.plan.name) {
            let rule = "`name` may have small letters, digits and dashes";
            self.wrong("name", format!("{rule}, {NAME_CHARS_MAX} of them"));
        }
        if (1..EVERY_MS_MIN).contains(&self.plan.monitors.every_ms) {
            let rule = format!("`monitors.every_ms` is 0, or at least {EVERY_MS_MIN}");
            self.wrong("monitors.every_ms", rule);
        }
    }

    fn network(&mut self, network: &Network) {
        if let Some(target) = &network.target {
            return self.target(network, target);
        }
        if network.database == DatabaseKind::Embedded {
            let why = "applies only with `network.database = \"postgres\"`";
            self.forbid("network", &["database_latency_ms"], why);
        }
        if !matches!(network.notary, NotaryKind::Replicated { .. }) {
            let why = "applies only with `network.notary = \"replicated\"`";
            self.forbid("network", &["notary_backend", "notary_workers"], why);
        }
        let mut names = vec!["notary".to_owned()];
        names.extend((1..=network.banks).map(|bank| format!("bank-{bank}")));
        let all = network.settings.iter();
        let mut settings: Vec<_> = all
            .map(|setting| ("network".to_owned(), false, setting))
            .collect();
        for (name, own) in &network.nodes {
            let path = format!("network.nodes.{name}");
            if !names.contains(name) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let at = self.document.key_at(&path);
                self.problems.not_one_of(at, "node", name, &names);
            }
            let own = own.settings.iter();
            settings.extend(own.map(|setting| (path.clone(), name == "notary", setting)));
        }
        for (path, is_notary, (name, value)) in settings {
            if let Err(message) = self.checks.setting(name, value, is_notary) {
                self.wrong(&format!("{path}.settings.{name}"), message);
            }
        }
    }

    fn target(&mut self, network: &Network, target: &Target) {
        let why = "cannot be used with a target, because the laboratory does not own its nodes";
        self.forbid("network", &complete::OWN, why);
        let given = self.document.get("network.banks");
        if let Some(given) = given.and_then(toml::Value::as_integer)
            && given != i64::from(network.banks)
        {
            let message = format!(
                "`network.banks` is {given}; the target has {}",
                network.banks
            );
            self.wrong("network.banks", message);
        }
        match target {
            Target::Connector(_) => {
                let why = "belongs to a network of nodes, and this target is another system";
                self.forbid("network.target", &["banks", "notary"], why);
                if self.has("network.target.connector") {
                    let why = "contradicts `connector`; take one";
                    self.forbid("network.target", &["command"], why);
                } else if self.document.get("network.target.command.0").is_none() {
                    let message = "a connector is a program, with its arguments";
                    self.wrong("network.target.command", message);
                }
            }
            Target::Nodes { banks, .. } if banks.is_empty() => {
                self.wrong("network.target.banks", "a target has at least one bank");
            }
            Target::Nodes { .. } => {}
        }
    }

    fn load(&mut self) {
        let ways = WAYS.into_iter();
        let ways: Vec<&str> = ways
            .filter(|way| self.has(&format!("load.{way}")))
            .collect();
        if let [first, others @ ..] = ways.as_slice()
            && !others.is_empty()
        {
            let all = WAYS.join(", ");
            let why = format!("contradicts `{first}`: a load has one of {all}");
            return self.forbid("load", others, &why);
        }
        if !matches!(self.plan.load, Load::Closed(_)) {
            let why = "is for a closed loop, with `outstanding`";
            self.forbid("load", &["think_ms", "think"], why);
        }
        match &self.plan.load {
            Load::Closed(_) => {
                let why = "is for an open loop (rate, ramp, steps) or a search (knee)";
                self.forbid("load", &["poisson", "outstanding_max"], why);
            }
            Load::Knee(knee) => {
                let why = "is for an open loop, not for a search";
                self.forbid("load", &["poisson"], why);
                if knee.from_per_s >= knee.to_per_s {
                    let message = format!(
                        "`load.knee.to_per_s` is {}; it has to be above `from_per_s`, {}",
                        knee.to_per_s, knee.from_per_s
                    );
                    self.wrong("load.knee.to_per_s", message);
                }
            }
            Load::Open(open) => match &open.shape {
                Shape::Constant(_) => {}
                Shape::Ramp { from, to } => {
                    if *from <= 0.0 && *to <= 0.0 {
                        self.wrong("load.ramp", "a ramp from 0 to 0 does nothing");
                    }
                }
                Shape::Steps(steps) => {
                    if !steps.iter().any(|step| step.per_s > 0.0) {
                        let message = "`load.steps` needs a step with a rate above 0";
                        self.wrong("load.steps", message);
                    }
                    if self.plan.run.seconds > SECONDS_MAX {
                        let message = format!(
                            "the steps of `load` take more than {SECONDS_MAX} seconds together"
                        );
                        self.wrong("load", message);
                    }
                }
            },
        }
    }
}
