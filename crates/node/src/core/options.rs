//! The parts' options, out of the node's configuration.

use std::sync::Arc;
use std::time::Duration;

use kernel::KernelOptions;
use primitives::Seed;
use store::Custody;

use super::columns::Columns;
use super::start_error::StartError;
use crate::config::NodeConfig;
use crate::http::{AnonymousLimits, ApiToken, HttpOptions, Tokens};
use crate::users::StartQuota;

/// The ledger's store's.
pub(super) fn store_options(config: &NodeConfig, custody: Custody) -> store::Options {
    store::Options {
        custody: Some(custody),
        cache_bytes: config.cache.blocks_bytes,
        memtable_bytes: config.store.memory_bytes,
        log_bytes: config.store.log_bytes,
        ..store::Options::default()
    }
}

/// The vault's view's.
pub(super) fn view_options(config: &NodeConfig, columns: &Columns) -> vaultview::ViewOptions {
    vaultview::ViewOptions {
        cache_bytes: config.cache.view_bytes,
        reader_cache_bytes: config.cache.view_reader_bytes,
        columns: columns.list().to_vec(),
        ..vaultview::ViewOptions::default()
    }
}

/// The kernel's.
pub(super) fn kernel_options(config: &NodeConfig) -> Result<KernelOptions, StartError> {
    let limits = config.limits;
    let mut options = KernelOptions {
        entropy: Seed::new(random()?),
        live_flows_max: limits.live_flows,
        live_bytes_max: limits.live_bytes,
        start_queue_max: limits.start_queue,
        start_wait_ms_max: limits.start_wait_ms,
        consent: (&config.transitions).into(),
        transactions_bytes: config.cache.transactions_bytes,
        known_signatures_bytes: config.cache.signatures_bytes,
        keys_bytes: config.cache.keys_bytes,
        fresh_keys_bytes: config.cache.fresh_keys_bytes,
        outcomes_bytes: config.cache.outcomes_bytes,
        unshared_bytes: config.cache.unshared_bytes,
        sent_along_bytes: config.cache.sent_along_bytes,
        ..KernelOptions::default()
    };
    options.trust_peers = config.attachments.trusted();
    options.kept_flows_max = config.hospital.kept_flows;
    options.flow.kept_responders_max = config.hospital.kept_responders;
    options.flow.retries = config.hospital.retries();
    options.history = config.flows.into();
    options.hold_flows = config.hospital.hold_flows;
    options.meet_peers_ms = config.hospital.meet_peers_s * 1_000;
    options.hold_unmet = config.hospital.hold_unmet;
    options.journals_bytes_max = limits.journal_bytes;
    options.flow.responders_max = limits.responders;
    options.flow.peers_bytes_max = limits.peer_bytes;
    options.flow.peers_journal_bytes_max = limits.peer_journal_bytes;
    options.flow.responder_idle_ms = limits.responder_idle_s * 1_000;
    options.selection.coins_bytes_max = limits.coin_bytes;
    options.selection.coins_per_pool_max = limits.coins_per_token;
    options.notary = config.notary.map(|section| notary::NotaryOptions {
        kind: match section.validating {
            true => notary::NotaryKind::Validating,
            false => notary::NotaryKind::NonValidating,
        },
        is_shared: !config.notary_database.url.is_empty(),
        batch_requests_max: section.batch_requests_max,
        batch_states_max: section.batch_states_max,
        queue_requests_max: section.queue_requests_max,
        queue_states_max: section.queue_states_max,
        requester_states_per_s: section.requester_states_per_s,
        requester_burst_s: section.requester_burst_s,
        ..notary::NotaryOptions::default()
    });
    Ok(options)
}

/// Returns the options of the API for this number of connections, without users and audit log.
pub(super) fn http_options(
    config: &NodeConfig,
    tls: Arc<rustls::ServerConfig>,
    connections: usize,
) -> Result<HttpOptions, StartError> {
    let mut tokens = Vec::with_capacity(config.api.tokens.len());
    for entry in &config.api.tokens {
        let sha256 = primitives::hex::decode(&entry.sha256)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| StartError::Token(entry.user.clone()))?;
        tokens.push(ApiToken {
            user: entry.user.as_str().into(),
            sha256,
        });
    }
    Ok(HttpOptions {
        connections_max: connections,
        anonymous: AnonymousLimits {
            connections_max: config.api.anonymous_connections_max,
            connections_per_address_max: config.api.anonymous_connections_per_address_max,
            may_work: false,
        },
        queries_max: config.api.queries_max,
        body_bytes_max: config.api.body_bytes_max,
        start_quota: StartQuota {
            starts_per_s: Some(config.api.user_starts_per_s),
            start_bytes_max: Some(config.api.user_start_bytes_max),
        },
        stream_outstanding_max: config.api.stream_outstanding_max,
        requests_max: config.api.requests_max,
        streams_max: config.api.streams_max,
        followers_max: config.api.followers_max,
        followers_bytes_per_s: config.api.followers_bytes_per_s,
        bodies_bytes_max: config.api.bodies_bytes_max,
        page_max: config.api.page_max,
        wait_max: Duration::from_secs(config.api.wait_s_max),
        head_timeout: Duration::from_secs(config.api.head_s),
        body_timeout: Duration::from_secs(config.api.body_s),
        write_patience: Duration::from_secs(config.api.write_s),
        stop_patience: Duration::from_secs(2),
        ..HttpOptions::new(config.api.listen, tls, Tokens::new(tokens))
    })
}

/// Draws random bytes.
pub(super) fn random() -> Result<[u8; 32], StartError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| StartError::System(format!("no random bytes: {error}")))?;
    Ok(bytes)
}
