//! Connects to the nodes of a chain's plan.

use std::time::Duration;

use client::Endpoint;
use primitives::SecretText;

use super::nxt::{self, NxtTarget, Signing};
use super::ours::{self, TallyTarget};
use crate::load::Fault;
use crate::plan::ChainPlan;

/// Time limit for one answer of a server of the Ardor/Nxt family. Overloaded servers are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Connects to servers of the Ardor/Nxt family.
///
/// # Errors
/// Fails if a server does not answer, or lacks a chain or an account of the plan.
pub async fn servers(
    chain: &ChainPlan,
    urls: &[String],
    prepared: bool,
) -> Result<Vec<NxtTarget>, Fault> {
    let mut servers = Vec::with_capacity(urls.len());
    for (at, url) in urls.iter().enumerate() {
        let options = nxt::Options {
            url: url.clone(),
            name: name(at),
            chains: chain.chains.clone(),
            passphrases: passphrases(chain),
            forgers: accounts_of(chain, at),
            signing: match prepared {
                true => Signing::Prepared,
                false => Signing::Passphrase,
            },
            deadline_minutes: chain.deadline_minutes,
            patience: PATIENCE,
        };
        servers.push(NxtTarget::connect(options).await?);
    }
    Ok(servers)
}

/// Connects to Tallystick nodes. If they are `own`, the plan's accounts forge and bundle there.
///
/// # Errors
/// Fails if a node does not answer, or its network lacks a chain of the plan.
pub async fn nodes(
    chain: &ChainPlan,
    endpoints: &[Endpoint],
    own: bool,
) -> Result<Vec<TallyTarget>, Fault> {
    let mut nodes = Vec::with_capacity(endpoints.len());
    for (at, endpoint) in endpoints.iter().enumerate() {
        let options = ours::Options {
            endpoint: endpoint.clone(),
            name: name(at),
            chains: chain.chains.clone(),
            passphrases: passphrases(chain),
            forgers: match own {
                true => accounts_of(chain, at),
                false => Vec::new(),
            },
            deadline_minutes: chain.deadline_minutes,
        };
        nodes.push(TallyTarget::connect(options).await?);
    }
    Ok(nodes)
}

fn name(at: usize) -> String {
    format!("node-{}", at + 1)
}

/// Returns the passphrases of all test accounts.
fn passphrases(chain: &ChainPlan) -> Vec<SecretText> {
    let accounts = chain.accounts.iter();
    accounts.map(|account| account.passphrase.clone()).collect()
}

/// Returns the test accounts of a node, by number.
fn accounts_of(chain: &ChainPlan, node: usize) -> Vec<usize> {
    let accounts = chain.accounts.iter().enumerate();
    let here = accounts.filter(|(_, account)| account.node as usize == node + 1);
    here.map(|(number, _)| number).collect()
}
