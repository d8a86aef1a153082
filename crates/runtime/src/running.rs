//! The start and the end of a core's threads.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

use store::Committer;

use crate::commit::{Performer, RoundMetrics};
use crate::core::{Core, Output, Shell};
use crate::handle::Handle;
use crate::thread::CoreThread;

/// The parts of a runtime.
pub struct Parts<C: Core, S> {
    /// The core.
    pub core: C,
    /// The output that the core produced when it was opened. It is committed and performed before the first round.
    pub first: Output<C>,
    /// The handle of the core.
    pub handle: Handle<C::Messages>,
    /// The shell that performs the core's actions.
    pub shell: Arc<S>,
    /// The committer of the core's store.
    pub committer: Committer<C::Table>,
    /// The metrics of rounds and commits.
    pub metrics: RoundMetrics,
}

/// A core that runs. Dropping it stops the core without waiting for its threads, like a crash.
pub struct Running<C: Core> {
    handle: Handle<C::Messages>,
    /// `None` once its threads are joined.
    threads: Option<Threads<C>>,
}

struct Threads<C: Core> {
    joined: Vec<JoinHandle<()>>,
    /// When it is dropped, it completes the submitted commits.
    committer: Committer<C::Table>,
}

/// Starts the thread of a core.
///
/// # Errors
/// The operating system cannot start a thread.
pub fn start<C: Core, S: Shell<C>>(parts: Parts<C, S>) -> std::io::Result<Running<C>> {
    let Parts {
        core,
        first,
        handle,
        shell,
        committer,
        metrics,
    } = parts;
    let thread = CoreThread {
        core,
        committer: committer.handle(),
        performer: Arc::new(Performer {
            handle: handle.clone(),
            shell,
            metrics,
            told: AtomicBool::new(false),
        }),
    };
    let thread = std::thread::Builder::new()
        .name(C::THREAD.to_owned())
        .spawn(move || thread.run(first))?;
    let joined = vec![thread];
    Ok(Running {
        handle,
        threads: Some(Threads { joined, committer }),
    })
}

impl<C: Core> Running<C> {
    /// Adds threads to be joined with the core's own.
    pub fn attach(&mut self, threads: Vec<JoinHandle<()>>) {
        if let Some(running) = &mut self.threads {
            running.joined.extend(threads);
        }
    }

    /// Stops the core, joins its threads, completes the submitted commits, and then calls `afterwards`. Returns after the time
    /// `patience` at the latest, even if these steps have not finished.
    pub async fn stop(mut self, patience: Duration, afterwards: impl FnOnce() + Send + 'static) {
        self.handle.stop();
        let Some(threads) = self.threads.take() else {
            return;
        };
        let ended = tokio::task::spawn_blocking(move || {
            for thread in threads.joined {
                if thread.join().is_err() {
                    tracing::error!("a thread of the node panicked");
                }
            }
            drop(threads.committer);
            afterwards();
        });
        if tokio::time::timeout(patience, ended).await.is_err() {
            tracing::warn!("the node's threads did not end in time");
        }
    }
}

impl<C: Core> Drop for Running<C> {
    fn drop(&mut self) {
        self.handle.stop();
    }
}
