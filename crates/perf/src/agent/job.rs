//! A stretch, as an agent runs it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::mpsc;

use super::chain;
use super::channel::{Channel, Gone, Sender};
use super::wire::{Ask, COORDINATOR_SILENCE_MAX, Job, Progress, Tell};
use crate::chain::watch::PoolWatch;
use crate::load::Live;
use crate::load::engine::{
    self, Clock, LoadEnvironment, Real, SampleRow, SampleSink, Settings, Slice, SliceSink, Stop,
};
use crate::measure::whole_micros;
use crate::results::Stretch;
use crate::workload::{Failed, Mix, Site, SiteNode, Workloads};

/// Interval between two reports.
const REPORT_EVERY: Duration = Duration::from_millis(250);
/// Streams to one node at most.
const STREAMS_MAX: u32 = 16;
/// Upper limit on workers. More are a mistake, or an attempt to exhaust the agent's memory.
const WORKERS_MAX: u32 = 100_000;

/// Runs a job: sets up, waits for the begin message, runs, reports and tears down. Returns the outcome in words.
pub(super) async fn run(
    job: Job,
    clock: &Real,
    channel: &mut Channel<Ask>,
    workloads: &Workloads,
) -> Result<String, Gone> {
    let (site, mix, _watches) = match set_up(&job, workloads).await {
        Ok(ready) => ready,
        Err(failed) => return tell_failure(channel, failed).await,
    };
    let ran = ready(&job, clock, channel, &site, &mix).await;
    let torn_down = mix.tear_down().await;
    let Some((stretch, mut rest)) = ran? else {
        return Ok("it was not begun".to_owned());
    };
    if let Err(failed) = torn_down {
        return tell_failure(channel, failed).await;
    }
    let words = format!("{} units done, {} failed", stretch.done, stretch.failed());
    let left = site.books();
    let stretch = Box::new(stretch);
    rest.books = site.with_books(|books| books.drain());
    rest.books.join(left.only_stores(), |at_ms| at_ms);
    let rest = Box::new(rest);
    channel.send(&Tell::Ended { stretch, rest }).await?;
    Ok(words)
}

async fn tell_failure(channel: &Channel<Ask>, failed: Failed) -> Result<String, Gone> {
    let words = format!("failed: {failed}");
    let tell = Tell::Failed {
        code: failed.fault.code,
        message: failed.fault.message,
    };
    channel.send(&tell).await?;
    Ok(words)
}

async fn set_up(
    job: &Job,
    workloads: &Workloads,
) -> Result<(Arc<Site>, Arc<Mix>, Vec<PoolWatch>), Failed> {
    let bad = |message: String| Failed::new("lab.bad_job", message);
    if job.workers > WORKERS_MAX {
        return Err(bad(format!("more than {WORKERS_MAX} workers")));
    }
    let streams = job.streams.clamp(1, STREAMS_MAX);
    let banks = job.banks.iter();
    let banks = banks.map(|node| SiteNode::connect(node.name.clone(), node.endpoint(), streams));
    let banks: Vec<SiteNode> = banks.collect::<Result<_, _>>()?;
    // Detects unreachable nodes before the stretch begins.
    for bank in &banks {
        bank.client().health().await?;
    }
    let mut site = Site::new(banks, None, job.seed);
    let mut watches = Vec::new();
    if let Some(job) = &job.chain {
        let (chain, begun) = chain::site(job).await?;
        (site, watches) = (site.with_chain(chain), begun);
    }
    let site = Arc::new(site);
    site.restore(job.books.clone());
    let mix = Mix::new(workloads, &job.work, job.mix_seed);
    let mix = Arc::new(mix.map_err(|error| bad(error.to_string()))?);
    mix.set_up(&site, job.workers).await?;
    Ok((site, mix, watches))
}

