//! `tally chain blocks`

use api::chain::{BlockPage, BlockView};
use chain::ChainId;
use primitives::Timestamp;

use super::notation::{AmountUnit, Notation};
use crate::failure::Failure;
use crate::output::{Output, Table, grouped, pairs, stdout_ink};
use crate::target::Target;

/// Arguments of `tally chain blocks`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// One block, by its height or hash; the newest ones by default
    #[arg(value_name = "BLOCK")]
    block: Option<String>,
    /// Blocks below this height
    #[arg(long, value_name = "HEIGHT", conflicts_with = "block")]
    before: Option<u32>,
    /// Maximum number of blocks
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "block", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Detail of the bodies (JSON)
    #[arg(long, value_name = "DETAIL", default_value = "none", value_parser = ["none", "ids", "full"])]
    transactions: String,
    #[command(flatten)]
    unit: AmountUnit,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_chain(async |client| match &self.block {
            Some(block) => {
                let block = client.block(block, &self.transactions).await?;
                let notation = self.unit.notation(&client).await?;
                self.output.show(&block, |block| one(block, &notation))
            }
            None => {
                let blocks = client.blocks(self.before, self.limit, &self.transactions);
                self.output.show(&blocks.await?, many)
            }
        })
    }
}

fn one(block: &BlockView, notation: &Notation) -> String {
    let children = block.children.iter();
    let children: Vec<String> = children
        .map(|child| {
            let chain = notation.chain_name(child.chain);
            format!("{} of {chain}", grouped(child.count))
        })
        .collect();
    pairs(&[
        ("height", grouped(block.height)),
        ("hash", block.hash.clone()),
        ("previous", block.previous.clone()),
        ("time", time(block)),
        ("forger", block.forger.clone()),
        ("confirmations", grouped(block.confirmations)),
        ("parent transactions", grouped(block.parent_count)),
        ("child transactions", children.join("\n")),
        ("fees", notation.amount(block.fees, ChainId::PARENT.0)),
        ("bytes", grouped(block.body_bytes)),
    ])
}

fn time(block: &BlockView) -> String {
    Timestamp::from_ms(block.time_ms).to_string()
}

fn many(page: &BlockPage) -> String {
    let mut table = Table::new(&[
        ">height", "time", "forger", ">parent", ">child", ">bytes", "hash",
    ]);
    for block in &page.blocks {
        table.row([
            grouped(block.height),
            time(block),
            block.forger.clone(),
            grouped(block.parent_count),
            grouped(block.child_count),
            grouped(block.body_bytes),
            block.hash.clone(),
        ]);
    }
    table.render(stdout_ink())
}
