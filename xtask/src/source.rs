//! A minimal reader of Rust source that finds forbidden names outside tests, comments and strings.

use crate::lexer::{Token, tokens};

/// A forbidden name in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Hit {
    /// Line, from 1.
    pub line: usize,
    /// The name found there.
    pub name: String,
}

/// A string in a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Literal {
    /// Line, from 1.
    pub line: usize,
    /// The text between the quotes, escapes as written.
    pub text: String,
    /// The name of the constant with this value, if any.
    pub constant: Option<String>,
}

/// Distance of the word `const` before its value, in words and marks.
const CONSTANT_TOKENS_MAX: usize = 8;

/// Modules of `std` with side effects.
const STD: &[&str] = &["fs", "net", "process", "env", "thread", "os"];

/// Names that are not deterministic, or belong to the shell.
const NAMES: &[&str] = &[
    "tokio",
    "SystemTime",
    "Instant",
    "UNIX_EPOCH",
    "thread_rng",
    "OsRng",
    "getrandom",
    "SystemRandom",
    "RandomState",
    "f32",
    "f64",
    "println",
    "eprintln",
    "dbg",
];

/// Returns every forbidden name outside `#[cfg(test)]` items.
pub fn forbidden(text: &str) -> Vec<Hit> {
    let tokens = without_tests(&tokens(text));
    let mut hits = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if NAMES.contains(&token.text) {
            hits.push(Hit {
                line: token.line,
                name: token.text.to_owned(),
            });
        }
        if token.text == "std" && is(&tokens, at + 1, ":") && is(&tokens, at + 2, ":") {
            for part in first_segments(&tokens[at + 3..]) {
                if STD.contains(&part.text) {
                    hits.push(Hit {
                        line: part.line,
                        name: format!("std::{}", part.text),
                    });
                }
            }
        }
    }
    hits
}

/// Returns plain string literals outside `#[cfg(test)]` items. If a literal is the value of a constant, its entry has the
/// constant's name.
pub fn literals(text: &str) -> Vec<Literal> {
    let tokens = without_tests(&tokens(text));
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let inner = token.text.strip_prefix('"');
        let Some(inner) = inner.and_then(|text| text.strip_suffix('"')) else {
            continue;
        };
        found.push(Literal {
            line: token.line,
            text: inner.to_owned(),
            constant: constant_before(&tokens, at),
        });
    }
    found
}

/// Returns NAME for the literal at `at` in `const NAME: &'static str = "..."`.
fn constant_before(tokens: &[Token<'_>], at: usize) -> Option<String> {
    // Clipped at 0: fewer tokens may be before the literal.
    let from = at.saturating_sub(CONSTANT_TOKENS_MAX);
    let before = tokens.get(from..at)?;
    let word = before.iter().rposition(|token| token.text == "const")?;
    let straight =
        before[word..].last()?.text == "=" && !before[word..].iter().any(|token| token.text == ";");
    straight.then(|| before.get(word + 1).map(|name| name.text.to_owned()))?
}

/// Returns the names of modules in separate files that are declared as `#[cfg(test)] mod name;`.
pub fn test_modules(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if let Some(after) = test_attribute(&tokens, at) {
            let mut item = after;
            while is(&tokens, item, "#") {
                item = matching(&tokens, item + 1) + 1;
            }
            while is(&tokens, item, "pub") || is(&tokens, item, "(") {
                item = if is(&tokens, item, "(") {
                    matching(&tokens, item) + 1
                } else {
                    item + 1
                };
            }
            if is(&tokens, item, "mod") && is(&tokens, item + 2, ";") {
                found.push(tokens[item + 1].text.to_owned());
            }
            at = after;
        } else {
            at += 1;
        }
    }
    found
}

/// Returns the segment after `std::`, or the first segments of a `{..}` group.
fn first_segments<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t Token<'a>> {
    match tokens.first() {
        Some(first) if first.text == "{" => {
            let end = matching(tokens, 0).min(tokens.len());
            let mut depth = 0usize;
            let mut fresh = true;
            let mut found = Vec::new();
            for token in &tokens[1..end] {
                match token.text {
                    "{" => depth += 1,
                    // Clipped at 0: a closing bracket may be of an outer block.
                    "}" => depth = depth.saturating_sub(1),
                    "," => fresh |= depth == 0,
                    _ if fresh && depth == 0 => {
                        found.push(token);
                        fresh = false;
                    }
                    _ => {}
                }
            }
            found
        }
        Some(first) => vec![first],
        None => Vec::new(),
    }
}

