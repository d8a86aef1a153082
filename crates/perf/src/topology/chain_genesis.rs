//! The genesis of a scenario's chain, and the settings of its nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chain::genesis::{BalanceSpec, ChainSpec, GenesisSpec, ParamsOverrides, SUPPLY_MAX};
use chain::history::History;
use chain::key_of_passphrase;
use chain::{ChainId, MinorUnits, Seconds};

use super::config_file::Settings;
use super::network_error::NetworkError;
use crate::measure::{unix_now, whole_millis};
use crate::plan::{Bundlers, ChainPlan};

/// The file with the genesis, in a network's and a node's folder.
pub(super) const GENESIS_FILE: &str = "genesis.toml";
/// Initial whole tokens of each chain per test account, as far as the chain's supply limit allows.
const TOKENS_EACH: u64 = 100_000_000;
/// How long before the present a chain begins. A node's clock may differ a little.
const BEFORE: Duration = Duration::from_secs(1);

/// A history's blocks may take this many times the target time, so that the history fits into the time before the
/// present.
const HISTORY_SLACK: f64 = 1.5;
/// Further seconds allowed.
const HISTORY_MORE_S: f64 = 120.0;

/// Returns the genesis of a scenario's chain: its chains, and the same balance for every test account. With a history, it
/// begins long enough ago for its blocks.
pub(super) fn genesis_of(plan: &ChainPlan) -> Result<GenesisSpec, NetworkError> {
    let mut spec = spec_of(plan);
    if plan.history == 0 {
        return Ok(spec);
    }
    let refused = |rejection: chain::Rejection| NetworkError::Setting {
        name: "chain.history".to_owned(),
        message: rejection.to_string(),
    };
    let genesis = spec.build().map_err(refused)?;
    let keys = plan.accounts.iter();
    let keys = keys.map(|account| key_of_passphrase(account.passphrase.expose()));
    let history = History::new(Arc::new(genesis), keys.collect(), usize::MAX).map_err(refused)?;
    let blocks = plan.history.div_ceil(history.per_block() as u64);
    let seconds = blocks as f64 * f64::from(plan.block_s) * HISTORY_SLACK + HISTORY_MORE_S;
    let begun_ms = spec.time_ms.checked_sub((seconds * 1_000.0) as u64);
    spec.time_ms = begun_ms.ok_or_else(|| NetworkError::Setting {
        name: "chain.history".to_owned(),
        message: "the first of these blocks would be before 1970; use fewer transactions"
            .to_owned(),
    })?;
    Ok(spec)
}

fn spec_of(plan: &ChainPlan) -> GenesisSpec {
    let symbol = |id: u8| format!("C{id}");
    let each = |decimals: u8| {
        let wanted = 10u64
            .checked_pow(u32::from(decimals))
            .and_then(|unit| unit.checked_mul(TOKENS_EACH));
        let most = SUPPLY_MAX.get() / plan.accounts.len().max(1) as u64;
        // An amount that does not fit is above the maximum too.
        MinorUnits::new(wanted.unwrap_or(most).min(most))
    };
    let amounts: BTreeMap<String, MinorUnits> = plan
        .chains
        .iter()
        .map(|chain| (symbol(chain.id.0), each(chain.decimals)))
        .collect();
    GenesisSpec {
        network: "load test".to_owned(),
        // If the machine's clock was never set, genesis counts as 1970 too.
        time_ms: whole_millis(unix_now().saturating_sub(BEFORE)),
        profile: plan.profile.clone(),
        params: ParamsOverrides {
            block_seconds: Some(Seconds::new(plan.block_s)),
            ..ParamsOverrides::default()
        },
        chains: plan
            .chains
            .iter()
            .map(|one| ChainSpec {
                id: ChainId(one.id.0),
                name: one.name.clone(),
                symbol: symbol(one.id.0),
                decimals: one.decimals,
            })
            .collect(),
        balances: plan
            .accounts
            .iter()
            .map(|account| BalanceSpec {
                passphrase: Some(account.passphrase.clone()),
                amounts: amounts.clone(),
                ..BalanceSpec::default()
            })
            .collect(),
    }
}

/// Returns the settings of a node. Its own accounts forge, and the first or all of them bundle every child chain. The scenario's settings
/// override these.
pub(super) fn settings_of(plan: &ChainPlan, node: u32) -> Settings {
    let own = plan.accounts.iter().filter(|account| account.node == node);
    let own: Vec<toml::Value> = own
        .map(|account| account.passphrase.expose().clone().into())
        .collect();
    let mut bundlers = Vec::new();
    let bundling = match plan.bundlers {
        Bundlers::First => 1,
        Bundlers::All => own.len(),
    };
    for passphrase in own.iter().take(bundling) {
        for one in plan.chains.iter().skip(1) {
            let mut rules = toml::Table::new();
            rules.insert("child".into(), i64::from(one.id.0).into());
            // Any fee that the scenario's payments offer is enough.
            rules.insert("rate_min".into(), 1.into());
            let mut bundler = toml::Table::new();
            bundler.insert("passphrase".into(), passphrase.clone());
            bundler.insert("rules".into(), rules.into());
            bundlers.push(toml::Value::Table(bundler));
        }
    }
    let mut settings = Settings::from([
        ("forging.passphrases".to_owned(), toml::Value::Array(own)),
        ("bundlers".to_owned(), toml::Value::Array(bundlers)),
    ]);
    settings.extend(plan.settings.clone());
    settings
}
