//! `tally lab agent` as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use perf::agent::{AgentAddress, Token};
use perf::topology::{Signal, signal};

use super::{DEADLINE, binary};

/// The token of all agents of tests.
const SECRET: &str = "sixteen characters at least";

/// Returns the token of the tests' agents.
pub fn token() -> Token {
    Token::new(SECRET).expect("long enough")
}

/// Writes the token into a file of a folder.
pub fn token_file(folder: &Path) -> PathBuf {
    let file = folder.join("token");
    std::fs::write(&file, format!("{SECRET}\n")).expect("a file");
    file
}

/// A running agent. Dropping it asks it to end, and kills it after a while.
pub struct AgentProcess {
    child: Child,
    pub address: String,
    pub fingerprint: String,
}

impl AgentProcess {
    /// Starts an agent that generates load.
    pub fn start(token_file: &Path) -> Self {
        let command = Command::new(binary());
        Self::started(command, "127.0.0.1:0", token_file, &[])
    }

    /// Starts an agent that runs nodes, in a network namespace if one is named.
    pub fn start_host(listen: &str, namespace: Option<&str>, token_file: &Path) -> Self {
        let command = match namespace {
            None => Command::new(binary()),
            Some(namespace) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", namespace]).arg(binary());
                command
            }
        };
        Self::started(command, listen, token_file, &["--host"])
    }

    fn started(mut command: Command, listen: &str, token_file: &Path, more: &[&str]) -> Self {
        let mut child = command
            .args(["lab", "agent", "--json", "--listen", listen, "--token-file"])
            .arg(token_file)
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("tally starts");
        let out = child.stdout.take().expect("it is piped");
        let mut process = Self {
            child,
            address: String::new(),
            fingerprint: String::new(),
        };
        let mut text = String::new();
        for line in BufReader::new(out).lines() {
            text.push_str(&line.expect("text"));
            if let Ok(said) = serde_json::from_str::<serde_json::Value>(&text) {
                let of = |name: &str| said[name].as_str().expect("it says so").to_owned();
                process.address = of("address");
                process.fingerprint = of("fingerprint");
                return process;
            }
        }
        panic!("the agent ended: {text}");
    }

    pub fn at(&self) -> AgentAddress {
        self.address.parse().expect("an address")
    }

    /// Kills the process with SIGKILL, which it cannot handle. Does nothing to one that has ended.
    pub fn kill(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Freezes the process: its connections stay open, and it says nothing.
    pub fn freeze(&self) {
        signal(self.child.id(), Signal::STOP);
    }

    /// Returns the processes that it has started and that run.
    pub fn children(&self) -> Vec<u32> {
        children_of(self.child.id())
    }
}

/// Returns the processes that a process has started and that run.
pub fn children_of(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let lists = threads
        .map(|thread| std::fs::read_to_string(thread.path().join("children")))
        .map(Result::unwrap_or_default);
    let lists: Vec<String> = lists.collect();
    let all = lists.iter().flat_map(|list| list.split_whitespace());
    all.filter_map(|child| child.parse().ok()).collect()
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        // Nodes of a host end with its agent, if the agent ends in good order.
        signal(self.child.id(), Signal::CONT);
        signal(self.child.id(), Signal::TERM);
        let deadline = std::time::Instant::now() + DEADLINE;
        while self.child.try_wait().is_ok_and(|ended| ended.is_none())
            && std::time::Instant::now() < deadline
        {
            std::thread::yield_now();
        }
        self.kill();
    }
}
