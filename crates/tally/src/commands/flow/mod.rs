//! `tally flow`: commands that start and maintain flows.

mod ago;
mod cancel;
mod describe;
mod ended;
mod get;
mod journal;
mod list;
mod named_types;
mod order;
mod query;
mod scheduled;
mod start;

use std::time::{Duration, Instant};

use api::{DeliveryRefusal, FlowRecord, FlowStatus, Outcome, Wait};
use clap::{Subcommand, ValueEnum};
use client::{Client, ClientError, FlowAction};
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Ink, Output, pairs, stdout_ink};

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a flow and wait for it
    Start(start::Args),
    /// Show the flows that can be started: arguments, result, permission, steps
    Describe(describe::Args),
    /// Show the outcome of a flow
    Get(get::Args),
    /// List flows that have not ended, or with --failed or --ended those that have
    List(list::Args),
    /// List flows that states have scheduled
    Scheduled(scheduled::Args),
    /// Cancel a flow
    Cancel(cancel::Args),
    /// List flows that have waited long without a step, and the reasons
    Stuck(list::StuckArgs),
    /// Retry parked flows, and those that wait for their next try
    Retry(order::Args),
    /// Pause flows until they are resumed
    Pause(order::Args),
    /// Resume paused flows
    Resume(order::Args),
    /// End flows; one that has asked the notary waits for its answer first
    Kill(order::Args),
    /// Show a live flow's journal, for support
    Journal(journal::Args),
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Start(arguments) => arguments.run(),
            Command::Describe(arguments) => arguments.run(),
            Command::Get(arguments) => arguments.run(),
            Command::List(arguments) => arguments.run(),
            Command::Scheduled(arguments) => arguments.run(),
            Command::Cancel(arguments) => arguments.run(),
            Command::Stuck(arguments) => arguments.run(),
            Command::Retry(arguments) => arguments.run(FlowAction::Retry),
            Command::Pause(arguments) => arguments.run(FlowAction::Pause),
            Command::Resume(arguments) => arguments.run(FlowAction::Resume),
            Command::Kill(arguments) => arguments.run(FlowAction::Kill),
            Command::Journal(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::Start(arguments) => arguments.output.json,
            Command::Describe(arguments) => arguments.output.json,
            Command::Get(arguments) => arguments.output.json,
            Command::List(arguments) => arguments.output.json,
            Command::Scheduled(arguments) => arguments.output.json,
            Command::Cancel(arguments) => arguments.output.json,
            Command::Stuck(arguments) => arguments.output.json,
            Command::Retry(arguments)
            | Command::Pause(arguments)
            | Command::Resume(arguments)
            | Command::Kill(arguments) => arguments.output.json,
            Command::Journal(arguments) => arguments.output.json,
        }
    }
}

/// The condition to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WaitFor {
    /// The flow is accepted, and a crash does not lose it
    None,
    /// The flow has succeeded, and its transactions are durable on this node
    Finalised,
    /// Every participant has recorded them too
    Delivered,
}

impl From<WaitFor> for Wait {
    fn from(wait: WaitFor) -> Self {
        match wait {
            WaitFor::None => Wait::None,
            WaitFor::Finalised => Wait::Finalised,
            WaitFor::Delivered => Wait::Delivered,
        }
    }
}

/// Maximum wait of one request. The next request then continues.
const TURN_MS: u64 = 30_000;

/// Pause between requests to a node with nothing new. Such a node answers at once even if the request may wait.
const PAUSE_MS: u64 = 1_000;

/// Waits until a flow satisfies `wait`, the time is over, or the flow cannot get there.
async fn wait_on(
    client: &Client,
    mut outcome: Outcome,
    wait: Wait,
    deadline: Option<Instant>,
) -> Result<Outcome, Failure> {
    let mut asked_at: Option<Instant> = None;
    while !is_there(outcome.status, wait) && outcome.refused.is_empty() {
        if let Some(asked_at) = asked_at {
            let pause = Duration::from_millis(PAUSE_MS.min(turn_ms(deadline)));
            // Clipped at 0: the answer may have taken longer than the pause.
            tokio::time::sleep(pause.saturating_sub(asked_at.elapsed())).await;
        }
        let left = turn_ms(deadline);
        if left == 0 {
            break;
        }
        asked_at = Some(Instant::now());
        let state = client.flow(&outcome.flow_id, wait, Some(left)).await;
        outcome = state.or_else(ClientError::into_outcome)?;
    }
    Ok(outcome)
}

