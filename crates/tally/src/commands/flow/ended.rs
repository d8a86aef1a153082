//! `tally flow list --ended` and `--failed`: flows of the node's history.

use api::{EndedFlow, FlowHistory, FlowHistoryQuery, FlowStatus};
use client::Client;
use primitives::Timestamp;

use super::ago::Ago;
use super::query::Query;
use crate::failure::Failure;
use crate::output::{Ink, Table, stdout_ink};

/// Options that select ended flows.
#[derive(Clone, Debug, clap::Args)]
pub struct Ended {
    /// Flows that failed or were killed, instead of live ones
    #[arg(long, conflicts_with_all = ["older_than", "stuck"])]
    failed: bool,
    /// All flows that have ended, instead of live ones
    #[arg(long, conflicts_with_all = ["older_than", "stuck"])]
    ended: bool,
    /// With --failed or --ended: ended at most this long ago, such as 90s, 15m, 2h or 1d
    #[arg(long, value_name = "TIME")]
    since: Option<Ago>,
    /// With --failed or --ended: ended at least this long ago
    #[arg(long, value_name = "TIME")]
    until: Option<Ago>,
}

impl Ended {
    /// Returns the query for ended flows, or `None` if live ones are meant.
    pub fn query(&self, query: &Query) -> Result<Option<FlowHistoryQuery>, Failure> {
        let refused = |text: String, hint: &str| Err(Failure::usage("tally.no_flows", text, hint));
        if !self.failed && !self.ended {
            return match (self.since.is_some(), self.until.is_some()) {
                (false, false) => Ok(None),
                (true, _) => refused("--since is about flows that have ended".to_owned(), ADD),
                (false, true) => refused("--until is about flows that have ended".to_owned(), ADD),
            };
        }
        let ends = [
            FlowStatus::Finalised,
            FlowStatus::Failed,
            FlowStatus::Killed,
        ];
        let status = match &query.status {
            None => None,
            Some(text) => match ends.into_iter().find(|end| end.as_str() == text) {
                Some(end) => Some(end),
                None => {
                    let text = format!("'{text}' is not a status of a flow that has ended");
                    return refused(text, "Use finalised, failed or killed.");
                }
            },
        };
        Ok(Some(FlowHistoryQuery {
            status,
            failed: self.failed,
            flow: query.flow.clone(),
            code: query.code.clone(),
            user: query.user.clone(),
            peer: query.peer.clone(),
            since_ms: self.since.map(Ago::as_ms),
            until_ms: self.until.map(Ago::as_ms),
        }))
    }
}

const ADD: &str = "Add --failed or --ended.";

/// Reads ended flows, until there are `limit` of them or no more.
pub async fn read(
    client: &Client,
    query: &FlowHistoryQuery,
    after: Option<String>,
    limit: u32,
) -> Result<FlowHistory, Failure> {
    let mut history = client.flow_history(query, after.as_deref(), limit).await?;
    // A page may end early, because the node reads a bounded number of flows for each.
    while let Some(next) = &history.next {
        let count = u32::try_from(history.flows.len()).unwrap_or(limit);
        let Some(left) = limit.checked_sub(count).filter(|left| *left > 0) else {
            break;
        };
        let more = client.flow_history(query, Some(next), left).await?;
        history.flows.extend(more.flows);
        history.next = more.next;
    }
    Ok(history)
}

/// The flows for people.
pub fn people(history: &FlowHistory) -> String {
    if history.flows.is_empty() {
        return "the history has no such flow".to_owned();
    }
    let ink = stdout_ink();
    let mut table = Table::new(&[
        "ended",
        "flow id",
        "flow",
        "from",
        "counterparties",
        "status",
        "code",
    ]);
    for flow in &history.flows {
        let colour = match flow.status {
            FlowStatus::Finalised => Ink::GREEN,
            _ => Ink::RED,
        };
        let code = flow.error.as_ref().map(|error| error.code.clone());
        table.row([
            Timestamp::from_ms(flow.record.ended_at_ms).to_string(),
            flow.flow_id.clone(),
            flow.record.flow.clone().unwrap_or_else(|| "-".to_owned()),
            from(flow),
            flow.record.peers.join("; "),
            ink.paint(colour, flow.status.as_str()),
            code.unwrap_or_default(),
        ]);
    }
    let mut text = table.render(ink);
    if let Some(next) = &history.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}

fn from(flow: &EndedFlow) -> String {
    match (&flow.record.user, flow.record.started_here) {
        (Some(user), _) => user.clone(),
        (None, true) => "here".to_owned(),
        (None, false) => flow
            .record
            .peers
            .first()
            .cloned()
            .unwrap_or_else(|| "-".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        query: Query,
        #[command(flatten)]
        ended: Ended,
    }

    fn query(line: &str) -> Result<Option<FlowHistoryQuery>, String> {
        let words = std::iter::once("list").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        let query = line.ended.query(&line.query);
        query.map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn options_select_live_or_ended_flows() {
        for (line, expected) in [
            ("", None),
            ("--status parked", None),
            ("--failed", Some((true, None))),
            ("--ended", Some((false, None))),
            ("--failed --ended", Some((true, None))),
            (
                "--ended --status killed",
                Some((false, Some(FlowStatus::Killed))),
            ),
        ] {
            let query = query(line).expect(line);
            let told = query.map(|query| (query.failed, query.status));
            assert_eq!(told, expected, "{line}");
        }
        let both = query("--failed --since 1d --until 1h --user ann");
        let both = both.expect("good").expect("ended flows");
        assert_eq!(both.user.as_deref(), Some("ann"));
        assert!(both.since_ms.expect("given") + 82_000_000 < both.until_ms.expect("given"));
    }

    #[test]
    fn options_without_sense_are_refused_with_the_remedy() {
        for (line, expected) in [
            ("--since 1d", "Add --failed or --ended."),
            ("--until 1d", "Add --failed or --ended."),
            (
                "--ended --status parked",
                "Use finalised, failed or killed.",
            ),
            ("--failed --stuck 1", "cannot be used with"),
            ("--failed --since yesterday", "such as 90s, 15m, 2h or 1d"),
        ] {
            let refused = query(line).expect_err(line);
            assert!(refused.contains(expected), "{line}: {refused}");
        }
    }
}
