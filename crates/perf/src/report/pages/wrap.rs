//! Breaks a text into lines.

/// Returns the lines of a text, each of at most `letters` letters unless a single word is longer.
pub fn wrap(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        for (text, expected) in [
            ("", &[][..]),
            ("a bb ccc", &["a bb", "ccc"]),
            ("longest a", &["longest", "a"]),
        ] {
            assert_eq!(wrap(text, 4), expected);
        }
    }
}
