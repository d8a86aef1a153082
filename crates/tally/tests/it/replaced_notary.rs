//! Workers take the place of a notary that was a node of its own, as docs/guides/replicated-notary.md tells: the data of the old notary moves,
//! nobody signs without it, and states keep their notary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use api::Wait;
use perf::topology::{Network, Who};
use pgserver::{PASSWORD, PgServer, ServerOptions, USER, free_ports};
use rustix::process::Signal;

use crate::stage::command::{Running, started, tally};
use crate::stage::{self, A, B, cash};

/// In the folder of a worker: the password of the database.
const PASSWORD_FILE: &str = "notary-database-password";

/// Adds a worker to the network, with the name of the old notary as its service. Every folder gets the new documents.
fn add_worker(network: &Network, server: &PgServer) {
    let root = network.root();
    let described = fs::read_to_string(root.join("NETWORK.toml")).expect("bootstrap read it");
    let (_, others) = described
        .split_once("\n\n")
        .expect("the notary comes first");
    let ports = free_ports(2).expect("free ports");
    let worker = format!(
        "[[node]]\nname = \"O=Notary 1, L=London, C=GB\"\naddress = \"127.0.0.1:{}\"\napi = \"127.0.0.1:{}\"\n\
         notary = true\nservice = \"{}\"\n\
         config.notary_database = {{ url = \"postgres://{USER}@127.0.0.1:{}/{USER}\", password_file = \"{PASSWORD_FILE}\" }}\n",
        ports[0],
        ports[1],
        network.name(Who::Notary),
        server.port()
    );
    fs::write(
        root.join("WORKERS.toml"),
        format!("{worker}\n\n{}", others.trim_start()),
    )
    .expect("written");
    let made = tally(root, "network bootstrap %/WORKERS.toml --out %/nodes");
    assert_eq!(made.code, 0, "{}", made.err);
    let password = root.join("nodes/notary-1").join(PASSWORD_FILE);
    fs::write(&password, PASSWORD).expect("written");
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).expect("set");
}

/// A node that this test started itself. Dropping it kills it.
struct Started(Option<Running>);

impl Started {
    fn has_ended(&mut self) -> bool {
        self.0.as_mut().is_none_or(Running::has_ended)
    }

    fn stop(mut self) {
        if let Some(running) = self.0.take() {
            running.signal(Signal::TERM);
            let ran = running.ran();
            assert_eq!(ran.code, 0, "{}", ran.err);
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut running) = self.0.take()
            && !running.has_ended()
        {
            running.signal(Signal::KILL);
            running.ran();
        }
    }
}

/// Checks that the node refuses to start for this reason.
fn does_not_start(folder: &Path, code: &str) {
    let mut node = Started(Some(started(folder, "node run %")));
    stage::until("the node refuses to start", || node.has_ended());
    let ran = node.0.take().expect("started").ran();
    assert_ne!(ran.code, 0, "{code}");
    assert!(ran.err.contains(code), "{code}: {}", ran.err);
    assert!(stage::is_documented(code), "{code}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_takes_the_place_of_a_single_notary() {
    let mut network = stage::network(&["A", "B"]);
    let to = network.name(B).to_owned();
    let issue = cash::issue("GBP", 1_000).expect("arguments");
    stage::completes(&stage::client(&network, A), issue, Wait::Delivered).await;
    let pay = |quantity| cash::pay("GBP", None, quantity, &to, 1).expect("arguments");
    stage::completes(&stage::client(&network, A), pay(300), Wait::Delivered).await;
    network.stop_all().expect("all stop");

    let server = PgServer::start(&ServerOptions::default()).expect("it starts");
    add_worker(&network, &server);
    let (old, worker) = (
        network.folder(Who::Notary).to_owned(),
        network.root().join("nodes/notary-1"),
    );
    does_not_start(&old, "record.replaced");
    does_not_start(&worker, "record.not_moved");
    let other = network.folder(A).display().to_string();
    let refused = tally(&worker, &format!("notary migrate --node % --from {other}"));
    assert!(refused.err.contains("record.old_notary"), "{}", refused.err);

    // The second time finds every row there.
    let line = format!("notary migrate --node % --from {} --json", old.display());
    for _ in 0..2 {
        let moved = tally(&worker, &line);
        assert_eq!(moved.code, 0, "{}", moved.err);
        // The state that was issued, and the payment that consumed it.
        assert_eq!(moved.json()["rows"], 2, "{}", moved.out);
    }
    let audit = tally(&worker, "notary audit --node % --json").json();
    assert_eq!(audit["inconsistencies"], 0, "{audit}");
    assert_eq!(audit["states"], 1, "{audit}");
    assert_eq!(audit["transactions"], 1, "{audit}");

    let running = Started(Some(started(&worker, "node run %")));
    for who in [A, B] {
        network.start(who).expect("it starts");
    }
    // The states of A name the old notary, and the worker signs for them.
    stage::completes(&stage::client(&network, A), pay(200), Wait::Delivered).await;
    for (who, holds) in [(A, 500), (B, 500)] {
        let client = stage::client(&network, who);
        assert_eq!(stage::holds(&client, "GBP").await.expect("readable"), holds);
    }
    running.stop();
    let audit = tally(&worker, "notary audit --node % --json").json();
    assert_eq!(audit["inconsistencies"], 0, "{audit}");
    assert_eq!(audit["transactions"], 2, "{audit}");

    // The service's key is lost, and bootstrap finds it in the old notary's folder.
    let files = fs::read_dir(&worker).expect("readable");
    let names = files.map(|file| file.expect("readable").path());
    let keys: Vec<_> = names
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("notary-") && name.ends_with(".key")
        })
        .collect();
    let [key] = keys.as_slice() else {
        panic!("one key of a service: {keys:?}");
    };
    let before = fs::read(key).expect("readable");
    fs::remove_file(key).expect("removed");
    does_not_start(&worker, "bootstrap.key_lost");
    let made = tally(
        network.root(),
        "network bootstrap %/WORKERS.toml --out %/nodes",
    );
    assert_eq!(made.code, 0, "{}", made.err);
    assert_eq!(fs::read(key).expect("made again"), before);
    does_not_start(&old, "record.replaced");
}
