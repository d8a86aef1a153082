//! Every released format stays readable: the folder of a node that a released program wrote and left in the middle of its work is opened, read and
//! used again. The folders are in `testdata/fixtures`, made by `tests/vectors/make_node_fixture.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use api::{ConsumedEntry, StartFlow, Wait};
use client::{ChainClient, Client, Endpoint};
use perf::topology::{NodeProcess, Program, free_ports};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::stage;

/// Folders of banks.
const BANKS: [&str; 2] = ["node-store-1.json", "node-store-2.json"];
/// Folders of notaries.
const NOTARIES: [&str; 1] = ["notary-store-2.json"];
/// Folders of chain nodes.
const CHAIN_NODES: [&str; 1] = ["chain-store-2.json"];
/// Fixtures that a test of another crate opens.
const OTHERS: [&str; 1] = ["sorted-tables-2.txt"];

/// The parent chain.
const PARENT: u8 = 1;

/// A node's folder as text.
#[derive(Deserialize)]
struct Fixture<T> {
    expected: T,
    files: BTreeMap<PathBuf, Held>,
}

#[derive(Deserialize)]
struct Held {
    mode: String,
    /// Hexadecimal text, or the length of a run of zeroes.
    bytes: Vec<Value>,
}

/// The contents that a reader must find in a bank's folder.
#[derive(Deserialize)]
struct Bank {
    name: String,
    client_id: String,
    issued_by: String,
    transactions: usize,
    live_flow: String,
    live_flow_name: String,
    held: u128,
}

/// The contents that a reader must find in a notary's folder.
#[derive(Deserialize)]
struct Notary {
    name: String,
    consumed: Vec<ConsumedEntry>,
}

/// The contents that a reader must find in a chain node's folder.
#[derive(Deserialize)]
struct ChainNode {
    name: String,
    height: u32,
    hash: String,
    in_block: Paid,
    /// A transaction. Its deadline has passed by now.
    in_pool: String,
}

/// The balance of an account that got one payment.
#[derive(Deserialize)]
struct Paid {
    account: String,
    balance: u64,
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

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fixtures")
}

/// Reads a fixture and writes its files to a folder.
fn lay<T: DeserializeOwned>(name: &str) -> (Fixture<T>, tempfile::TempDir) {
    let text = fs::read_to_string(fixtures().join(name)).expect(name);
    let fixture: Fixture<T> = serde_json::from_str(&text).expect(name);
    let folder = tempfile::tempdir().expect("a folder");
    for (name, held) in &fixture.files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, held.bytes()).expect("written");
        let mode = u32::from_str_radix(held.mode.trim_start_matches("0o"), 8).expect("octal");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
    }
    (fixture, folder)
}

/// Gives the node ports that are free on this machine. Returns that of its API.
fn move_ports(config_file: &Path) -> u16 {
    let ports = free_ports(2).expect("free ports");
    let text = fs::read_to_string(config_file).expect("text");
    let mut config: toml::Table = text.parse().expect("TOML");
    for (section, port) in ["api", "p2p"].into_iter().zip(&ports) {
        let section = config[section].as_table_mut().expect("a section");
        section.insert("listen".into(), format!("127.0.0.1:{port}").into());
    }
    fs::write(config_file, config.to_string()).expect("written");
    ports[0]
}

/// Starts the node of a folder, whose command is `arguments`.
fn start(folder: &Path, config_file: &str, arguments: &[&str]) -> (NodeProcess, Endpoint) {
    let port = move_ports(&folder.join(config_file));
    let mut process = NodeProcess::new(Program {
        name: "the node of the fixture".into(),
        binary: stage::binary(),
        arguments: arguments
            .iter()
            .map(|word| word.replace('%', &folder.to_string_lossy()))
            .collect(),
        environment: Vec::new(),
        log: folder.join("node.log"),
        ready_marker: "\"ready\"".into(),
    });
    process.start().expect("it starts");
    process.wait_ready(stage::DEADLINE).expect("it is ready");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("text");
    let endpoint = Endpoint {
        address: format!("127.0.0.1:{port}"),
        server_name: "localhost".into(),
        root_pem: read("root.pem"),
        token: read("api-token").trim().into(),
    };
    (process, endpoint)
}

fn start_node(folder: &Path) -> (NodeProcess, Client) {
    // A flow of the bank waits for a notary that is gone.
    let arguments = ["node", "run", "%", "--drain-seconds", "0"];
    let (process, endpoint) = start(folder, "node.toml", &arguments);
    (process, Client::new(endpoint).expect("a client"))
}

