//! Draws the events of a run: a spinner for a step, a bar for a load, and a line for a finished step. Without a terminal only
//! lines are written.

use std::sync::Arc;
use std::time::Duration;

use perf::report::number;
use perf::results::Stretch;
use perf::run::{Event, Events, Step as Kind};
use perf::workload::Site;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

use super::outcome::short;
use crate::demo::progress::{LoadBar, Step, cross, tick};

/// Refresh interval of a preparation's progress.
const EVERY: Duration = Duration::from_millis(200);
/// Width of the name of a finished step in characters.
const NAME_WIDTH: usize = 22;

/// The task that draws events.
pub struct Watch {
    drawing: JoinHandle<()>,
}

impl Watch {
    /// Begins to draw, and returns the receiver of events.
    pub fn begin() -> (Self, Events) {
        // Unbounded, because there are only as many events as steps, which take far longer than drawing.
        let (tell, told) = unbounded_channel();
        let drawing = tokio::spawn(draw(told));
        let events: Events = Arc::new(move |event| {
            // Drawing has ended if it panicked, which must not end the run.
            let _ = tell.send(event);
        });
        (Self { drawing }, events)
    }

    /// Draws the remaining events. All senders must be dropped before.
    pub async fn end(self) {
        // Drawing has no result, and its panic must not end the run.
        let _ = self.drawing.await;
    }
}

/// The contents of the screen.
#[derive(Default)]
struct Screen {
    step: Option<Step>,
    preparing: Option<Arc<Site>>,
    load: Option<LoadBar>,
}

async fn draw(mut told: UnboundedReceiver<Event>) {
    let mut screen = Screen::default();
    loop {
        tokio::select! {
            event = told.recv() => match event {
                Some(event) => screen.event(event).await,
                None => return,
            },
            () = tokio::time::sleep(EVERY) => screen.look(),
        }
    }
}

impl Screen {
    async fn event(&mut self, event: Event) {
        match event {
            Event::Scenario {
                name,
                title,
                points,
                stretches,
            } => {
                let size = match (points, stretches) {
                    (1, 1) => String::new(),
                    _ => format!(" ({points} points, {stretches} stretches)"),
                };
                eprintln!("\n{name}: {title}{size}");
            }
            Event::Began(kind) => {
                if kind != Kind::Preparation {
                    self.preparing = None;
                }
                self.step = Some(Step::begin(kind.as_str()));
            }
            Event::Ended { well, words } => match self.step.take() {
                Some(step) if well && words.is_empty() => step.clear(),
                Some(step) if well => step.done(&words),
                Some(step) => step.failed(&short(&words)),
                None => {}
            },
            Event::Preparing(site) => self.preparing = Some(site),
            Event::Load {
                label,
                seconds,
                live,
            } => {
                // A load without an end is shown without a length.
                let duration = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default();
                self.load = Some(LoadBar::begin(&name(&label), duration, live));
            }
            Event::Loaded { label, stretch } => {
                if let Some(bar) = self.load.take() {
                    bar.end().await;
                }
                eprintln!("{}", loaded(&name(&label), &stretch));
            }
            // The end of the step has shown it, and a finding is listed with the tables at the end.
            Event::Audited(_) | Event::Found(_) | Event::Over(_) => {}
            Event::Kept { folder, pids } => eprintln!("{}", kept(&folder, &pids)),
        }
    }

    /// Shows the progress of a preparation.
    fn look(&self) {
        let (Some(step), Some(site)) = (&self.step, &self.preparing) else {
            return;
        };
        let reading = site.preparation().read();
        if reading.wanted > 0 {
            step.say(&format!(
                "{}: {} of {}",
                reading.step, reading.done, reading.wanted
            ));
        }
    }
}

fn name(label: &str) -> String {
    match label {
        "" => "Load".to_owned(),
        label => label.to_owned(),
    }
}

/// Returns the mark of a stretch: a tick only if no unit failed or was dropped.
fn mark(stretch: &Stretch) -> &'static str {
    match (stretch.done, stretch.failed(), stretch.dropped) {
        (0, _, _) => cross(),
        (_, 0, 0) => tick(),
        (_, _, _) => "!",
    }
}

fn loaded(name: &str, stretch: &Stretch) -> String {
    let mut line = format!(
        "  {} {name:<NAME_WIDTH$} {:>8} /s  {} delivered in {:.1} s",
        mark(stretch),
        number(stretch.per_s()),
        number(stretch.done as f64),
        stretch.seconds,
    );
    // Percentiles of too few samples are left out; the tables at the end say so.
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        if let Some(ms) = stretch.latencies.percentile_ms(share) {
            line.push_str(&format!("  {name} {} ms", number(ms)));
        }
    }
    if let Some(rate) = stretch.knee_per_s() {
        line.push_str(&format!("  knee {} /s", number(rate)));
    }
    if let Some(rate) = stretch.knee_above_per_s() {
        line.push_str(&format!("  no knee up to {} /s", number(rate)));
    }
    if stretch.dropped > 0 {
        line.push_str(&format!("  {} dropped", number(stretch.dropped as f64)));
    }
    if let Some(fault) = stretch.faults.first() {
        let failed = number(stretch.failed() as f64);
        line.push_str(&format!(
            "\n    {failed} failed, such as {}: {}",
            fault.code, fault.message
        ));
    }
    line
}

fn kept(folder: &std::path::Path, pids: &[u32]) -> String {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let folder = folder.display();
    format!(
        "\nThe network stays up in {folder}; look at it with\n  tally node info --node {folder}/nodes/bank-1\n\
         Stop it:\n  kill {}\n  rm -r {folder}",
        pids.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf::results::{Fault, Histogram};

    #[test]
    fn a_knee_is_named_only_if_a_higher_rate_failed() {
        for (tried, words) in [
            (
                vec![(50.0, true), (90.0, false), (60.0, true)],
                "  knee 60 /s",
            ),
            (vec![(50.0, true), (90.0, true)], "  no knee up to 90 /s"),
            (vec![(50.0, false)], "delivered in 1.0 s"),
        ] {
            let stretch = Stretch {
                seconds: 1.0,
                tried,
                ..Stretch::default()
            };
            let line = loaded("Load", &stretch);
            assert!(line.ends_with(words), "{line}");
        }
    }

    #[test]
    fn a_tick_never_stands_next_to_a_failure() {
        let fault = Fault {
            code: "x.y".to_owned(),
            count: 3,
            message: "why".to_owned(),
        };
        for (done, faults, dropped, starts) in [
            (30, vec![], 0, "  ✓ "),
            (30, vec![fault.clone()], 0, "  ! "),
            (30, vec![], 2, "  ! "),
            (0, vec![fault], 0, "  ✗ "),
        ] {
            let stretch = Stretch {
                seconds: 1.0,
                done,
                faults,
                dropped,
                latencies: Histogram {
                    buckets: [(1_000, done)].into(),
                },
                ..Stretch::default()
            };
            let line = loaded("Load", &stretch);
            assert!(line.starts_with(starts), "{line}");
            assert_eq!(line.contains("p50"), done > 0, "{line}");
            assert!(
                !line.contains("p99"),
                "30 samples have no 99th percentile: {line}"
            );
        }
    }
}
