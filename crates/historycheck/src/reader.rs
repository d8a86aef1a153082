//! Reads the lines of a history, and checks the order of its events.

use std::io::BufRead;

use crate::error::HistoryError;
use crate::event::{Event, EventKind};

/// The course of a run, as the reader knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Course {
    has_begun: bool,
    has_ended: bool,
    is_end_phase: bool,
    is_majority_lost: bool,
}

/// The events of a history with their lines. Ends with an error unless the last event is `end`.
pub(crate) struct HistoryReader<R> {
    input: R,
    /// The bytes of the current line.
    bytes: Vec<u8>,
    line: u64,
    at_us: u64,
    course: Course,
}

impl<R: BufRead> HistoryReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            bytes: Vec::new(),
            line: 0,
            at_us: 0,
            course: Course::default(),
        }
    }

    /// Returns the next event and its line, or `None` after the last one.
    ///
    /// # Errors
    /// The history can't be read, the line is no event, or the event is not allowed here.
    pub(crate) fn next_event(&mut self) -> Result<Option<(u64, Event)>, HistoryError> {
        self.bytes.clear();
        if self.input.read_until(b'\n', &mut self.bytes)? == 0 {
            return match self.course.has_ended {
                true => Ok(None),
                false => Err(HistoryError::Unfinished { line: self.line }),
            };
        }
        self.line += 1;
        let line = self.line;
        let is_whole = self.bytes.ends_with(b"\n");
        let event: Event = match serde_json::from_slice(&self.bytes) {
            Ok(event) => event,
            Err(_) if !is_whole => return Err(HistoryError::Truncated { line }),
            Err(error) => {
                let reason = error.to_string();
                return Err(HistoryError::Malformed { line, reason });
            }
        };
        if event.at_us < self.at_us {
            return Err(HistoryError::Unordered {
                line,
                at_us: event.at_us,
                before_us: self.at_us,
            });
        }
        self.at_us = event.at_us;
        self.course = self
            .course
            .after(&event.kind)
            .map_err(|reason| HistoryError::Misplaced { line, reason })?;
        Ok(Some((line, event)))
    }
}

impl Course {
    /// Returns the course after an event, or the rule that the event breaks.
    fn after(mut self, event: &EventKind) -> Result<Self, &'static str> {
        if self.has_ended {
            return Err("nothing follows the event 'end'");
        }
        if self.has_begun == matches!(event, EventKind::Begin { .. }) {
            return Err("the event 'begin' is the first one, and there is no other");
        }
        match event {
            EventKind::Begin { .. } => self.has_begun = true,
            EventKind::MajorityLost if self.is_majority_lost => {
                return Err("the majority is lost already");
            }
            EventKind::MajorityLost => self.is_majority_lost = true,
            EventKind::MajorityReturning | EventKind::MajorityBack if !self.is_majority_lost => {
                return Err("the majority was not lost");
            }
            EventKind::MajorityBack => self.is_majority_lost = false,
            EventKind::EndPhase if self.is_end_phase => {
                return Err("the end phase has begun already");
            }
            EventKind::EndPhase => self.is_end_phase = true,
            EventKind::End if !self.is_end_phase => {
                return Err("the event 'end' needs the event 'end_phase' before it");
            }
            EventKind::End => self.has_ended = true,
            _ => {}
        }
        Ok(self)
    }
}
