//! `tally` as a library: the whole command line, with contracts and flows of one's own beside those that come with it.
//!
//! A crate of one's own needs no more than this to be a node:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     tally::main_with(|contracts, flows| {
//!         // contracts.register(Arc::new(MyContract))?;
//!         // flows.register::<MyFlow>();
//!         let _ = (contracts, flows);
//!         Ok(())
//!     })
//! }
//! ```
//!
//! `examples/iou` is a complete application, and `docs/guides/first-application.md` walks through it.
//! Each command is a file under `commands`; the laboratory's are `demo` and `bench`.

mod allocator;
mod bench;
mod cli;
mod commands;
mod demo;
mod failure;
mod lab;
mod output;
mod reference;
mod target;

use std::process::ExitCode;

pub use commands::network::ERRORS;
pub use reference::commands_page;

use clap::Parser;
use flow::FlowRegistry;
use ledger::{ContractRegistry, RegistryError};

/// What registers an application's contracts and flows when a node starts.
pub(crate) type Register =
    Box<dyn FnOnce(&mut ContractRegistry, &mut FlowRegistry) -> Result<(), RegistryError>>;

/// Runs the command line of this process to its end. `register` is called once, when the command runs a node, with what
/// is built in already registered.
pub fn main_with(
    register: impl FnOnce(&mut ContractRegistry, &mut FlowRegistry) -> Result<(), RegistryError>
    + 'static,
) -> ExitCode {
    let cli = cli::Cli::parse();
    let json = cli.command.wants_json();
    match cli::run(cli.command, Box::new(register)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}
