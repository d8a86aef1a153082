//! Runs the commands of a guide in the order of its text, and compares their output with the quoted output.
//!
//! The rules for a guide:
//!
//! - A block marked `sh` holds commands. Each must succeed.
//! - A block marked `text` after it quotes all output of its commands, standard error included. A command may fail if the
//!   quote has a line that begins with `error: `.
//! - `<!-- not run: REASON -->` on the line before a block of commands excludes the block.
//! - A node (`node run`, `chain run`, or a command that ends in `&`) stays in the background until the end. Its output is its
//!   standard output up to the line that says that it is ready.
//! - A quote need not repeat values that differ from run to run: see [`quote`].

pub mod page;
pub mod quote;
mod reader;

use std::path::{Path, PathBuf};

pub use page::Step;
use reader::Reader;

/// The repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs guides of `docs/guides` one after another in one fresh folder, as a reader who goes on with the same network.
/// `programs` are the names of commands and their files. Panics at the first command that fails, and at the first block whose
/// output is not the quoted one.
pub fn follow(guides: &[&str], programs: &[(&str, &Path)]) {
    let mut reader = Reader::new(programs);
    for guide in guides {
        let path = repository().join("docs/guides").join(guide);
        let text = std::fs::read_to_string(&path).expect("the guide is there");
        let steps = page::steps(&text).unwrap_or_else(|fault| panic!("{guide}: {fault}"));
        let run: Vec<&Step> = steps.iter().filter(|step| step.not_run.is_none()).collect();
        assert!(!run.is_empty(), "{guide} has no command that is run");
        reader.begin_page();
        for step in run {
            if let Err(fault) = reader.run(step) {
                panic!("{guide}, line {}: {fault}", step.commands.line);
            }
        }
    }
}
