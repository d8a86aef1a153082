//! `tally completions` and `tally man`: what shells and `man` know of the command line, from the command line itself.

use std::path::PathBuf;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::{Cli, program};
use crate::failure::{Failure, about_file};
use crate::output::print;

/// Arguments of `tally completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// For which shell, such as bash: tally completions bash > ~/.local/share/bash-completion/completions/tally
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), program(), &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}

/// Arguments of `tally man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The folder they are written to, such as ~/.local/share/man/man1
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl ManArgs {
    pub fn run(self) -> Result<(), Failure> {
        std::fs::create_dir_all(&self.out).map_err(|error| about_file(&self.out, &error))?;
        // Commands are named as they are typed; the name lives as long as the process, which ends here.
        let command = Cli::command().name(&*program().leak());
        clap_mangen::generate_to(command, &self.out).map_err(|error| about_file(&self.out, &error))
    }
}
