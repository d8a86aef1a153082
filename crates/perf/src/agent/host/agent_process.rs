//! A process on a host behind an agent.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use super::connection::Connection;
use super::order::{Answer, Order};
use super::process_state::ProcessState;
use super::program::NodeSignal;
use crate::topology::host::{HostError, HostProcess, Readiness};

/// Time limit for a report that has been sent.
const REPORT_MAX: Duration = Duration::from_secs(5);

/// A process on a host behind an agent.
#[derive(Debug)]
pub(super) struct AgentProcess {
    pub connection: Arc<Connection>,
    pub number: u32,
    pub state: Arc<ProcessState>,
}

impl HostProcess for AgentProcess {
    fn pid(&self) -> u32 {
        self.number
    }

    fn wait_ready(&mut self, patience: Duration) -> Readiness {
        self.state.wait_ready(patience)
    }

    fn ended_within(&mut self, patience: Duration) -> Result<Option<ExitStatus>, HostError> {
        Ok(self.state.wait_ended(patience))
    }

    fn signal(&mut self, signal: Signal) {
        send(&self.connection, self.number, signal);
    }

    fn kill(&mut self) -> Result<ExitStatus, HostError> {
        let process = self.number;
        if let Answer::Killed(Some(status)) = self.connection.call(Order::Kill { process })? {
            self.state.end(ExitStatus::from_raw(status));
        }
        // If it had ended by itself, the report of that is here or on its way.
        let ended = self.state.wait_ended(REPORT_MAX);
        ended.ok_or_else(|| HostError::System {
            host: String::new(),
            what: format!("process {process}"),
            source: std::io::Error::other("its end was not reported"),
        })
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.connection.forget(self.number);
    }
}

/// Sends a signal, without waiting for it. Other signals than those of nodes are left out.
pub(super) fn send(connection: &Connection, process: u32, signal: Signal) {
    if let Some(signal) = NodeSignal::of(signal) {
        // A process or a host that is gone needs no signal.
        connection.ask(Order::Signal { process, signal }, Box::new(drop));
    }
}
