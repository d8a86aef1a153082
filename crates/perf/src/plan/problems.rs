//! Collects the problems of a scenario with their places.

use super::document::Document;
use super::error::{BAD, Problem, UNKNOWN_SETTING, suggestion};
use super::fields::quoted;
use super::limits::PROBLEMS_MAX;
use super::source::{At, Sources};

/// Characters of a wrong word that a message shows.
pub(super) const SHOWN_CHARS: usize = 40;

/// The problems found so far.
pub(super) struct Problems<'a> {
    sources: &'a Sources,
    pub(super) list: Vec<Problem>,
    /// The point of a sweep that is checked, for messages; empty for the scenario itself.
    pub(super) point: String,
}

impl<'a> Problems<'a> {
    pub(super) fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            list: Vec::new(),
            point: String::new(),
        }
    }

    /// Notes a problem, unless it is known or the limit is reached.
    pub(super) fn wrong(&mut self, at: At, message: impl Into<String>) {
        self.note(BAD, at, message.into());
    }

    /// Notes a problem with another code.
    pub(super) fn note(&mut self, code: &'static str, at: At, message: String) {
        let place = self.sources.place(at);
        let known = |problem: &Problem| {
            problem.place == place && (place.is_some() || problem.message == message)
        };
        if self.list.len() < PROBLEMS_MAX && !self.list.iter().any(known) {
            let message = if self.point.is_empty() {
                message
            } else {
                format!("{message} (at {})", self.point)
            };
            self.list.push(Problem {
                code,
                place,
                message,
            });
        }
    }

    /// Refuses the keys of a section that contradict another key. `why` is the reason.
    pub(super) fn forbid(&mut self, document: &Document, section: &str, keys: &[&str], why: &str) {
        for key in keys {
            let path = super::document::joined(section, key);
            if document.has(&path) {
                self.wrong(document.key_at(&path), format!("`{key}` {why}"));
            }
        }
    }

    /// Refuses a word, and suggests the one that was probably meant.
    pub(super) fn not_one_of(&mut self, at: At, what: &str, word: &str, words: &[&str]) {
        let near = suggestion(word, words.iter().copied());
        let short: String = word.chars().take(SHOWN_CHARS).collect();
        let all = quoted(words);
        self.note(
            UNKNOWN_SETTING,
            at,
            format!("there is no {what} `{short}`{near} (there are {all})"),
        );
    }
}
