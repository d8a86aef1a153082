//! A machine behind an agent, as a host.

use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use primitives::Hash;
use rustix::process::Signal;

use super::address::HostAddress;
use super::agent_process::{AgentProcess, send};
use super::connection::Connection;
use super::order::{Answer, Facts, Order};
use super::program::{NodeCommand, NodeKind};
use crate::agent::channel::Token;
use crate::agent::error::AgentError;
use crate::measure::{DiskUse, ProcessKey};
use crate::topology::Program;
use crate::topology::host::{Host, HostError, HostProcess, Looking, Wanted};

/// A machine behind an agent. When the last handle is gone, so is everything that ran there.
#[derive(Debug)]
pub struct AgentHost {
    name: String,
    facts: Facts,
    fingerprint: Hash,
    connection: Arc<Connection>,
    /// The number of the last process.
    last: AtomicU32,
}

impl AgentHost {
    /// Connects to a host. Waits for the answer.
    ///
    /// # Errors
    /// Fails if the agent cannot be reached, does not know the token, is of another version, or is no host.
    pub fn connect(address: &HostAddress, token: &Token) -> Result<Self, AgentError> {
        let (connection, facts, fingerprint) =
            Connection::open(&address.name, address.agent.clone(), token)?;
        Ok(Self {
            name: address.name.clone(),
            facts,
            fingerprint,
            connection: Arc::new(connection),
            last: AtomicU32::new(0),
        })
    }

    /// Returns the SHA-256 of the agent's certificate.
    pub fn fingerprint(&self) -> Hash {
        self.fingerprint
    }

    /// Gives an order, and returns the answer as `wanted` reads it.
    fn call<T>(
        &self,
        order: Order,
        wanted: impl FnOnce(Answer) -> Option<T>,
    ) -> Result<T, HostError> {
        let answer = self.connection.call(order)?;
        wanted(answer).ok_or_else(|| self.refused("it gave an answer to another order"))
    }

    fn refused(&self, message: impl ToString) -> HostError {
        HostError::Refused {
            host: self.name.clone(),
            message: message.to_string(),
        }
    }

    /// Creates the error about a program that no agent runs.
    fn other_program(&self, program: &Program) -> HostError {
        let words = program.arguments.join(" ");
        self.refused(format!("{}: hosts do not run {words}", program.name))
    }
}

impl Host for AgentHost {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_here(&self) -> bool {
        false
    }

    fn address(&self) -> IpAddr {
        self.facts.address
    }

    fn cores(&self) -> u32 {
        self.facts.cores
    }

    fn free_ports(&self, count: usize) -> Result<Vec<u16>, HostError> {
        let order = Order::FreePorts {
            // A number that does not fit is refused there.
            count: u32::try_from(count).unwrap_or(u32::MAX),
        };
        self.call(order, |answer| match answer {
            Answer::Ports(ports) if ports.len() == count => Some(ports),
            _ => None,
        })
    }

    /// Names it after the last two parts of the path here: the first of them is temporary, and so its own.
    fn root(&self, root: &Path) -> PathBuf {
        let parts = root.components().filter_map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        });
        let parts: Vec<&str> = parts.collect();
        parts[parts.len().saturating_sub(2)..].join("-").into()
    }

    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), HostError> {
        let order = Order::Write {
            path: text(file),
            bytes: bytes.to_vec(),
        };
        self.call(order, done)
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<(), HostError> {
        let (from, to) = (text(from), text(to));
        self.call(Order::Copy { from, to }, done)
    }

    fn remove(&self, path: &Path) -> Result<(), HostError> {
        self.call(Order::Remove { path: text(path) }, done)
    }

    fn size(&self, folder: &Path) -> Result<DiskUse, HostError> {
        let order = Order::Size { path: text(folder) };
        self.call(order, |answer| match answer {
            Answer::Size(size) => Some(size),
            _ => None,
        })
    }

    fn free_bytes(&self, folder: &Path) -> Result<u64, HostError> {
        let order = Order::FreeBytes { path: text(folder) };
        self.call(order, |answer| match answer {
            Answer::Bytes(bytes) => Some(bytes),
            _ => None,
        })
    }

    fn tail(&self, log: &Path) -> String {
        let tail = self.call(Order::Tail { path: text(log) }, |answer| match answer {
            Answer::Text(text) => Some(text),
            _ => None,
        });
        tail.unwrap_or_else(|error| error.to_string())
    }

    fn start(
        &self,
        program: &Program,
        cores: Option<u32>,
    ) -> Result<Box<dyn HostProcess>, HostError> {
        let known = NodeKind::of(&program.arguments).filter(|_| program.environment.is_empty());
        let (node, folder) = known.ok_or_else(|| self.other_program(program))?;
        let number = 1 + self.last.fetch_add(1, Ordering::Relaxed);
        // Known before the order, since the process may end before its answer is here.
        let process = AgentProcess {
            state: self.connection.expect(number),
            connection: Arc::clone(&self.connection),
            number,
        };
        let order = Order::Start {
            process: number,
            name: program.name.clone(),
            node,
            folder: folder.to_owned(),
            cores,
        };
        self.call(order, done)?;
        Ok(Box::new(process))
    }

    fn run(&self, program: &Program) -> Result<Vec<u8>, HostError> {
        let known = NodeCommand::of(&program.arguments).filter(|_| program.environment.is_empty());
        let (command, folder) = known.ok_or_else(|| self.other_program(program))?;
        let folder = folder.to_owned();
        self.call(Order::Run { command, folder }, |answer| match answer {
            Answer::Output(bytes) => Some(bytes),
            _ => None,
        })
    }

    fn signal(&self, pid: u32, signal: Signal) {
        send(&self.connection, pid, signal);
    }

    /// Returns the process by its number. The agent knows which one that is.
    fn process(&self, pid: u32) -> Option<ProcessKey> {
        Some(ProcessKey::new(pid, 0))
    }

    fn look(&self, wanted: Wanted) -> Looking {
        let order = Order::Look {
            process: wanted.process.map(ProcessKey::pid),
            with_children: wanted.with_children,
            folder: wanted.folder.as_deref().map(text),
            log: wanted.log.as_deref().map(text),
        };
        let (to, seen) = tokio::sync::oneshot::channel();
        let reply = move |answer| {
            if let Ok(Answer::Seen(seen)) = answer {
                // Ignore the error: a caller that has waited too long is gone.
                let _ = to.send(seen);
            }
        };
        self.connection.ask(order, Box::new(reply));
        Box::pin(async move { seen.await.unwrap_or_default() })
    }

    fn lost(&self) -> Option<HostError> {
        self.connection.lost()
    }
}

fn done(answer: Answer) -> Option<()> {
    matches!(answer, Answer::Done).then_some(())
}

/// Returns a path as the agent takes it. The laboratory's own names are all text.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
