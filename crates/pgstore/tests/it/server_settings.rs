//! Settings of the server that would change the outcome of statements, set before a connection begins or while it lasts.

use pgserver::PgServer;
use pgstore::Target;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;

use crate::rig::{Rig, server, settings, wait_for};
use crate::workload::{assert_equals, model};

/// Settings of the role: names, values, and the values in a session of ours.
const HOSTILE: &[(&str, &str, &str)] = &[
    ("synchronous_commit", "off", "on"),
    (
        "default_transaction_isolation",
        "serializable",
        "read committed",
    ),
    ("statement_timeout", "5s", "0"),
    ("lock_timeout", "5ms", "20s"),
    ("idle_in_transaction_session_timeout", "5s", "0"),
    ("idle_session_timeout", "5s", "0"),
    ("search_path", "public", "pg_catalog, pg_temp"),
    // It stays. No statement has a literal with a backslash.
    ("standard_conforming_strings", "off", "off"),
];

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

fn connect(runtime: &Runtime, server: &PgServer) -> Client {
    let target = Target::of(&settings(server)).expect("good settings");
    let connected = runtime.block_on(pgstore::connect(&target));
    connected.expect("connected")
}

/// Returns the value of a setting in a session.
fn show(runtime: &Runtime, client: &Client, setting: &str) -> String {
    let row = runtime.block_on(client.query_one("select current_setting($1)", &[&setting]));
    row.expect("readable").get(0)
}

/// Changes settings in the file of a running server. New sessions have the value `mark` of `work_mem` from then on.
fn reload(server: &PgServer, mark: &str, synchronous_commit: &str) {
    for statement in [
        format!("alter system set synchronous_commit = {synchronous_commit}"),
        format!("alter system set work_mem = '{mark}'"),
        "select pg_reload_conf()".to_owned(),
    ] {
        server.administer(&statement).expect("changed");
    }
    wait_for("the reload", || {
        server.query("show work_mem").expect("readable") == mark
    });
}

#[test]
fn a_session_keeps_its_durability_when_the_server_reloads_its_settings() {
    let (server, runtime) = (server(), runtime());
    // (in the file at the connection, in the session, in the file after it)
    for (at, (before, own, after)) in (0..).zip([
        ("on", "on", "local"),
        ("on", "on", "off"),
        ("remote_apply", "remote_apply", "on"),
        ("remote_write", "on", "off"),
        ("off", "on", "local"),
    ]) {
        let marks = [2 * at, 2 * at + 1].map(|number| format!("{}MB", 8 + number));
        reload(&server, &marks[0], before);
        let client = connect(&runtime, &server);
        assert_eq!(show(&runtime, &client, "synchronous_commit"), own);
        reload(&server, &marks[1], after);
        wait_for("the session's reload", || {
            show(&runtime, &client, "work_mem") == marks[1]
        });
        let found = show(&runtime, &client, "synchronous_commit");
        assert_eq!(found, own, "{before}, then {after}");
    }
}

#[test]
fn settings_of_a_role_change_no_outcome() {
    let (server, runtime, seed) = (server(), runtime(), 31);
    for (setting, hostile, _) in HOSTILE {
        let statement = format!("alter role ledger set {setting} = '{hostile}'");
        server.administer(&statement).expect("changed");
    }
    let client = connect(&runtime, &server);
    for (setting, _, own) in HOSTILE {
        assert_eq!(show(&runtime, &client, setting), *own, "{setting}");
    }
    let settings = settings(&server);
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let rig = Rig::open(&settings, folders[0].path()).expect("opens");
    rig.commit(seed, 1, 100);
    drop(rig);
    let rig = Rig::open(&settings, folders[1].path()).expect("opens");
    assert_equals(&rig.cache, &model(seed, 100), "on the server");
}
