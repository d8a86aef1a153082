//! Processes of the benchmark: this program again, as a node or as the hostile member.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use client::{Client, Endpoint};
use node::bootstrap::load_node_dir;
use node::{Apps, Node};

/// Clock ticks a second in `/proc/PID/stat`, which Linux fixes for user space.
const TICKS_PER_S: f64 = 100.0;

/// A process that answers lines with lines, and ends with its standard input.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts this program with a role and a folder.
    pub fn start(role: &str, folder: &Path) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(role)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting a process as {role}"))?;
        let output = child.stdout.take().context("no standard output")?;
        Ok(Self {
            input: child.stdin.take(),
            output: BufReader::new(output),
            child,
        })
    }

    /// Reads a line.
    pub fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            bail!("the process {} ended", self.child.id());
        }
        Ok(line)
    }

    /// Sends a line and reads the answer.
    pub fn ask(&mut self, line: &str) -> Result<String> {
        let input = self.input.as_mut().context("the process was stopped")?;
        writeln!(input, "{line}")?;
        self.line()
    }

    /// Returns the processor time so far, in seconds.
    pub fn cpu_s(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.unwrap_or_default();
        let fields = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace();
        let ticks = fields
            .skip(11)
            .take(2)
            .filter_map(|it| it.parse::<f64>().ok());
        ticks.sum::<f64>() / TICKS_PER_S
    }

    /// Returns the peak of resident memory, in megabytes (10^6).
    pub fn rss_peak_mb(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.unwrap_or_default();
        let mut lines = status
            .lines()
            .filter_map(|line| line.strip_prefix("VmHWM:"));
        let kb = lines.next().and_then(|it| it.split_whitespace().next());
        kb.and_then(|it| it.parse::<f64>().ok()).unwrap_or_default() * 1_024.0 / 1e6
    }

    /// Ends the process in order and waits for it.
    pub fn stop(&mut self) -> Result<()> {
        self.input = None;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the process {} ended with {status}", self.child.id());
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a node. Returns it with a client, and the time until its API said that it is ready.
pub async fn start_node(folder: &Path) -> Result<(Process, Client, Duration)> {
    let began = Instant::now();
    let mut process = Process::start("node", folder)?;
    let address = process.line()?.trim().to_owned();
    let read = |name: &str| fs::read_to_string(folder.join(name));
    let client = Client::new(Endpoint {
        address,
        server_name: "localhost".to_owned(),
        root_pem: read("root.pem")?,
        token: read("api-token")?.trim().into(),
    })?;
    client.node().await?;
    Ok((process, client, began.elapsed()))
}

/// Runs a node until standard input ends. Prints the address of its API.
pub async fn run_node(folder: &Path) -> Result<()> {
    let node = Node::start(load_node_dir(folder)?, Apps::built_in()?).await?;
    println!("{}", node.api_address());
    tokio::task::spawn_blocking(|| std::io::stdin().lock().lines().count()).await?;
    node.stop().await;
    Ok(())
}
