//! `tally` as a library: the whole command line with additional contracts and flows.
//!
//! An application's crate needs only this to be a node:
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
//! Each command is a file under `commands`. The laboratory's commands are `demo` and `bench`.

mod allocator;
mod bench;
mod cli;
mod commands;
mod demo;
mod failure;
mod folder;
mod hints;
mod ink;
mod lab;
mod output;
mod printable;
mod progress;
mod reference;
mod target;
mod usage;

use std::process::ExitCode;
use std::sync::OnceLock;

pub use commands::network::ERRORS;
pub use reference::commands_page;

use clap::{CommandFactory, Parser};
use flow::FlowRegistry;
use ledger::{ContractRegistry, RegistryError};
use perf::workload::Workloads;

/// Registers an application's contracts and flows when a node starts.
pub(crate) type Register =
    Box<dyn FnOnce(&mut ContractRegistry, &mut FlowRegistry) -> Result<(), RegistryError>>;

/// The workloads that scenarios of this process can name.
static WORKLOADS: OnceLock<Workloads> = OnceLock::new();

/// Returns the workloads that the laboratory's scenarios can name as `kind`: the shipped ones and the application's own.
pub(crate) fn workloads() -> Workloads {
    WORKLOADS.get().cloned().unwrap_or_else(Workloads::shipped)
}

/// The whole of `tally`, with additional contracts, flows and workloads.
pub struct Application {
    register: Register,
    workloads: Workloads,
}

impl Application {
    /// Creates an application with contracts and flows. `register` is called once, when the command runs a node or rehearses its start,
    /// after the built-in ones are registered.
    pub fn new(
        register: impl FnOnce(&mut ContractRegistry, &mut FlowRegistry) -> Result<(), RegistryError>
        + 'static,
    ) -> Self {
        Self {
            register: Box::new(register),
            workloads: Workloads::shipped(),
        }
    }

    /// Adds workloads for the laboratory to the shipped ones.
    #[must_use]
    pub fn with_workloads(mut self, register: impl FnOnce(&mut Workloads)) -> Self {
        register(&mut self.workloads);
        self
    }

    /// Runs the command line of this process to its end. May be called once per process.
    pub fn main(self) -> ExitCode {
        // Only a second application in the same process would find it set.
        let _ = WORKLOADS.set(self.workloads);
        let cli = match cli::Cli::try_parse() {
            Ok(cli) => cli,
            Err(error) => return usage::report(&error),
        };
        let json = cli.command.wants_json();
        match cli::run(cli.command, self.register) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.at_the_same_node(&cli::Cli::command()).report(json),
        }
    }
}

/// Runs the command line of this process to its end, like an [`Application`] with contracts and flows.
pub fn main_with(
    register: impl FnOnce(&mut ContractRegistry, &mut FlowRegistry) -> Result<(), RegistryError>
    + 'static,
) -> ExitCode {
    Application::new(register).main()
}
