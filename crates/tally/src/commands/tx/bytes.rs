//! `tally tx bytes`

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use crate::failure::Failure;
use crate::output::print;
use crate::target::Target;

/// Arguments of `tally tx bytes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The transaction
    id: String,
    /// The output file; by default the standard output, in hexadecimal on a terminal
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let bytes = client.transaction_bytes(&self.id).await?;
            let failed = |to: String, error: std::io::Error| {
                Failure::local(
                    "tally.output",
                    format!("{to}: {error}"),
                    "Check the file or pipe that the output goes to.",
                )
            };
            let mut out = std::io::stdout();
            match &self.out {
                Some(path) => std::fs::write(path, &bytes)
                    .map_err(|error| failed(path.display().to_string(), error)),
                None if out.is_terminal() => print(&primitives::hex::encode(&bytes)),
                None => match out.write_all(&bytes).and_then(|()| out.flush()) {
                    Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
                    written => written.map_err(|error| failed("standard output".to_owned(), error)),
                },
            }
        })
    }
}
