//! `tally api list`, `tally api call`: any operation of the API, as its row describes it.

use std::io::{IsTerminal, Read, Write};

use api::operations::{Kind, Operation};
use clap::Subcommand;
use client::Arguments;
use serde::Serialize;

use crate::failure::{Failure, about_file};
use crate::output::{Output, Table, print, stdout_ink};
use crate::printable::printable;
use crate::target::Target;

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the operations of the API: method, path, permission, purpose
    List(ListArgs),
    /// Call an operation and print its answer
    Call(CallArgs),
}

/// Arguments of `tally api list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// The operations of a chain node
    #[arg(long)]
    chain: bool,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `tally api call`.
#[derive(Debug, clap::Args)]
pub struct CallArgs {
    #[command(flatten)]
    target: Target,
    /// The operation, such as listFlows: see tally api list
    operation: String,
    /// Values of its path and its query
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// Its body: JSON, @FILE, or @- for standard input
    #[arg(long, value_name = "BODY")]
    body: Option<String>,
    /// The node is a chain node. Needed with --url only, because a folder shows it
    #[arg(long)]
    chain: bool,
    #[command(flatten)]
    output: Output,
}

impl Command {
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::List(arguments) => arguments.run(),
            Command::Call(arguments) => arguments.run(),
        }
    }

    pub fn wants_json(&self) -> bool {
        match self {
            Command::List(arguments) => arguments.output.json,
            Command::Call(arguments) => arguments.output.json,
        }
    }
}

/// An operation, for `--json`.
#[derive(Serialize)]
struct Row {
    id: &'static str,
    method: &'static str,
    path: &'static str,
    permission: Option<&'static str>,
    parameters: Vec<&'static str>,
    body: Option<&'static str>,
    summary: &'static str,
}

impl ListArgs {
    fn run(self) -> Result<(), Failure> {
        let rows: Vec<Row> = operations(self.chain).map(row).collect();
        self.output.show(&rows, |rows| {
            let mut table = Table::new(&["operation", "method", "path", "permission", "purpose"]);
            for row in rows {
                table.row([
                    row.id.to_owned(),
                    row.method.to_owned(),
                    row.path.to_owned(),
                    row.permission.unwrap_or_default().to_owned(),
                    row.summary.to_owned(),
                ]);
            }
            table.render(stdout_ink())
        })
    }
}

fn row(operation: &'static Operation) -> Row {
    let parameters = operation.segments.iter().chain(operation.query);
    Row {
        id: operation.id,
        method: operation.method.as_str(),
        path: operation.path,
        permission: operation.permission.name(),
        parameters: parameters.map(|parameter| parameter.name).collect(),
        body: operation.body.map(|body| body.media),
        summary: operation.summary,
    }
}

impl CallArgs {
    fn run(self) -> Result<(), Failure> {
        let chain = self.chain || self.target.is_chain();
        let operation = find(&self.operation, chain)?;
        let arguments = arguments(operation, &self.parameters)?;
        let body = self.body.as_deref().map(body).transpose()?;
        let arguments = arguments.bytes(body.unwrap_or_default());
        let answer = self
            .target
            .with_client(async |client| Ok(client.ask_raw(operation, arguments).await?))?;
        match serde_json::from_slice::<serde_json::Value>(&answer) {
            Ok(value) => self.output.show(&value, |value| format!("{value:#}")),
            Err(_) if std::io::stdout().is_terminal() => {
                let text = String::from_utf8_lossy(&answer);
                print(&printable(&text, stdout_ink()))
            }
            Err(_) if answer.is_ascii() => print(&String::from_utf8_lossy(&answer)),
            Err(_) => write(&answer),
        }
    }
}

fn operations(chain: bool) -> Box<dyn Iterator<Item = &'static Operation>> {
    match chain {
        true => Box::new(api::chain::operations::operations()),
        false => Box::new(api::operations::operations()),
    }
}

/// Returns the operation with this id. An unknown id names the nearest one.
fn find(id: &str, chain: bool) -> Result<&'static Operation, Failure> {
    let Some(found) = operations(chain).find(|operation| operation.id == id) else {
        let nearest = operations(chain)
            .map(|operation| operation.id)
            .min_by_key(|known| strsim::damerau_levenshtein(known, id))
            .unwrap_or_default();
        let hint = format!("Did you mean {nearest}? List all operations: tally api list");
        return Err(bad(format!("there is no operation '{id}'"), hint));
    };
    let answers = found.answers.iter().filter_map(|answer| answer.content);
    if answers.into_iter().any(|body| is_endless(body.media)) {
        let text = format!("{id} answers with a stream that does not end by itself");
        return Err(bad(
            text,
            "Use an HTTP client that reads streams, such as curl.",
        ));
    }
    Ok(found)
}

