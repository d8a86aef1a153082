//! `tally contract list`

use api::{ConstraintView, ContractList};

use crate::failure::Failure;
use crate::output::{Output, Table, stdout_ink};
use crate::target::Target;

/// Arguments of `tally contract list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target
            .with_client(async |client| self.output.show(&client.contracts().await?, people))
    }
}

fn people(list: &ContractList) -> String {
    let mut table = Table::new(&["contract", ">version", "", "new states take", "descriptor"]);
    for contract in &list.contracts {
        let current = if contract.current { "current" } else { "" };
        let binds = match contract.constraint {
            ConstraintView::Version => "this version",
            ConstraintView::Signer => "the signer's versions",
        };
        table.row([
            contract.name.clone(),
            contract.version.to_string(),
            current.to_owned(),
            binds.to_owned(),
            contract.descriptor.clone(),
        ]);
    }
    table.render(stdout_ink())
}
