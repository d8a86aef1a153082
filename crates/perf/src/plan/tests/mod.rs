//! Tests of valid and invalid scenario files.

mod chains;
mod defaults;
mod expected;
mod garbage;
mod overlays;
mod published;
mod refusals;
mod round_trip;
mod shipped;
mod sweeps;

use super::checks::{Checks, KnobError};
use super::error::nearest;
use super::model::{Plan, Work};
use super::network::Network;
use super::open::{Options, parse};

/// Checks with a small set of known knobs and settings.
pub(super) struct Strict;

impl Checks for Strict {
    fn work(&self, work: &Work, network: &Network) -> Result<(), KnobError> {
        let wrong = |key: &str, message: String| {
            Err(KnobError {
                key: Some(key.to_owned()),
                message,
            })
        };
        if let Some(key) = work
            .knobs
            .keys()
            .find(|key| !["parties", "depth", "sessions"].contains(&key.as_str()))
        {
            let near = nearest(key, ["parties", "depth", "sessions"]).unwrap_or("nothing");
            return wrong(key, format!("there is no `{key}`; did you mean `{near}`?"));
        }
        let parties = work.knobs.get("parties").and_then(toml::Value::as_integer);
        match parties {
            Some(parties) if parties >= i64::from(network.banks) => {
                wrong("parties", format!("{parties} parties of {}", network.banks))
            }
            _ => Ok(()),
        }
    }

    fn setting(&self, name: &str, _: &toml::Value, _: bool) -> Result<(), String> {
        match name {
            "p2p.compression" | "store.linger_us" => Ok(()),
            _ => Err(format!("a node has no setting `{name}`")),
        }
    }
}

/// Reads a text.
pub(super) fn read(text: &str, full: bool, set: &[&str]) -> Result<Plan, String> {
    let options = Options {
        full,
        set: set.iter().map(|set| (*set).to_owned()).collect(),
    };
    parse("test", "test.toml", text.as_bytes(), &options, &Strict)
        .map_err(|error| error.to_string())
}

/// Reads a valid text.
pub(super) fn good(text: &str) -> Plan {
    read(text, false, &[]).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

/// A swap that uses every section.
pub(super) const SWAP: &str = r#"
title = "Swap"
seed = 7
[network]
banks = 11
settings.p2p.compression = true
nodes.bank-1.cores = 1
nodes.notary.settings.store.linger_us = 5
[work]
kind = "swap"
parties = 4
[load]
outstanding = 8
[run]
seconds = 5
repeats = 3
[[sweep]]
label = "parties"
set = "work.parties"
values = [4, 6]
[[sweep]]
label = "variant"
[[sweep.case]]
name = "slow"
set.work.sessions = "sequential"
[[sweep.case]]
name = "fast"
[[published]]
label = "Elsewhere"
source = "a page"
metric = "mean_ms"
values = { 4 = 1100, 6 = 1650 }
[full]
run.seconds = 1200
"#;
