//! Bringing a node up and taking it down.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use flow::FlowRegistry;
use kernel::port::{Reads, StoreFailure, Table, WriteBatch};
use kernel::{Event, Identity, Kernel, KernelOptions, Priority};
use ledger::{ContractRegistry, Rejection};
use net::{Compression, Inbound, NetLimits, PeerAddress, Sink, Transport};
use primitives::{Coded, ErrorInfo};
use store::{Class, Committer, CommitterOptions, Embedded};
use thiserror::Error;
use tokio::sync::watch;

use super::clock::Clock;
use super::columns::Columns;
use super::mailbox::Mailbox;
use super::replies::Replies;
use super::service::{Readers, STOP_PATIENCE, Service};
use super::shared::Shared;
use super::stuck;
use super::thread::CoreThread;
use super::view::{ViewFeed, ViewThread};
use crate::bootstrap::NodeFiles;
use crate::config::NodeConfig;
use crate::http::{
    ApiToken, HttpHandle, HttpOptions, HttpServer, ListenError, TlsError, Tokens, server_config,
};
use crate::metrics::NodeMetrics;
use crate::users::{AuditLog, Users, UsersError};

/// The ledger's store, within the data folder.
const LEDGER: &str = "ledger";
/// The vault's view, within the data folder.
const VIEW: &str = "vault.sqlite";

/// What a node can run.
pub struct Apps {
    /// Its contracts.
    pub contracts: ContractRegistry,
    /// Its flows.
    pub flows: FlowRegistry,
}

impl Apps {
    /// What comes with this software: cash.
    ///
    /// # Errors
    /// Two contracts of one name and version.
    pub fn built_in() -> Result<Self, StartError> {
        let mut apps = Self {
            contracts: ContractRegistry::new(),
            flows: FlowRegistry::new(),
        };
        finance::register_contracts(&mut apps.contracts)
            .map_err(|error| StartError::Apps(error.to_string()))?;
        flow::transitions::register_flows(&mut apps.flows);
        finance::register_flows(&mut apps.flows);
        Ok(apps)
    }
}

