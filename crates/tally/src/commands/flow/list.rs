//! `tally flow list` and `tally flow stuck`

use api::{FlowList, FlowQuery, FlowStatus, FlowSummary};

use super::ended::{self, Ended};
use super::query::{Query, ms};
use crate::failure::Failure;
use crate::output::{Ink, Output, Table, stdout_ink};
use crate::target::Target;

/// Default waiting time after which a flow counts as stuck, in seconds.
const STUCK_S: u64 = 60;

/// Arguments of `tally flow list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    query: Query,
    #[command(flatten)]
    ended: Ended,
    /// After this place, from the previous page: a flow id, or with --failed or --ended a place in the history
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
        if let Some(query) = self.ended.query(&self.query)? {
            return self.target.with_client(async |client| {
                let history = ended::read(&client, &query, self.after.clone(), self.limit);
                self.output.show(&history.await?, ended::people)
            });
        }
        let query = self.query.query()?;
        self.target.with_client(async |client| {
            let after = self.after.as_deref();
            let list = client.flows_where(&query, after, self.limit).await?;
            self.output.show(&list, people)
        })
    }
}

/// Arguments of `tally flow stuck`.
#[derive(Debug, clap::Args)]
pub struct StuckArgs {
    #[command(flatten)]
    target: Target,
    /// Waiting without a step for at least this long
    #[arg(long = "for", default_value_t = STUCK_S, value_name = "SECONDS")]
    seconds: u64,
    /// Maximum number of flows
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    pub output: Output,
}

impl StuckArgs {
    pub fn run(self) -> Result<(), Failure> {
        let query = FlowQuery {
            stuck_ms: Some(ms(self.seconds)),
            ..FlowQuery::default()
        };
        self.target.with_client(async |client| {
            let list = client.flows_where(&query, None, self.limit).await?;
            self.output.show(&list, waits)
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
        let colour = match flow.status {
            FlowStatus::Running => Ink::CYAN,
            _ => Ink::YELLOW,
        };
        table.row([
            flow.flow_id.clone(),
            flow.flow.clone().unwrap_or_else(|| "-".to_owned()),
            from(flow),
            flow.step.clone(),
            ink.paint(colour, flow.status.as_str()),
        ]);
    }
    with_more(table.render(ink), list)
}

fn waits(list: &FlowList) -> String {
    if list.flows.is_empty() {
        return "no flow has waited that long".to_owned();
    }
    let now_ms = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, primitives::whole_ms);
    let mut table = Table::new(&["flow id", "flow", ">seconds", "waits for", "of", "about"]);
    for flow in &list.flows {
        let name = flow.flow.clone().unwrap_or_else(|| "-".to_owned());
        // Clipped at 0: the node's clock may be ahead of this machine's.
        let idle = flow
            .progress_at_ms
            .map_or(0, |at| now_ms.saturating_sub(at));
        for wait in &flow.waits {
            table.row([
                flow.flow_id.clone(),
                name.clone(),
                (idle / 1_000).to_string(),
                wait.what.clone(),
                wait.peer.clone().unwrap_or_else(|| "-".to_owned()),
                wait.about.clone().unwrap_or_default(),
            ]);
        }
    }
    with_more(table.render(stdout_ink()), list)
}

fn from(flow: &FlowSummary) -> String {
    match (&flow.user, flow.started_here) {
        (Some(user), true) => user.clone(),
        (None, true) => "here".to_owned(),
        _ => flow
            .peers
            .first()
            .cloned()
            .unwrap_or_else(|| "counterparty".to_owned()),
    }
}

fn with_more(mut text: String, list: &FlowList) -> String {
    if let Some(next) = &list.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
