//! `tally flow scheduled`

use api::{SchedulePage, ScheduleStatus};
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Ink, Output, Table, stdout_ink};
use crate::target::Target;

/// Arguments of `tally flow scheduled`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// After this place, from the previous page
    #[arg(long, value_name = "PLACE")]
    after: Option<String>,
    /// Maximum number of flows
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let page = client.schedule(self.after.as_deref(), self.limit).await?;
            self.output.show(&page, people)
        })
    }
}

fn people(page: &SchedulePage) -> String {
    if page.entries.is_empty() {
        return "nothing is scheduled".to_owned();
    }
    let ink = stdout_ink();
    let mut table = Table::new(&["when", "flow", "state", "status"]);
    for entry in &page.entries {
        let colour = match entry.status {
            ScheduleStatus::Waiting => Ink::CYAN,
            ScheduleStatus::Due => Ink::YELLOW,
            ScheduleStatus::Refused => Ink::RED,
        };
        let mut status = ink.paint(colour, entry.status.as_str());
        if let Some(error) = &entry.error {
            status.push_str(&format!(": {}", error.code));
        }
        table.row([
            Timestamp::from_ms(entry.at_ms).to_string(),
            // A counterparty may have written the name.
            entry.flow.escape_debug().to_string(),
            entry.state_ref.clone(),
            status,
        ]);
    }
    let mut text = table.render(ink);
    if let Some(next) = &page.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
