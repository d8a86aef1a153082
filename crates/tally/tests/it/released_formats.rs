//! Every released format stays readable: the folder of a node that a released program wrote and left in the middle of its work is opened, read and
//! gone on with. The folders are in `testdata/fixtures`, made by `tests/vectors/make_node_fixture.py`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use api::{StartFlow, Wait};
use client::{Client, Endpoint};
use perf::topology::{NodeProcess, Program, free_ports};
use serde::Deserialize;
use serde_json::Value;

use crate::stage;

/// A node's folder as text.
#[derive(Deserialize)]
struct Fixture {
    expected: Expected,
    files: BTreeMap<PathBuf, Held>,
}

#[derive(Deserialize)]
struct Held {
    mode: String,
    /// Hexadecimal text, or the length of a run of zeroes.
    bytes: Vec<Value>,
}

/// The contents that a reader must find.
#[derive(Deserialize)]
struct Expected {
    name: String,
    client_id: String,
    issued_by: String,
    transactions: usize,
    live_flow: String,
    live_flow_name: String,
    held: u128,
}

impl Held {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for piece in &self.bytes {
            match piece {
                Value::String(text) => bytes.extend(primitives::hex::decode(text).expect("hex")),
                zeroes => {
                    let count = zeroes.as_u64().expect("a length");
                    bytes.resize(bytes.len() + usize::try_from(count).expect("small"), 0);
                }
            }
        }
        bytes
    }
}

fn lay(fixture: &Fixture, folder: &Path) {
    for (name, held) in &fixture.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, held.bytes()).expect("written");
        let mode = u32::from_str_radix(held.mode.trim_start_matches("0o"), 8).expect("octal");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
    }
}

/// Gives the node ports that are free on this machine; returns that of its API.
fn move_ports(folder: &Path) -> u16 {
    let ports = free_ports(2).expect("free ports");
    let path = folder.join("node.toml");
    let mut config: toml::Table = fs::read_to_string(&path)
        .expect("text")
        .parse()
        .expect("TOML");
    for (section, port) in ["api", "p2p"].into_iter().zip(&ports) {
        let section = config[section].as_table_mut().expect("a section");
        section.insert("listen".into(), format!("127.0.0.1:{port}").into());
    }
    fs::write(&path, config.to_string()).expect("written");
    ports[0]
}

fn start(folder: &Path) -> (NodeProcess, Client) {
    let port = move_ports(folder);
    let mut process = NodeProcess::new(Program {
        name: "the node of the fixture".into(),
        binary: stage::binary(),
        arguments: vec![
            "node".into(),
            "run".into(),
            folder.to_string_lossy().into_owned(),
            // One of its flows waits for a notary that is gone.
            "--drain-seconds".into(),
            "0".into(),
        ],
        environment: Vec::new(),
        log: folder.join("node.log"),
        ready_marker: "\"ready\"".into(),
    });
    process.start().expect("it starts");
    process.wait_ready(stage::DEADLINE).expect("it is ready");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("text");
    let client = Client::new(Endpoint {
        address: format!("127.0.0.1:{port}"),
        server_name: "localhost".into(),
        root_pem: read("root.pem"),
        token: read("api-token").trim().into(),
    });
    (process, client.expect("a client"))
}

async fn reads_and_goes_on(fixture: &Fixture, folder: &Path, when: &str) {
    let expected = &fixture.expected;
    let (mut process, client) = start(folder);
    assert_eq!(
        client.node().await.expect("an answer").name,
        expected.name,
        "{when}"
    );
    let ledger = client.ledger(None, 100).await.expect("readable");
    assert_eq!(ledger.entries.len(), expected.transactions, "{when}");
    let held = stage::eventually("the vault's view is filled", async || {
        stage::holds(&client, "GBP").await.ok()
    })
    .await;
    assert_eq!(held, expected.held, "{when}");
    let flows = client.flows(None, 10).await.expect("readable").flows;
    let live = flows.iter().find(|flow| flow.flow_id == expected.live_flow);
    let live = live.unwrap_or_else(|| panic!("{when}: the journal is gone: {flows:?}"));
    assert_eq!(live.flow.as_deref(), Some(expected.live_flow_name.as_str()));
    // The start that the released program accepted is not executed again.
    let arguments = serde_json::json!({ "currency": "GBP", "quantity": 1000, "outputs": 3 });
    let again = StartFlow::new("cash.issue", &arguments).expect("JSON");
    let again = again.client_id(expected.client_id.clone());
    let outcome = stage::completes(&client, again, Wait::Finalised).await;
    assert_eq!(outcome.flow_id, expected.issued_by, "{when}");
    process.stop(stage::DEADLINE).expect("it stops");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn folders_of_released_nodes_open_and_go_on() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fixtures");
    let mut opened = 0;
    for entry in fs::read_dir(fixtures).expect("fixtures") {
        let path = entry.expect("readable").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if !name.starts_with("node-") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("text");
        let fixture: Fixture = serde_json::from_str(&text).expect(&name);
        let folder = tempfile::tempdir().expect("a folder");
        lay(&fixture, folder.path());
        if !fixture.files.contains_key(Path::new("users.toml")) {
            // The one step of an operator: programs of that time took a missing list of users for an empty one.
            let line = "user init --node %";
            let ran = stage::command::tally(folder.path(), line);
            assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        }
        reads_and_goes_on(&fixture, folder.path(), &format!("{name}, first start")).await;
        reads_and_goes_on(&fixture, folder.path(), &format!("{name}, second start")).await;
        opened += 1;
    }
    assert!(opened >= 1, "a fixture of each release");
}
