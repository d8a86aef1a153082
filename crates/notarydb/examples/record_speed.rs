//! States a second that two workers enter into a Galera cluster of three servers on this machine, without requests, signatures and peers:
//! `cargo run --release -p notarydb --example record_speed [ROWS [ARGUMENT ...]]`. It first enters that many rows (0), so that the table has a size. The arguments are given to each
//! server, such as `--innodb-log-file-size=96M`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ledger::{LegalName, Party, StateRef, TxId};
use notary::{Entry, RequestRecord, UniquenessCheck, UniquenessOutcome, UniquenessRecord};
use notarydb::{Settings, SharedRecord};
use pgserver::{ClusterOptions, GaleraCluster, PASSWORD};
use primitives::{Domain, Hash, KeyPair, Scheme, SignatureContext, Timestamp};

/// Length of one measurement.
const SPAN: Duration = Duration::from_secs(5);
/// Workers.
const WORKERS: u64 = 2;
/// Batches of the preparation: transactions, and states of each.
const FILL: (u64, u64) = (500, 40);

fn id(worker: u64, number: u64) -> TxId {
    let name = [worker.to_be_bytes(), number.to_be_bytes()].concat();
    TxId::from_hash(Hash::of(Domain::Derive, &[&name]))
}

/// A batch of new transactions.
fn batch(
    worker: u64,
    next: &mut u64,
    (transactions, states): (u64, u64),
    record: &RequestRecord,
) -> UniquenessCheck {
    let mut entries = Vec::new();
    for _ in 0..transactions {
        *next += states + 1;
        let inputs = (0..states).map(|state| StateRef::new(id(worker, *next + state + 1), 0));
        entries.push(Entry {
            id: id(worker, *next),
            inputs: inputs.collect(),
            references: Vec::new(),
            record: record.clone(),
        });
    }
    UniquenessCheck {
        number: 0,
        transactions: Vec::new(),
        states: Vec::new(),
        entries,
        look_ups: Vec::new(),
    }
}

/// Enters batches until told to stop.
fn work(
    mut record: SharedRecord,
    worker: u64,
    size: (u64, u64),
    request: &RequestRecord,
    stop: &AtomicBool,
    entered: &AtomicU64,
) {
    // Each size of a batch has states of its own.
    let mut next = (size.0 * 1_000 + size.1) << 32;
    while !stop.load(Ordering::Relaxed) {
        let check = batch(worker, &mut next, size, request);
        let outcome = record.settle(&check).expect("no store");
        assert!(
            matches!(outcome, UniquenessOutcome::Found(_)),
            "the cluster is up"
        );
        entered.fetch_add(size.0 * size.1, Ordering::Relaxed);
    }
}

fn main() {
    let rows: u64 = std::env::args()
        .nth(1)
        .map_or(0, |rows| rows.parse().expect("a number"));
    let mut arguments = vec![
        "--innodb-buffer-pool-size=1G".to_owned(),
        "--innodb-log-file-size=1G".to_owned(),
    ];
    // The last of two settings counts.
    arguments.extend(std::env::args().skip(2));
    let cluster = GaleraCluster::start(&ClusterOptions {
        arguments,
        ..ClusterOptions::default()
    });
    let cluster = cluster.expect("MariaDB and Galera are installed");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let password = folder.path().join("password");
    std::fs::write(&password, PASSWORD).expect("the folder is ours");
    let key = KeyPair::from_seed(Scheme::Ed25519, [7; 32]);
    let name = LegalName::new("Notary Service", "Zurich", "CH").expect("a legal name");
    let service = Party::new(name, key.public().clone());
    let request = RequestRecord {
        requester: service.id(),
        key: key.public().clone(),
        signature: key.sign(SignatureContext::NotaryRequest, &Hash::ZERO),
        at: Timestamp::from_ms(1),
    };
    let open = |place| {
        notarydb::open(&Settings {
            url: cluster.url(),
            password_file: Some(password.clone()),
            ca: None,
            service: service.clone(),
            place,
            is_successor: false,
            give_up: Duration::from_secs(30),
        })
        .expect("the cluster is up")
    };
    let (mut record, mut next, mut filled) = (open(0), 0, 0);
    while filled < rows {
        let check = batch(WORKERS, &mut next, FILL, &request);
        let outcome = record.settle(&check).expect("no store");
        assert!(
            matches!(outcome, UniquenessOutcome::Found(_)),
            "the cluster is up"
        );
        filled += FILL.0 * FILL.1;
        eprint!("\r{filled} of {rows} rows");
    }
    for size in [(1, 1), (50, 1), (500, 1), (50, 10), (50, 100)] {
        let (stop, entered) = (&AtomicBool::new(false), &AtomicU64::new(0));
        let began = Instant::now();
        std::thread::scope(|scope| {
            for worker in 0..WORKERS {
                let (record, request) = (open(worker as usize), &request);
                scope.spawn(move || work(record, worker, size, request, stop, entered));
            }
            std::thread::sleep(SPAN);
            stop.store(true, Ordering::Relaxed);
        });
        let rate = entered.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
        println!(
            "{filled} rows, {} requests of {} states in a batch: {rate:.0} states/s",
            size.0, size.1
        );
    }
}
