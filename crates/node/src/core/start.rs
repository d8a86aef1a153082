//! Bringing a node up and taking it down.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use kernel::jobs::Job;
use kernel::port::{Table, damaged};
use kernel::{Event, Kernel, Priority};
use net::{Inbound, NetLimits, PeerAddress, Sink, Transport};
use notary::UniquenessRecord;
use notarydb::SharedRecord;
use pgstore::Database;
use primitives::storage::Reads;
use runtime::{Running, WorkerPool};
use store::{Class, Files, FilesOptions};
use tokio::sync::watch;

use super::apps::Apps;
use super::clock::Clock;
use super::columns::Columns;
use super::gate::Gate;
use super::ledger_core::{LedgerActions, LedgerCore, output};
use super::messages::KernelHandle;
use super::node_info::certificate_warning;
use super::options::{http_options, kernel_options, view_options};
use super::questions::Questions;
use super::readers::Readers;
use super::replies::Replies;
use super::service::Service;
use super::shared::NodeState;
use super::start_error::{PANICKED, StartError};
use super::storage::{Storage, notary_record};
use super::stuck;
use super::uniqueness::OwnRecord;
use super::vault_tables::VaultTables;
use super::view::{ViewParts, ViewThread};
use super::view_feed::ViewFeed;
use super::view_fill::Filler;
use super::workers::KernelWorkers;
use super::{history_look_ups, node_folder, opening, put_off, uniqueness};
use crate::bootstrap::NodeFiles;
use crate::files::{FILES_LANE, TransferHandle};
use crate::http::{HttpHandle, HttpServer, Services, server_config};
use crate::ledger_store::LedgerStore;
use crate::metrics::NodeMetrics;
use crate::open_files;
use crate::uploads::{UploadLimits, Uploads};
use crate::users::Users;

/// The folder of attachments, within the data folder.
pub(super) const ATTACHMENTS: &str = "attachments";
/// The vault's view, within the data folder.
pub(super) const VIEW: &str = "vault.sqlite";

/// A running node. Dropping it stops it without ceremony, as a crash would.
pub struct Node {
    pub(super) shared: Arc<NodeState>,
    pub(super) transport: Transport,
    pub(super) http: HttpHandle,
    /// Dropped before the core, so that a crash does not wait for a server that is away.
    pub(super) database: Option<Database>,
    pub(super) running: Running<LedgerCore>,
    /// While it is there, the upkeep of files goes on.
    pub(super) upkeep: std::sync::mpsc::Sender<()>,
    pub(super) drained: watch::Receiver<bool>,
    pub(super) exit_after_failure: Option<Duration>,
}

