//! The end of a connector's process, with the processes that it has started.

use std::time::Duration;

use tokio::process::Child;
use tokio::time::timeout;

/// Time in which a connector ends after its standard input was closed. Then it is killed.
const END_MAX: Duration = Duration::from_secs(30);

/// Waits until a connector whose standard input is closed has ended. If it does not end in time, it is killed with the processes that it has
/// started.
///
/// If the returned future is dropped, as by a second Ctrl-C, the connector is killed at once in the same way.
pub(super) async fn finish(child: &mut Child) {
    let ending = Ending(child);
    if timeout(END_MAX, ending.0.wait()).await.is_err() {
        kill_group(ending.0);
        // It may have ended just now.
        let _ = ending.0.kill().await;
    }
}

/// A connector that is ending. Dropping this kills its process group, unless it has been waited for.
struct Ending<'a>(&'a mut Child);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        kill_group(self.0);
    }
}

/// Kills the process group of a connector that has not been waited for, so the number cannot belong to others.
pub(super) fn kill_group(child: &Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
        // All its processes may have ended just now.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}
