//! Completes the commands that hints recommend, so that they can be copied as they are printed.

use std::ffi::OsString;

use clap::Command;

/// The options that select a node, with one value each.
const SELECTORS: &[&str] = &["--node", "--url", "--root", "--token-file", "--server-name"];

/// Returns the options of a command line that select a node, as text for a shell. It is empty if there are none, such as when the
/// environment selects the node.
pub fn selection(words: impl IntoIterator<Item = OsString>) -> String {
    let mut words = words.into_iter();
    let mut selection = Vec::new();
    while let Some(word) = words.next() {
        let Some(word) = word.to_str() else {
            continue;
        };
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        if !SELECTORS.contains(&name) {
            continue;
        }
        // A value that is no text cannot be printed, so the command stays incomplete.
        let value = value.or_else(|| words.next()?.into_string().ok());
        if let Some(value) = value {
            selection.push(format!("{name} {}", quoted(&value)));
        }
    }
    selection.join(" ")
}

/// Quotes a word for a shell where necessary. Double quotes, because single ones enclose the whole command in a hint.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-:@%+,[]".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let escaped: String = word
        .chars()
        .flat_map(|c| {
            ['\\']
                .into_iter()
                .filter(move |_| "\"\\$`!".contains(c))
                .chain([c])
        })
        .collect();
    format!("\"{escaped}\"")
}

/// Adds the selection of the node to each command in single quotes that needs one and has none.
pub fn completed(hint: &str, line: &Command, selection: &str) -> String {
    if selection.is_empty() {
        return hint.to_owned();
    }
    // Every second part is between quotes.
    let parts = hint.split('\'').enumerate().map(|(at, part)| {
        if at % 2 == 1 && needs_node(part, line) {
            return format!("{part} {selection}");
        }
        part.to_owned()
    });
    parts.collect::<Vec<_>>().join("'")
}

/// Returns whether a text is a command of this command line that selects a node, but names none.
fn needs_node(text: &str, line: &Command) -> bool {
    let mut words = text.split(' ');
    if words.next() != Some(line.get_name()) || text.contains("--node") || text.contains("--url") {
        return false;
    }
    let mut command = line;
    for word in words {
        match command.find_subcommand(word) {
            Some(found) => command = found,
            None => break,
        }
    }
    command
        .get_arguments()
        .any(|argument| argument.get_long() == Some("node"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn selections_are_found_and_quoted() {
        for (line, expected) in [
            ("flow get 00 --node net/bank-a", "--node net/bank-a"),
            ("flow get --node=net/bank-a 00", "--node net/bank-a"),
            (
                "vault states --url https://h:1 --root r.pem --token-file t --limit 5",
                "--url https://h:1 --root r.pem --token-file t",
            ),
            ("flow get 00", ""),
            ("flow get 00 --node", ""),
        ] {
            let words = line.split(' ').map(OsString::from);
            assert_eq!(selection(words), expected, "{line}");
        }
        for (folder, expected) in [
            ("my net/a", "--node \"my net/a\""),
            ("a$b\"c", "--node \"a\\$b\\\"c\""),
            ("it's", "--node \"it's\""),
        ] {
            let words = ["--node", folder].map(OsString::from);
            assert_eq!(selection(words), expected, "{folder}");
        }
    }

    #[test]
    fn commands_in_hints_name_the_node() {
        let line = Cli::command();
        for (hint, expected) in [
            (
                "It goes on; ask with 'tally flow get 00 --wait delivered'.",
                "It goes on; ask with 'tally flow get 00 --wait delivered --node a'.",
            ),
            (
                "See 'tally chain tx 00' and 'tally node info'.",
                "See 'tally chain tx 00 --node a' and 'tally node info --node a'.",
            ),
            // They name one, take none, or are no commands.
            (
                "Run 'tally doctor --node DIR', 'tally node run DIR' or 'tally lab list'; 'tally' and 'x' stay.",
                "Run 'tally doctor --node DIR', 'tally node run DIR' or 'tally lab list'; 'tally' and 'x' stay.",
            ),
            ("Don't do this.", "Don't do this."),
        ] {
            assert_eq!(completed(hint, &line, "--node a"), expected);
            assert_eq!(completed(hint, &line, ""), hint);
        }
    }
}
