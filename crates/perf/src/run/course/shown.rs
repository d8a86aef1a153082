//! A step of a run as people see it.

use crate::run::event::{Event, Events, Step};

/// A step that is shown as begun; dropped before its end, it is shown as gone wrong.
pub(in crate::run) struct Shown<'a> {
    events: &'a Events,
    ended: bool,
}

impl<'a> Shown<'a> {
    /// Shows it as begun.
    pub fn begin(events: &'a Events, step: Step) -> Self {
        events(Event::Began(step));
        Self {
            events,
            ended: false,
        }
    }

    /// Shows it as done.
    pub fn end(self, words: &str) {
        self.close(true, words);
    }

    /// Shows it as ended, well or not.
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
