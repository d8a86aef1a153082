//! Reading TOML, and its errors.

use std::path::{Path, PathBuf};

use primitives::{Coded, ErrorInfo};
use thiserror::Error;

/// A configuration that can't be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file can't be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// It is no UTF-8 text or no TOML, or a field has the wrong type, is missing or is unknown.
    #[error("{path}: {message}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The fault, with the line, and with a suggestion if there is one.
        message: String,
        /// The kind of file, which determines the hint.
        kind: ConfigKind,
    },
    /// A value is out of its range.
    #[error("{path}: {field}: {message}")]
    OutOfRange {
        /// The file.
        path: PathBuf,
        /// `section.name`.
        field: &'static str,
        /// The value and the range.
        message: String,
    },
}

/// The kinds of configuration files, each with its page of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigKind {
    /// `node.toml`.
    Node,
    /// `chain.toml`.
    Chain,
    /// `genesis.toml`.
    Genesis,
    /// `NETWORK.toml`.
    Network,
}

impl ConfigKind {
    fn hint(self) -> &'static str {
        match self {
            Self::Node => {
                "Correct the line that the message names; docs/reference/config.md lists every field."
            }
            Self::Chain => {
                "Correct the line that the message names; docs/reference/chain-config.md lists every field."
            }
            Self::Genesis => {
                "Correct the line that the message names, or copy the genesis.toml of another node of the network; all nodes have the same."
            }
            Self::Network => {
                "Correct the line that the message names; docs/reference/network.md lists every field."
            }
        }
    }
}

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "config.unreadable",
        cause: "A configuration file can't be read.",
        action: "Check the path and the file's permissions.",
    },
    ErrorInfo {
        code: "config.invalid",
        cause: "A configuration file is not UTF-8 text or not TOML, or a field is missing, unknown or of the wrong type.",
        action: "Correct the line that the message names; docs/reference/config.md lists every field of node.toml, chain-config.md those of chain.toml, and network.md those of NETWORK.toml.",
    },
    ErrorInfo {
        code: "config.out_of_range",
        cause: "A field of a configuration file has a value out of its range.",
        action: "Set the field to a value within the range that the message gives, or remove the line to have the default.",
    },
];

impl ConfigError {
    /// Sets the kind of file, which determines the hint.
    #[must_use]
    pub(crate) fn in_file(mut self, of: ConfigKind) -> Self {
        if let Self::Invalid { kind, .. } = &mut self {
            *kind = of;
        }
        self
    }
}

impl Coded for ConfigError {
    fn code(&self) -> &'static str {
        match self {
            ConfigError::Unreadable { .. } => "config.unreadable",
            ConfigError::Invalid { .. } => "config.invalid",
            ConfigError::OutOfRange { .. } => "config.out_of_range",
        }
    }

    fn hint(&self) -> &'static str {
        match self {
            ConfigError::Invalid { kind, .. } => kind.hint(),
            _ => ErrorInfo::action_of(ERRORS, self.code()),
        }
    }
}

/// Reads a TOML file, such as a configuration of which only some fields matter.
///
/// # Errors
/// It can't be read, or is not TOML.
pub fn read_table(path: &Path, kind: ConfigKind) -> Result<toml::Table, ConfigError> {
    read_toml(path).map_err(|error| error.in_file(kind))
}

/// Reads a TOML file; an unknown field is refused with the nearest one that exists.
pub(crate) fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let bytes = std::fs::read(path).map_err(|source| ConfigError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let text = text_of(bytes).map_err(|message| ConfigError::Invalid {
        path: path.to_owned(),
        message,
        kind: ConfigKind::Node,
    })?;
    parse_toml(&text, path)
}

/// Returns the bytes of a file as text.
///
/// # Errors
/// They are not UTF-8. The error names the place.
pub fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..valid];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!(
            "line {line}, byte {} of the file: not UTF-8 text",
            valid + 1
        )
    })
}

/// Likewise from a text; `path` is for the message.
pub(crate) fn parse_toml<T: serde::de::DeserializeOwned>(
    text: &str,
    path: &Path,
) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::Invalid {
        path: path.to_owned(),
        message: with_suggestion(&described(&error, text)),
        kind: ConfigKind::Node,
    })
}

/// Describes an error by its line, column and field. The text of the file is left out, since it could be a passphrase.
fn described(error: &toml::de::Error, text: &str) -> String {
    let message = without_value(error.message());
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return message;
    };
    let begin = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.matches('\n').count() + 1;
    let column = before[begin..].chars().count() + 1;
    let key = text[begin..].split(['=', '\n']).next();
    let key = key.expect("a split has a first part");
    let bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    match key.trim() {
        key if !key.is_empty() && key.chars().all(bare) => {
            format!("line {line}, column {column} (`{key}`): {message}")
        }
        _ => format!("line {line}, column {column}: {message}"),
    }
}