impl Node {
    /// Starts a node on its folder. Locks and flows are recovered before the node accepts connections.
    ///
    /// # Errors
    /// See [`StartError`]; nothing keeps running.
    pub fn start(files: NodeFiles, apps: Apps) -> BoxFuture<'static, Result<Node, StartError>> {
        // Compiled here, and not in each crate that awaits it.
        Box::pin(Self::start_here(files, apps))
    }

    async fn start_here(files: NodeFiles, apps: Apps) -> Result<Node, StartError> {
        let data = files.data();
        let me = files.info.party.id();
        if files.network.services().contains_key(&me) {
            return Err(StartError::Replaced);
        }
        let certificates_end = files.certificates_end();
        if let Some((info, message)) = certificates_end.and_then(certificate_warning) {
            tracing::warn!(code = info.code, hint = info.action, "{message}");
        }
        let Storage {
            store,
            committer,
            mut database,
        } = Storage::open(&files, files.config.database.standby)?;
        let NodeFiles {
            dir,
            config,
            identity,
            custody_key: _,
            chain,
            tls_key,
            root,
            network,
            info,
            service,
        } = files;
        let shared_record = notary_record(&dir, &config, service.as_ref(), &info, &network).await?;
        // API calls have a connection of their own, so that no batch waits for them.
        let notary_reader = notary_record(&dir, &config, service.as_ref(), &info, &network).await?;
        let notary_reader = notary_reader.map(|reader| Arc::new(Mutex::new(reader)));
        let notary_database = shared_record.as_ref().map(SharedRecord::meter);
        let peers = network.nodes().count();
        let exit_after_failure = config.store.exit_after_failure();
        let connections = open_files::connections(config.api.connections_max, peers);
        let files_options = FilesOptions {
            keep_free_bytes: config.attachments.keep_free_bytes,
            ..FilesOptions::default()
        };
        let files = Files::open(&data.join(ATTACHMENTS), files_options)?;
        let lost_files = node_folder::check_attachments(&store, &files)?;

        let limits = UploadLimits {
            bytes_max: network.parameters().max_attachment_bytes,
            idle: config.attachments.uploads(),
            ..UploadLimits::default()
        };
        let uploads = Arc::new(Uploads::open(files.clone(), limits)?);
        tokio::spawn(crate::uploads::watch(Arc::downgrade(&uploads)));

        let clock = Clock::default();
        let network = Arc::new(network);
        let keys = vec![identity.public().clone()];
        let kernel_identity =
            opening::kernel_identity(&config, &info, identity, service, &network, apps);
        let contracts = Arc::clone(&kernel_identity.contracts);
        let flows = Arc::clone(&kernel_identity.flows);
        for descriptor in contracts.descriptors() {
            // An operator who authorises an upgrade needs these hashes.
            tracing::info!(hash = %descriptor.hash(), "contract {}", descriptor.contract());
        }
        let options = kernel_options(&config)?;
        let mut first = Vec::new();
        let view_path = data.join(VIEW);
        let contents = node_folder::contents(&dir, &view_path)?;
        let (record, rows) =
            opening::folder_record(&dir, &contents, &kernel_identity, &options, &store)?;
        // Every start of a node with an audit log commits here, so a store that can't be written stops the start.
        let committed = committer.handle().commit(Class::Normal, rows);
        committed.map_err(StartError::StoreFailed)?;
        node_folder::warn_of_unusable_states(record.report());
        let (epoch, is_audit_lost) = (record.epoch(), record.report().is_audit_log_lost);
        let now = clock.now();
        let kernel = Kernel::open(options, kernel_identity, record, &store, now, &mut first)?;
        let figures = Mutex::new(kernel.figures());

        let ledger_end = ledger_end(&store)?;
        let columns = Arc::new(Columns::of(&contracts));
        let view_options = view_options(&config, &columns);
        let (view, reader, progress) = super::view::open(&view_path, &view_options, ledger_end)?;

        let metrics = Arc::new(NodeMetrics::new());
        let threads = config.node.other_workers();
        let workers = WorkerPool::start(threads, Job::run, Job::cost, metrics.workers());
        let workers =
            workers.map_err(|error| StartError::System(format!("a worker thread: {error}")))?;
        let kernel = kernel.with_workers(Box::new(KernelWorkers(workers)));
        let handle = KernelHandle::new(config.limits.inbound_bytes);
        if let Some(database) = &database {
            let told = handle.clone();
            database.on_loss(move |failure| told.fail(failure));
        }
        let feed = Arc::new(ViewFeed::new(ledger_end));
        let me = info.party.id();
        let others = network.nodes().filter(|(id, _)| **id != me);
        let peers = others.map(|(id, info)| PeerAddress {
            id: *id,
            name: info.party.name.to_string(),
            addresses: info.addresses.clone(),
        });
        let message_bytes_max = network.parameters().max_message_bytes;
        // A clipped size is above the largest one, and refused by the transport.
        let message_bytes_max = u32::try_from(message_bytes_max).unwrap_or(u32::MAX);
        let queue_bytes_max = config.p2p.queue_bytes.max(2 * message_bytes_max as usize);
        let transfers = Arc::new(TransferHandle::new(config.attachments.memory_bytes));
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
                compression: config.p2p.compression.into(),
                linger_us: config.p2p.linger_us,
                limits: NetLimits {
                    message_bytes_max,
                    queue_bytes_max,
                    ..NetLimits::default()
                },
            },
            Arc::new(FromPeers {
                kernel: handle.clone(),
                transfers: Arc::clone(&transfers),
            }),
        )?;

        if database.as_ref().is_some_and(Database::has_waited) {
            transport.handle().announce();
        }
        let sender = transport.handle().clone();
        let cutter = transport.handle().clone();
        let (drained_sender, drained) = watch::channel(false);
        let (audit, lost_audit) = node_folder::open_audit(&dir, is_audit_lost, &handle)?;
        let audit = Arc::new(audit);
        let losses: Vec<_> = lost_files.into_iter().chain(lost_audit).collect();
        for loss in &losses {
            let (code, hint) = (loss.info.code, loss.info.action);
            tracing::error!(code, hint, "{}", loss.message);
        }
        let users = Arc::new(Users::open(&dir, config.users.into())?);
        let (uniqueness, questions) = Questions::new();
        let (put_off, batches) = Questions::new();
        let (history, look_ups) = Questions::new();
        let shared = Arc::new(NodeState {
            clock,
            kernel: handle.clone(),
            gate: Gate::new(kernel.start_capacity()),
            replies: Replies::default(),
            followers: Arc::default(),
            view: Arc::clone(&feed),
            uniqueness,
            put_off,
            history,
            files: Arc::clone(&transfers),
            send: Box::new(move |messages| {
                let lane = |priority| match priority {
                    Priority::Normal => 0,
                    Priority::Bulk => 2,
                };
                let messages = messages.into_iter();
                // The transport counts dropped messages, and the kernel sends them again.
                sender.send_many(
                    messages.map(|(peer, priority, bytes)| (peer, lane(priority), bytes)),
                );
            }),
            cut_off: Box::new(move |peer, time| cutter.cut_off(&peer, time)),
            metrics: Arc::clone(&metrics),
            audit: Arc::clone(&audit),
            draining: AtomicBool::new(false),
            drained: drained_sender,
            figures,
            peers: Mutex::default(),
        });

        let readers = Arc::new(Readers {
            queries: Arc::new(tokio::sync::Semaphore::new(config.api.queries_max)),
            path: view_path,
            cache_bytes: view_options.reader_cache_bytes,
            feed: Arc::clone(&feed),
            progress: progress.clone(),
            idle: RwLock::default(),
        });
        let filler = Filler {
            reads: store.clone(),
            contracts: Arc::clone(&contracts),
            network: Arc::clone(&network),
            me: info.party.id(),
            keys: keys.clone(),
            columns: Arc::clone(&columns),
        };
        if let Some(database) = &mut database {
            let filler = filler.clone();
            database.write_vault_tables(Box::new(VaultTables { filler }))?;
        }
        let view_thread = ViewThread::new(ViewParts {
            view,
            reader,
            filler,
            feed,
            kernel: handle.clone(),
            metrics: Arc::clone(&metrics),
            readers: Arc::clone(&readers),
        });
        let figures = Arc::clone(&shared);
        let transfers = crate::files::start(
            crate::files::Shell {
                transfers,
                files: files.clone(),
                store: store.clone(),
                kernel: handle.clone(),
                net: transport.handle().clone(),
                network: Arc::clone(&network),
                metrics: Arc::clone(&metrics),
                trusts_clock: Box::new(move || figures.figures().clock.is_trusted),
            },
            config
                .attachments
                .transfers(message_bytes_max, queue_bytes_max),
            config.attachments.upkeep(),
        );
        let crate::files::Running {
            mut threads,
            upkeep,
        } = transfers.map_err(|error| StartError::System(format!("a thread of files: {error}")))?;
        let beside = handle.clone();
        threads.push(thread("view", move || {
            beside.guard(PANICKED, "view", || view_thread.run());
        })?);
        let (to_checker, waiting) = std::sync::mpsc::channel();
        let (to_here, checked) = std::sync::mpsc::channel();
        let (asker, checker) = (handle.clone(), handle.clone());
        threads.push(thread("put-off", move || {
            asker.guard(PANICKED, "hand-over of signatures", || {
                put_off::hand_over(&batches, &to_checker, &checked, &asker);
            });
        })?);
        threads.push(thread("idle-checks", move || {
            checker.guard(PANICKED, "signature check", || {
                put_off::check_when_idle(&waiting, &to_here, &checker);
            });
        })?);
        let (asker, reads) = (handle.clone(), store.clone());
        threads.push(thread("history", move || {
            asker.guard(PANICKED, "look-up in the flow history", || {
                history_look_ups::answer_all(&look_ups, &reads, &asker);
            });
        })?);
        if config.notary.is_some() {
            let mut record: Box<dyn UniquenessRecord> = match shared_record {
                Some(shared) => Box::new(shared),
                None => Box::new(OwnRecord(store.clone())),
            };
            let kernel = handle.clone();
            threads.push(thread("uniqueness", move || {
                kernel.guard(PANICKED, "uniqueness check", || {
                    uniqueness::answer_all(&questions, &mut *record, &kernel);
                });
            })?);
        }
        let running = runtime::start(runtime::Parts {
            core: LedgerCore::new(kernel, store.clone(), Arc::clone(&shared)),
            first: output(first, LedgerActions::default()),
            handle,
            shell: Arc::clone(&shared),
            committer,
            metrics: metrics.rounds(),
        });
        let mut running =
            running.map_err(|error| StartError::System(format!("the kernel thread: {error}")))?;
        running.attach(threads);

        let service = Service {
            shared: Arc::clone(&shared),
            info,
            network,
            contracts,
            columns,
            flows,
            keys,
            store,
            files,
            uploads,
            readers,
            progress,
            net: transport.handle().clone(),
            users: Arc::clone(&users),
            losses,
            certificates_end,
            notary_database,
            notary_reader,
            database: database
                .as_ref()
                .map(|database| Box::new(database.meter()) as _),
            started: Instant::now(),
        };
        let mut http = http_options(&config, server_config(chain, tls_key)?, connections)?;
        http.users = Some(users);
        http.audit = Some(audit);
        let service = Arc::new(service);
        tokio::spawn(stuck::watch(Arc::downgrade(&service)));
        let http = HttpServer::start(http, Services::of(&service), metrics).await?;
        Ok(Node {
            shared,
            transport,
            http,
            running,
            database,
            upkeep,
            drained,
            exit_after_failure,
        })
    }
}

