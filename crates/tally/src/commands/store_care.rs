//! `init-store` and `accept-store` of a node and of a chain node: an operator's confirmation of a store that nothing else
//! confirms.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;

/// Arguments of both commands.
#[derive(Debug, clap::Args)]
#[group(id = "StoreCare")]
pub struct Args {
    /// The folder of the node, which must be stopped
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The node's name; the command changes nothing if it does not match
    #[arg(long, value_name = "NAME")]
    pub confirm: String,
    #[command(flatten)]
    pub output: Output,
}

/// A result, for programs.
#[derive(Debug, Serialize)]
struct Done {
    store: String,
    done: &'static str,
}

impl Args {
    /// Refuses a command that was not confirmed with the node's name.
    pub fn refuse_unconfirmed(&self, name: &str) -> Result<(), Failure> {
        if self.confirm == name {
            return Ok(());
        }
        let message = format!("the node is '{name}', not '{}'", self.confirm);
        let hint = "Check the folder, then give the node's name with --confirm.";
        Err(Failure::local("tally.unconfirmed", message, hint))
    }

    /// Shows the result.
    pub fn show(&self, store: &Path, done: &'static str) -> Result<(), Failure> {
        let store = store.display().to_string();
        let done = Done { store, done };
        self.output
            .show(&done, |done| format!("{}: {}", done.store, done.done))
    }
}

/// The message after `init-store`.
pub const EMPTY: &str = "the next start makes an empty store";
/// The message after `accept-store`.
pub const ACCEPTED: &str = "every byte was checked; the next start makes a new inventory";