/// Why a node does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The data folder can't be made.
    #[error("{path}: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The ledger's store does not open.
    #[error(transparent)]
    Store(#[from] store::OpenError),
    /// The ledger's store can't be read or written.
    #[error("{0}")]
    StoreFailed(StoreFailure),
    /// The kernel does not open.
    #[error(transparent)]
    Kernel(#[from] kernel::OpenError),
    /// The vault's view does not open.
    #[error(transparent)]
    View(#[from] store::ViewError),
    /// The connections to other nodes.
    #[error(transparent)]
    Transport(#[from] net::StartError),
    /// The API's certificate.
    #[error(transparent)]
    ApiTls(#[from] TlsError),
    /// The API's address.
    #[error(transparent)]
    ApiListen(#[from] ListenError),
    /// The users of the node's folder.
    #[error(transparent)]
    Users(#[from] UsersError),
    /// A token's hash in the configuration.
    #[error("api.tokens: the sha256 of user '{0}' is not 64 hexadecimal digits")]
    Token(String),
    /// Contracts or flows do not go together.
    #[error("{0}")]
    Apps(String),
    /// The system gives no thread or no random bytes.
    #[error("{0}")]
    System(String),
}

/// The vault's view can't be asked, or does not follow the ledger.
pub(super) const VIEW_FAILED: ErrorInfo = ErrorInfo {
    code: "vault.view_failed",
    cause: "The vault's view can't be read or written, so what the node holds is not known; the ledger itself is whole.",
    action: "Read the node's log and check the disk; the view is rebuilt from the ledger when its file is removed while the node is stopped.",
};

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    VIEW_FAILED,
    ErrorInfo {
        code: "node.data_folder",
        cause: "The node's data folder can't be made or used.",
        action: "Check node.data_dir in the configuration, its permissions, and the space on the disk.",
    },
    ErrorInfo {
        code: "node.bad_token_hash",
        cause: "An entry of api.tokens has no proper SHA-256.",
        action: "Put the token's SHA-256 there, 64 hexadecimal digits, as sha256sum prints it.",
    },
    ErrorInfo {
        code: "node.apps",
        cause: "Contracts or flows that were registered contradict each other.",
        action: "Register each contract's version once.",
    },
    ErrorInfo {
        code: "node.system",
        cause: "The operating system refuses a thread or random bytes.",
        action: "Check the limits of processes and memory for the node's user.",
    },
];

impl Coded for StartError {
    fn code(&self) -> &'static str {
        match self {
            StartError::Folder { .. } => "node.data_folder",
            StartError::Store(error) => error.code(),
            StartError::StoreFailed(failure) => failure.code,
            StartError::Kernel(error) => error.code(),
            StartError::View(error) => error.code(),
            StartError::Transport(error) => error.code(),
            StartError::ApiTls(error) => error.code(),
            StartError::ApiListen(error) => error.code(),
            StartError::Users(error) => error.code(),
            StartError::Token(_) => "node.bad_token_hash",
            StartError::Apps(_) => "node.apps",
            StartError::System(_) => "node.system",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            StartError::Store(error) => error.hint(),
            StartError::StoreFailed(failure) => failure.hint,
            StartError::Kernel(error) => error.hint(),
            StartError::View(error) => error.hint(),
            StartError::Transport(error) => error.hint(),
            StartError::ApiTls(error) => error.hint(),
            StartError::ApiListen(error) => error.hint(),
            StartError::Users(error) => error.hint(),
            _ => ErrorInfo::action_of(ERRORS, self.code()),
        }
    }
}

/// A running node. Dropping it stops it without ceremony, as a crash would.
pub struct Node {
    shared: Arc<Shared>,
    transport: Transport,
    http: HttpHandle,
    committer: Committer,
    threads: Vec<JoinHandle<()>>,
    drained: watch::Receiver<bool>,
    failed: watch::Receiver<Option<Rejection>>,
}

impl Node {
    /// Starts a node on its folder: locks and flows are recovered before it listens to anybody.
    ///
    /// # Errors
    /// See [`StartError`]; nothing keeps running.
    pub async fn start(files: NodeFiles, apps: Apps) -> Result<Node, StartError> {
        let NodeFiles {
            dir,
            config,
            identity,
            chain,
            tls_key,
            root,
            network,
            info,
        } = files;
        let data = dir.join(&config.node.data_dir);
        std::fs::create_dir_all(&data).map_err(|source| StartError::Folder {
            path: data.clone(),
            source,
        })?;
        let store_options = store::Options {
            cache_bytes: config.cache.blocks_bytes,
            memtable_bytes: config.store.memory_bytes,
            log_bytes: config.store.log_bytes,
            ..store::Options::default()
        };
        let store = Embedded::open(&data.join(LEDGER), &store_options)?;
        let committer_options = CommitterOptions {
            linger_us: config.store.linger_us,
            ..CommitterOptions::default()
        };
        let committer = Committer::start(store.clone(), committer_options)
            .map_err(|error| StartError::System(format!("the commit thread: {error}")))?;
        let epoch = epoch(&store, &committer)?;

        let clock = Clock::default();
        let network = Arc::new(network);
        let contracts = Arc::new(apps.contracts);
        for descriptor in contracts.descriptors() {
            // An operator who authorises an upgrade needs these hashes.
            tracing::info!(hash = %descriptor.hash(), "contract {}", descriptor.contract());
        }
        let flows = Arc::new(apps.flows);
        let keys = vec![identity.public().clone()];
        let kernel_identity = Identity {
            me: info.party.clone(),
            keys: vec![identity],
            network: Arc::clone(&network),
            contracts: Arc::clone(&contracts),
            flows: Arc::clone(&flows),
        };
        let options = kernel_options(&config)?;
        let mut first = Vec::new();
        let kernel = Kernel::open(options, kernel_identity, &store, clock.now(), &mut first)?;
        let figures = Mutex::new(kernel.figures());

        let ledger_end = store
            .last(Table::Ledger)
            .map_err(StartError::StoreFailed)?
            .and_then(|(key, _)| kernel::rows::seq_of(&key))
            .unwrap_or(0);
        let view_path = data.join(VIEW);
        let columns = Arc::new(Columns::of(&contracts));
        let view_options = store::ViewOptions {
            cache_bytes: config.cache.view_bytes,
            reader_cache_bytes: config.cache.view_reader_bytes,
            columns: columns.list().to_vec(),
            ..store::ViewOptions::default()
        };
        let (view, reader, progress) = super::view::open(&view_path, &view_options, ledger_end)?;

        let metrics = Arc::new(NodeMetrics::new());
        let mailbox = Arc::new(Mailbox::new(config.limits.inbound_bytes));
        let feed = Arc::new(ViewFeed::new(ledger_end));
        let me = info.party.id();
        let others = network.nodes().filter(|(id, _)| **id != me);
        let peers = others.map(|(id, info)| PeerAddress {
            id: *id,
            addresses: info.addresses.clone(),
        });
        let message_bytes_max = network.parameters().max_message_bytes;
        let message_bytes_max = u32::try_from(message_bytes_max).unwrap_or(u32::MAX);
        let transport = Transport::start(
            net::Options {
                me,
                epoch,
                software: super::peers::SOFTWARE.to_owned(),
                listen: config.p2p.listen,
                tls: net::TlsMaterial {
                    chain: chain.clone(),
                    key: tls_key.clone_key(),
                    root,
                },
                peers: peers.collect(),
                compression: match config.p2p.compression {
                    true => Compression::Auto,
                    false => Compression::Off,
                },
                linger_us: config.p2p.linger_us,
                limits: NetLimits {
                    message_bytes_max,
                    queue_bytes_max: config.p2p.queue_bytes.max(2 * message_bytes_max as usize),
                    ..NetLimits::default()
                },
            },
            Arc::new(FromPeers {
                mailbox: Arc::clone(&mailbox),
            }),
        )?;

        let sender = transport.handle().clone();
        let (drained_sender, drained) = watch::channel(false);
        let (failed_sender, failed) = watch::channel(None);
        let audit = Arc::new(AuditLog::open(&dir)?);
        let shared = Arc::new(Shared {
            clock,
            mailbox: Arc::clone(&mailbox),
            replies: Replies::default(),
            followers: Arc::default(),
            view: Arc::clone(&feed),
            send: Box::new(move |messages| {
                let lane = |priority| match priority {
                    Priority::Normal => 0,
                    Priority::Bulk => 2,
                };
                let messages = messages.into_iter();
                // What is dropped is counted by the transport and sent again by the kernel.
                sender.send_many(
                    messages.map(|(peer, priority, bytes)| (peer, lane(priority), bytes)),
                );
            }),
            metrics: Arc::clone(&metrics),
            audit: Arc::clone(&audit),
            committed: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            drained: drained_sender,
            failed: failed_sender,
            figures,
        });

        let view_thread = ViewThread {
            view,
            reader,
            reads: store.clone(),
            feed,
            mailbox,
            contracts: Arc::clone(&contracts),
            network: Arc::clone(&network),
            keys: keys.clone(),
            columns: Arc::clone(&columns),
            metrics: Arc::clone(&metrics),
            ledger_end,
        };
        let core_thread = CoreThread {
            kernel,
            reads: store.clone(),
            committer: committer.handle(),
            shared: Arc::clone(&shared),
        };
        let threads = vec![
            thread("view", move || view_thread.run())?,
            thread("kernel", move || core_thread.run(first))?,
        ];

        let reader_cache = view_options.reader_cache_bytes;
        let service = Service {
            shared: Arc::clone(&shared),
            info,
            network,
            contracts,
            columns,
            flows,
            keys,
            store,
            readers: Arc::new(Readers {
                queries: Arc::new(tokio::sync::Semaphore::new(config.api.queries_max)),
                idle: Mutex::default(),
                open: Box::new(move || store::VaultReader::open(&view_path, reader_cache)),
            }),
            progress,
            net: transport.handle().clone(),
            started: Instant::now(),
        };
        let mut http = http_options(&config, server_config(chain, tls_key)?)?;
        http.users = Some(Arc::new(Users::open(&dir, config.users.into())?));
        http.audit = Some(audit);
        let service = Arc::new(service);
        tokio::spawn(stuck::watch(Arc::downgrade(&service)));
        let http = HttpServer::start(http, service, metrics).await?;
        Ok(Node {
            shared,
            transport,
            http,
            committer,
            threads,
            drained,
            failed,
        })
    }

    /// Where clients find it.
    pub fn api_address(&self) -> std::net::SocketAddr {
        self.http.address()
    }

    /// Where other nodes find it.
    pub fn p2p_address(&self) -> std::net::SocketAddr {
        self.transport.handle().local_address()
    }

    /// Takes no new starts from now on. Returns when the last flow has ended, or why it never will: the store has failed.
    pub async fn drain(&mut self) -> Result<(), Rejection> {
        if !self
            .shared
            .draining
            .swap(true, std::sync::atomic::Ordering::Relaxed)
        {
            self.shared.mailbox.push(Event::Drain);
        }
        // An error of either means that the kernel's thread is gone: there is nothing to wait for.
        tokio::select! {
            _ = self.drained.wait_for(|drained| *drained) => Ok(()),
            failed = self.failed.wait_for(Option::is_some) => {
                failed.ok().and_then(|failed| failed.clone()).map_or(Ok(()), Err)
            }
        }
    }

    /// Stops: requests in flight are answered, what was submitted is committed.
    pub async fn stop(self) {
        let Node {
            shared,
            transport,
            http,
            committer,
            threads,
            ..
        } = self;
        http.stop().await;
        shared.mailbox.close();
        shared.view.stop();
        let ended = tokio::task::spawn_blocking(move || {
            for thread in threads {
                if thread.join().is_err() {
                    tracing::error!("a thread of the node panicked");
                }
            }
            drop(committer);
            drop(transport);
        });
        if tokio::time::timeout(STOP_PATIENCE, ended).await.is_err() {
            tracing::warn!("the node's threads did not end in time");
        }
    }
}

/// What comes from peers goes to the kernel.
struct FromPeers {
    mailbox: Arc<Mailbox>,
}

impl Sink for FromPeers {
    fn deliver(&self, batch: &mut Vec<Inbound>) {
        let events = batch.drain(..).map(|inbound| match inbound {
            Inbound::PeerUp { peer, epoch } => Event::PeerUp { peer, epoch },
            Inbound::PeerDown { peer } => Event::PeerDown { peer },
            Inbound::Message { peer, bytes } => Event::Message { peer, bytes },
        });
        self.mailbox.push_all(events);
    }

    fn has_room(&self) -> bool {
        !self.mailbox.is_full()
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StartError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| StartError::System(format!("the {name} thread: {error}")))
}

fn random() -> Result<[u8; 32], StartError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| StartError::System(format!("no random bytes: {error}")))?;
    Ok(bytes)
}

/// The number that names this store to the peers: drawn once.
fn epoch(store: &Embedded, committer: &Committer) -> Result<u64, StartError> {
    let key = kernel::rows::META_EPOCH;
    let found = store
        .get(Table::Meta, key)
        .map_err(StartError::StoreFailed)?;
    if let Some(epoch) = found.as_deref().and_then(kernel::rows::seq_of) {
        return Ok(epoch);
    }
    let drawn = random()?;
    let epoch = kernel::rows::seq_of(&drawn[..8]).unwrap_or(1).max(1);
    let mut batch = WriteBatch::default();
    batch.put(Table::Meta, key, epoch.to_be_bytes());
    committer
        .handle()
        .commit(Class::Normal, batch)
        .map_err(StartError::StoreFailed)?;
    Ok(epoch)
}

fn kernel_options(config: &NodeConfig) -> Result<KernelOptions, StartError> {
    let limits = config.limits;
    let mut options = KernelOptions {
        entropy: random()?,
        live_flows_max: limits.live_flows,
        start_queue_max: limits.start_queue,
        consent: (&config.transitions).into(),
        transactions_bytes: config.cache.transactions_bytes,
        known_signatures_bytes: config.cache.signatures_bytes,
        keys_bytes: config.cache.keys_bytes,
        outcomes_bytes: config.cache.outcomes_bytes,
        unshared_bytes: config.cache.unshared_bytes,
        sent_along_bytes: config.cache.sent_along_bytes,
        ..KernelOptions::default()
    };
    options.flow.responders_max = limits.responders;
    options.selection.coins_bytes_max = limits.coin_bytes;
    options.selection.coins_per_pool_max = limits.coins_per_token;
    options.notary = config.notary.map(|section| notary::NotaryOptions {
        kind: match section.validating {
            true => notary::NotaryKind::Validating,
            false => notary::NotaryKind::NonValidating,
        },
        batch_requests_max: section.batch_requests_max,
        batch_states_max: section.batch_states_max,
        queue_requests_max: section.queue_requests_max,
        queue_states_max: section.queue_states_max,
        ..notary::NotaryOptions::default()
    });
    Ok(options)
}

fn http_options(
    config: &NodeConfig,
    tls: Arc<rustls::ServerConfig>,
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
        connections_max: config.api.connections_max,
        body_bytes_max: config.api.body_bytes_max,
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
