//! Splits Rust source into words, punctuation marks and strings.

/// A word, a punctuation mark, or a plain string with its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Line, from 1.
    pub line: usize,
    /// As written.
    pub text: &'a str,
}

/// Returns words, single punctuation marks and plain strings, without comments, characters, raw and byte strings.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = find(bytes, at, b"\n"),
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = after_block_comment(bytes, at),
            b'"' => {
                at = after_string(bytes, at).min(bytes.len());
                // A string ends after a quote, or with the text.
                let text = text.get(start..at).unwrap_or_default();
                found.push(Token { line, text });
            }
            b'r' | b'b' | b'c' if raw_string(bytes, at).is_some() => {
                at = raw_string(bytes, at).unwrap_or(at + 1);
            }
            b'\'' => at = after_quote(bytes, at),
            byte if word(byte) => {
                while at < bytes.len() && word(bytes[at]) {
                    at += 1;
                }
                found.push(Token {
                    line,
                    text: &text[start..at],
                });
            }
            byte => {
                at += 1;
                if byte.is_ascii_punctuation() {
                    found.push(Token {
                        line,
                        text: &text[start..at],
                    });
                }
            }
        }
        line += bytes[start..at.min(bytes.len())]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
    }
    found
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    bytes[from..]
        .windows(what.len())
        .position(|window| window == what)
        .map_or(bytes.len(), |offset| from + offset)
}

fn after_block_comment(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

fn after_string(bytes: &[u8], mut at: usize) -> usize {
    at += 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the index after a prefixed string (`b".."`, `r".."`, `br#".."#`, `c".."`) that starts here, if any.
fn raw_string(bytes: &[u8], start: usize) -> Option<usize> {
    if start > 0 && word(bytes[start - 1]) {
        return None;
    }
    let mut at = start;
    let mut raw = false;
    while at < start + 2 && matches!(bytes.get(at), Some(b'r' | b'b' | b'c')) {
        raw |= bytes[at] == b'r';
        at += 1;
    }
    let mut hashes = 0;
    while raw && bytes.get(at) == Some(&b'#') {
        hashes += 1;
        at += 1;
    }
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    if !raw {
        return Some(after_string(bytes, at));
    }
    let mut close = vec![b'"'];
    close.resize(hashes + 1, b'#');
    Some((find(bytes, at + 1, &close) + close.len()).min(bytes.len()))
}

/// Returns the index after a character literal, or after the mark of a lifetime.
fn after_quote(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at + 1) == Some(&b'\\') {
        return (find(bytes, at + 3, b"'") + 1).min(bytes.len());
    }
    let width = match bytes.get(at + 1) {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    };
    if bytes.get(at + 1 + width) == Some(&b'\'') {
        at + width + 2
    } else {
        at + 1
    }
}
