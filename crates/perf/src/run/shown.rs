//! The display of a run's step.

use crate::run::event::{Event, Events, Step};

/// A displayed step. If it is dropped before its end, it shows as failed.
pub(in crate::run) struct Shown<'a> {
    events: &'a Events,
    ended: bool,
}

impl<'a> Shown<'a> {
    /// Shows that the step has begun.
    pub fn begin(events: &'a Events, step: Step) -> Self {
        events(Event::Began(step));
        Self {
            events,
            ended: false,
        }
    }

    /// Shows that the step is done.
    pub fn end(self, words: &str) {
        self.close(true, words);
    }

    /// Shows that the step has ended, successfully or not.
    pub fn close(mut self, well: bool, words: &str) {
        self.ended = true;
        (self.events)(Event::Ended {
            well,
            words: words.to_owned(),
        });
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if !self.ended {
            (self.events)(Event::Ended {
                well: false,
                words: "failed".to_owned(),
            });
        }
    }
}
