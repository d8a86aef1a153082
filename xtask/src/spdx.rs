//! A minimal evaluator of SPDX licence expressions: do the accepted licences satisfy an expression?
//!
//! Grammar: `or := and (("OR" | "/") and)*`, `and := one ("AND" one)*`, `one := "(" or ")" | id ["WITH" id]`.

use std::fmt;

/// Reasons why an expression is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "not a licence expression: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// Checks whether the licences in `accepted` alone can satisfy `expression`.
pub fn satisfied(expression: &str, accepted: &[&str]) -> Result<bool, Malformed> {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut parser = Parser {
        words: spaced.split_whitespace().collect(),
        next: 0,
        accepted,
    };
    let verdict = parser.alternatives()?;
    if parser.next == parser.words.len() {
        Ok(verdict)
    } else {
        Err(Malformed(expression.to_owned()))
    }
}

struct Parser<'a> {
    words: Vec<&'a str>,
    next: usize,
    accepted: &'a [&'a str],
}

impl<'a> Parser<'a> {
    fn take(&mut self, word: &str) -> bool {
        let hit = self.words.get(self.next) == Some(&word);
        self.next += usize::from(hit);
        hit
    }

    fn word(&mut self) -> Result<&'a str, Malformed> {
        let word = self.words.get(self.next).copied();
        self.next += 1;
        word.ok_or_else(|| Malformed(self.words.join(" ")))
    }

    fn alternatives(&mut self) -> Result<bool, Malformed> {
        let mut verdict = self.conjunction()?;
        while self.take("OR") {
            verdict |= self.conjunction()?;
        }
        Ok(verdict)
    }

    fn conjunction(&mut self) -> Result<bool, Malformed> {
        let mut verdict = self.one()?;
        while self.take("AND") {
            verdict &= self.one()?;
        }
        Ok(verdict)
    }

    fn one(&mut self) -> Result<bool, Malformed> {
        if self.take("(") {
            let verdict = self.alternatives()?;
            return if self.take(")") {
                Ok(verdict)
            } else {
                Err(Malformed(self.words.join(" ")))
            };
        }
        let id = self.word()?;
        if matches!(id, "AND" | "OR" | "WITH" | ")") {
            return Err(Malformed(self.words.join(" ")));
        }
        // An exception only widens a licence, so the licence alone decides.
        if self.take("WITH") {
            self.word()?;
        }
        Ok(self.accepted.contains(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: bool) {
        assert_eq!(
            satisfied(expression, &["MIT", "Apache-2.0", "ISC"]),
            Ok(expected),
            "{expression}"
        );
    }

    #[test]
    fn expressions() {
        check("MIT", true);
        check("GPL-3.0-only", false);
        check("GPL-3.0-only OR MIT", true);
        check("GPL-3.0-only AND MIT", false);
        check("MIT/Apache-2.0", true);
        check("Apache-2.0 WITH LLVM-exception", true);
        check("ISC AND (Apache-2.0 OR GPL-2.0-only)", true);
        check("ISC AND (LGPL-2.1-or-later OR GPL-2.0-only)", false);
        check("MIT OR GPL-3.0-only AND Zlib", true);
    }

    #[test]
    fn malformed() {
        for text in ["", "MIT OR", "(MIT", "MIT MIT", "AND", "MIT)"] {
            assert!(satisfied(text, &["MIT"]).is_err(), "{text:?}");
        }
    }
}
