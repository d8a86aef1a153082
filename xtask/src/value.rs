//! Evaluates a constant from its source: whole numbers, `+ - * / <<`, brackets, durations, amounts and other constants.

use std::collections::BTreeMap;

use crate::lexer::{Token, tokens};

/// Maximum nesting of constants that refer to others, so that a cycle ends.
const DEPTH_MAX: usize = 16;

/// A number, or a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Number(u128),
    /// A time in milliseconds.
    Millis(u128),
}

/// Constants by name, as written.
pub type Constants = BTreeMap<String, String>;

/// Returns the value of an expression, or `None` if it is of another kind.
pub fn value(text: &str, constants: &Constants) -> Option<Value> {
    within(text, constants, DEPTH_MAX)
}

fn within(text: &str, constants: &Constants, depth: usize) -> Option<Value> {
    let tokens = tokens(text);
    let mut reader = Reader {
        tokens: &tokens,
        constants,
        depth: depth.checked_sub(1)?,
    };
    let value = reader.shifted()?;
    reader.tokens.is_empty().then_some(value)
}

struct Reader<'t, 'a> {
    tokens: &'t [Token<'a>],
    constants: &'t Constants,
    depth: usize,
}

impl<'a> Reader<'_, 'a> {
    fn peek(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn take(&mut self) -> &'a str {
        let text = self.peek(0);
        // At the end, no token is left.
        self.tokens = self.tokens.get(1..).unwrap_or_default();
        text
    }

    fn taken(&mut self, texts: &[&str]) -> bool {
        let there = texts.iter().enumerate().all(|(at, t)| self.peek(at) == *t);
        if there {
            self.tokens = self.tokens.get(texts.len()..).unwrap_or_default();
        }
        there
    }

    fn shifted(&mut self) -> Option<Value> {
        let mut value = self.sum()?;
        while self.taken(&["<", "<"]) {
            let by = u32::try_from(number(self.sum()?)?).ok()?;
            value = Value::Number(number(value)?.checked_mul(1_u128.checked_shl(by)?)?);
        }
        Some(value)
    }

    fn sum(&mut self) -> Option<Value> {
        let mut value = self.product()?;
        loop {
            value = if self.taken(&["+"]) {
                Value::Number(number(value)?.checked_add(number(self.product()?)?)?)
            } else if self.taken(&["-"]) {
                Value::Number(number(value)?.checked_sub(number(self.product()?)?)?)
            } else {
                return Some(value);
            };
        }
    }

    fn product(&mut self) -> Option<Value> {
        let mut value = self.cast()?;
        loop {
            value = if self.taken(&["*"]) {
                Value::Number(number(value)?.checked_mul(number(self.cast()?)?)?)
            } else if self.taken(&["/"]) {
                Value::Number(number(value)?.checked_div(number(self.cast()?)?)?)
            } else {
                return Some(value);
            };
        }
    }

    fn cast(&mut self) -> Option<Value> {
        let value = self.single()?;
        while self.taken(&["as"]) {
            self.take();
        }
        Some(value)
    }

    fn single(&mut self) -> Option<Value> {
        if self.taken(&["("]) {
            let value = self.shifted()?;
            return self.taken(&[")"]).then_some(value);
        }
        let mut word = self.take();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return literal(word).map(Value::Number);
        }
        let mut before = "";
        while self.taken(&[":", ":"]) {
            (before, word) = (word, self.take());
        }
        match (before, word) {
            ("Duration", unit) => {
                let factor = match unit {
                    "from_secs" => 1_000,
                    "from_millis" => 1,
                    _ => return None,
                };
                let inner = self.taken(&["("]).then(|| self.shifted()).flatten()?;
                let millis = number(inner)?.checked_mul(factor)?;
                self.taken(&[")"]).then_some(Value::Millis(millis))
            }
            ("Seconds", "new") => {
                let inner = self.taken(&["("]).then(|| self.shifted()).flatten()?;
                let millis = number(inner)?.checked_mul(1_000)?;
                self.taken(&[")"]).then_some(Value::Millis(millis))
            }
            ("MinorUnits", "new") => {
                let inner = self.taken(&["("]).then(|| self.shifted()).flatten()?;
                self.taken(&[")"]).then_some(inner)
            }
            ("u8", "MAX") => Some(Value::Number(u8::MAX.into())),
            ("u16", "MAX") => Some(Value::Number(u16::MAX.into())),
            ("u32", "MAX") => Some(Value::Number(u32::MAX.into())),
            ("u64" | "usize", "MAX") => Some(Value::Number(u64::MAX.into())),
            (_, name) => within(self.constants.get(name)?, self.constants, self.depth),
        }
    }
}

fn number(value: Value) -> Option<u128> {
    match value {
        Value::Number(number) => Some(number),
        Value::Millis(_) => None,
    }
}

/// Parses a number such as `4_096`, `1024_usize` or `0xff`.
fn literal(word: &str) -> Option<u128> {
    let plain = word.replace('_', "");
    let plain = ["usize", "u128", "u64", "u32", "u16", "u8", "i64", "i32"]
        .iter()
        .find_map(|suffix| plain.strip_suffix(suffix))
        // The suffix may be left out.
        .unwrap_or(&plain)
        .to_owned();
    match plain.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => plain.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let constants = Constants::from([
            ("A".to_owned(), "4 << 20".to_owned()),
            ("B".to_owned(), "B + 1".to_owned()),
        ]);
        for (text, expected) in [
            ("4_096", Some(Value::Number(4_096))),
            ("10 * 1024 * 1024", Some(Value::Number(10 << 20))),
            ("1 << 20", Some(Value::Number(1 << 20))),
            ("1 + 2 * 3 - 8 / 4", Some(Value::Number(5))),
            ("2 * (1 + 2) as usize", Some(Value::Number(6))),
            ("x::A / 2", Some(Value::Number(2 << 20))),
            ("u16::MAX as usize", Some(Value::Number(65_535))),
            ("Duration::from_secs(2 * 60)", Some(Value::Millis(120_000))),
            (
                "std::time::Duration::from_millis(5)",
                Some(Value::Millis(5)),
            ),
            ("Seconds::new(2 * 60)", Some(Value::Millis(120_000))),
            ("MinorUnits::new(u8::MAX / 2)", Some(Value::Number(127))),
            ("1_usize", Some(Value::Number(1))),
            ("B", None),
            ("C", None),
            ("[0; 32]", None),
            ("1 - 2", None),
            ("", None),
        ] {
            assert_eq!(value(text, &constants), expected, "{text}");
        }
    }
}
