//! Signals to the processes of servers.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::error::ServerError;

/// Signals a process of a server. One that has ended meanwhile needs no signal.
pub(crate) fn send(process: u32, signal: Signal) -> Result<(), ServerError> {
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else {
        return Ok(());
    };
    match kill_process(pid, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(ServerError::Program {
            program: format!("process {process}").into(),
            source: error.into(),
        }),
    }
}
