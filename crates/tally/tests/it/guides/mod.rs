//! The guides of `docs/guides`: their commands are run, and their output is the quoted one.
//!
//! `own_application` runs the guide whose commands need an application.

mod page;
mod quote;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::stage::binary;
use crate::stage::guide::{self, page::steps, repository};

/// Guides on the network of the first one.
const NETWORK: &[&str] = &[
    "first-network.md",
    "calling-flows.md",
    "stuck-flows.md",
    "attachments.md",
    "confidential-identities.md",
    "scheduled-and-referenced-states.md",
];
/// Guides on a chain.
const CHAIN: &[&str] = &["chain.md"];

/// Guides with commands that no test of this program runs, and the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("attachment-experiment.md", "experiments of minutes"),
    ("chain-forks.md", "orders for faults that have to exist"),
    ("chain-limits.md", "experiments of minutes"),
    ("chain-load-test.md", "experiments of minutes"),
    ("chain-sizing.md", "experiments of minutes"),
    ("comparing.md", "experiments of minutes"),
    ("distributed-load.md", "several machines"),
    (
        "first-application.md",
        "the test program own_application runs it",
    ),
    ("laboratory.md", "experiments of minutes"),
    ("measure-your-own-system.md", "another system"),
    (
        "moving-states.md",
        "a second notary, and a second version of a contract",
    ),
    ("own-workload.md", "an experiment of minutes"),
    ("publishing-results.md", "experiments of minutes"),
    (
        "python.md",
        "packages of Python, which the build does not fetch",
    ),
    (
        "running-a-node.md",
        "orders for operators, on nodes of their own",
    ),
    ("settlement.md", "an exchange and an issuer of stock"),
    ("sizing.md", "experiments of minutes"),
];

#[test]
fn a_network_does_as_its_guides_say() {
    guide::follow(NETWORK, &[("tally", &binary())]);
}

#[test]
fn a_chain_does_as_its_guide_says() {
    guide::follow(CHAIN, &[("tally", &binary())]);
}

/// Files and texts of the pages with commands.
fn pages() -> Vec<(String, String)> {
    let folder = repository().join("docs/guides");
    let entries = fs::read_dir(folder).expect("the guides are there");
    let paths = entries.map(|entry| entry.expect("readable").path());
    let paths: Vec<PathBuf> = paths.chain([repository().join("README.md")]).collect();
    let named = paths.iter().map(|path| {
        let name = path.file_name().expect("a file").to_string_lossy();
        (name.into_owned(), fs::read_to_string(path).expect("text"))
    });
    named
        .filter(|(_, text)| text.contains("\n```sh\n"))
        .collect()
}

#[test]
fn each_guide_with_commands_is_run_or_named_with_a_reason() {
    let pages = pages().into_iter().map(|(name, _)| name);
    let found: BTreeSet<String> = pages.filter(|name| name != "README.md").collect();
    let not_run = NOT_RUN.iter().map(|(name, _)| name);
    let run = NETWORK.iter().chain(CHAIN);
    let listed: Vec<String> = run.chain(not_run).map(|name| (*name).to_owned()).collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), found);
    assert_eq!(listed.len(), found.len(), "a guide is listed twice");
}

/// A command of `tally` up to a pipe, a redirection or a second command.
fn command_of_tally(command: &str) -> Option<&str> {
    let ends = [" | ", " > ", " && ", " &"];
    let end = ends.iter().filter_map(|end| command.find(end)).min();
    let command = &command[..end.unwrap_or(command.len())];
    command.starts_with("tally ").then_some(command)
}

/// `--help` stops a command before it does anything, but after its words have been read. Missing options are not found.
#[test]
fn the_command_line_knows_each_command_of_the_guides() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut checked = 0;
    let mut faults = Vec::new();
    for (page, text) in pages() {
        let steps = steps(&text).unwrap_or_else(|fault| panic!("{page}: {fault}"));
        for command in steps.iter().flat_map(guide::Step::each) {
            let Some(command) = command_of_tally(&command) else {
                continue;
            };
            let script = format!("tally() {{ \"$PROGRAM\" \"$@\" --help; }}\n{command}\n");
            let ran = Command::new("bash")
                .args(["-c", &script])
                .env("PROGRAM", binary())
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .output()
                .expect("bash is installed");
            if !ran.status.success() {
                faults.push(format!(
                    "{page}: {command}\n{}",
                    String::from_utf8_lossy(&ran.stderr)
                ));
            }
            checked += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 100, "only {checked} commands were found");
}
