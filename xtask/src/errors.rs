//! Every error code of the workspace, from the crates' own catalogues.

/// One code and the crate that raises it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The crate.
    pub from: &'static str,
    /// `domain.snake_case`.
    pub code: &'static str,
    /// Its cause.
    pub cause: &'static str,
    /// Advised action.
    pub action: &'static str,
}

macro_rules! entries {
    ($($from:ident),* $(,)?) => {{
        let mut all = Vec::new();
        $(all.extend($from::ERRORS.iter().map(|info| Entry {
            from: stringify!($from),
            code: info.code,
            cause: info.cause,
            action: info.action,
        }));)*
        all
    }};
}

/// Crates that have a catalogue.
#[cfg(test)]
pub const CRATES: &[&str] = &[
    "primitives",
    "ledger",
    "vault",
    "notary",
    "flow",
    "finance",
    "kernel",
    "store",
    "pgstore",
    "notarydb",
    "vaultview",
    "net",
    "api",
    "chain",
    "client",
    "node",
    "perf",
    "tally",
];

/// The command line's own codes. It is a program and not a library, so its catalogue is here. A test compares it with the sources.
const COMMAND_LINE: &[(&str, &str, &str)] = &[
    (
        "tally.bad_call",
        "A call of the API names no operation, or parameters that the operation does not have.",
        "List the operations and their parameters: tally api list --json.",
    ),
    (
        "tally.bad_json",
        "Arguments given on the command line are not JSON.",
        "Quote the arguments for the shell, such as --args '{\"quantity\":100}'.",
    ),
    (
        "tally.bad_log_filter",
        "The level or filter of the log does not parse.",
        "Give error, warn, info, debug or trace, or a filter such as info,net=debug.",
    ),
    (
        "tally.bad_password",
        "A password could not be read, is too short or too long, or was typed differently the second time.",
        "Choose a password of 8 to 1024 bytes; without a terminal give --password-stdin.",
    ),
    (
        "tally.bad_state",
        "A value given as a state is not a state reference.",
        "Write it as the ledger does: the transaction's id, then the index in parentheses, quoted for the shell.",
    ),
    (
        "tally.bad_url",
        "An address of an API does not parse.",
        "Write the address as https://host:port.",
    ),
    (
        "tally.bad_user_name",
        "A new user's name is not one that a user can have.",
        "Choose a name of 1 to 64 letters, digits, '.', '_', '-' and '@'.",
    ),
    (
        "tally.bad_value",
        "A value on the command line of 'tally chain', or an answer of a chain node, is invalid.",
        "Correct the value that the message names; 'tally chain COMMAND --help' describes the arguments.",
    ),
    (
        "tally.cannot_resume",
        "An upload cannot be resumed: it was begun with another file, or its source cannot be read again.",
        "Give the file that the upload was begun with, or leave --resume out.",
    ),
    (
        "tally.failed",
        "A command could not be carried out.",
        "Read the message; it names the failure and its place.",
    ),
    (
        "tally.file",
        "A file cannot be read, written or understood.",
        "Check the path that the message names and its permissions.",
    ),
    (
        "tally.file_exists",
        "The command would replace an existing file.",
        "Choose another name with --out, or replace it with --force.",
    ),
    (
        "tally.folder_needed",
        "The command changes files of a node's folder, but only the address of the node was given.",
        "Run it on the node's machine with --node.",
    ),
    (
        "tally.interrupted",
        "An upload was interrupted by a signal before it was complete.",
        "Give the command again with --resume and the id that was printed; the node keeps the received part of the file for a while.",
    ),
    ("tally.log", "The log could not be started.", "Report this."),
    (
        "tally.no_flows",
        "The options of a command do not say which flows are meant, or name a status that none of these flows has.",
        "Give a flow id, options such as --status parked, or --all. For flows that have ended, add --failed or --ended.",
    ),
    (
        "tally.no_node",
        "The command line names no node.",
        "Give --node DIR, or --url with --root and --token-file.",
    ),
    (
        "tally.no_proof",
        "A proof of equivocation does not exist, or cannot be decoded.",
        "List the proofs with 'tally notary equivocations', and export the proof again.",
    ),
    (
        "tally.not_confirmed",
        "A transaction of a chain did not get the expected confirmations in time.",
        "It may still be confirmed: check it again later, or give a longer --timeout.",
    ),
    (
        "tally.not_consumed",
        "The notary has not seen the state consumed.",
        "Check the state, and that the node asked is its notary: 'tally tx show' names it.",
    ),
    (
        "tally.not_delivered",
        "A transaction is final, but a participant refuses to record it.",
        "Contact the operator of the participant that the message names, with the code of its refusal.",
    ),
    (
        "tally.not_yet",
        "The flow is still running, but did not reach the expected status in time.",
        "Read its state with 'tally flow get'.",
    ),
    (
        "tally.output",
        "A result could not be written.",
        "Check the file or pipe that the output goes to.",
    ),
    (
        "tally.query",
        "A vault query on the command line, or in the given file, is invalid.",
        "See the reference of vault queries for the fields and their forms.",
    ),
    (
        "tally.runtime",
        "The asynchronous runtime cannot be started.",
        "Check the limits of threads and memory for the user.",
    ),
    (
        "tally.unconfirmed",
        "A command that decides about a node's store was confirmed with a name that is not the node's.",
        "Check the folder, then give the node's name with --confirm.",
    ),
    (
        "tally.unknown_user",
        "The node's folder has no user of this name.",
        "Check the name; 'tally user list' shows all users.",
    ),
    (
        "tally.unwell",
        "The doctor found a problem with a node's folder or machine.",
        "Follow the advice next to each problem, then run 'tally doctor' again.",
    ),
    (
        "tally.usage",
        "The command line is invalid: an unknown command or option, a missing argument, or a value out of its range.",
        "Correct the command line; '--help' after a command describes its arguments.",
    ),
    (
        "tally.wrong_folder",
        "The folder is of another kind than the command needs: a node's, a chain node's, or one that holds the folders of a network.",
        "Use the command that the hint names, or give another folder.",
    ),
];

