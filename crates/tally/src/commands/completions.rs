//! `tally completions` and `tally man` generate shell completions and man pages from the command line's definition.

use std::path::PathBuf;

use clap_complete::Shell;

use crate::failure::{Failure, about_file};
use crate::output::print;

/// Arguments of `tally completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell, such as bash: tally completions bash > ~/.local/share/bash-completion/completions/tally
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    /// Prints the completions of a command line for the program of this name.
    pub fn run(self, mut command: clap::Command, program: String) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, program, &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}

/// Arguments of `tally man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The output folder, such as ~/.local/share/man/man1
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl ManArgs {
    /// Writes the man pages of a command line for the program of this name.
    pub fn run(self, command: clap::Command, program: String) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.out).map_err(|error| about_file(&self.out, &error))?;
        // Commands are named as they are typed. The leaked name lives until the process ends here.
        let command = command.name(&*program.leak());
        clap_mangen::generate_to(command, &self.out).map_err(|error| about_file(&self.out, &error))
    }
}
