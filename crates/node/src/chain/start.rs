//! Bringing a chain node up and taking it down.

use std::sync::Arc;
use std::time::Duration;

use chain::core::{Core, Settings};
use chain::genesis::write_genesis;
use chain::port::{Reads, StoreFailure, Table};
use chain::state::read;
use chain::{ChainTime, Height};
use futures_util::future::BoxFuture;
use net::gossip::{GossipLimits, GossipOptions};
use primitives::CheckPortion;
use runtime::{Output, Running, WorkerPool};
use store::{Class, Committer, CommitterOptions};

use super::bans::Bans;
use super::chain_core::ChainCore;
use super::clock::ChainClock;
use super::figures::Shown;
use super::files::ChainFiles;
use super::gossip::Peers;
use super::http;
use super::messages::CoreHandle;
use super::pump::pump;
use super::shared::ChainNodeState;
use super::start_check::check_at_start;
use super::start_error::ChainStartError;
use super::store::open_store;
use super::workers::ChainWorkers;
use crate::config::worker_threads;
use crate::http::{AnonymousLimits, ApiToken, HttpHandle, HttpOptions, Tokens, server_config};
use crate::open_files;

/// Snapshots, within the data folder.
pub(super) const SNAPSHOTS: &str = "snapshots";
/// Time that a stopping node gives its last writes.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// The software and version that the node announces to peers.
pub(super) const SOFTWARE: &str = concat!("tally/", env!("CARGO_PKG_VERSION"));

/// A running chain node. Dropping it stops it without ceremony, as a crash would.
pub struct ChainNode {
    shared: Arc<ChainNodeState>,
    http: HttpHandle,
    running: Running<ChainCore>,
}

impl ChainNode {
    /// Starts a node on its folder. The chain is open before the node accepts connections.
    ///
    /// # Errors
    /// See [`ChainStartError`]; nothing keeps running.
    pub fn start(files: ChainFiles) -> BoxFuture<'static, Result<Self, ChainStartError>> {
        // Compiled here, and not in each crate that awaits it.
        Box::pin(Self::start_here(files))
    }

    async fn start_here(files: ChainFiles) -> Result<Self, ChainStartError> {
        let data = files.data();
        let config = &files.config;
        // Before anything is opened.
        open_files::raise();
        // Makes the data folder too, unless it refuses the store.
        let store = open_store(&data, &files)?;
        check_at_start(&store, &files)?;
        let committer_options = CommitterOptions {
            linger_us: config.store.linger_us,
            ..CommitterOptions::default()
        };
        let committer = Committer::start(store.clone(), committer_options).map_err(|error| {
            ChainStartError::System(format!("cannot start the commit thread: {error}"))
        })?;
        // The API reads rows that the genesis writes. They are durable before it listens.
        if read::is_new(&store).map_err(ChainStartError::StoreFailed)? {
            let rows = write_genesis(&files.genesis);
            let committed = committer.handle().commit(Class::Normal, rows);
            committed.map_err(ChainStartError::StoreFailed)?;
        }
        let clock = ChainClock::new(files.genesis.time_ms);
        let core = core_of(&files, store.clone(), clock.time())?;
        let shown = Shown::new(core.figures(), clock.now_ms());

        let (gossip, events) = net::gossip::start(GossipOptions {
            key_seed: files.identity.clone(),
            network: *files.genesis.hash.as_bytes(),
            listen: config.p2p.listen,
            seeds: config.p2p.seeds.clone(),
            software: SOFTWARE.to_owned(),
            ban_time: Duration::from_secs(u64::from(config.p2p.ban_s)),
            limits: GossipLimits {
                peers_max: config.p2p.peers_max,
                ..GossipLimits::default()
            },
        })
        .await?;
        let bans = Bans::restore(&data, &gossip);
        let handle = CoreHandle::new(config.p2p.inbound_bytes);
        let shared = Arc::new(ChainNodeState::new(
            Arc::clone(&files.genesis),
            store,
            Peers::new(gossip),
            handle.clone(),
            shown,
        ));
        let threads = worker_threads(files.config.node.workers) - 1;
        let (check, cost) = (CheckPortion::check, CheckPortion::cost);
        let pool = WorkerPool::start(threads, check, cost, shared.metrics.workers());
        let pool =
            pool.map_err(|error| ChainStartError::System(format!("a worker thread: {error}")))?;
        let core = core.with_check_workers(Box::new(ChainWorkers(pool)));
        let running = runtime::start(runtime::Parts {
            core: ChainCore::new(core, Arc::clone(&shared)),
            first: Output::default(),
            handle,
            shell: Arc::clone(&shared),
            committer,
            metrics: shared.metrics.rounds(),
        });
        let running = running
            .map_err(|error| ChainStartError::System(format!("the chain's thread: {error}")))?;
        let options = http_options(&files)?;
        let config = files.config.clone();
        let snapshots = data.join(SNAPSHOTS);
        let http = match http::start(options, Arc::clone(&shared), config, snapshots).await {
            Ok(http) => http,
            Err(error) => {
                shared.end();
                return Err(error.into());
            }
        };
        tokio::spawn(pump(Arc::clone(&shared), events));
        tokio::spawn(bans.keep(Arc::clone(&shared)));
        Ok(Self {
            shared,
            http,
            running,
        })
    }

    /// The address for clients.
    #[must_use]
    pub fn api_address(&self) -> std::net::SocketAddr {
        self.http.address()
    }

    /// The address for other nodes.
    #[must_use]
    pub fn p2p_address(&self) -> std::net::SocketAddr {
        self.shared.peers.handle().local_address()
    }

    /// Blocks after genesis.
    #[must_use]
    pub fn height(&self) -> Height {
        self.shared.shown().core.tip.height
    }

    /// Waits until the store fails or the chain's thread panics, if that ever happens.
    pub async fn failed(&self) -> StoreFailure {
        self.shared.core.failed().await
    }

    /// Returns the failure that stopped the chain's thread, if one did.
    #[must_use]
    pub fn failure(&self) -> Option<StoreFailure> {
        self.shared.core.failure()
    }

    /// Stops the node: requests in flight are answered, and submitted rounds are committed.
    pub fn stop(self) -> BoxFuture<'static, ()> {
        // Compiled here, and not in each crate that awaits it.
        Box::pin(self.stop_here())
    }

    async fn stop_here(self) {
        let Self {
            shared,
            http,
            running,
        } = self;
        http.stop().await;
        shared.peers.handle().shutdown().await;
        shared.end();
        running.stop(STOP_PATIENCE, || ()).await;
    }
}