/// Returns all codes, crate by crate.
pub fn all() -> Vec<Entry> {
    let mut all = entries!(
        primitives, ledger, vault, notary, flow, finance, kernel, store, pgstore, notarydb,
        vaultview, net, api, chain, client, tally
    );
    all.extend(api::chain::ERRORS.iter().map(|info| Entry {
        from: "api",
        code: info.code,
        cause: info.cause,
        action: info.action,
    }));
    for (from, parts) in [("node", node::ERRORS), ("perf", perf::ERRORS)] {
        all.extend(parts.iter().flat_map(|part| part.iter()).map(|info| Entry {
            from,
            code: info.code,
            cause: info.cause,
            action: info.action,
        }));
    }
    all.extend(COMMAND_LINE.iter().map(|(code, cause, action)| Entry {
        from: "tally",
        code,
        cause,
        action,
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata;

    /// A crate that gained a catalogue must be listed above, or its codes would have no page.
    #[test]
    fn no_catalogue_is_forgotten() {
        let crates = metadata::root().join("crates");
        let mut found = Vec::new();
        for entry in std::fs::read_dir(crates).expect("the folder `crates` can be read") {
            let folder = entry.expect("readable").path();
            let map = std::fs::read_to_string(folder.join("src/lib.rs")).unwrap_or_default();
            let name = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let words = |text: &str| {
                text.split(|c: char| !c.is_alphanumeric() && c != '_')
                    .any(|word| word == "ERRORS")
            };
            if words(&map) {
                found.push(name);
            }
        }
        found.sort();
        let mut listed: Vec<&str> = CRATES.to_vec();
        listed.sort_unstable();
        assert_eq!(found, listed);
        for name in CRATES {
            assert!(all().iter().any(|entry| entry.from == *name), "{name}");
        }
    }

    /// The list has exactly the `tally.` codes of the command line's sources.
    #[test]
    fn the_command_line_is_listed() {
        let mut found = std::collections::BTreeSet::new();
        let mut folders = vec![metadata::root().join("crates/tally/src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("readable") {
                let path = entry.expect("readable").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(path).expect("text");
                for part in text.split("\"tally.").skip(1) {
                    let name = part.split('"').next().unwrap_or_default();
                    found.insert(format!("tally.{name}"));
                }
            }
        }
        let listed: Vec<String> = COMMAND_LINE
            .iter()
            .map(|(code, ..)| (*code).to_owned())
            .collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), listed);
    }
}