/// Drops every item that stands under an attribute `#[cfg(.. test ..)]`, and the whole file under `#![cfg(test)]`.
pub fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if is(tokens, at, "#")
            && is(tokens, at + 1, "!")
            && is(tokens, at + 2, "[")
            && names_test(tokens, at + 2)
        {
            return Vec::new();
        }
        match test_attribute(tokens, at) {
            Some(after) => at = end_of_item(tokens, after),
            None => {
                kept.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    kept
}

/// Returns the index after an attribute `#[cfg(test)]`, `#[cfg(all(test, ..))]` or `#[test]` that starts here, if any.
fn test_attribute(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    (is(tokens, at, "#") && is(tokens, at + 1, "[") && names_test(tokens, at + 1))
        .then(|| matching(tokens, at + 1) + 1)
}

fn names_test(tokens: &[Token<'_>], bracket: usize) -> bool {
    let end = matching(tokens, bracket).min(tokens.len());
    let inside = &tokens[bracket + 1..end.max(bracket + 1)];
    let mentions = |word: &str| inside.iter().any(|token| token.text == word);
    match inside.first().map(|token| token.text) {
        Some("test") => inside.len() == 1,
        Some("cfg") => mentions("test") && !mentions("not") && !mentions("any"),
        _ => false,
    }
}

/// Returns the index after the item that starts at `at`: its `;`, or its first balanced `{..}`.
fn end_of_item(tokens: &[Token<'_>], mut at: usize) -> usize {
    while at < tokens.len() {
        match tokens[at].text {
            ";" => return at + 1,
            "{" => return matching(tokens, at) + 1,
            "(" | "[" => at = matching(tokens, at) + 1,
            _ => at += 1,
        }
    }
    at
}

/// Returns the index of the bracket that closes the one at `open`, or the end.
pub fn matching(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                // Clipped at 0: a closing bracket may be of an outer block.
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Whether the token at this index is this text.
pub fn is(tokens: &[Token<'_>], at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.text == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let names: Vec<String> = forbidden(text).into_iter().map(|hit| hit.name).collect();
        assert_eq!(names, expected, "{text}");
    }

    #[test]
    fn names() {
        check("use std::collections::BTreeMap;", &[]);
        check("use std::fs;", &["std::fs"]);
        check("use std::{fmt, fs::File, net};", &["std::fs", "std::net"]);
        check("use std::{io::{self, fs}, fmt};", &[]);
        check("let t = std::time::Instant::now();", &["Instant"]);
        check("fn f(x: f64) {}", &["f64"]);
        check("async fn f() { tokio::spawn(g()).await }", &["tokio"]);
        check("let now = env.std.fs;", &[]);
    }

    #[test]
    fn comments_and_strings_are_no_names() {
        check("// tokio\n/* std::fs /* f64 */ */ fn f() {}", &[]);
        check(r##"let a = "tokio"; let b = r#"std::fs "x" "#;"##, &[]);
        check(
            r#"let a = b"tokio \" f64"; let c = '"'; let d = f32;"#,
            &["f32"],
        );
        check(
            "fn f<'a>(x: &'a str) { let q = '\\''; let t = tokio; }",
            &["tokio"],
        );
    }

    #[test]
    fn tests_may_use_anything() {
        check(
            "#[cfg(test)] mod tests { use std::fs; fn f() { tokio(); } } fn g() {}",
            &[],
        );
        check(
            "#[cfg(test)]\n#[allow(x)]\nmod tests;\nuse std::fs;",
            &["std::fs"],
        );
        check(
            "#[cfg(all(test, unix))] use std::fs; fn f() -> f32 {}",
            &["f32"],
        );
        check("#[cfg(not(test))] use std::fs;", &["std::fs"]);
        check(
            "#[test] fn f(a: [u8; 2]) { std::fs::read() } fn g() {}",
            &[],
        );
        check("#![cfg(test)] use std::fs;", &[]);
        check("#[derive(test)] struct S { x: f64 }", &["f64"]);
    }

    #[test]
    fn strings() {
        let text = "const NAME: &'static str = \"a.b\";\nlet x = \"c\"; f(r\"d\"); #[cfg(test)] mod t { \"e\" } // \"f\"";
        let found = literals(text);
        let shown: Vec<_> = found
            .iter()
            .map(|l| (l.line, l.text.as_str(), l.constant.as_deref()))
            .collect();
        assert_eq!(shown, [(1, "a.b", Some("NAME")), (2, "c", None)]);
    }

    #[test]
    fn lines() {
        let hits = forbidden("//! x\n/* a\n b */\nlet a = \"\n\";\nlet t: f64;");
        assert_eq!(hits[0].line, 6);
    }

    #[test]
    fn modules() {
        assert_eq!(
            test_modules("#[cfg(test)] mod tests; mod other;"),
            ["tests"]
        );
        assert_eq!(
            test_modules("#[cfg(test)] pub(crate) mod fakes;"),
            ["fakes"]
        );
        assert_eq!(test_modules("#[cfg(test)] mod tests { }"), [""; 0]);
    }
}
