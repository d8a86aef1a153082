//! Completes the commands that hints recommend, so that they can be copied as they are printed.

use std::ffi::OsString;

use clap::Command;

/// The options that select a node, with one value each.
const SELECTORS: &[&str] = &["--node", "--url", "--root", "--token-file", "--server-name"];

/// An option that selects a node, with its value as text for a shell.
pub type Selector = (&'static str, String);

/// Returns the options of a command line that select a node. There are none if the environment selects it.
pub fn selection(words: impl IntoIterator<Item = OsString>) -> Vec<Selector> {
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
        let Some(name) = SELECTORS.iter().find(|known| **known == name) else {
            continue;
        };
        // A value that is no text cannot be printed, so the command stays incomplete.
        let value = value.or_else(|| words.next()?.into_string().ok());
        if let Some(value) = value {
            selection.push((*name, quoted(&value)));
        }
    }
    selection
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
                .filter(move |_| "\"\\$`".contains(c))
                .chain([c])
        })
        .collect();
    format!("\"{escaped}\"")
}

/// Adds the selection of the node to each command in single quotes that needs one and has none.
pub fn completed(hint: &str, line: &Command, selection: &[Selector]) -> String {
    let mut text = String::new();
    let mut rest = hint;
    // Other single quotes may be apostrophes.
    let open = format!("'{} ", line.get_name());
    while let Some((before, inside)) = rest.split_once(&open)
        && let Some((words, after)) = inside.split_once('\'')
    {
        text.push_str(&format!("{before}{open}{words}"));
        if takes(words, line, selection) {
            for (name, value) in selection {
                text.push_str(&format!(" {name} {value}"));
            }
        }
        text.push('\'');
        rest = after;
    }
    text + rest
}

/// Returns whether a command that names no node takes this selection.
fn takes(words: &str, line: &Command, selection: &[Selector]) -> bool {
    let mut command = line;
    for word in words.split(' ') {
        match command.find_subcommand(word) {
            Some(found) => command = found,
            None => break,
        }
    }
    let has = |option: &str| {
        let mut names = command
            .get_arguments()
            .filter_map(|argument| argument.get_long());
        names.any(|name| option.strip_prefix("--") == Some(name))
    };
    // The operator changes users, and not with the token of the user that was refused.
    let is_for_operator = words.starts_with("user ");
    !is_for_operator
        && !words.contains("--node")
        && !words.contains("--url")
        && selection.iter().all(|(name, _)| has(name))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn selections_are_found_and_quoted() {
        let text = |words: &mut dyn Iterator<Item = OsString>| {
            let selection = selection(words).into_iter();
            let words = selection.map(|(name, value)| format!("{name} {value}"));
            words.collect::<Vec<_>>().join(" ")
        };
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
            let mut words = line.split(' ').map(OsString::from);
            assert_eq!(text(&mut words), expected, "{line}");
        }
        for (folder, expected) in [
            ("my net/a", "--node \"my net/a\""),
            ("a$b\"c", "--node \"a\\$b\\\"c\""),
            ("it's!", "--node \"it's!\""),
        ] {
            let mut words = ["--node", folder].map(OsString::from).into_iter();
            assert_eq!(text(&mut words), expected, "{folder}");
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
            (
                "Don't wait: ask the peer's operator; 'tally node peers' tells when.",
                "Don't wait: ask the peer's operator; 'tally node peers --node a' tells when.",
            ),
            // They name one, take none, are for the operator, or are no commands.
            (
                "Have the node's operator grant it with 'tally user grant'.",
                "Have the node's operator grant it with 'tally user grant'.",
            ),
            (
                "Run 'tally doctor --node DIR', 'tally node run DIR' or 'tally lab list'; 'tally' and 'x' stay.",
                "Run 'tally doctor --node DIR', 'tally node run DIR' or 'tally lab list'; 'tally' and 'x' stay.",
            ),
            ("Don't do this.", "Don't do this."),
        ] {
            let selection = [("--node", "a".to_owned())];
            assert_eq!(completed(hint, &line, &selection), expected);
            assert_eq!(completed(hint, &line, &[]), hint);
        }
        // The doctor examines folders only.
        let url = [("--url", "u".to_owned())];
        for hint in ["Run 'tally doctor'.", "Run 'tally node drain"] {
            assert_eq!(completed(hint, &line, &url), hint);
        }
    }
}
