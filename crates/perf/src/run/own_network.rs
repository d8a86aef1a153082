//! The nodes of a network that this run has brought up: the site, the subjects to monitor, and long steps.

use std::sync::Arc;

use super::error::RunError;
use crate::monitor::Subject;
use crate::topology::{Network, NetworkError, Who};
use crate::workload::{PER_STREAM, Site, SiteNode};

/// Upper limit on streams to one node.
const STREAMS_MAX: u32 = 16;

/// Runs a long step on a network in a thread of its own, so that Ctrl-C is handled and progress is drawn meanwhile. If the
/// caller gives up, the network is cleaned up when the step has ended. Returns `None` if there is no network.
pub(super) async fn long_step<N: Send + 'static, T: Send + 'static>(
    network: &mut Option<N>,
    step: impl FnOnce(&mut N) -> T + Send + 'static,
) -> Result<Option<T>, RunError> {
    let Some(mut taken) = network.take() else {
        return Ok(None);
    };
    let stepped = tokio::task::spawn_blocking(move || {
        let result = step(&mut taken);
        (taken, result)
    });
    let (taken, result) = stepped.await?;
    *network = Some(taken);
    Ok(Some(result))
}

/// Returns the site for workloads, with its own connections.
pub(super) fn site(network: &Network, seed: u64, outstanding: u32) -> Result<Site, NetworkError> {
    let node = |who| {
        let (name, endpoint) = (network.name(who), network.endpoint(who)?);
        let mut node = SiteNode::connect(name, endpoint, streams(outstanding))?;
        if network.host(who).is_here() {
            node = node.with_data(network.data(who));
        }
        Ok::<SiteNode, NetworkError>(node)
    };
    let banks: Result<Vec<SiteNode>, NetworkError> = (0..network.banks())
        .map(|bank| node(Who::Bank(bank)))
        .collect();
    let site = Site::new(banks?, Some(node(Who::Notary)?), seed);
    Ok(site.with_requesters(network.requesters().to_vec()))
}

/// Returns the number of streams to one node for this many units outstanding.
pub(super) fn streams(outstanding: u32) -> u32 {
    outstanding.div_ceil(PER_STREAM).clamp(1, STREAMS_MAX)
}

/// Returns the subjects to monitor.
pub(super) fn subjects(network: &Network) -> Result<Vec<Subject>, NetworkError> {
    let subject = |who: Who| {
        Ok(Subject {
            name: who.to_string(),
            pid: network.pid(who),
            host: Arc::clone(network.host(who)),
            folder: Some(network.data(who)),
            log: Some(network.store_log(who)),
            endpoint: Some(network.endpoint(who)?),
            ..Subject::default()
        })
    };
    let nodes = network.everybody().into_iter().map(subject);
    let databases = network.databases().into_iter().map(|server| {
        Ok(Subject {
            name: server.name,
            pid: server.pid,
            with_children: true,
            folder: Some(server.folder),
            log: server.log,
            ..Subject::default()
        })
    });
    nodes.chain(databases).collect()
}

/// Returns the host that is gone, or the node that has exited without being stopped, with the last lines of its log.
pub(super) fn died(network: &mut Network) -> Option<RunError> {
    if let Some(lost) = network.lost_host() {
        return Some(NetworkError::from(lost).into());
    }
    let who = network
        .everybody()
        .into_iter()
        .find(|who| network.pid(*who).is_some() && network.process(*who).has_ended())?;
    let log = network.log(who).to_owned();
    Some(RunError::NodeDied {
        name: who.to_string(),
        tail: network.process(who).tail(),
        log: log.display().to_string(),
    })
}