/// Removes the value from serde's "invalid type: string "..", expected ..".
fn without_value(message: &str) -> String {
    const BEFORE: [&str; 2] = ["invalid type: ", "invalid value: "];
    let expected = message.rfind(", expected ");
    match (
        expected,
        BEFORE.iter().any(|part| message.starts_with(part)),
    ) {
        (Some(at), true) => {
            let expected = in_words(&message[at + ", expected ".len()..]);
            format!("a value of another type, expected {expected}")
        }
        _ => message.to_owned(),
    }
}

/// Writes a type of this program as words.
fn in_words(expected: &str) -> &str {
    match expected.trim_end() {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number, which may be negative",
        "f32" | "f64" => "a number",
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        other => other,
    }
}

/// Serde says "unknown field `x`, expected one of `a`, `b`": adds which of them was meant, if one is near.
fn with_suggestion(message: &str) -> String {
    let Some((_, quoted)) = message.split_once("unknown field `") else {
        return message.trim_end().to_owned();
    };
    let mut quoted = quoted.split('`');
    let unknown = quoted.next().expect("a split has a first part");
    let known = quoted.skip(1).step_by(2);
    let nearest = known
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        .filter(|(distance, name)| *distance <= name.len().div_ceil(2))
        .min();
    match nearest {
        Some((_, name)) if !unknown.is_empty() => {
            format!("{}; did you mean `{name}`?", message.trim_end())
        }
        _ => message.trim_end().to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::NodeConfig;

    /// A configuration with the required fields only.
    pub const SMALLEST: &str = r#"
        [node]
        name = "O=Bank A, L=London, C=GB"
        [p2p]
        listen = "127.0.0.1:1"
        [api]
        listen = "127.0.0.1:2"
    "#;

    pub fn parse(text: &str) -> Result<NodeConfig, String> {
        parse_toml(text, Path::new("x.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn unknown_fields_are_refused_with_a_suggestion() {
        for (line, suggestion) in [
            ("[limits]\nlive_flow = 3", "did you mean `live_flows`?"),
            ("[store]\nlinger = 3", "did you mean `linger_us`?"),
            ("[logs]\nlevel = \"info\"", "did you mean `log`?"),
        ] {
            let message = parse(&format!("{SMALLEST}\n{line}")).expect_err(line);
            assert!(message.ends_with(suggestion), "{message}");
        }
        let message =
            parse(&format!("{SMALLEST}\n[limits]\nlive_flows = \"many\"")).expect_err("a text");
        assert!(
            message.contains("live_flows") && message.contains("line"),
            "{message}"
        );
        assert!(message.ends_with("expected a whole number"), "{message}");
    }

    #[test]
    fn the_hint_names_the_page_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file.toml");
        std::fs::write(&path, "bogus = 1\n").expect("written");
        for (read, page) in [
            (NodeConfig::read(&path).map(drop), "reference/config.md"),
            (
                crate::chain::ChainConfig::read(&path).map(drop),
                "reference/chain-config.md",
            ),
            (
                crate::bootstrap::NetworkSpec::read(&path)
                    .map(drop)
                    .map_err(|error| match error {
                        crate::bootstrap::BootstrapError::Config(error) => error,
                        other => panic!("{other}"),
                    }),
                "reference/network.md",
            ),
        ] {
            let error = read.expect_err("an unknown field");
            assert!(error.hint().contains(page), "{page}: {}", error.hint());
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_reported_with_their_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("node.toml");
        for (bytes, place) in [
            (b"\xff\xfen".as_slice(), "line 1, byte 1 of the file"),
            (
                b"[node]\nname = \"B\xe4nk\"\n",
                "line 2, byte 17 of the file",
            ),
            (b"a = 1\n# \xc3", "line 2, byte 9 of the file"),
        ] {
            std::fs::write(&path, bytes).expect("written");
            let error = read_toml::<toml::Table>(&path).expect_err("no text");
            assert_eq!(error.code(), "config.invalid");
            let text = error.to_string();
            assert!(text.contains("node.toml") && text.contains(place), "{text}");
        }
    }

    #[test]
    fn errors_name_the_place_and_hide_the_text() {
        #[derive(Debug, serde::Deserialize)]
        #[allow(dead_code)]
        struct Secrets {
            passphrase: primitives::SecretText,
            passphrases: Vec<primitives::SecretText>,
        }
        for (text, place) in [
            ("passphrase = 81726354", "line 1, column 14 (`passphrase`)"),
            (
                "a = 1\npassphrases = \"81726354\"",
                "line 2, column 15 (`passphrases`)",
            ),
            ("passphrases = [\n  \"81726354\\\n", "line 2"),
            ("passphrases = [\n  \"81726354=\", 3]", "line 1"),
            ("passphrase = 81726354 81726354", "line 1"),
        ] {
            let error = parse_toml::<Secrets>(text, Path::new("x.toml")).expect_err(text);
            for shown in [format!("{error}"), format!("{error:?}")] {
                assert!(!shown.contains("81726354"), "{shown}");
                assert!(shown.contains(place), "{shown}");
            }
        }
    }
}
