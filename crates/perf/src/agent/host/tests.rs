//! A host over loopback, whose nodes are a shell script.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use primitives::Coded;
use rustix::process::Signal;
use tempfile::TempDir;

use super::{AgentHost, HostAddress};
use crate::agent::{Agent, Token};
use crate::measure::ProcessKey;
use crate::topology::host::{Host, NodeFolder, RemoteFolders, Wanted};
use crate::topology::{NodeProcess, ProcessError, Program};
use crate::workload::Workloads;

const SOON: Duration = Duration::from_secs(20);

/// A node that notes its process in PIDS, is ready, and ends in good order when asked. `chain history` makes a file.
const NODE: &str = r#"#!/bin/sh
if [ "$1 $2" = "chain history" ]; then mkdir -p "$6/data"; echo blocks > "$6/data/blocks"; echo made; exit 0; fi
if [ "$1 $2" = "chain accept-store" ]; then echo no store of $4 >&2; exit 1; fi
echo $$ > PIDS/$(basename "$3")
trap 'echo bye; exit 7' TERM
if [ -e "$3/fails" ]; then echo what went wrong >&2; exit 3; fi
mkdir -p "$3/data"
printf 12345 > "$3/data/file"
echo '"ready":'
while :; do sleep 0.02; done
"#;