/// Returns the maximum wait of the next request.
fn turn_ms(deadline: Option<Instant>) -> u64 {
    deadline.map_or(TURN_MS, |deadline| {
        // Clipped at 0: the time is over.
        let left = deadline.saturating_duration_since(Instant::now());
        primitives::whole_ms(left).min(TURN_MS)
    })
}

/// Shows an outcome. The command fails if the flow failed or does not satisfy `wait` yet.
fn show(output: Output, outcome: Outcome, wait: Wait) -> Result<(), Failure> {
    output.show(&outcome, people)?;
    if !is_there(outcome.status, wait) {
        if let Some(refused) = outcome.refused.first() {
            return Err(Failure::not_delivered(refused));
        }
        let (id, status) = (&outcome.flow_id, outcome.status.as_str());
        return Err(Failure::not_yet(id, status, wait.as_str()));
    }
    match outcome.error {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// Returns whether there is nothing more to wait for.
fn is_there(status: FlowStatus, wait: Wait) -> bool {
    match wait {
        Wait::None => true,
        Wait::Finalised => status.is_end() || status.stands_still(),
        Wait::Delivered => !matches!(
            status,
            FlowStatus::Accepted
                | FlowStatus::Running
                | FlowStatus::Retrying
                | FlowStatus::Finalised
        ),
    }
}

fn people(outcome: &Outcome) -> String {
    let colour = match outcome.status {
        FlowStatus::Finalised | FlowStatus::Delivered => Ink::GREEN,
        FlowStatus::Accepted | FlowStatus::Running => Ink::CYAN,
        FlowStatus::Retrying | FlowStatus::Parked | FlowStatus::Paused => Ink::YELLOW,
        FlowStatus::Failed | FlowStatus::Killed => Ink::RED,
    };
    let mut lines = vec![
        ("flow", outcome.flow_id.clone()),
        (
            "status",
            stdout_ink().paint(colour, outcome.status.as_str()),
        ),
    ];
    if let Some(step) = &outcome.step {
        lines.push(("step", step.clone()));
    }
    if let Some(record) = &outcome.record {
        lines.extend(course(record));
    }
    if let Some(result) = &outcome.result {
        lines.push(("result", readable(result.get())));
    }
    if !outcome.transactions.is_empty() {
        lines.push(("transactions", outcome.transactions.join("\n")));
    }
    if !outcome.undelivered.is_empty() {
        lines.push(("not yet delivered to", outcome.undelivered.join("\n")));
    }
    if !outcome.refused.is_empty() {
        let each = outcome.refused.iter().map(|refused| {
            let DeliveryRefusal {
                transaction,
                party,
                code,
                message,
                ..
            } = refused;
            format!("{transaction} by {party}: {code}: {message}")
        });
        lines.push(("refused", each.collect::<Vec<_>>().join("\n")));
    }
    pairs(&lines)
}

/// Returns the lines about the start and the end of a flow.
fn course(record: &FlowRecord) -> Vec<(&'static str, String)> {
    let time = |ms| Timestamp::from_ms(ms).to_string();
    let counterparties = (!record.peers.is_empty()).then(|| record.peers.join("\n"));
    let lines = [
        ("name", record.flow.clone()),
        ("started", record.started_at_ms.map(time)),
        ("ended", Some(time(record.ended_at_ms))),
        ("user", record.user.clone()),
        ("client id", record.client_id.clone()),
        ("counterparties", counterparties),
    ];
    let told = lines.into_iter();
    told.filter_map(|(name, text)| Some((name, text?)))
        .collect()
}

/// Formats JSON with line breaks and indents.
fn readable(json: &str) -> String {
    let parsed: Result<serde_json::Value, _> = serde_json::from_str(json);
    parsed
        .and_then(|value| serde_json::to_string_pretty(&value))
        // A text that is not JSON is shown unchanged.
        .unwrap_or_else(|_| json.to_owned())
}
