//! The faults of a replicated notary: of its workers, of a Galera cluster, and of a PostgreSQL server.

use std::time::{Duration, Instant};

use historycheck::EventKind;
use perf::topology::{Network, NotaryBackend, Who};
use pgserver::{GaleraCluster, PgServer, ServerError};
use rustix::process::Signal;

use super::Run;
use crate::stage::{self, Seeded};

/// Maximum duration of a fault.
const DOWN_MS_MAX: u64 = 3_000;
/// How long a slow server stops at a time, and how long it runs in between.
const SLOW_STOP: Duration = Duration::from_millis(200);
const SLOW_RUN: Duration = Duration::from_millis(20);
/// A server with a full disk writes no file beyond this many bytes: less than the tables have after a second of load.
const FULL_DISK_BYTES: u64 = 65_536;
/// Servers of the cluster.
const SERVERS: u64 = 3;

/// A fault of the service.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    KillWorker,
    FreezeWorker,
    /// The server ends as in a power cut.
    Crash,
    Freeze,
    /// The server answers 200 ms late, again and again.
    Slow,
    /// No file of the server grows any more.
    FullDisk,
    /// The server of the cluster loses the others, and clients still reach it.
    Isolate,
    /// Two servers lose the others: no majority.
    IsolateTwo,
    /// One server is left, which is no majority.
    CrashTwo,
    RestartCluster,
    /// The server ends all connections, also those in the middle of a commit.
    EndConnections,
}

/// Returns the faults of a kind of database.
pub(super) fn all(backend: NotaryBackend) -> &'static [Fault] {
    match backend {
        NotaryBackend::Galera => &[
            Fault::KillWorker,
            Fault::FreezeWorker,
            Fault::Crash,
            Fault::Freeze,
            Fault::Isolate,
            Fault::IsolateTwo,
            Fault::Slow,
            Fault::FullDisk,
            Fault::CrashTwo,
            Fault::RestartCluster,
        ],
        NotaryBackend::Postgres => &[
            Fault::KillWorker,
            Fault::FreezeWorker,
            Fault::Crash,
            Fault::Freeze,
            Fault::Slow,
            Fault::FullDisk,
            Fault::EndConnections,
        ],
    }
}

/// Performs a fault, and heals it. Notes when it takes the majority of the servers away, begins to give it back and has given it back.
pub(super) fn perform(network: &mut Network, fault: Fault, seeded: &mut Seeded, run: &Run) {
    let down = seeded.moment(DOWN_MS_MAX);
    let worker = [Who::Notary, Who::Worker(0)][seeded.between(0, 2) as usize];
    let server = seeded.between(0, SERVERS) as usize;
    match fault {
        Fault::KillWorker => {
            network.kill(worker);
            std::thread::sleep(down);
            network.start(worker).expect("it starts again");
        }
        Fault::FreezeWorker => {
            let pid = network.pid(worker).expect("it runs");
            stage::signal(pid, Signal::STOP);
            std::thread::sleep(down);
            stage::signal(pid, Signal::CONT);
        }
        _ => match network.notary_cluster() {
            Some(cluster) => disturb_cluster(cluster, server, fault, down, run),
            None => {
                let server = network.notary_server().expect("a server");
                disturb_server(server, fault, down, run);
            }
        },
    }
}