/// Passes the messages of peers to the kernel, and those about files to the transfer thread.
struct FromPeers {
    kernel: KernelHandle,
    transfers: Arc<TransferHandle>,
}

impl Sink for FromPeers {
    fn deliver(&self, batch: &mut Vec<Inbound>) {
        let events = batch.drain(..).filter_map(|inbound| {
            Some(match inbound {
                Inbound::PeerUp { peer, epoch } => {
                    self.transfers.peer_up(peer);
                    Event::PeerUp { peer, epoch }
                }
                Inbound::PeerDown { peer } => {
                    self.transfers.peer_down(peer);
                    Event::PeerDown { peer }
                }
                Inbound::Message { peer, lane, bytes } if lane >= FILES_LANE => {
                    self.transfers.message(peer, bytes);
                    return None;
                }
                Inbound::Message { peer, bytes, .. } => Event::Message { peer, bytes },
            })
        });
        self.kernel.tell_all(events);
    }

    fn has_room(&self) -> bool {
        !self.kernel.is_full()
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StartError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| StartError::System(format!("the {name} thread: {error}")))
}

/// The sequence of the last transaction recorded; 0 when there is none.
pub(super) fn ledger_end(store: &LedgerStore) -> Result<u64, StartError> {
    let last = store.last(Table::Ledger).map_err(StartError::StoreFailed)?;
    last.map_or(Ok(0), |(key, _)| seq_of(&key, "the last key of the ledger"))
}

/// Reads a row that is a number.
fn seq_of(row: &[u8], name: &str) -> Result<u64, StartError> {
    let seq = kernel::rows::seq_of(row);
    seq.ok_or_else(|| StartError::StoreFailed(damaged(name)))
}
