//! `tally flow retry`, `pause`, `resume`, `kill`: orders for one flow, or for all flows that match a query.

use api::{FlowOrder, FlowOrdered, FlowQuery};
use client::FlowAction;

use super::people;
use crate::failure::Failure;
use crate::output::{Output, counted};
use crate::target::Target;

/// Arguments of the orders.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The flow; or select flows by the options
    #[arg(conflicts_with_all = ["all", "status", "flow", "code", "user", "peer", "older_than", "stuck"])]
    flow_id: Option<String>,
    /// All flows that the order applies to
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    query: super::query::Query,
    /// Apply the order to all matching flows; without this they are only counted
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self, action: FlowAction) -> Result<(), Failure> {
        let query = self.query.query()?;
        if let Some(flow_id) = &self.flow_id {
            return self.target.with_client(async |client| {
                let outcome = match action {
                    FlowAction::Kill => client.cancel(flow_id).await?,
                    action => client.order_flow(action, flow_id).await?,
                };
                self.output.show(&outcome, people)
            });
        }
        if query == FlowQuery::default() && !self.all {
            return Err(Failure::usage(
                "tally.no_flows",
                "no flow is named, and no option says which flows are meant",
                "Give a flow id, options such as --status parked, or --all.",
            ));
        }
        self.target.with_client(async |client| {
            let mut order = FlowOrder {
                query: query.clone(),
                dry_run: !self.yes,
                after: None,
            };
            let mut sum = FlowOrdered::default();
            loop {
                let part = client.order_flows(action, &order).await?;
                sum.matched += part.matched;
                sum.done += part.done;
                sum.waiting += part.waiting;
                if sum.flows.is_empty() {
                    sum.flows = part.flows;
                }
                match part.next {
                    Some(next) => order.after = Some(next),
                    None => break,
                }
            }
            self.output.show(&sum, |sum| told(sum, self.yes))
        })
    }
}

fn told(sum: &FlowOrdered, done: bool) -> String {
    if sum.matched == 0 {
        return "no flow meets this".to_owned();
    }
    if done {
        let waiting = match sum.waiting {
            0 => String::new(),
            n => format!("; {n} follow when the notary has answered"),
        };
        return format!("done with {} of {}{waiting}", sum.done, sum.matched);
    }
    let verb = if sum.matched == 1 { "meets" } else { "meet" };
    let matched = counted(sum.matched, "flow");
    let mut text = format!("{matched} {verb} this; --yes does it");
    for flow in sum.flows.iter().take(10) {
        text.push_str(&format!("\n  {flow}"));
    }
    if sum.matched > 10 {
        text.push_str("\n  ...");
    }
    text
}