/// Opens the core of a node's folder on its store.
pub(super) fn core_of<R: Reads<Table>>(
    files: &ChainFiles,
    store: R,
    now: ChainTime,
) -> Result<Core<R>, ChainStartError> {
    let genesis = Arc::clone(&files.genesis);
    Core::open(store, genesis, settings(files), now).map_err(|fault| {
        let rejection = fault.rejection();
        rejection.map_or_else(ChainStartError::StoreFailed, ChainStartError::Chain)
    })
}

fn settings(files: &ChainFiles) -> Settings {
    let config = &files.config;
    Settings {
        forgers: files.forgers.clone(),
        bundlers: files.bundlers.clone(),
        pool: config.pool.clone(),
        trusted: files.checkpoints.clone(),
        forging_delay: Duration::from_millis(config.forging.delay_ms),
        bundling: config.bundling.clone(),
        gossip_linger: Duration::from_millis(config.p2p.linger_ms),
        bodies_kept: config.node.keep_blocks,
    }
}

pub(super) fn http_options(files: &ChainFiles) -> Result<HttpOptions, ChainStartError> {
    let api = &files.config.api;
    let mut tokens = Vec::with_capacity(api.tokens.len());
    for entry in &api.tokens {
        let sha256 = primitives::hex::decode_array(&entry.sha256)
            .ok_or_else(|| ChainStartError::Token(entry.user.clone()))?;
        tokens.push(ApiToken {
            user: entry.user.as_str().into(),
            sha256,
        });
    }
    let tls = server_config(files.chain.clone(), files.tls_key.clone_key())?;
    Ok(HttpOptions {
        connections_max: open_files::connections(api.connections_max, files.config.p2p.peers_max),
        // Reading and submitting need no token.
        anonymous: AnonymousLimits {
            connections_max: api.anonymous_connections_max,
            connections_per_address_max: api.anonymous_connections_per_address_max,
            may_work: true,
        },
        requests_max: api.requests_max,
        body_bytes_max: api.body_bytes_max,
        bodies_bytes_max: api.bodies_bytes_max,
        followers_max: api.followers_max,
        page_max: api.page_max,
        stop_patience: Duration::from_secs(2),
        ..HttpOptions::new(api.listen, tls, Tokens::new(tokens))
    })
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::path::Path;
    use std::sync::{Mutex, mpsc};

    use api::chain::StateHash;
    use chain::core::Event;

    use tokio::sync::oneshot;

    use super::*;
    use crate::chain::http::status::health_of;
    use crate::chain::queries::ChainQuery;
    use crate::chain::reads::StateHashes;
    use crate::chain::{NetworkPlan, load_chain_dir, make_network};

    /// Longer than anything here takes.
    const PATIENCE: Duration = Duration::from_secs(30);

    async fn start(folder: &Path) -> ChainNode {
        let plan = NetworkPlan {
            network: "one".into(),
            profile: "loadtest".into(),
            block_seconds: None,
            servers: 1,
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            first_port: None,
            time_ms: 1_700_000_000_000,
        };
        let made = make_network(&plan, folder).expect("a network");
        let mut files = load_chain_dir(&made[0].dir).expect("a folder");
        // Its tip stays where it is.
        files.forgers.clear();
        ChainNode::start(files).await.expect("a node")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_on_the_cores_thread_fails_the_node_and_nobody_waits_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let node = start(folder.path()).await;
        assert!(health_of(&node.shared).ready);
        let (ordered, order) = mpsc::channel();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let panicking = node.shared.query(|answer: oneshot::Sender<()>| {
            ChainQuery::Run(Box::new(move |_| {
                // Without an answer until the panic.
                let _answer = answer;
                // This round takes no further events. The event below waits for the next one.
                begun.send(()).expect("awaited");
                order.recv().expect("an order");
                panic!("out of step");
            }))
        });
        let waits = async {
            begins.await.expect("the query begins");
            let answer = node.shared.order(|ticket| {
                ordered.send(()).expect("the query waits");
                Event::ClearPool { ticket }
            });
            answer.await
        };
        let (query, waits) =
            tokio::time::timeout(PATIENCE, async { tokio::join!(panicking, waits) })
                .await
                .expect("answers");
        let failure = tokio::time::timeout(PATIENCE, node.failed())
            .await
            .expect("a failure");
        assert_eq!(failure.code, "chain_node.panicked");
        assert!(failure.message.contains("out of step"), "{failure}");
        let late = node.shared.query(ChainQuery::OwnAccounts).await;
        for refusal in [
            query.expect_err("no answer"),
            waits.expect_err("no answer"),
            late.map(drop).expect_err("no answer"),
        ] {
            assert_eq!(refusal.status(), 503, "{}", refusal.message);
        }
        let health = health_of(&node.shared);
        assert!(!health.ready);
        assert_eq!(health.failure.as_deref(), Some("chain_node.panicked"));
        node.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_states_hash_is_looked_for_once_at_each_tip() {
        let folder = tempfile::tempdir().expect("a folder");
        let node = start(folder.path()).await;
        let reader = node.shared.reader();
        let found = reader.state_hash(None, &Mutex::default()).expect("a hash");
        let known = |tip: &str| {
            Mutex::new(Some(StateHash {
                height: 0,
                tip: tip.to_owned(),
                state_hash: "known".to_owned(),
            }))
        };
        let (same, other) = (known(&found.tip), known("another block"));
        let again = reader.state_hash(None, &same).expect("a hash");
        assert_eq!(again.state_hash, "known");
        assert_eq!(
            reader
                .state_hash(Some(Height::GENESIS), &other)
                .expect("a hash"),
            found
        );
        assert_eq!(other.into_inner().expect("whole"), Some(found.clone()));
        assert!(reader.state_hash(Some(Height::FIRST), &same).is_err());
        let hashes = StateHashes::new();
        let (one, two) = tokio::join!(
            hashes.ask(&reader, None),
            hashes.ask(&reader, Some(Height::GENESIS))
        );
        assert_eq!(
            (one.expect("a hash"), two.expect("a hash")),
            (found.clone(), found)
        );
        node.stop().await;
    }
}
