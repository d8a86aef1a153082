//! The fields of the structs and enums of a source file, test modules aside.

use crate::lexer::{Token, tokens};
use crate::source::{is, matching, without_tests};

/// A field, or the unnamed content of a tuple struct or variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Line, from 1.
    pub line: usize,
    /// The type that has it.
    pub owner: String,
    /// Its name. Unnamed content has the name of its tuple struct or variant.
    pub name: String,
    /// The words of its type, such as `Option` and `String`.
    pub words: Vec<String>,
}

/// Returns the fields of a text, in order.
pub fn fields(text: &str) -> Vec<Field> {
    let tokens = without_tests(&tokens(text));
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let enumeration = is(&tokens, at, "enum");
        if !enumeration && !is(&tokens, at, "struct") {
            continue;
        }
        let Some(owner) = tokens.get(at + 1) else {
            continue;
        };
        // Generics and bounds stand between the name and the body.
        let body = (at + 2..tokens.len())
            .find(|at| matches!(tokens[*at].text, "{" | "(" | ";" | "=" | "!"));
        let Some(body) = body.filter(|body| matches!(tokens[*body].text, "{" | "(")) else {
            continue;
        };
        let inside = &tokens[body + 1..matching(&tokens, body).min(tokens.len())];
        match (enumeration, tokens[body].text) {
            (true, _) => variants(owner.text, inside, &mut found),
            (false, "{") => named(owner.text, inside, &mut found),
            (false, _) => found.push(unnamed(owner.text, owner, inside)),
        }
    }
    found
}

/// Reads the variants of an enum.
fn variants(owner: &str, tokens: &[Token<'_>], found: &mut Vec<Field>) {
    for part in parts(tokens) {
        let Some((name, rest)) = part.split_first() else {
            continue;
        };
        let inside = rest.get(1..matching(rest, 0).min(rest.len()));
        match (rest.first().map(|first| first.text), inside) {
            (Some("{"), Some(inside)) => named(owner, inside, found),
            (Some("("), Some(inside)) => found.push(unnamed(owner, name, inside)),
            _ => {}
        }
    }
}

/// Reads `name: type, ..`.
fn named(owner: &str, tokens: &[Token<'_>], found: &mut Vec<Field>) {
    for part in parts(tokens) {
        if is(part, 1, ":") {
            found.push(Field {
                name: part[0].text.to_owned(),
                ..unnamed(owner, &part[0], &part[2..])
            });
        }
    }
}

/// Makes the field of content without a name.
fn unnamed(owner: &str, name: &Token<'_>, tokens: &[Token<'_>]) -> Field {
    let word = |token: &&Token<'_>| token.text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let content = tokens.get(after_attributes(tokens, 0)..);
    let words = content.unwrap_or_default().iter().filter(word);
    Field {
        line: name.line,
        owner: owner.to_owned(),
        name: snake(name.text),
        words: words.map(|token| token.text.to_owned()).collect(),
    }
}

/// Splits at the commas outside brackets. Attributes and visibilities at the begin of a part are left out.
fn parts<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut found = Vec::new();
    let (mut at, mut angles) = (0, 0usize);
    let mut begin = after_attributes(tokens, 0);
    while at < tokens.len() {
        match tokens[at].text {
            "{" | "(" | "[" => at = matching(tokens, at),
            "<" => angles += 1,
            // The arrow of a function's type closes nothing.
            // Clipped at 0: a comparison closes nothing.
            ">" if !(at > 0 && tokens[at - 1].text == "-") => angles = angles.saturating_sub(1),
            "," if angles == 0 => {
                found.push(&tokens[begin.min(at)..at]);
                begin = after_attributes(tokens, at + 1);
            }
            _ => {}
        }
        at += 1;
    }
    found.push(&tokens[begin.min(tokens.len())..]);
    found
}

/// Returns the index after attributes and `pub`, `pub(..)`.
fn after_attributes(tokens: &[Token<'_>], mut at: usize) -> usize {
    loop {
        let (attribute, public) = (is(tokens, at, "#"), is(tokens, at, "pub"));
        let bracket = if attribute { "[" } else { "(" };
        if (attribute || public) && is(tokens, at + 1, bracket) {
            at = matching(tokens, at + 1) + 1;
        } else if public {
            at += 1;
        } else {
            return at;
        }
    }
}

/// Writes `ApiToken` as `api_token`.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = fields(text)
            .iter()
            .map(|field| format!("{}.{}: {}", field.owner, field.name, field.words.join(" ")))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn reads_fields_of_structs() {
        check(
            "struct A<T: B<C>> where T: D { #[arg(long, x = \"y\")] pub(crate) a: Map<T, u8>, /// doc\n b: &'a [u8; 32] }",
            &["A.a: Map T u8", "A.b: a u8 32"],
        );
        check(
            "pub struct ApiToken(pub String);",
            &["ApiToken.api_token: String"],
        );
        check("struct W(#[serde(with = \"x\")] u64);", &["W.w: u64"]);
        check("struct Empty; struct None {}", &[]);
        check(
            "struct F { f: Box<dyn Fn(u8) -> u8>, g: u8 }",
            &["F.f: Box dyn Fn u8 u8", "F.g: u8"],
        );
    }

    #[test]
    fn reads_fields_of_variants() {
        check(
            "enum E { A, #[x] B(String), C { d: u8, e: Vec<u8> }, F = 3 }",
            &["E.b: String", "E.d: u8", "E.e: Vec u8"],
        );
    }

    #[test]
    fn leaves_tests_out() {
        check(
            "#[cfg(test)] mod t { struct A { b: u8 } } struct C { d: u8 }",
            &["C.d: u8"],
        );
    }

    #[test]
    fn counts_lines() {
        assert_eq!(fields("struct A {\n\n    b: u8,\n}")[0].line, 3);
    }
}
