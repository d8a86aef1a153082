//! Nodes whose data is on a PostgreSQL server, as real processes: the server crashes and ends connections, nodes are killed, and a node loses
//! its folder, all under load. Then every accepted flow has completed exactly once, value is conserved, and all nodes agree.

use std::fs;

use api::{Balances, LedgerPage, Wait};
use client::Client;
use perf::topology::{Network, NetworkOptions, Who};
use pgserver::{PASSWORD, PgServer, ServerOptions, USER};

use crate::stage::banks::Banks;
use crate::stage::command::tally;
use crate::stage::{self, A, B, Seeded, cash};
use crate::vault_sql::agrees;

/// Rounds of disturbances.
const ROUNDS: usize = 3;
/// Flows outstanding at each bank.
const OUTSTANDING: usize = 16;
/// Maximum duration of undisturbed load before a disturbance.
const QUIET_MS_MAX: u64 = 700;
/// How long a process or the server stays down, at most.
const DOWN_MS_MAX: u64 = 300;

/// A fault of the network.
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
    let clients = [A, B].map(|who| stage::client(&network, who));
    let server = network.database_server().expect("a server");
    for (client, schema) in clients.iter().zip(["bank_a", "bank_b"]) {
        agrees(client, server, schema).await;
    }
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
    fs::write(&password, PASSWORD).expect("written");
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

async fn issue_and_pay(client: &Client, to: &str) {
    for quantity in [500, 70, 3] {
        let start = cash::issue_and_pay("GBP", quantity, to).expect("arguments");
        stage::completes(client, start, Wait::Delivered).await;
    }
    let start = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(client, start, Wait::Finalised).await;
}

async fn books(client: &Client) -> (Balances, LedgerPage) {
    (
        client.balances().await.expect("balances"),
        client.ledger(None, 1_000).await.expect("the ledger"),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_moves_to_a_server_and_back_without_a_difference() {
    let mut network = stage::network(&["A", "B"]);
    let (folder, to) = (network.folder(A).to_path_buf(), network.name(B).to_owned());
    issue_and_pay(&stage::client(&network, A), &to).await;
    let before = books(&stage::client(&network, A)).await;
    network.stop(A).expect("stops");

    let server = PgServer::start(&ServerOptions::default()).expect("PostgreSQL starts");
    let config = folder.join("node.toml");
    let without = fs::read_to_string(&config).expect("readable");
    let refused = tally(&folder, "db import --node % --json");
    assert!(refused.err.contains("database.no_url"), "{}", refused.err);
    let password = folder.join("database-password");
    fs::write(&password, PASSWORD).expect("written");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&password, private).expect("changed");
    let section = format!(
        "\n[database]\nurl = \"postgres://{USER}@127.0.0.1:{}/{USER}\"\npassword_file = \"database-password\"\nschema = \"bank\"\n",
        server.port()
    );
    fs::write(&config, format!("{without}{section}")).expect("written");
    let refused = network.start(A).expect_err("data in the folder");
    assert!(
        refused.to_string().contains("database.embedded_store"),
        "{refused}"
    );
    let refused = tally(&folder, "db export --node % --json");
    assert!(
        refused.err.contains("database.in_the_way"),
        "{}",
        refused.err
    );

    let made = tally(&folder, "db migrate --node % --json");
    assert_eq!(made.code, 0, "{}", made.err);
    // As if an import had been cut short.
    server
        .query("insert into bank.rows values (1, '\\x00', '\\x00')")
        .expect("inserted");
    let moved = tally(&folder, "db import --node % --json");
    assert_eq!(moved.code, 0, "{}", moved.err);
    assert!(moved.json()["rows"].as_u64().expect("a number") > 10);
    network.start(A).expect("starts on the server");
    assert_eq!(
        books(&stage::client(&network, A)).await,
        before,
        "moved to the server"
    );
    issue_and_pay(&stage::client(&network, A), &to).await;
    agrees(&stage::client(&network, A), &server, "bank").await;
    let after = books(&stage::client(&network, A)).await;
    let held = tally(&folder, "db check --node % --json");
    assert!(held.err.contains("store.locked"), "{}", held.err);
    network.stop(A).expect("stops");

    let checked = tally(&folder, "db check --node % --json");
    assert_eq!(checked.code, 0, "{}", checked.err);
    let damage = "update bank.rows set value = value || '\\x00' where (tab, key) = (select tab, key from bank.rows order by tab, key limit 1)";
    server.query(damage).expect("changed");
    let checked = tally(&folder, "db check --node % --json");
    assert!(checked.err.contains("database.differs"), "{}", checked.err);
    let mend = damage.replace("value || '\\x00'", "substring(value for length(value) - 1)");
    server.query(&mend).expect("changed");

    let moved = tally(&folder, "db export --node % --json");
    assert_eq!(moved.code, 0, "{}", moved.err);
    fs::write(&config, without).expect("written");
    network.start(A).expect("starts on its folder");
    assert_eq!(
        books(&stage::client(&network, A)).await,
        after,
        "moved back"
    );
    issue_and_pay(&stage::client(&network, A), &to).await;
}