/// An agent on a thread of its own. Dropping it ends it, and cuts its connections.
struct Stage {
    folder: TempDir,
    address: String,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

fn token() -> Token {
    Token::new("sixteen characters at least").expect("long enough")
}

impl Stage {
    fn begin() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let binary = folder.path().join("tally");
        let pids = folder.path().join("pids");
        fs::create_dir(&pids).expect("a folder");
        let script = NODE.replace("PIDS", &pids.display().to_string());
        fs::write(&binary, script).expect("written");
        fs::set_permissions(&binary, fs::Permissions::from_mode(0o700)).expect("ours");
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (ready, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let workloads = Workloads::none();
                let agent = Agent::bind("127.0.0.1:0", token(), workloads, Some(binary), |_| {});
                let agent = agent.await.expect("loopback is there");
                let address = agent.address().expect("it listens");
                ready.send(address.to_string()).expect("the test waits");
                tokio::select! {
                    () = agent.serve() => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            folder,
            address: address.recv().expect("it listens"),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn host(&self, name: &str) -> Arc<AgentHost> {
        let address: HostAddress = format!("{name}={}", self.address).parse().expect("good");
        Arc::new(AgentHost::connect(&address, &token()).expect("it is a host"))
    }

    /// Returns the system's id of the process of a node's folder.
    fn pid(&self, node: &str) -> u32 {
        let file = self.folder.path().join("pids").join(node);
        let pid = fs::read_to_string(file).expect("it was started");
        pid.trim().parse().expect("a number")
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

fn node(host: &Arc<AgentHost>, folder: &str) -> NodeProcess {
    let host: Arc<dyn Host> = Arc::clone(host) as Arc<dyn Host>;
    let program = Program {
        name: folder.to_owned(),
        binary: "not-used-there".into(),
        arguments: vec!["node".into(), "run".into(), folder.into()],
        environment: Vec::new(),
        log: Path::new(folder).join("node.log"),
        ready_marker: String::new(),
    };
    NodeProcess::on(host, program)
}

fn read(host: &AgentHost, wanted: Wanted) -> crate::topology::host::Seen {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(host.look(wanted))
}

#[test]
fn starts_reads_and_stops_a_node() {
    let stage = Stage::begin();
    let host = stage.host("a");
    assert_eq!(host.address().to_string(), "127.0.0.1");
    host.write(Path::new("net/bank-1/node.toml"), b"x = 1")
        .expect("written");
    let mut node = node(&host, "net/bank-1");
    node.start().expect("it starts");
    node.wait_ready(SOON).expect("it is ready");
    assert!(!node.has_ended());
    let pid = node.pid().expect("it runs");
    let seen = read(
        &host,
        Wanted {
            process: host.process(pid),
            folder: Some("net/bank-1/data".into()),
            log: Some("net/bank-1/none".into()),
            ..Wanted::default()
        },
    );
    assert!(seen.process.is_some_and(|look| look.rss_bytes > 0));
    assert!(seen.folder_bytes.is_some());
    let unknown = Wanted {
        process: Some(ProcessKey::new(99, 0)),
        folder: Some("../x".into()),
        ..Wanted::default()
    };
    assert_eq!(read(&host, unknown), Default::default(), "unknown, not 0");
    let status = node.stop(SOON).expect("it ends");
    assert_eq!(status.code(), Some(7), "in good order");
    assert!(node.tail().contains("bye"), "{}", node.tail());
    node.start().expect("again");
    node.wait_ready(SOON).expect("again");
    node.kill();
    assert!(node.has_ended() && node.pid().is_none());
}

#[test]
fn a_frozen_node_goes_on_when_told() {
    let stage = Stage::begin();
    let host = stage.host("a");
    host.write(Path::new("net/bank-1/x"), b"").expect("written");
    let mut node = node(&host, "net/bank-1");
    node.start().expect("it starts");
    node.wait_ready(SOON).expect("it is ready");
    let pid = stage.pid("bank-1");
    let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let placed = node.placed().expect("it runs");
    placed.signal(Signal::STOP);
    until("it stops", || state().contains(") T "));
    placed.signal(Signal::CONT);
    until("it goes on", || !state().contains(") T "));
}

#[test]
fn an_early_end_shows_the_log() {
    let stage = Stage::begin();
    let host = stage.host("a");
    host.write(Path::new("net/bank-1/fails"), b"")
        .expect("written");
    let mut node = node(&host, "net/bank-1");
    node.start().expect("it starts");
    let error = node.wait_ready(SOON).expect_err("it never is");
    assert!(error.to_string().contains("what went wrong"), "{error}");
}

#[test]
fn snapshots_are_made_there() {
    let stage = Stage::begin();
    let host = stage.host("a");
    let path = |text: &str| PathBuf::from(text);
    host.write(&path("net/bank-1/data/file"), &[7; 5_000])
        .expect("written");
    host.copy(&path("net/bank-1/data"), &path("net/snapshots/0/bank-1"))
        .expect("copied");
    host.remove(&path("net/bank-1/data")).expect("removed");
    host.remove(&path("net/bank-1/data"))
        .expect("nothing to remove");
    let size = |folder: &str| host.size(&path(folder)).expect("a size").allocated_bytes;
    assert_eq!(size("net/bank-1/data"), 0);
    host.copy(&path("net/snapshots/0/bank-1"), &path("net/bank-1/data"))
        .expect("put back");
    assert!(size("net/bank-1/data") >= 5_000);
    assert!(host.free_bytes(&path("net")).expect("known") > 0);
    let ports = host.free_ports(2).expect("there are some");
    assert!(ports[0] != ports[1]);
}

#[test]
fn settings_are_brought_there_and_removed_at_the_end() {
    let stage = Stage::begin();
    let host: Arc<dyn Host> = stage.host("a");
    let here = tempfile::tempdir().expect("a temporary folder");
    let node = here.path().join("nodes/bank-1");
    fs::create_dir_all(node.join("network/nodes")).expect("folders");
    fs::write(node.join("network/nodes/x"), [1; 5_000]).expect("written");
    let folder = NodeFolder::new(Arc::clone(&host), here.path(), node);
    let remote = RemoteFolders::new(&[Arc::clone(&host)], here.path());
    folder.upload().expect("brought");
    folder.write("node.toml", b"x = 1").expect("written");
    let copy = fs::read(folder.here().join("node.toml")).expect("a copy here");
    assert_eq!(copy, b"x = 1");
    let size = || host.size(&folder.there("")).expect("a size").live_bytes;
    until("it is on the disk", || size() >= 5_000);
    drop(remote);
    assert_eq!(size(), 0);
}

#[test]
fn commands_run_to_their_end() {
    let stage = Stage::begin();
    let host = stage.host("a");
    host.write(Path::new("net/server1/x"), b"")
        .expect("written");
    let program = |words: &str| Program {
        name: "node-1".to_owned(),
        binary: PathBuf::new(),
        arguments: words.split(' ').map(str::to_owned).collect(),
        environment: Vec::new(),
        log: PathBuf::new(),
        ready_marker: String::new(),
    };
    let made = host.run(&program(
        "chain history --json --transactions 5 net/server1",
    ));
    assert_eq!(made.expect("made"), b"made\n");
    for (words, code, text) in [
        (
            "chain accept-store --confirm server1 net/server1",
            "lab.bootstrap",
            "no store of server1",
        ),
        (
            "chain accept-store --confirm server1 /etc",
            "lab.host_refused",
            "no path within",
        ),
        (
            "chain genesis net/server1",
            "lab.host_refused",
            "do not run",
        ),
    ] {
        let error = host.run(&program(words)).expect_err(words);
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert!(error.to_string().starts_with("host a: "), "{error}");
    }
    let mut other = NodeProcess::on(host.clone(), program("-c id"));
    let error = other.start().expect_err("no node");
    assert!(error.to_string().contains("do not run -c id"), "{error}");
}

#[test]
fn all_ends_with_the_coordinator() {
    let stage = Stage::begin();
    let host = stage.host("a");
    host.write(Path::new("net/bank-1/x"), b"").expect("written");
    let mut node = node(&host, "net/bank-1");
    node.start().expect("it starts");
    node.wait_ready(SOON).expect("it is ready");
    let pid = stage.pid("bank-1");
    assert!(ProcessKey::of(pid).is_some());
    node.leave_running();
    drop((node, host));
    until("its process ends", || ProcessKey::of(pid).is_none());
    // The place is free again.
    drop(stage.host("a"));
}

#[test]
fn a_lost_host_is_an_error_and_never_a_wait() {
    let mut stage = Stage::begin();
    let host = stage.host("a");
    host.write(Path::new("net/bank-1/x"), b"").expect("written");
    let mut node = node(&host, "net/bank-1");
    node.start().expect("it starts");
    node.wait_ready(SOON).expect("it is ready");
    let pid = stage.pid("bank-1");
    assert!(host.lost().is_none());
    stage.end();
    until("the end is seen", || host.lost().is_some());
    assert!(node.has_ended());
    assert_eq!(ProcessKey::of(pid), None, "the agent ended it");
    let errors = [
        host.write(Path::new("net/bank-1/x"), b"")
            .expect_err("gone"),
        host.size(Path::new("net")).map(drop).expect_err("gone"),
        host.free_ports(1).map(drop).expect_err("gone"),
    ];
    for error in errors {
        assert_eq!(error.code(), "lab.host_lost", "{error}");
    }
    let error = node.stop(SOON).expect_err("gone");
    assert!(matches!(error, ProcessError::Host { .. }), "{error}");
    assert_eq!(error.code(), "lab.host_lost");
    assert!(node.tail().contains("host a is gone"), "{}", node.tail());
    let nothing = read(&host, Wanted::default());
    assert_eq!(nothing, Default::default());
}

#[test]
fn an_agent_holds_a_few_coordinators() {
    let stage = Stage::begin();
    let all: Vec<Arc<AgentHost>> = ["a", "b", "c", "d"].map(|name| stage.host(name)).into();
    let address: HostAddress = format!("e={}", stage.address).parse().expect("good");
    let refused = AgentHost::connect(&address, &token()).expect_err("one more");
    assert_eq!(refused.code(), "lab.agent_busy");
    // Each has a folder of its own.
    for host in &all {
        host.write(Path::new("net/x"), host.name().as_bytes())
            .expect("written");
    }
}