fn is_endless(media: &str) -> bool {
    matches!(media, "text/event-stream" | "application/x-ndjson")
}

/// Returns the arguments of a call. Each segment of the path needs a value, and each name has to be one of the operation's.
fn arguments(operation: &Operation, given: &[String]) -> Result<Arguments, Failure> {
    let pairs: Vec<(&str, &str)> = given
        .iter()
        .map(|pair| {
            let text = || format!("'{pair}' does not have the form NAME=VALUE");
            pair.split_once('=')
                .ok_or_else(|| bad(text(), "Give each parameter as NAME=VALUE."))
        })
        .collect::<Result<_, _>>()?;
    let value_of = |name: &str| pairs.iter().find(|(given, _)| *given == name);
    let mut segments = Vec::new();
    for segment in operation.segments {
        let missing = || format!("{} needs a value for {}", operation.id, segment.name);
        let hint = || format!("Add {}=VALUE: {}", segment.name, segment.help);
        let (_, value) = value_of(segment.name).ok_or_else(|| bad(missing(), hint()))?;
        segments.push(*value);
    }
    let mut arguments = Arguments::at(&segments);
    for (name, value) in &pairs {
        let in_query = operation.query.iter().any(|known| {
            known.name == *name && !matches!(known.kind, Kind::Header | Kind::HeaderText(_))
        });
        let in_path = operation.segments.iter().any(|known| known.name == *name);
        match (in_query, in_path) {
            (true, _) => arguments = arguments.with(name, Some(value)),
            (false, true) => {}
            (false, false) => {
                let known = operation.segments.iter().chain(operation.query);
                let known: Vec<&str> = known.map(|parameter| parameter.name).collect();
                let text = format!("{} has no parameter '{name}'", operation.id);
                let hint = match known.as_slice() {
                    [] => "It has no parameters.".to_owned(),
                    known => format!("Its parameters: {}", known.join(", ")),
                };
                return Err(bad(text, hint));
            }
        }
    }
    Ok(arguments)
}

/// Returns the bytes of a body: the text itself, a file, or standard input.
fn body(given: &str) -> Result<Vec<u8>, Failure> {
    match given.strip_prefix('@') {
        None => Ok(given.as_bytes().to_vec()),
        Some("-") => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| about_file("standard input".as_ref(), &error))?;
            Ok(bytes)
        }
        Some(file) => std::fs::read(file).map_err(|error| about_file(file.as_ref(), &error)),
    }
}

/// Writes the bytes of an answer that is no text. A reader that closes the pipe early is not a failure.
fn write(answer: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(answer).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::local(
            "tally.output",
            error.to_string(),
            "Check the file or pipe that the output goes to.",
        )),
        _ => Ok(()),
    }
}

fn bad(message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::usage("tally.bad_call", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_no_operation_takes_are_refused_with_a_hint() {
        let table: &[(&str, &[&str], &str)] = &[
            ("listFlow", &[], "Did you mean listFlows?"),
            ("followVault", &[], "curl"),
            ("notes", &[], "Add transaction_id=VALUE"),
            ("notes", &["transaction_id"], "NAME=VALUE"),
            ("ledger", &["form=1"], "Its parameters: after, limit"),
            ("node", &["a=1"], "It has no parameters."),
        ];
        for (id, given, hint) in table {
            let given: Vec<String> = given.iter().map(|&pair| pair.to_owned()).collect();
            let refused = find(id, false).and_then(|operation| arguments(operation, &given));
            let failure = refused.expect_err(id);
            assert_eq!(failure.code(), "tally.bad_call");
            let hints = format!("{failure:?}");
            assert!(hints.contains(hint), "{id}: {hints}");
        }
    }

    #[test]
    fn every_operation_is_found_by_its_id() {
        for chain in [false, true] {
            for operation in operations(chain) {
                let found = find(operation.id, chain).map(|found| found.path);
                let endless = operation.answers.iter().filter_map(|answer| answer.content);
                match endless.into_iter().any(|body| is_endless(body.media)) {
                    true => assert!(found.is_err(), "{}", operation.id),
                    false => assert_eq!(found.ok(), Some(operation.path)),
                }
            }
        }
    }
}
