//! The records under test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kernel::port::{Table, WriteBatch};
use ledger::{LegalName, NotaryRequest, Party, StateRef, TxId};
use notary::{
    Entry, RequestRecord, UniquenessAnswer, UniquenessCheck, UniquenessOutcome, UniquenessRecord,
};
use notarydb::{Settings, SharedRecord};
use pgserver::{ClusterOptions, GaleraCluster, PASSWORD, PgServer, ServerOptions};
use primitives::storage::StoreFailure;
use primitives::{
    Domain, Encode, Hash, KeyPair, Scheme, SignatureChecker, SignatureContext, Timestamp,
};
use store::{Class, Committer, CommitterOptions, Embedded, Options};
use tempfile::TempDir;

pub fn service_key() -> KeyPair {
    KeyPair::from_seed(Scheme::Ed25519, [7; 32])
}

pub fn service() -> Party {
    let name = LegalName::new("Notary Service", "Zurich", "CH").expect("a legal name");
    Party::new(name, service_key().public().clone())
}

/// Transaction `number`.
pub fn tx(number: u64) -> TxId {
    TxId::from_hash(Hash::of(Domain::Derive, &[&number.to_be_bytes()]))
}

/// State `number`: one of the outputs of a transaction.
pub fn state(number: u64) -> StateRef {
    let of = TxId::from_hash(Hash::of(
        Domain::Derive,
        &[b"made", &(number / 3).to_be_bytes()],
    ));
    StateRef::new(of, (number % 3) as u32)
}

/// A transaction that consumes some states and reads others.
pub fn entry(number: u64, inputs: &[u64], references: &[u64]) -> Entry {
    let key = service_key();
    let id = tx(number);
    let message = NotaryRequest::message(&id, &service().id());
    Entry {
        id,
        inputs: inputs.iter().map(|input| state(*input)).collect(),
        references: references.iter().map(|one| state(*one)).collect(),
        record: RequestRecord {
            requester: service().id(),
            key: key.public().clone(),
            signature: key.sign(SignatureContext::NotaryRequest, &message),
            at: Timestamp::from_ms(1_000 + number),
        },
    }
}

pub fn check(entries: Vec<Entry>, look_ups: &[u64]) -> UniquenessCheck {
    let ids = entries.iter().map(|entry| entry.id);
    let look_ups: Vec<TxId> = look_ups.iter().map(|number| tx(*number)).collect();
    let states = entries
        .iter()
        .flat_map(|entry| entry.inputs.iter().chain(&entry.references));
    UniquenessCheck {
        number: 0,
        transactions: ids.chain(look_ups.clone()).collect(),
        states: states.copied().collect(),
        look_ups,
        entries,
    }
}

/// A place where workers find their record.
pub enum Backend {
    Store(Arc<Mutex<OwnStore>>),
    Galera(Box<GaleraCluster>, TempDir),
    Postgres(Box<PgServer>, TempDir),
}

impl Backend {
    pub fn store() -> Self {
        Self::Store(Arc::new(Mutex::new(OwnStore::new())))
    }

    pub fn galera() -> Self {
        let cluster = GaleraCluster::start(&ClusterOptions::default());
        Self::Galera(Box::new(cluster.expect("a cluster")), password())
    }

    pub fn postgres() -> Self {
        let server = PgServer::start(&ServerOptions::default());
        Self::Postgres(Box::new(server.expect("a server")), password())
    }

    /// The settings of a worker on a database.
    pub fn settings(&self, place: usize) -> Settings {
        let (url, folder) = match self {
            Self::Store(_) => panic!("a store has no workers' settings"),
            Self::Galera(cluster, folder) => (cluster.url(), folder),
            Self::Postgres(server, folder) => {
                let (user, port) = (pgserver::USER, server.port());
                (format!("postgres://{user}@127.0.0.1:{port}/{user}"), folder)
            }
        };
        Settings {
            url,
            password_file: Some(folder.path().join("password")),
            ca: None,
            service: service(),
            place,
            is_successor: false,
            give_up: Duration::from_secs(20),
        }
    }

    /// Runs statements on every server as the administrator.
    pub fn administer(&self, sql: &str) {
        let done: Result<Vec<String>, _> = match self {
            Self::Store(_) => panic!("a store has no servers"),
            Self::Galera(cluster, _) => {
                let servers = 0..cluster.servers();
                servers.map(|server| cluster.query(server, sql)).collect()
            }
            Self::Postgres(server, _) => server.administer(sql).map(|rows| vec![rows]),
        };
        done.expect("an administrator may");
    }

    pub fn shared(&self, place: usize) -> SharedRecord {
        notarydb::open(&self.settings(place)).expect("the database is up")
    }

    pub fn worker(&self, place: usize) -> Box<dyn UniquenessRecord> {
        match self {
            Self::Store(store) => Box::new(OwnWorker(Arc::clone(store))),
            _ => Box::new(self.shared(place)),
        }
    }
}

/// A folder with the file `password`.
pub fn password() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("password"), PASSWORD).expect("the folder is ours");
    folder
}

/// A store as a node has it. The test writes the rows that the kernel would write.
pub struct OwnStore {
    store: Embedded<Table>,
    committer: Committer<Table>,
    _folder: TempDir,
}

impl OwnStore {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Embedded::open(folder.path(), &Options::default()).expect("a new store");
        let committer = Committer::start(store.clone(), CommitterOptions::default());
        Self {
            committer: committer.expect("a thread"),
            store,
            _folder: folder,
        }
    }

    /// Returns the rows that a question is about.
    pub fn look_up(&self, check: &UniquenessCheck) -> Result<UniquenessAnswer, StoreFailure> {
        kernel::check_uniqueness(check, &self.store)
    }

    /// Writes the rows of transactions, and waits until they are durable.
    pub fn enter<'a>(
        &self,
        entries: impl IntoIterator<Item = &'a Entry>,
    ) -> Result<(), StoreFailure> {
        let mut rows = WriteBatch::default();
        for entry in entries {
            for input in &entry.inputs {
                let key = kernel::rows::state_ref_key(input);
                rows.put(Table::NotaryStates, key, entry.id.as_bytes().to_vec());
            }
            let key = entry.id.as_bytes().to_vec();
            rows.put(Table::NotaryTxs, key, entry.record.to_bytes());
        }
        self.committer.handle().commit(Class::Normal, rows)
    }
}

struct OwnWorker(Arc<Mutex<OwnStore>>);

impl UniquenessRecord for OwnWorker {
    fn settle(&mut self, check: &UniquenessCheck) -> Result<UniquenessOutcome, StoreFailure> {
        let own = self.0.lock().expect("no worker panics");
        let answer = own.look_up(check)?;
        let free = check.entries.iter().filter(|entry| entry.is_free(&answer));
        own.enter(free)?;
        Ok(UniquenessOutcome::Found(answer))
    }
}

pub fn checker() -> SignatureChecker {
    SignatureChecker::default()
}

/// Ends the threads of a test, also after a failure: the test waits for them.
pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
