//! Constants, status, health, metrics.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use api::chain::operations;
use api::chain::{ChainHealth, ChainInfo, ChainStatus, Constants, SUBMIT_BATCH_MAX, SyncState};
use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::IntoResponse;
use chain::core::Figures;
use chain::state::Pruned;
use chain::{Height, Seconds};

use super::{Answered, Api, Route, json, route};
use crate::chain::queries::ChainQuery;
use crate::chain::shared::ChainNodeState;
use crate::chain::start::SOFTWARE;
use crate::http::place;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::CONSTANTS, constants),
        route(&operations::STATUS, status),
        route(&operations::METRICS, metrics),
        route(&operations::HEALTH, health),
    ]
    .into_iter()
}

/// Time for which a measured size of the store is reused.
const SIZE_AGE: Duration = Duration::from_secs(5);

/// `GET /v1/chain/constants`
pub(super) async fn constants(State(api): State<Arc<Api>>) -> Answered {
    let genesis = &api.shared.genesis;
    let parameters = match serde_json::to_value(&genesis.params) {
        Ok(serde_json::Value::Object(parameters)) => parameters,
        // A struct of numbers is an object.
        _ => serde_json::Map::new(),
    };
    json(&Constants {
        network: genesis.network.clone(),
        genesis: genesis.hash.to_string(),
        genesis_time_ms: genesis.time_ms,
        parameters,
        chains: genesis
            .chains
            .values()
            .map(|chain| ChainInfo {
                id: chain.id.0,
                name: chain.name.clone(),
                symbol: chain.symbol.clone(),
                decimals: chain.decimals,
            })
            .collect(),
        submit_batch_max: SUBMIT_BATCH_MAX as u32,
        software: SOFTWARE.to_owned(),
    })
}

/// `GET /v1/chain/status`
pub(super) async fn status(State(api): State<Arc<Api>>) -> Answered {
    json(&api.chain_status().await?)
}

/// `GET /health`
pub(super) async fn health(State(api): State<Arc<Api>>) -> Answered {
    let health = health_of(&api.shared);
    let status = if health.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    Ok((status, Json(health)).into_response())
}

/// Whether the node takes transactions, and why not.
pub(in crate::chain) fn health_of(shared: &ChainNodeState) -> ChainHealth {
    let figures = shared.shown().core;
    let failure = shared.failure();
    let sync = sync_state(&figures);
    ChainHealth {
        live: true,
        ready: failure.is_none() && !shared.is_stopping(),
        height: figures.tip.height.get(),
        sync,
        failure: failure.map(|failure| failure.code.to_owned()),
        equivocations: figures.evidence as u64,
        clock_jump_ms: shared.clock.jump_ms(),
    }
}

/// `GET /metrics`
pub(super) async fn metrics(State(api): State<Arc<Api>>) -> Answered {
    api.refresh().await;
    let text = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(CONTENT_TYPE, text)], api.shared.metrics.render()).into_response())
}

fn sync_state(figures: &Figures) -> SyncState {
    match (figures.deep_fork, figures.catching_up_to) {
        (Some(_), _) => SyncState::Stuck,
        (None, Some(_)) => SyncState::Syncing,
        (None, None) => SyncState::Synced,
    }
}

