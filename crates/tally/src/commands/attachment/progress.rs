//! Progress of a file transfer on standard error.

use std::time::Duration;

use client::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::stderr_ink;

/// Refresh interval of a bar.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Returns a bar of bytes. It is hidden if standard error is not a terminal or terminal escapes are disabled.
pub(super) fn bar(what: &str, size: Option<u64>) -> ProgressBar {
    let target = match stderr_ink().is_on() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(size, target);
    let template = match size {
        Some(_) => "  {msg} {bar:30} {bytes} of {total_bytes} ({bytes_per_sec}, {eta} left)",
        None => "  {msg} {spinner} {bytes} ({bytes_per_sec})",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    bar
}

/// Shows the progress of `work` on a bar, from an offset on.
pub(super) async fn watched<T>(
    bar: &ProgressBar,
    from: u64,
    progress: &Progress,
    work: impl Future<Output = T>,
) -> T {
    let mut work = std::pin::pin!(work);
    // The node tells the offset. A clipped position is beyond the end of every bar.
    let position = || from.saturating_add(progress.bytes());
    loop {
        bar.set_position(position());
        if let Ok(done) = tokio::time::timeout(LOOK_EVERY, &mut work).await {
            bar.set_position(position());
            return done;
        }
    }
}
