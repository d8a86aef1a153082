//! `tally recover` restores a node that runs on an older copy of its data.

use std::time::{Duration, Instant};

use api::{RecoveryProgress, RecoveryView};
use indicatif::{ProgressBar, ProgressDrawTarget};
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Output, pairs};
use crate::target::Target;

/// Interval of the status requests during a recovery.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Arguments of `tally recover`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Show the state of the node's data, and change nothing
    #[arg(long, conflicts_with = "accept_missing")]
    status: bool,
    /// Continue after the timeout even if some peers have not sent everything
    #[arg(long)]
    accept_missing: bool,
    /// Maximum wait for the peers, in seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    timeout: u64,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let mut view = client.recovery().await?;
            if self.status {
                return self.output.show(&view, people);
            }
            view = client.begin_recovery().await?;
            let end = Instant::now() + Duration::from_secs(self.timeout);
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            while !is_complete(&view) && Instant::now() < end {
                tokio::time::sleep(LOOK_EVERY).await;
                view = client.recovery().await?;
                bar.set_message(view.recovery.as_ref().map_or_else(String::new, step));
            }
            bar.finish_and_clear();
            let recovered = view.recovery.take();
            let mut view = client.finish_recovery(self.accept_missing).await?;
            view.recovery = recovered;
            self.output.show(&view, people)
        })
    }
}

/// Returns the line that is shown while a recovery runs.
fn step(recovery: &RecoveryProgress) -> String {
    let done = recovery.peers.iter().filter(|peer| peer.progress == "done");
    let searched: u64 = recovery.peers.iter().map(|peer| peer.searched).sum();
    let end: u64 = recovery.peers.iter().map(|peer| peer.end).sum();
    format!(
        "{} of {} peers have sent everything; {searched} of {end} transactions searched, {} recorded here",
        done.count(),
        recovery.peers.len(),
        recovery.recorded
    )
}

fn is_complete(view: &RecoveryView) -> bool {
    view.recovery
        .as_ref()
        .is_some_and(|recovery| recovery.complete)
}

fn people(view: &RecoveryView) -> String {
    let mut lines = vec![
        ("life", view.life.to_string()),
        ("number", view.number.to_string()),
    ];
    match &view.rolled_back {
        None => lines.push(("data", "no proof that it is an older copy".to_owned())),
        Some(row) => lines.extend([
            ("data", "an older copy".to_owned()),
            ("ends on", Timestamp::from_ms(row.data_until_ms).to_string()),
            ("evidence", row.evidence.clone()),
            ("shown by", row.shown_by.clone()),
        ]),
    }
    for link in &view.links {
        lines.push(("link", format!("{}: {}", link.peer, link.finding)));
    }
    if let Some(recovery) = &view.recovery {
        lines.extend(progress(recovery));
    }
    pairs(&lines)
}

fn progress(recovery: &RecoveryProgress) -> Vec<(&'static str, String)> {
    let begun = Timestamp::from_ms(recovery.begun_ms).to_string();
    let mut lines = vec![
        ("recovery begun", begun),
        ("recorded since", recovery.recorded.to_string()),
    ];
    if recovery.notarised > 0 || recovery.conflicts > 0 {
        lines.push(("entered again", recovery.notarised.to_string()));
        lines.push(("conflicts", recovery.conflicts.to_string()));
    }
    for peer in &recovery.peers {
        let reason = peer.reason.as_deref().unwrap_or_default();
        let text = format!(
            "{}: {}, searched {} of {}, found {} {reason}",
            peer.peer, peer.progress, peer.searched, peer.end, peer.found
        );
        lines.push(("peer", text.trim_end().to_owned()));
    }
    for id in &recovery.transactions {
        lines.push(("transaction", id.clone()));
    }
    lines
}