impl Api {
    /// Returns the state of this node.
    pub(super) async fn chain_status(&self) -> Result<ChainStatus, crate::http::Refusal> {
        let shared = &self.shared;
        let genesis = &shared.genesis;
        let (figures, rate) = {
            let mut shown = shared.lock_shown();
            let rate = shown.rate(shared.clock.now_ms());
            (shown.core.clone(), rate)
        };
        let (forging, bundlers) = shared.query(ChainQuery::OwnAccounts).await?;
        let pruned = shared
            .reader()
            .ask(|reader| Ok(Pruned::load(&reader.store)?.bodies))
            .await?;
        Ok(ChainStatus {
            genesis: genesis.hash.to_string(),
            genesis_time_ms: genesis.time_ms,
            block_seconds: genesis.params.block_seconds.get(),
            height: figures.tip.height.get(),
            tip: figures.tip.hash.to_string(),
            tip_time: figures.tip.time.get(),
            cumulative_difficulty: figures.tip.difficulty.to_string(),
            base_target: figures.tip.base_target.get(),
            now: shared.clock.now().get(),
            pool_count: figures.pool.transactions as u64,
            pool_bytes: figures.pool.bytes as u64,
            peers: figures.peers as u32,
            forging: forging as u32,
            bundlers: bundlers as u32,
            sync: sync_state(&figures),
            sync_target: figures.catching_up_to.map(Height::get),
            first_body: pruned.plus_or_last(1).get(),
            forks: figures.forks,
            fork_depth_max: figures.deepest_fork,
            transactions_per_second: (rate * 100.0).round() / 100.0,
            store_bytes: self.store_bytes().await,
            server_signing: self.config.api.allow_server_signing,
            software: SOFTWARE.to_owned(),
            name: self.config.node.name.clone(),
            started_at_ms: self.started_at_ms,
        })
    }

    async fn store_bytes(&self) -> u64 {
        let lock = || {
            let held = self.store_bytes.lock();
            held.unwrap_or_else(PoisonError::into_inner)
        };
        if let Some((at, bytes)) = *lock()
            && at.elapsed() < SIZE_AGE
        {
            return bytes;
        }
        let store = self.shared.store.clone();
        let bytes = place::blocking(move || store.disk_bytes()).await;
        // A reading that met a bug shows nothing.
        let bytes = bytes.unwrap_or(0);
        *lock() = Some((Instant::now(), bytes));
        bytes
    }

    /// Brings gauges up to date.
    async fn refresh(&self) {
        let shared = &self.shared;
        let (metrics, figures) = (&shared.metrics, shared.shown().core);
        let now = shared.clock.now();
        metrics
            .height
            .set_count(u64::from(figures.tip.height.get()));
        // Clipped at 0: the tip may be ahead of the clock.
        let age = now.since(figures.tip.time).unwrap_or(Seconds::ZERO);
        metrics.tip_age.set_count(u64::from(age.get()));
        // Without a jump there is no doubt.
        let doubt_ms = shared.clock.jump_ms().unwrap_or(0).unsigned_abs();
        metrics.clock_doubt.set_count(doubt_ms / 1_000);
        metrics.base_target.set_count(figures.tip.base_target.get());
        metrics
            .pool_count
            .set_count(figures.pool.transactions as u64);
        metrics.pool_parked.set_count(figures.pool.parked as u64);
        metrics.pool_bytes.set_count(figures.pool.bytes as u64);
        metrics.peers.set_count(figures.peers as u64);
        metrics
            .stuck
            .set_count(u64::from(figures.deep_fork.is_some()));
        // A node that is not behind has reached its target.
        let target = figures.catching_up_to.unwrap_or(figures.tip.height);
        // A branch may have been overtaken by our own.
        let missing = target.blocks_since(figures.tip.height).unwrap_or(0);
        metrics.catching_up.set_count(u64::from(missing));
        metrics.forged.set(figures.forged);
        metrics.bundled.set(figures.bundled);
        metrics.accepted.set(figures.accepted);
        metrics.bad_blocks.set(figures.bad_blocks);
        metrics.deep_branches.set(figures.deep_branches);
        metrics.forks.set(figures.forks);
        metrics.equivocations.set(figures.equivocations);
        metrics.turns_refused.set(figures.turns_refused);
        metrics.failed_forgings.set(figures.failed_forgings);
        metrics.store_bytes.set_count(self.store_bytes().await);
        let gossip = shared.peers.handle().figures();
        metrics.gossip_in.set(gossip.bytes_in);
        metrics.gossip_out.set(gossip.bytes_out);
        metrics.gossip_seen.set(gossip.messages_seen);
        metrics
            .gossip_dropped
            .set(gossip.dropped_full + gossip.dropped_slow);
        metrics.bans.set(gossip.bans);
    }
}
