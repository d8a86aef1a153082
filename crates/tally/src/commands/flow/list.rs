//! `tally flow list`

use api::{FlowList, FlowStatus};

use crate::failure::Failure;
use crate::output::{Ink, Output, Table, stdout_ink};
use crate::target::Target;

/// Arguments of `tally flow list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// After this flow
    #[arg(long, value_name = "FLOW_ID")]
    after: Option<String>,
    /// So many at most
    #[arg(long, default_value_t = 100, value_name = "N")]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let list = client.flows(self.after.as_deref(), self.limit).await?;
            self.output.show(&list, people)
        })
    }
}

fn people(list: &FlowList) -> String {
    if list.flows.is_empty() {
        return "no flow is live".to_owned();
    }
    let ink = stdout_ink();
    let mut table = Table::new(&["flow id", "flow", "from", "step", "status"]);
    for flow in &list.flows {
        let colour = if flow.status == FlowStatus::Parked {
            Ink::YELLOW
        } else {
            Ink::CYAN
        };
        table.row([
            flow.flow_id.clone(),
            flow.flow.clone().unwrap_or_else(|| "-".to_owned()),
            if flow.started_here {
                "here"
            } else {
                "counterparty"
            }
            .to_owned(),
            flow.step.clone(),
            ink.paint(colour, flow.status.as_str()),
        ]);
    }
    let mut text = table.render(ink);
    if let Some(next) = &list.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
