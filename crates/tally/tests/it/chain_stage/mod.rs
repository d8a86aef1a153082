//! Shared parts of the tests of chain nodes: a test network of real processes, made and driven by the command line.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use client::{ChainClient, Endpoint};
use serde_json::Value;

/// The longest wait for an event that should happen.
pub const DEADLINE: Duration = Duration::from_secs(180);

fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_tally"))
}

/// A test network. Dropping it ends its processes.
pub struct Chain {
    folder: tempfile::TempDir,
    nodes: Vec<Option<Node>>,
}

struct Node {
    process: Child,
    _out: BufReader<ChildStdout>,
}

impl Drop for Chain {
    fn drop(&mut self) {
        (0..self.nodes.len()).for_each(|at| self.kill(at));
    }
}

impl Chain {
    /// Made, not running.
    pub fn make(servers: usize, block_seconds: u32) -> Self {
        Self::begun_before(servers, block_seconds, 0)
    }

    /// The same, for a network whose genesis is this number of seconds in the past.
    pub fn begun_before(servers: usize, block_seconds: u32, before: u32) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = Command::new(binary())
            .args([
                "chain",
                "genesis",
                "--json",
                "--servers",
                &servers.to_string(),
            ])
            .args(["--begun-before", &before.to_string()])
            .args(["--block-seconds", &block_seconds.to_string(), "--out"])
            .arg(folder.path())
            .output()
            .expect("tally runs");
        assert!(made.status.success(), "{made:?}");
        Self {
            folder,
            nodes: (0..servers).map(|_| None).collect(),
        }
    }

    /// Made and running.
    pub fn bring_up(servers: usize, block_seconds: u32) -> Self {
        let mut chain = Self::make(servers, block_seconds);
        (0..servers).for_each(|at| chain.start(at));
        chain
    }

    pub fn dir(&self, at: usize) -> PathBuf {
        self.folder.path().join(format!("server{}", at + 1))
    }

    /// Starts a node and waits until it takes work.
    pub fn start(&mut self, at: usize) {
        let log = std::fs::File::create(self.dir(at).join("log")).expect("a log");
        let mut process = Command::new(binary())
            .args(["chain", "run"])
            .arg(self.dir(at))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("tally runs");
        let mut out = BufReader::new(process.stdout.take().expect("piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("readable");
        let log = || std::fs::read_to_string(self.dir(at).join("log")).unwrap_or_default();
        assert!(line.contains("\"ready\""), "{line} {}", log());
        self.nodes[at] = Some(Node { process, _out: out });
    }

    /// Ends a node as a power cut would end its process.
    pub fn kill(&mut self, at: usize) {
        if let Some(mut node) = self.nodes[at].take() {
            // It may have ended already.
            let _ = node.process.kill();
            let _ = node.process.wait();
        }
    }

    pub fn client(&self, at: usize) -> ChainClient {
        ChainClient::new(self.endpoint(at)).expect("a client")
    }

    pub fn endpoint(&self, at: usize) -> Endpoint {
        let dir = self.dir(at);
        let read = |file: &str| std::fs::read_to_string(dir.join(file)).expect(file);
        let config: toml::Table = read("chain.toml").parse().expect("TOML");
        let listen = config["api"]["listen"].as_str().expect("an address");
        Endpoint {
            address: listen.to_owned(),
            server_name: "localhost".into(),
            root_pem: read("root.pem"),
            token: read("api-token").into(),
        }
    }

    /// A client without a token that counts.
    pub fn stranger(&self, at: usize) -> ChainClient {
        ChainClient::new(Endpoint {
            token: "0".repeat(64).into(),
            ..self.endpoint(at)
        })
        .expect("a client")
    }

    /// Changes the settings of a node that does not run.
    pub fn edit(&self, at: usize, from: &str, to: &str) {
        let path = self.dir(at).join("chain.toml");
        let text = std::fs::read_to_string(&path).expect("settings");
        assert!(text.contains(from), "{text}");
        std::fs::write(&path, text.replace(from, to)).expect("written");
    }

    pub fn clients(&self) -> Vec<ChainClient> {
        (0..self.nodes.len()).map(|at| self.client(at)).collect()
    }

    /// Runs `tally chain` on a node's folder, which stands for `%`.
    pub fn tally(&self, at: usize, line: &str) -> Ran {
        let dir = self.dir(at).to_string_lossy().into_owned();
        let words = line.split(' ').map(|word| word.replace('%', &dir));
        let ran = Command::new(binary())
            .arg("chain")
            .args(words)
            .stdin(Stdio::null())
            .env_remove("TALLY_NODE")
            .output()
            .expect("tally runs");
        Ran {
            code: ran.status.code().unwrap_or(-1),
            out: String::from_utf8(ran.stdout).expect("text"),
            err: String::from_utf8(ran.stderr).expect("text"),
        }
    }

    /// Pays with `tally chain send`; gives the transaction's id.
    pub fn pay(&self, at: usize, from: &str, to: &str, amount: &str, chain: &str) -> String {
        let line = format!(
            "send --node % --passphrase {from} --to passphrase:{to} --amount {amount} --chain {chain} --json"
        );
        let ran = self.tally(at, &line);
        assert_eq!(ran.code, 0, "{line}: {}", ran.err);
        ran.json()["id"].as_str().expect("an id").to_owned()
    }
}

/// Exit code, standard output, standard error.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

/// Polls until `probe` returns a value. Panics with `what` at the deadline.
pub async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Until a node stands at least so high.
pub async fn reaches(client: &ChainClient, height: u32) {
    let block = height.to_string();
    eventually("the chain grows", async || {
        let status = client.status().await.ok()?;
        // The height is shown when the block joins the chain, and its rows a commit later.
        let is_readable = client.block(&block, "none").await.is_ok();
        (status.height >= height && is_readable).then_some(())
    })
    .await;
}

/// Waits until a transaction is in a block on every node, with this number of confirmations.
pub async fn confirmed(clients: &[ChainClient], id: &str, blocks: u32) {
    for client in clients {
        eventually("the transaction is in a block everywhere", async || {
            let found = client.transaction(id).await.ok()?;
            (found.confirmations >= Some(blocks)).then_some(())
        })
        .await;
    }
}

/// Waits until all nodes have the same block, at least this number of blocks below the lowest tip. Returns its height.
pub async fn agree(clients: &[ChainClient], below: u32) -> u32 {
    eventually("the nodes agree", async || {
        let mut lowest = u32::MAX;
        for client in clients {
            lowest = lowest.min(client.status().await.ok()?.height);
        }
        let height = lowest.checked_sub(below).filter(|height| *height > 0)?;
        let mut hashes = Vec::new();
        for client in clients {
            hashes.push(client.block(&height.to_string(), "none").await.ok()?.hash);
        }
        hashes.dedup();
        (hashes.len() == 1).then_some(height)
    })
    .await
}

/// Returns the code of a refusal, or `taken` for a success.
pub fn code<T>(answer: Result<T, client::ClientError>) -> String {
    match answer {
        Ok(_) => "taken".to_owned(),
        Err(error) => error.code().to_owned(),
    }
}

/// Damage that a broken disk or memory might do to the store of a stopped node.
pub enum Spoil {
    /// The row that finds one transaction by its id.
    Index,
    /// The body of the last block but one that has any.
    Body,
    /// The same, and the row that undoes that block.
    BodyAndUndo,
}

/// See [`Spoil`].
pub fn spoil(dir: &Path, what: Spoil) {
    use chain::port::{Reads, Table, WriteBatch};
    let path = dir.join("data/chain");
    let options = store::Options {
        custody: Some(node::chain::load_chain_dir(dir).expect("a node").custody()),
        ..store::Options::default()
    };
    let store = store::Embedded::<Table>::open(&path, &options);
    let store = store.expect("nobody has it open");
    let rows = |table| store.scan(table, &[], None, 100_000).expect("rows");
    let mut batch = WriteBatch::default();
    let bodies = rows(Table::Bodies);
    let body = bodies[bodies.len().saturating_sub(2)].0.clone();
    match what {
        Spoil::Index => batch.delete(Table::TxIndex, rows(Table::TxIndex)[0].0.clone()),
        Spoil::Body => batch.delete(Table::Bodies, body),
        Spoil::BodyAndUndo => {
            batch.delete(Table::Undo, body[..4].to_vec());
            batch.delete(Table::Bodies, body);
        }
    }
    store.write(vec![batch]).expect("written");
}

/// The files of a folder that a test may look at when it fails.
pub fn log_of(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("log")).unwrap_or_default()
}
