//! Nodes whose data is on a PostgreSQL server, as real processes: the server crashes and ends connections, nodes are killed, and a node loses
//! its folder, all under load. Then every accepted flow has completed exactly once, value is conserved, and all nodes agree.

use std::fs;

use perf::topology::{Network, NetworkOptions, Who};

use crate::stage::banks::Banks;
use crate::stage::{self, A, B, Seeded};

/// Rounds of disturbances.
const ROUNDS: usize = 3;
/// Flows outstanding at each bank.
const OUTSTANDING: usize = 16;
/// Maximum duration of undisturbed load before a disturbance.
const QUIET_MS_MAX: u64 = 700;
/// How long a process or the server stays down, at most.
const DOWN_MS_MAX: u64 = 300;

/// What is done to the network.
#[derive(Clone, Copy, Debug)]
enum Disturbance {
    KillNode(Who),
    /// The node starts without its cache, as on another machine.
    LoseCache(Who),
    CrashServer,
    StopServer,
    EndConnections,
}

const DISTURBANCES: [Disturbance; 6] = [
    Disturbance::CrashServer,
    Disturbance::KillNode(A),
    Disturbance::EndConnections,
    Disturbance::LoseCache(B),
    Disturbance::StopServer,
    Disturbance::KillNode(Who::Notary),
];

fn disturb(network: &mut Network, what: Disturbance, seeded: &mut Seeded) {
    let down = seeded.moment(DOWN_MS_MAX);
    let restart = |network: &mut Network, who: Who| {
        let started = network.start(who);
        started.unwrap_or_else(|error| panic!("{what:?}: {error}"));
    };
    match what {
        Disturbance::KillNode(who) => {
            network.kill(who);
            std::thread::sleep(down);
            restart(network, who);
        }
        Disturbance::LoseCache(who) => {
            network.kill(who);
            fs::remove_dir_all(network.data(who).join("database-cache")).expect("a cache");
            restart(network, who);
        }
        Disturbance::CrashServer | Disturbance::StopServer => {
            let server = network.database_server().expect("a server");
            match what {
                Disturbance::CrashServer => server.crash().expect("signalled"),
                _ => server.stop().expect("signalled"),
            }
            std::thread::sleep(down);
            server.run().expect("runs again");
        }
        Disturbance::EndConnections => {
            let server = network.database_server().expect("a server");
            let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'tally'";
            assert_ne!(server.administer(end).expect("ended"), "0");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_accepted_flow_completes_exactly_once_on_a_server() {
    let mut seeded = Seeded::from_environment();
    let options = NetworkOptions {
        database: true,
        ..stage::options(&["A", "B"])
    };
    let mut network = Network::bring_up(&options).expect("the network comes up");
    let banks = Banks::open(&network, OUTSTANDING).await;
    for _ in 0..ROUNDS {
        for what in DISTURBANCES {
            tokio::time::sleep(seeded.moment(QUIET_MS_MAX)).await;
            (network, seeded) = tokio::task::spawn_blocking(move || {
                disturb(&mut network, what, &mut seeded);
                (network, seeded)
            })
            .await
            .expect("it comes back");
        }
    }
    let wrong = banks.close(&network).await;
    assert_eq!(
        wrong, 0,
        "outcomes that do not list what their flow recorded"
    );
    let server = network.database_server().expect("a server");
    for schema in ["notary", "bank_a", "bank_b"] {
        let whole = format!(
            "select count(*) from (select number, lead(number) over (order by number) as next from {schema}.commits) as pairs
             where next <> number + 1"
        );
        assert_eq!(server.query(&whole).expect("readable"), "0", "{schema}");
    }
}

#[test]
fn a_node_says_what_is_wrong_with_its_database() {
    let options = NetworkOptions {
        database: true,
        ..stage::options(&["A"])
    };
    let mut network = Network::bootstrap(&options).expect("folders and a server");
    let folder = network.folder(A).to_path_buf();
    let password = folder.join("database-password");
    fs::write(&password, "wrong").expect("written");
    let refused = network.start(A).expect_err("a wrong password").to_string();
    assert!(refused.contains("database.log_in"), "{refused}");

    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&password, open).expect("changed");
    let refused = network.start(A).expect_err("open to others").to_string();
    assert!(refused.contains("database.settings"), "{refused}");

    fs::create_dir_all(network.data(A).join("ledger")).expect("made");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&password, private).expect("changed");
    fs::write(&password, pgserver::PASSWORD).expect("written");
    let refused = network.start(A).expect_err("an embedded store").to_string();
    assert!(refused.contains("database.embedded_store"), "{refused}");

    fs::remove_dir(network.data(A).join("ledger")).expect("removed");
    network.start(A).expect("all is right");
    network.stop(A).expect("stops");

    let config = folder.join("node.toml");
    let text = fs::read_to_string(&config).expect("readable");
    let mut table: toml::Table = text.parse().expect("TOML");
    table.remove("database");
    fs::write(&config, table.to_string()).expect("written");
    let refused = network.start(A).expect_err("data elsewhere").to_string();
    assert!(refused.contains("database.not_configured"), "{refused}");
}
