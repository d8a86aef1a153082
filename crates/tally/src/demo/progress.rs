//! Progress bars on standard error: a load with its live rate and latencies, or a step with a spinner.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use perf::load::Live;
use perf::report::number;

/// Refresh interval of a bar.
const EVERY: Duration = Duration::from_millis(200);
/// Width of a bar's name in characters.
const NAME_WIDTH: usize = 22;

/// Returns whether terminal escapes may be used on standard error (<https://no-color.org>).
pub fn colour() -> bool {
    std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A step of unknown length: a spinner, then one line with the result.
pub struct Step {
    bar: ProgressBar,
    name: String,
    started: Instant,
}

impl Step {
    /// Shows the step as begun.
    pub fn begin(name: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg}") {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        bar.enable_steady_tick(EVERY);
        Self {
            bar,
            name: name.to_owned(),
            started: Instant::now(),
        }
    }

    /// Shows the progress of the step next to its name.
    pub fn say(&self, words: &str) {
        self.bar.set_message(format!("{}  {words}", self.name));
    }

    /// Shows the step as done, with its result.
    pub fn done(self, result: &str) {
        self.end(tick(), result);
    }

    /// Removes the step from the screen.
    pub fn clear(self) {
        self.bar.finish_and_clear();
    }

    /// Shows the step as failed.
    pub fn failed(self, result: &str) {
        self.end(cross(), result);
    }

    fn end(self, mark: &str, result: &str) {
        self.bar.finish_and_clear();
        let took = self.started.elapsed();
        eprintln!(
            "  {mark} {:<NAME_WIDTH$} {result} ({:.1} s)",
            self.name,
            took.as_secs_f64()
        );
    }
}

/// Returns the mark of a success.
pub fn tick() -> &'static str {
    if colour() {
        "\u{1b}[32m✓\u{1b}[0m"
    } else {
        "✓"
    }
}

/// Returns the mark of a failure.
pub fn cross() -> &'static str {
    if colour() {
        "\u{1b}[31m✗\u{1b}[0m"
    } else {
        "✗"
    }
}

/// The bar of a stretch of load.
pub struct LoadBar {
    stop: tokio::sync::oneshot::Sender<()>,
    drawing: tokio::task::JoinHandle<()>,
}

impl LoadBar {
    /// Begins a bar for `duration` of load, with the counts of `live`.
    pub fn begin(name: &str, duration: Duration, live: Arc<Live>) -> Self {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let drawing = tokio::spawn(draw(name.to_owned(), duration, live, stopped));
        Self { stop, drawing }
    }

    /// Removes the bar.
    pub async fn end(self) {
        drop(self.stop);
        // Drawing has no result, and its panic must not end the run.
        let _ = self.drawing.await;
    }
}

async fn draw(
    name: String,
    duration: Duration,
    live: Arc<Live>,
    mut stopped: tokio::sync::oneshot::Receiver<()>,
) {
    let length = primitives::whole_ms(duration);
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let template = if colour() {
        "  {prefix} {bar:30.green/dim} {msg}"
    } else {
        "  {prefix} {bar:30} {msg}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar.set_prefix(format!("{name:<NAME_WIDTH$}"));
    let start = Instant::now();
    let (mut before, mut before_at) = (0u64, start);
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            () = tokio::time::sleep(EVERY) => {}
        }
        let reading = live.read();
        let now = Instant::now();
        let seconds = now.duration_since(before_at).as_secs_f64();
        let rate = (reading.completed - before) as f64 / seconds.max(0.001);
        (before, before_at) = (reading.completed, now);
        let passed = primitives::whole_ms(start.elapsed());
        bar.set_position(passed.min(length));
        bar.set_message(format!(
            "{:>8} /s  p50 {} ms  p99 {} ms{}",
            number(rate),
            number(reading.p50_ms),
            number(reading.p99_ms),
            match reading.failed {
                0 => String::new(),
                failed => format!("  {} failed", number(failed as f64)),
            }
        ));
    }
    bar.finish_and_clear();
}
