//! Ctrl-C, SIGTERM, SIGHUP: the run is dropped where it stands, and what it owns is cleaned up by being dropped.

use std::future::Future;

use anyhow::{Result, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Runs `work` to its end or until a signal asks to stop.
pub async fn until_interrupted(work: impl Future<Output = Result<()>>) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        result = work => result,
        () = any(&mut interrupt, &mut terminate, &mut hang_up) => {
            bail!("interrupted; processes and temporary files are gone");
        }
    }
}

async fn any(one: &mut Signal, two: &mut Signal, three: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = two.recv() => {}
        _ = three.recv() => {}
    }
}
