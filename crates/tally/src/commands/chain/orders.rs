//! `tally chain pop-off`, `trust`, `clear-pool` and `prune`: operators' orders.

use api::chain::{PruneBegun, Trusted};

use crate::failure::Failure;
use crate::output::{Output, counted, grouped};
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
            let done = client.pop_off(height).await?;
            self.output.show(&done, |done| {
                let (blocks, height) = (rolled_back(done.blocks), grouped(done.height));
                format!("{blocks}; the tip is block {height}")
            })
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
            self.output.show(&done, trusted)
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
        self.target.with_chain(async |client| {
            let done = client.clear_pool().await?;
            self.output.show(&done, |done| {
                format!(
                    "{} left the pool",
                    counted(done.transactions, "transaction")
                )
            })
        })
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
            self.output.show(&done, pruned)
        })
    }
}

fn rolled_back(blocks: u32) -> String {
    let verb = if blocks == 1 { "was" } else { "were" };
    format!("{} {verb} rolled back", counted(blocks, "block"))
}

fn trusted(done: &Trusted) -> String {
    match done.rolled_back {
        0 => "the block is trusted".to_owned(),
        blocks => format!("the block is trusted; {}", rolled_back(blocks)),
    }
}

fn pruned(done: &PruneBegun) -> String {
    let Some(until) = done.until else {
        return "there is nothing to delete: every body that the node still has is one to keep, or is needed for a rollback".to_owned();
    };
    let noun = if done.blocks == 1 { "body" } else { "bodies" };
    format!(
        "deleting the {noun} of {}, up to block {}",
        counted(done.blocks, "block"),
        grouped(until)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_in_words() {
        let trusted = |rolled_back| {
            trusted(&Trusted {
                height: 9,
                hash: String::new(),
                rolled_back,
            })
        };
        let pruned = |blocks, until| pruned(&PruneBegun { blocks, until });
        for (said, expected) in [
            (rolled_back(1), "1 block was rolled back"),
            (rolled_back(2_000), "2,000 blocks were rolled back"),
            (trusted(0), "the block is trusted"),
            (
                trusted(2),
                "the block is trusted; 2 blocks were rolled back",
            ),
            (
                pruned(1, Some(1)),
                "deleting the body of 1 block, up to block 1",
            ),
            (
                pruned(2_000, Some(3_000)),
                "deleting the bodies of 2,000 blocks, up to block 3,000",
            ),
            (
                pruned(0, None),
                "there is nothing to delete: every body that the node still has is one to keep, or is needed for a rollback",
            ),
        ] {
            assert_eq!(said, expected);
        }
    }
}