/// Runs from readiness to the end. Returns `None` if the stretch never begins.
async fn ready(
    job: &Job,
    clock: &Real,
    channel: &mut Channel<Ask>,
    site: &Arc<Site>,
    mix: &Arc<Mix>,
) -> Result<Option<(Stretch, Progress)>, Gone> {
    channel.send(&Tell::Ready).await?;
    let begin = loop {
        match channel.receive_within(COORDINATOR_SILENCE_MAX).await? {
            Ask::Begin { at_us } => break Duration::from_micros(at_us),
            Ask::Forget | Ask::Stop => return Ok(None),
            Ask::Clock { number } => {
                let now_us = whole_micros(clock.now());
                channel.send(&Tell::Time { number, now_us }).await?;
            }
            Ask::Alive => {}
            Ask::Hello { .. } | Ask::Prepare(_) | Ask::Order { .. } => return Err(Gone),
        }
    };
    clock.sleep_until(begin).await;
    let stop = Stop::default();
    let live = Arc::new(Live::default());
    let (slice_sink, slices) = SliceSink::channel();
    let (row_sink, rows) = SampleSink::channel();
    let around = LoadEnvironment {
        live: Arc::clone(&live),
        stop: stop.clone(),
        samples: job.rows.then_some(row_sink),
        slices: Some(slice_sink),
        units: Arc::new(AtomicU64::new(job.units_from)),
    };
    let settings = Settings {
        warm_up: Duration::from_micros(job.warm_up_us),
        measured: Duration::from_micros(job.measured_us),
        count: job.count,
        seed: job.seed,
        labels: mix.labels(),
        unfinished_after: Duration::from_micros(job.unfinished_after_us),
    };
    let mut reporter = Reporter {
        to: channel.sender(),
        site: Arc::clone(site),
        live,
        slices,
        rows,
    };
    let load = async {
        let stretch = engine::stretch(clock, mix, &job.load, &settings, &around, async {}).await;
        drop(around);
        stretch
    };
    let listening = async {
        loop {
            match channel.receive_within(COORDINATOR_SILENCE_MAX).await {
                Ok(Ask::Stop) => stop.ask(),
                Ok(Ask::Alive) => {}
                Ok(_) | Err(Gone) => return Gone,
            }
        }
    };
    tokio::pin!(load, listening);
    let stretch = {
        let reporting = reporter.run();
        tokio::pin!(reporting);
        tokio::select! {
            stretch = &mut load => stretch,
            gone = &mut listening => {
                // The coordinator is gone, so the results are dropped. The load still ends before the workers are torn
                // down.
                stop.ask();
                load.await;
                return Err(gone);
            }
            gone = &mut reporting => {
                stop.ask();
                load.await;
                return Err(gone);
            }
        }
    };
    Ok(Some((stretch, reporter.progress(0))))
}

struct Reporter {
    to: Sender,
    site: Arc<Site>,
    live: Arc<Live>,
    slices: mpsc::Receiver<Slice>,
    rows: mpsc::Receiver<Vec<SampleRow>>,
}

impl Reporter {
    /// Sends reports until the coordinator is gone.
    async fn run(&mut self) -> Gone {
        loop {
            tokio::time::sleep(REPORT_EVERY).await;
            let outstanding = self.live.read().outstanding;
            let to = self.to.clone();
            let Ok(place) = to.place().await else {
                return Gone;
            };
            // The end of the load may drop this future, but not between the books and their place.
            let mut progress = self.progress(outstanding);
            progress.books = self.site.with_books(|books| books.drain());
            if place.send(&Tell::Report(Box::new(progress))).is_err() {
                return Gone;
            }
        }
    }

    /// Returns the slices and rows since the last report, without the books.
    fn progress(&mut self, outstanding: u64) -> Progress {
        let mut progress = Progress {
            outstanding,
            ..Progress::default()
        };
        while let Ok(slice) = self.slices.try_recv() {
            progress.slices.push(slice);
        }
        while let Ok(rows) = self.rows.try_recv() {
            progress.rows.extend(rows);
        }
        progress
    }
}
