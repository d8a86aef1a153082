//! Captures the log of this process's nodes, so that tests can read it.

use std::io::{self, Write};
use std::sync::{Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

struct Lines {
    all: Mutex<Vec<String>>,
    arrived: Condvar,
}

static LINES: Lines = Lines {
    all: Mutex::new(Vec::new()),
    arrived: Condvar::new(),
};
static SET_UP: OnceLock<()> = OnceLock::new();

struct Writer;

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        LINES
            .all
            .lock()
            .expect("no test panics here")
            .push(text.trim_end().to_owned());
        LINES.arrived.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Begins to record.
pub fn record() {
    SET_UP.get_or_init(|| {
        tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(|| Writer)
            .init();
    });
}

/// Waits for lines with all of these texts; returns them.
pub fn wait_for(texts: &[&str]) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut lines = LINES.all.lock().expect("no test panics here");
    loop {
        let matching = |line: &&String| texts.iter().all(|text| line.contains(text));
        let found: Vec<String> = lines.iter().filter(matching).cloned().collect();
        let left = deadline.saturating_duration_since(Instant::now());
        if !found.is_empty() {
            return found;
        }
        assert!(
            !left.is_zero(),
            "no line with {texts:?} among\n{}",
            lines.join("\n")
        );
        lines = LINES
            .arrived
            .wait_timeout(lines, left)
            .expect("no test panics here")
            .0;
    }
}
