//! `tally chain status`

use api::chain::{ChainStatus, SyncState};

use crate::failure::Failure;
use crate::output::{Output, grouped, pairs};
use crate::target::Target;

/// Arguments of `tally chain status`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target
            .with_chain(async |client| self.output.show(&client.status().await?, people))
    }
}

fn people(status: &ChainStatus) -> String {
    let sync = match (status.sync, status.sync_target) {
        (SyncState::Synced, _) => "synced".to_owned(),
        (SyncState::Syncing, Some(target)) => format!("syncing, to {}", grouped(target)),
        (SyncState::Syncing, None) => "syncing".to_owned(),
        (SyncState::Stuck, _) => "stuck: a better branch lies beyond the rollback limit".to_owned(),
    };
    pairs(&[
        ("node", format!("{}, {}", status.name, status.software)),
        ("height", grouped(status.height)),
        ("tip", status.tip.clone()),
        (
            "last block",
            // Clipped at 0: the forger's clock may be ahead of the node's.
            format!("{} s ago", status.now.saturating_sub(status.tip_time)),
        ),
        ("state", sync),
        (
            "transactions/s",
            format!("{:.1}", status.transactions_per_second),
        ),
        (
            "unconfirmed",
            format!(
                "{}, {} bytes",
                grouped(status.pool_count),
                grouped(status.pool_bytes)
            ),
        ),
        ("peers", status.peers.to_string()),
        ("forging", format!("{} accounts", status.forging)),
        ("bundling", format!("{} bundlers", status.bundlers)),
        (
            "forks",
            format!(
                "{}, the deepest of {} blocks",
                grouped(status.forks),
                status.fork_depth_max
            ),
        ),
        ("difficulty", status.cumulative_difficulty.clone()),
        ("on disk", format!("{} bytes", grouped(status.store_bytes))),
        ("genesis", status.genesis.clone()),
    ])
}
