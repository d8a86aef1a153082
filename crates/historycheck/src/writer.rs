//! Writes a history.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::event::{Event, EventKind};

/// Writes the events of many clients in the order of one clock. Each line is written at once, so a run that is cut off loses at most
/// the events that `W` buffers.
#[derive(Debug)]
pub struct HistoryWriter<W> {
    began: Instant,
    out: Mutex<W>,
}

impl<W: Write> HistoryWriter<W> {
    /// Starts the clock, and writes the event `begin`.
    ///
    /// # Errors
    /// The line can't be written.
    pub fn begin(out: W, seed: u64, answers_within_ms: u64) -> io::Result<Self> {
        let writer = Self {
            began: Instant::now(),
            out: Mutex::new(out),
        };
        writer.write(EventKind::Begin {
            seed,
            answers_within_ms,
        })?;
        Ok(writer)
    }

    /// Writes an event at the present time. Write `ask` before the request is sent, and an answer after it has arrived.
    ///
    /// # Errors
    /// The line can't be written.
    pub fn write(&self, kind: EventKind) -> io::Result<()> {
        // A client that panicked has written whole lines or nothing.
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // The time is taken under the lock, so that the times in the file ascend. It fits: u64 holds 584,000 years.
        let at_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut line = serde_json::to_vec(&Event { at_us, kind })?;
        line.push(b'\n');
        out.write_all(&line)
    }

    /// Writes the event `end`, and returns the output.
    ///
    /// # Errors
    /// The line can't be written.
    pub fn end(self) -> io::Result<W> {
        self.write(EventKind::End)?;
        let mut out = self
            .out
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        out.flush()?;
        Ok(out)
    }
}
