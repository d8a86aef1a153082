//! What happened, line by line: hashed always, kept if wanted.

use std::fmt::Write;

use primitives::{Hash, Hasher};

/// See the module.
pub struct Trace {
    hasher: Hasher,
    line: String,
    lines: u64,
    kept: Option<String>,
}

impl Trace {
    pub fn new(keep: bool) -> Self {
        Self {
            hasher: Hasher::new(),
            line: String::new(),
            lines: 0,
            kept: keep.then(String::new),
        }
    }

    /// Notes what happened at a time, in microseconds, at a place.
    pub fn note(&mut self, at_us: u64, place: &str, what: std::fmt::Arguments<'_>) {
        self.line.clear();
        // Writing to a string does not fail.
        let _ = writeln!(self.line, "{:>12} {place:<7} {what}", at_us);
        self.hasher.update(self.line.as_bytes());
        self.lines += 1;
        if let Some(kept) = &mut self.kept {
            kept.push_str(&self.line);
        }
    }

    /// The hash of all lines, how many there are, and their text if it was kept.
    pub fn finish(self) -> (Hash, u64, Option<String>) {
        (self.hasher.finish(), self.lines, self.kept)
    }
}

/// Bytes in short: their length and the start of their hash.
pub fn short(bytes: &[u8]) -> String {
    let hash = Hash::plain(bytes).to_string();
    format!("{}B {}", bytes.len(), &hash[..8])
}
