//! Splits Rust source into words, punctuation marks and strings.

use proc_macro2::{Span, TokenStream, TokenTree};

/// A word, a punctuation mark, or a plain string with its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Line, from 1.
    pub line: usize,
    /// As written.
    pub text: &'a str,
}

/// Returns words, single punctuation marks and plain strings, without comments, characters, raw and byte strings. Returns no
/// tokens if the text is not valid Rust. For source files, the compiler reports that.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    if let Ok(stream) = text.parse() {
        collect(text, stream, &mut found);
    }
    found
}

fn collect<'a>(text: &'a str, stream: TokenStream, found: &mut Vec<Token<'a>>) {
    let token = |span: Span| Token {
        line: span.start().line,
        text: text.get(span.byte_range()).unwrap_or_default(),
    };
    for tree in stream {
        let whole = token(tree.span());
        // A documentation comment is an attribute, and all parts of it span the comment.
        if whole.text.starts_with("//") || whole.text.starts_with("/*") {
            continue;
        }
        match tree {
            TokenTree::Group(group) => {
                found.push(token(group.span_open()));
                collect(text, group.stream(), found);
                found.push(token(group.span_close()));
            }
            TokenTree::Punct(mark) if mark.as_char() == '\'' => {}
            TokenTree::Literal(_) if !is_word_or_string(whole.text) => {}
            _ => found.push(whole),
        }
    }
}

/// Returns whether a literal is a number or a plain string.
fn is_word_or_string(literal: &str) -> bool {
    literal.starts_with(|first: char| first == '"' || first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_text_and_line() {
        let text = "/// doc\nfn f<'a>() -> u8 {\n    /* é */ g(\"é\\\"\", b\"x\", 'y', 1_0u8)\n}";
        let found = tokens(text);
        let shown: Vec<(usize, &str)> =
            found.iter().map(|token| (token.line, token.text)).collect();
        let expected = [
            (2, "fn f < a > ( ) - > u8 {"),
            (3, "g ( \"é\\\"\" , , , 1_0u8 )"),
            (4, "}"),
        ];
        let expected: Vec<(usize, &str)> = expected
            .iter()
            .flat_map(|(line, words)| words.split(' ').map(|word| (*line, word)))
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn text_that_is_not_rust_has_no_tokens() {
        assert_eq!(tokens("fn f( {"), []);
    }
}