fn disturb_cluster(
    cluster: &mut GaleraCluster,
    server: usize,
    fault: Fault,
    down: Duration,
    run: &Run,
) {
    let next = (server + 1) % SERVERS as usize;
    match fault {
        Fault::Crash => {
            cluster.crash(server).expect("signalled");
            std::thread::sleep(down);
            cluster.run(server).expect("it joins again");
        }
        Fault::Freeze => {
            cluster.suspend(server, true).expect("signalled");
            std::thread::sleep(down);
            cluster.suspend(server, false).expect("signalled");
        }
        Fault::Isolate => {
            isolate(cluster, server, true);
            std::thread::sleep(down);
            isolate(cluster, server, false);
        }
        Fault::IsolateTwo => {
            run.note(EventKind::MajorityLost);
            isolate(cluster, server, true);
            isolate(cluster, next, true);
            std::thread::sleep(down);
            run.note(EventKind::MajorityReturning);
            isolate(cluster, server, false);
            isolate(cluster, next, false);
        }
        Fault::Slow => slow(down, |is_stopped| cluster.suspend(server, is_stopped)),
        Fault::FullDisk => {
            let full = cluster.bound_files(server, Some(FULL_DISK_BYTES));
            full.expect("its files are bounded");
            std::thread::sleep(down);
            cluster.bound_files(server, None).expect("lifted");
            // A server that cannot apply what the others have leaves them. Its operator starts it again.
            cluster.crash(server).expect("signalled");
            cluster.run(server).expect("it joins again");
        }
        Fault::CrashTwo => {
            run.note(EventKind::MajorityLost);
            cluster.crash(server).expect("signalled");
            cluster.crash(next).expect("signalled");
            std::thread::sleep(down);
            // The last server has to end as well before the cluster can begin anew.
            let anew = cluster.restart_all(|| run.note(EventKind::MajorityReturning));
            anew.expect("the cluster begins anew");
        }
        Fault::RestartCluster => {
            run.note(EventKind::MajorityLost);
            let anew = cluster.restart_all(|| run.note(EventKind::MajorityReturning));
            anew.expect("the cluster begins anew");
        }
        Fault::KillWorker | Fault::FreezeWorker | Fault::EndConnections => {
            unreachable!("{fault:?} is no fault of a cluster")
        }
    }
    for server in 0..cluster.servers() {
        cluster.joined(server).expect("it is with the others");
    }
    if matches!(
        fault,
        Fault::IsolateTwo | Fault::CrashTwo | Fault::RestartCluster
    ) {
        run.note(EventKind::MajorityBack);
    }
}

/// Disturbs the only server: while it is away, there is no majority.
fn disturb_server(server: &mut PgServer, fault: Fault, down: Duration, run: &Run) {
    match fault {
        Fault::Crash => {
            run.note(EventKind::MajorityLost);
            server.crash().expect("signalled");
            std::thread::sleep(down);
            run.note(EventKind::MajorityReturning);
            server.run().expect("it starts again");
            run.note(EventKind::MajorityBack);
        }
        Fault::Freeze => {
            run.note(EventKind::MajorityLost);
            server.suspend(true).expect("signalled");
            std::thread::sleep(down);
            run.note(EventKind::MajorityReturning);
            server.suspend(false).expect("signalled");
            run.note(EventKind::MajorityBack);
        }
        Fault::Slow => slow(down, |is_stopped| server.suspend(is_stopped)),
        Fault::FullDisk => {
            run.note(EventKind::MajorityLost);
            server
                .bound_files(FULL_DISK_BYTES)
                .expect("its files are bounded");
            std::thread::sleep(down);
            // Its operator makes room and starts it again.
            server.crash().expect("signalled");
            run.note(EventKind::MajorityReturning);
            server.run().expect("it starts again");
            run.note(EventKind::MajorityBack);
        }
        Fault::EndConnections => {
            let others = "select count(pg_terminate_backend(pid)) from pg_stat_activity where pid <> pg_backend_pid() and usename = current_user";
            let ended = server.query(others).expect("it answers");
            assert_ne!(ended, "0", "the workers have connections");
        }
        _ => unreachable!("{fault:?} is no fault of a single server"),
    }
}

/// Stops a server for a moment, again and again.
fn slow(for_time: Duration, suspend: impl Fn(bool) -> Result<(), ServerError>) {
    let end = Instant::now() + for_time;
    while Instant::now() < end {
        suspend(true).expect("signalled");
        std::thread::sleep(SLOW_STOP);
        suspend(false).expect("signalled");
        std::thread::sleep(SLOW_RUN);
    }
}

fn isolate(cluster: &GaleraCluster, server: usize, is_isolated: bool) {
    let set = format!(
        "set global wsrep_provider_options = 'gmcast.isolate={}'",
        u8::from(is_isolated)
    );
    cluster.query(server, &set).expect("set");
}