async fn reads_and_goes_on(expected: &Bank, folder: &Path, when: &str) {
    let (mut process, client) = start_node(folder);
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

async fn lists_consumed_states(expected: &Notary, folder: &Path, when: &str) {
    let (mut process, client) = start_node(folder);
    let node = client.node().await.expect("an answer");
    assert_eq!(node.name, expected.name, "{when}");
    let page = client.consumed(None, 100).await.expect("readable");
    assert_eq!(page.entries, expected.consumed, "{when}");
    assert_eq!(page.next, None, "{when}");
    let consumers: BTreeSet<&str> = expected
        .consumed
        .iter()
        .map(|entry| entry.consumed_by.as_str())
        .collect();
    let requests = client.notary_requests(None, 100).await.expect("readable");
    let signed: BTreeSet<&str> = requests
        .entries
        .iter()
        .map(|entry| entry.transaction.as_str())
        .collect();
    assert_eq!(signed, consumers, "{when}");
    process.stop(stage::DEADLINE).expect("it stops");
}

async fn balance(client: &ChainClient, paid: &Paid) -> u64 {
    let view = client
        .balances(std::slice::from_ref(&paid.account))
        .await
        .expect("readable");
    let balances = &view.accounts[0].balances;
    let parent = balances.iter().find(|token| token.chain == PARENT);
    parent.expect("every chain of the network").balance
}

async fn reads_and_forges(expected: &ChainNode, folder: &Path, when: &str) {
    let (mut process, endpoint) = start(folder, "chain.toml", &["chain", "run", "%"]);
    let client = ChainClient::new(endpoint).expect("a client");
    let status = client.status().await.expect("an answer");
    assert_eq!(status.name, expected.name, "{when}");
    assert!(status.height >= expected.height, "{when}: {status:?}");
    let height = expected.height.to_string();
    let block = client.block(&height, "none").await.expect("readable");
    assert_eq!(block.hash, expected.hash, "{when}");
    let in_block = &expected.in_block;
    assert_eq!(balance(&client, in_block).await, in_block.balance, "{when}");
    // A node that has not read the pool does not know it.
    let left = stage::eventually("the payment of the pool has expired", async || {
        let answer = client.transaction(&expected.in_pool).await;
        answer.expect("it is known").reason
    })
    .await;
    assert_eq!(left, "chain_tx.expired", "{when}");
    let from = status.height;
    stage::eventually("a new block", async || {
        let status = client.status().await.expect("an answer");
        (status.height > from).then_some(())
    })
    .await;
    process.stop(stage::DEADLINE).expect("it stops");
}

#[test]
fn every_released_fixture_is_present_and_opened() {
    let entries = fs::read_dir(fixtures()).expect("fixtures");
    let found: BTreeSet<String> = entries
        .map(|entry| entry.expect("readable").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let expected = [&BANKS[..], &NOTARIES, &CHAIN_NODES, &OTHERS].concat();
    assert_eq!(found, expected.into_iter().map(String::from).collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn folders_of_released_nodes_open_and_go_on() {
    for name in BANKS {
        let (fixture, folder) = lay::<Bank>(name);
        if !fixture.files.contains_key(Path::new("users.toml")) {
            // The one step of an operator: programs of that time took a missing list of users for an empty one.
            let ran = stage::command::tally(folder.path(), "user init --node %");
            assert_eq!(ran.code, 0, "{name}: {}", ran.err);
        }
        for when in ["first", "second"] {
            let when = format!("{name}, {when} start");
            reads_and_goes_on(&fixture.expected, folder.path(), &when).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn folders_of_released_notaries_keep_consumed_states() {
    for name in NOTARIES {
        let (fixture, folder) = lay::<Notary>(name);
        assert!(!fixture.expected.consumed.is_empty(), "{name}");
        for when in ["first", "second"] {
            let when = format!("{name}, {when} start");
            lists_consumed_states(&fixture.expected, folder.path(), &when).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn folders_of_released_chain_nodes_keep_blocks_and_balances() {
    for name in CHAIN_NODES {
        let (fixture, folder) = lay::<ChainNode>(name);
        for when in ["first", "second"] {
            let when = format!("{name}, {when} start");
            reads_and_forges(&fixture.expected, folder.path(), &when).await;
        }
    }
}
