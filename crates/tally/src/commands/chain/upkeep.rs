//! `tally chain check`, `snapshot` and `restore`.

use std::path::PathBuf;

use node::chain::{ChainChecked, check_store, restore_store};
use serde::Serialize;

use crate::failure::Failure;
use crate::folder;
use crate::output::{Output, counted, grouped, pairs};
use crate::target::Target;

/// Arguments of `tally chain check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The folder of a stopped node
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Repair damaged rows if possible; a damaged file can only be replaced by a snapshot ('tally chain restore')
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    pub output: Output,
}

/// The findings, for programs.
#[derive(Debug, Serialize)]
struct Found {
    store: String,
    files: u64,
    bytes: u64,
    damaged: u64,
    damage: Vec<String>,
    blocks: u32,
    transactions: u64,
    replayed: u32,
    rows_damaged: u64,
    rows_damage: Vec<String>,
    beyond_repair: Option<String>,
    repaired: Vec<String>,
    height: Option<u32>,
    tip: Option<String>,
    state_hash: Option<String>,
}

impl From<ChainChecked> for Found {
    fn from(checked: ChainChecked) -> Self {
        let damage = checked.damage.iter();
        Self {
            store: checked.path.display().to_string(),
            files: checked.files,
            bytes: checked.bytes,
            damaged: checked.damaged,
            damage: damage
                .map(|damage| format!("{}: {}", damage.path.display(), damage.reason))
                .collect(),
            blocks: checked.chain.blocks,
            transactions: checked.chain.transactions,
            replayed: checked.chain.replayed,
            rows_damaged: checked.chain.damaged,
            rows_damage: checked.chain.damage,
            beyond_repair: checked.chain.beyond,
            repaired: checked.did,
            height: checked.tip.map(|(height, _)| height.get()),
            tip: checked.tip.map(|(_, hash)| hash.to_string()),
            state_hash: checked.state_hash.map(|hash| hash.to_string()),
        }
    }
}

impl CheckArgs {
    pub fn run(self) -> Result<(), Failure> {
        folder::holds_chain_node(&self.folder)?;
        eprintln!("reads every byte of the store");
        let found =
            check_store(&self.folder, self.repair).map_err(|error| Failure::coded(&error))?;
        let failure =
            (!found.chain.is_sound() && found.did.is_empty()).then(|| found.chain.failure());
        let found = Found::from(found);
        self.output.show(&found, people)?;
        if let Some(failure) = failure {
            return Err(Failure::local(failure.code, failure.message, failure.hint));
        }
        if found.damaged == 0 {
            return Ok(());
        }
        Err(beyond_repair(found.damaged))
    }
}

/// Creates the failure of a store whose files are damaged. Only rows can be repaired, and only in files that are whole.
fn beyond_repair(damaged: u64) -> Failure {
    const CODE: &str = "chain.store_beyond_repair";
    let verb = if damaged == 1 { "is" } else { "are" };
    Failure::local(
        CODE,
        format!(
            "{} of the store's files or records {verb} damaged, and --repair cannot mend that",
            grouped(damaged)
        ),
        chain::errors::action_of(CODE),
    )
}

fn people(found: &Found) -> String {
    let state = found.state_hash.clone().unwrap_or_default();
    pairs(&[
        ("store", found.store.clone()),
        (
            "read",
            format!(
                "{}, {}",
                counted(found.files, "file"),
                counted(found.bytes, "byte")
            ),
        ),
        ("damaged", grouped(found.damaged)),
        ("", found.damage.join("\n")),
        ("looked at", looked_at(found)),
        ("rows that do not fit", grouped(found.rows_damaged)),
        ("", found.rows_damage.join("\n")),
        (
            "beyond repair",
            found.beyond_repair.clone().unwrap_or_default(),
        ),
        ("repaired", found.repaired.join("\n")),
        ("height", found.height.map(grouped).unwrap_or_default()),
        ("tip", found.tip.clone().unwrap_or_default()),
        ("state hash", state),
    ])
}

fn looked_at(found: &Found) -> String {
    if found.damaged > 0 {
        return "no block, because files are damaged".to_owned();
    }
    format!(
        "{} with {}; the last {} applied again",
        counted(found.blocks, "block"),
        counted(found.transactions, "transaction"),
        grouped(found.replayed)
    )
}

/// Arguments of `tally chain snapshot`.
#[derive(Debug, clap::Args)]
pub struct SnapshotArgs {
    #[command(flatten)]
    target: Target,
    /// A name of letters, digits, dashes and underscores
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    pub output: Output,
}

impl SnapshotArgs {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_chain(async |client| {
            let done = client.snapshot(&self.name).await?;
            self.output.show(&done, |done| {
                format!("a copy of the store is in {}", done.path)
            })
        })
    }
}

/// Arguments of `tally chain restore`.
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// The folder of a stopped node
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The folder of a snapshot
    #[arg(value_name = "SNAPSHOT")]
    snapshot: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

/// The result, for programs.
#[derive(Debug, Serialize)]
struct Restored {
    restored: String,
    kept: Option<String>,
}

impl RestoreArgs {
    pub fn run(self) -> Result<(), Failure> {
        folder::holds_chain_node(&self.folder)?;
        let kept = restore_store(&self.folder, &self.snapshot);
        let kept = kept.map_err(|error| Failure::coded(&error))?;
        let restored = Restored {
            restored: self.folder.display().to_string(),
            kept: kept.map(|kept| kept.display().to_string()),
        };
        self.output
            .show(&restored, |restored| match &restored.kept {
                Some(kept) => format!("restored; what was there is in {kept}"),
                None => "restored".to_owned(),
            })
    }
}
