//! Keeps names of accounts, machines and folders out of a file that is published.

use serde_json::Value;

/// A shorter name is likely to be a word of the language as well.
const NAME_LETTERS_MIN: usize = 4;
/// Names that say nothing of a machine or an account.
const HARMLESS: [&str; 2] = ["root", "localhost"];

/// Returns a text with `PATH` in place of each absolute path.
pub fn without_paths(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((from, to)) = path_in(rest) {
        out.push_str(&rest[..from]);
        out.push_str("PATH");
        rest = &rest[to..];
    }
    out + rest
}

/// Returns the first text of a document that contains an absolute path or one of the names: its field, and the path or name.
pub fn leak(document: &Value, names: &[String]) -> Option<(String, String)> {
    let mut waiting = vec![(String::new(), document)];
    while let Some((field, value)) = waiting.pop() {
        match value {
            Value::String(text) => {
                if let Some(found) = leak_in(text, names) {
                    return Some((field, found));
                }
            }
            Value::Array(values) => {
                waiting.extend(values.iter().map(|value| (field.clone(), value)));
            }
            Value::Object(fields) => {
                // Names of cases are keys of published figures.
                if let Some(found) = fields.keys().find_map(|name| leak_in(name, names)) {
                    return Some((field, found));
                }
                let fields = fields.iter();
                waiting.extend(fields.map(|(name, value)| (name.clone(), value)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    None
}

fn leak_in(text: &str, names: &[String]) -> Option<String> {
    if let Some((from, to)) = path_in(text) {
        return Some(text[from..to].to_owned());
    }
    let is_told = |name: &&String| {
        let name = name.as_str();
        let is_telling = name.chars().count() >= NAME_LETTERS_MIN && !HARMLESS.contains(&name);
        is_telling && words(text).any(|word| word == name)
    };
    names.iter().find(is_told).cloned()
}

/// Returns the words of a text; names of machines have hyphens and dots.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || "-_.".contains(c)));
    words.map(|word| word.trim_matches('.'))
}

/// Folders of accounts and of temporary files. A path into one of them is found wherever it begins.
const PRIVATE_FOLDERS: [&str; 8] = [
    "/home/",
    "/Users/",
    "/root/",
    "/tmp/",
    "/var/",
    "/private/",
    "/run/user/",
    "/mnt/",
];

/// Returns the range of the first path of one machine: an absolute one with two names at least, or one from the folder of the
/// account (`~/net`). `/s` and the path of a URL are none.
fn path_in(text: &str) -> Option<(usize, usize)> {
    let mut before = ' ';
    let mut word_from = 0;
    for (at, letter) in text.char_indices() {
        let rest = &text[at..];
        let is_absolute = letter == '/'
            && match PRIVATE_FOLDERS
                .iter()
                .any(|folder| rest.starts_with(folder))
            {
                true => {
                    let word = &text[word_from..at];
                    // `-I/home/ada` is a path, `target/tmp/x` is none.
                    let is_flag = word.starts_with('-') && before.is_alphanumeric();
                    let is_inside = before.is_alphanumeric() || "._~".contains(before);
                    (is_flag || !is_inside) && !is_url(word)
                }
                false => !(before.is_alphanumeric() || "/:.>)]}-_~".contains(before)),
            };
        let is_of_account = rest.starts_with("~/") && !before.is_alphanumeric();
        if is_absolute || is_of_account {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "/-_.@+~".contains(c)));
            let path = &rest[..end.unwrap_or(rest.len())];
            let path = path.trim_end_matches(['.', '/']);
            let names = path.split('/').filter(|name| !name.is_empty()).count();
            if names >= 2 {
                return Some((at, at + path.len()));
            }
        }
        if letter.is_whitespace() || "\"'`<>()[]{},".contains(letter) {
            word_from = at + letter.len_utf8();
        }
        before = letter;
    }
    None
}

/// Returns whether a word begins with the address of another machine. A URL of a file names a path of this one.
fn is_url(word: &str) -> bool {
    word.split_once("://")
        .is_some_and(|(scheme, _)| !scheme.ends_with("file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_names_are_found_and_other_text_is_not() {
        let names = ["ada-laptop", "root", "abc"].map(str::to_owned);
        for (text, expected) in [
            ("9,620/s, up to 800", None),
            ("see https://example.org/a/b", None),
            ("see https://example.org/home/a", None),
            ("~ 5/s", None),
            ("1 / issue / 2", None),
            ("docs/results/runs", None),
            ("the network's root and abc", None),
            (
                "bank-1: /tmp/lab.x1/bank-1: no space",
                Some("/tmp/lab.x1/bank-1"),
            ),
            ("banks = [\"/home/ada/net\"]", Some("/home/ada/net")),
            ("file:///home/ada/net", Some("/home/ada/net")),
            ("target/tmp/x", None),
            ("-I/home/ada/net", Some("/home/ada/net")),
            ("program=/opt/lab/run", Some("/opt/lab/run")),
            ("~/net/bank-1", Some("~/net/bank-1")),
            ("on ada-laptop.", Some("ada-laptop")),
            ("on ada-laptops", None),
        ] {
            let document = serde_json::json!({ "a": [{ "field": text }] });
            let expected = expected.map(|found| ("field".to_owned(), found.to_owned()));
            assert_eq!(leak(&document, &names), expected, "{text}");
        }
        let document = serde_json::json!({ "values": { "/home/ada/old": 1 } });
        let found = leak(&document, &names).map(|(_, found)| found);
        assert_eq!(found.as_deref(), Some("/home/ada/old"), "a key");
    }

    #[test]
    fn paths_in_messages_are_replaced() {
        for (text, expected) in [
            ("10/s", "10/s"),
            ("/tmp/a/b: full, /var/x.", "PATH: full, PATH."),
            ("the file \"/tmp/a b\"", "the file \"PATH b\""),
        ] {
            assert_eq!(without_paths(text), expected);
        }
    }
}
