//! `tally chain pop-off`, `trust`, `clear-pool` and `prune`: operators' orders.

use api::chain::Done;

use crate::failure::Failure;
use crate::output::Output;
use crate::target::Target;

/// Arguments of `tally chain pop-off`.
#[derive(Debug, clap::Args)]
pub struct PopOffArgs {
    #[command(flatten)]
    target: Target,
    /// Number of blocks to roll back
    #[arg(value_name = "BLOCKS", required_unless_present = "to", value_parser = clap::value_parser!(u32).range(1..))]
    blocks: Option<u32>,
    /// The height to roll back to, instead of a number of blocks
    #[arg(long, value_name = "HEIGHT", conflicts_with = "blocks")]
    to: Option<u32>,
    #[command(flatten)]
    pub output: Output,
}

impl PopOffArgs {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_chain(async |client| {
            let height = match (self.to, self.blocks) {
                (Some(height), _) => height,
                (None, blocks) => {
                    let (tip, blocks) = (client.status().await?.height, blocks.unwrap_or(1));
                    tip.checked_sub(blocks).ok_or_else(|| {
                        super::bad_value(format!("there are {tip} blocks, not {blocks}"))
                    })?
                }
            };
            self.output.show(&client.pop_off(height).await?, said)
        })
    }
}

/// Arguments of `tally chain trust`.
#[derive(Debug, clap::Args)]
pub struct TrustArgs {
    #[command(flatten)]
    target: Target,
    /// The height of a block of the branch that the node must follow
    #[arg(value_name = "HEIGHT")]
    height: u32,
    /// The block's hash
    #[arg(value_name = "HASH")]
    hash: String,
    #[command(flatten)]
    pub output: Output,
}

impl TrustArgs {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_chain(async |client| {
            let done = client.trust(self.height, &self.hash).await?;
            self.output.show(&done, said)
        })
    }
}

/// Arguments of `tally chain clear-pool`.
#[derive(Debug, clap::Args)]
pub struct ClearPoolArgs {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

impl ClearPoolArgs {
    pub fn run(self) -> Result<(), Failure> {
        self.target
            .with_chain(async |client| self.output.show(&client.clear_pool().await?, said))
    }
}

/// Arguments of `tally chain prune`.
#[derive(Debug, clap::Args)]
pub struct PruneArgs {
    #[command(flatten)]
    target: Target,
    /// Number of newest blocks whose bodies stay; never fewer than consensus needs
    #[arg(long, value_name = "BLOCKS")]
    keep: u32,
    #[command(flatten)]
    pub output: Output,
}

impl PruneArgs {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_chain(async |client| {
            let done = client.prune(self.keep).await?;
            self.output.show(&done, said)
        })
    }
}

fn said(done: &Done) -> String {
    done.done.clone()
}
