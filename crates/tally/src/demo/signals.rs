//! Handling of Ctrl-C, SIGTERM and SIGHUP. The run is dropped, and its resources are cleaned up by their destructors.

use std::future::Future;

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit code of an interrupted program, as in a shell.
const EXIT_INTERRUPTED: i32 = 130;

/// Runs `work` on its own runtime, to its end or until a signal. Then the process ends.
pub fn run<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the asynchronous runtime does not start")?;
    let ended = runtime.block_on(until_interrupted(work))?;
    // Waits for blocking tasks, so that their files and processes are cleaned up too.
    drop(runtime);
    match ended {
        Some(result) => result,
        None => {
            eprintln!("\ninterrupted: processes and temporary files are gone");
            std::process::exit(EXIT_INTERRUPTED);
        }
    }
}

async fn until_interrupted<T>(work: impl Future<Output = Result<T>>) -> Result<Option<Result<T>>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    Ok(tokio::select! {
        result = work => Some(result),
        () = any(&mut interrupt, &mut terminate, &mut hang_up) => None,
    })
}

async fn any(one: &mut Signal, two: &mut Signal, three: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = two.recv() => {}
        _ = three.recv() => {}
    }
}
