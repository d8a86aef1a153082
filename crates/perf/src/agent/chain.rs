//! A chain as an agent reaches it.

use std::sync::Arc;

use client::Endpoint;

use super::wire::{ChainJob, NodeAccess};
use crate::chain::backlog::Backlog;
use crate::chain::watch::PoolWatch;
use crate::chain::{ChainSite, ChainTarget, connect};
use crate::load::Fault;
use crate::plan::ChainServers;

/// Connects to the nodes of a job. The watches tell the site how many payments wait, until they are dropped. The coordinator follows the
/// blocks.
pub(super) async fn site(job: &ChainJob) -> Result<(ChainSite, Vec<PoolWatch>), Fault> {
    let plan = &job.plan;
    let targets: Vec<Arc<dyn ChainTarget>> = match &plan.target {
        Some(ChainServers::Nxt { urls, prepared }) => {
            let servers = connect::servers(plan, urls, *prepared).await?;
            servers.into_iter().map(shared).collect()
        }
        _ => {
            let endpoints: Vec<Endpoint> = job.nodes.iter().map(NodeAccess::endpoint).collect();
            let nodes = connect::nodes(plan, &endpoints, false).await?;
            nodes.into_iter().map(shared).collect()
        }
    };
    let backlog = plan
        .waiting_max
        .map(|most| Arc::new(Backlog::new(most, targets.len(), job.share)));
    let watches = backlog.iter().flat_map(|backlog| {
        let watch = |(at, target)| PoolWatch::begin(Arc::clone(target), Arc::clone(backlog), at);
        targets.iter().enumerate().map(watch)
    });
    let watches = watches.collect();
    let chains = plan.chains.iter().map(|chain| chain.id).collect();
    let batch = plan.batch as usize;
    let site = ChainSite::new(&targets, chains, plan.accounts.len(), batch, backlog);
    Ok((site.shared(), watches))
}

fn shared(target: impl ChainTarget + 'static) -> Arc<dyn ChainTarget> {
    Arc::new(target)
}
