//! Errors of the command line itself, which no command has seen yet.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::failure::Failure;

/// The mark before the message of an invalid command line.
const MARK: &str = "error: ";

/// Reports an invalid command line, as JSON if it asks for that. A request for help or for the version is answered.
pub fn report(error: &clap::Error) -> ExitCode {
    let answers = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if answers || !wants_json(std::env::args_os().skip(1)) {
        error.exit();
    }
    failure(error).report(true)
}

/// Returns whether the arguments ask for JSON. After `--` they are values.
fn wants_json(arguments: impl Iterator<Item = OsString>) -> bool {
    arguments
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json")
}

/// Returns the failure for an invalid command line: the last paragraph of the error is its hint, and the others are its message.
fn failure(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let paragraphs = text.split("\n\n").map(one_line);
    let mut paragraphs: Vec<String> = paragraphs.filter(|text| !text.is_empty()).collect();
    let hint = match paragraphs.len() {
        0 | 1 => None,
        _ => paragraphs.pop(),
    };
    let message = paragraphs.join(" ");
    // Help in place of an error has no mark.
    let message = message.strip_prefix(MARK).unwrap_or(&message);
    Failure::usage("tally.usage", message, hint.unwrap_or_default())
}

fn one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn json_is_asked_for_before_the_values_only() {
        for (line, expected) in [
            ("flow list --json", true),
            ("--json", true),
            ("api call x -- --json", false),
            ("flow list --jso", false),
        ] {
            let words = line.split(' ').map(OsString::from);
            assert_eq!(wants_json(words), expected, "{line}");
        }
    }

    #[test]
    fn an_invalid_command_line_is_one_failure() {
        for (line, parts) in [
            ("flow start --json", ["tally.usage", "--flow", "--help"]),
            ("nonsense --json", ["tally.usage", "nonsense", "--help"]),
            (
                "flow list --node x --limit 0 --json",
                ["tally.usage", "0 is not in 1..", "--help"],
            ),
        ] {
            let words = std::iter::once("tally").chain(line.split(' '));
            let error = Cli::try_parse_from(words).map(drop).expect_err(line);
            let said = format!("{:?}", failure(&error));
            for part in parts {
                assert!(said.contains(part), "{line}: {said}");
            }
            assert!(!said.contains("\\n"), "{line}: {said}");
        }
    }
}
