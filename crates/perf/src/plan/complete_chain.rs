//! Completes `[chain]` with its chains and accounts, and writes it without those that are defaults.

use toml::{Table, Value};

use super::chain::{ChainPlan, chain, default_accounts, default_chains};

/// Default number of accounts: the published one.
const ACCOUNTS: u32 = 10;
/// Keys of a chain that the laboratory brings up, which a target does not have.
pub(super) const OWN: [&str; 5] = ["nodes", "profile", "settings", "history", "bundlers"];

/// Makes the table the form of a [`ChainPlan`]. Its fields are checked and have their defaults.
pub(super) fn complete(table: &mut Table) {
    if let Some(target) = table.get_mut("target").and_then(Value::as_table_mut) {
        let servers = target
            .remove("servers")
            .unwrap_or_else(|| Value::Array(Vec::new()));
        let count = servers.as_array().map_or(0, Vec::len) as i64;
        let is_prepared = target.get("signing").and_then(Value::as_str) == Some("prepared");
        let servers = match target.get("kind").and_then(Value::as_str) {
            Some("nxt") => {
                let table = [("urls", servers), ("prepared", Value::Boolean(is_prepared))];
                Value::Table(
                    table
                        .map(|(key, value)| (key.to_owned(), value))
                        .into_iter()
                        .collect(),
                )
            }
            _ => servers,
        };
        target.insert("servers".to_owned(), servers);
        table.insert("nodes".to_owned(), Value::Integer(count));
    }
    let chains = match table.get("chains").and_then(Value::as_array) {
        Some(chains) if !chains.is_empty() => chains.iter().map(chain_of).collect(),
        _ => default_chains(number(table.get("children")).unwrap_or_default()),
    };
    let nodes = number(table.get("nodes")).unwrap_or_default();
    let accounts = match table.remove("accounts") {
        Some(Value::Array(mut accounts)) => {
            let dealt = default_accounts(accounts.len() as u32, nodes);
            for (account, dealt) in accounts.iter_mut().zip(dealt) {
                place(account, dealt.node);
            }
            Value::Array(accounts)
        }
        count => written(&default_accounts(
            number(count.as_ref()).unwrap_or(ACCOUNTS),
            nodes,
        )),
    };
    table.insert("chains".to_owned(), written(&chains));
    table.insert("accounts".to_owned(), accounts);
}

/// Makes a passphrase a table, and gives it a node if it has none.
fn place(account: &mut Value, node: u32) {
    if let Value::String(passphrase) = account {
        let passphrase = Value::String(std::mem::take(passphrase));
        *account = Value::Table(Table::from_iter([("passphrase".to_owned(), passphrase)]));
    }
    if let Value::Table(account) = account {
        account.entry("node").or_insert(Value::Integer(node.into()));
    }
}

fn chain_of(entry: &Value) -> crate::chain::Chain {
    let name = entry.get("name").and_then(Value::as_str).map(str::to_owned);
    let (id, decimals) = (number(entry.get("id")), number(entry.get("decimals")));
    let fee = number(entry.get("fee"));
    chain(
        id.unwrap_or_default(),
        name,
        decimals.unwrap_or_default(),
        fee,
    )
}

/// Returns a whole number, whose field has a range that fits.
fn number<N: TryFrom<i64>>(value: Option<&Value>) -> Option<N> {
    N::try_from(value?.as_integer()?).ok()
}

fn written<T: serde::Serialize>(value: &T) -> Value {
    Value::try_from(value).expect("every number of a plan is within TOML's range")
}

/// Makes the table of a plan one of a file. Defaults are left out where a case of a sweep may have others: other nodes or
/// fewer children.
pub(super) fn shorten(table: &mut Table, plan: &ChainPlan) {
    if let Some(target) = table.get_mut("target").and_then(Value::as_table_mut) {
        let mut servers = target.remove("servers");
        if let Some(Value::Table(nxt)) = &mut servers {
            let is_prepared = nxt.remove("prepared") == Some(Value::Boolean(true));
            let signing = if is_prepared {
                "prepared"
            } else {
                "passphrase"
            };
            target.insert("signing".to_owned(), signing.into());
            servers = nxt.remove("urls");
        }
        target.extend(servers.map(|servers| ("servers".to_owned(), servers)));
        table.retain(|key, _| !OWN.contains(&key));
    }
    // All chains but the parent are children; without chains there are none.
    let children = u32::try_from(plan.chains.len().saturating_sub(1));
    let children = children.expect("a chain's id is one byte");
    if plan.chains == default_chains(children) {
        table.remove("chains");
        table.insert("children".to_owned(), children.into());
    }
    let count = u32::try_from(plan.accounts.len()).expect("at most CHAIN_ACCOUNTS_MAX");
    let dealt = default_accounts(count, plan.nodes);
    let mut nodes = plan.accounts.iter().zip(&dealt);
    if plan.accounts == dealt {
        table.insert("accounts".to_owned(), count.into());
    } else if nodes.all(|(account, dealt)| account.node == dealt.node) {
        let passphrases = plan.accounts.iter().map(|account| &account.passphrase);
        table.insert(
            "accounts".to_owned(),
            written(&passphrases.collect::<Vec<_>>()),
        );
    }
}
