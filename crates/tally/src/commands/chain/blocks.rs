//! `tally chain blocks`

use api::chain::{BlockPage, BlockView};

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
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "block")]
    limit: u32,
    /// Detail of the bodies (JSON)
    #[arg(long, value_name = "DETAIL", default_value = "none", value_parser = ["none", "ids", "full"])]
    transactions: String,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_chain(async |client| match &self.block {
            Some(block) => {
                let block = client.block(block, &self.transactions).await?;
                self.output.show(&block, one)
            }
            None => {
                let blocks = client.blocks(self.before, self.limit, &self.transactions);
                self.output.show(&blocks.await?, many)
            }
        })
    }
}

fn one(block: &BlockView) -> String {
    let children = block.children.iter();
    let children: Vec<String> = children
        .map(|child| format!("{} on chain {}", grouped(child.count), child.chain))
        .collect();
    pairs(&[
        ("height", grouped(block.height)),
        ("hash", block.hash.clone()),
        ("previous", block.previous.clone()),
        ("time", format!("{} s after genesis", grouped(block.time))),
        ("forger", block.forger.clone()),
        ("confirmations", grouped(block.confirmations)),
        ("parent transactions", grouped(block.parent_count)),
        ("child transactions", children.join("\n")),
        ("fees", grouped(block.fees)),
        ("bytes", grouped(block.body_bytes)),
    ])
}

fn many(page: &BlockPage) -> String {
    let mut table = Table::new(&[
        ">height", ">time", "forger", ">parent", ">child", ">bytes", "hash",
    ]);
    for block in &page.blocks {
        table.row([
            grouped(block.height),
            grouped(block.time),
            block.forger.clone(),
            grouped(block.parent_count),
            grouped(block.child_count),
            grouped(block.body_bytes),
            block.hash.chars().take(16).collect(),
        ]);
    }
    table.render(stdout_ink())
}
