//! The trace of a run, line by line. It is always hashed, and kept as text on request.

use std::fmt::Write;

use primitives::{Hash, Hasher};

/// The trace of a run.
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

    /// Appends a line with a time in microseconds, a place and an event.
    pub fn note(&mut self, at_us: u64, place: &str, what: std::fmt::Arguments<'_>) {
        self.line.clear();
        // Writing to a string cannot fail.
        let _ = writeln!(self.line, "{:>12} {place:<7} {what}", at_us);
        self.hasher.update(self.line.as_bytes());
        self.lines += 1;
        if let Some(kept) = &mut self.kept {
            kept.push_str(&self.line);
        }
    }

    /// Returns the hash of all lines, their number, and their text if it was kept.
    pub fn finish(self) -> (Hash, u64, Option<String>) {
        (self.hasher.finish(), self.lines, self.kept)
    }
}

/// Describes bytes by their length and the start of their hash.
pub fn short(bytes: &[u8]) -> String {
    let hash = Hash::plain(bytes).to_string();
    format!("{}B {}", bytes.len(), &hash[..8])
}
