//! The coordinator's connection to one agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use primitives::Hash;

use super::AgentAddress;
use super::channel::{Channel, Gone, Token};
use super::connect::connect;
use super::error::{AgentError, LOST};
use super::merge::Part;
use super::wire::{Ask, Job, Progress, Service, Tell};
use crate::load::engine::{Clock, LoadEnvironment, Real, SampleRow, Slice};
use crate::measure::whole_micros;
use crate::results::Stretch;
use crate::workload::{Failed, Site};

/// Time limit for an agent to set up its workers.
const READY_MAX: Duration = Duration::from_secs(300);
/// An agent under load that says nothing for so long is lost: it should report four times a second.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Round trips that compare clocks; the quickest counts.
const TRIPS: u32 = 16;
/// Between two signs of life.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// Interval between two checks of whether a stop was requested.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A connection to an agent.
pub(super) struct Member {
    pub address: AgentAddress,
    /// The fingerprint of the agent's certificate.
    pub fingerprint: Hash,
    channel: Channel<Tell>,
}

/// Why an agent stopped.
pub(super) enum Halt {
    /// The agent is gone.
    Gone,
    /// The agent reported a failure.
    Failed(Failed),
}

impl From<Gone> for Halt {
    fn from(_: Gone) -> Self {
        Halt::Gone
    }
}

/// Destination of an agent's reports during a stretch.
pub(super) struct Following {
    pub site: Arc<Site>,
    pub around: LoadEnvironment,
    pub clock: Real,
    /// Outstanding units of each agent. `at` is this agent's index.
    pub outstanding: Arc<Vec<AtomicU64>>,
    pub at: usize,
}

impl Member {
    /// Connects; both ends prove that they know the token.
    pub async fn connect(address: AgentAddress, token: &Token) -> Result<Self, AgentError> {
        let connected = connect(&address, token, Service::Load).await?;
        Ok(Self {
            address,
            fingerprint: connected.fingerprint,
            channel: connected.channel,
        })
    }

    /// Sends a sign of life, so that the agent does not time out during a long preparation.
    pub async fn alive(&self) -> Result<(), Gone> {
        self.channel.send(&Ask::Alive).await
    }

    /// Asks the agent to set up its workers, and compares clocks. Returns how far the agent's clock is ahead, in
    /// microseconds.
    pub async fn prepare(&mut self, job: Job, clock: &Real) -> Result<i64, Halt> {
        self.channel.send(&Ask::Prepare(Box::new(job))).await?;
        let waiting = async {
            loop {
                tokio::select! {
                    told = self.channel.receive() => match told? {
                        Tell::Ready => return Ok(()),
                        Tell::Failed { code, message } => {
                            return Err(Halt::Failed(Failed::new(code, message)));
                        }
                        _ => return Err(Halt::Gone),
                    },
                    () = tokio::time::sleep(ALIVE_EVERY) => self.alive().await?,
                }
            }
        };
        let waited = tokio::time::timeout(READY_MAX, waiting).await;
        waited.map_err(|_| Halt::Gone)??;
        self.compare_clocks(clock).await
    }

    async fn compare_clocks(&mut self, clock: &Real) -> Result<i64, Halt> {
        let mut best: Option<(u64, i64)> = None;
        for number in 0..TRIPS {
            let sent = whole_micros(clock.now());
            self.channel.send(&Ask::Clock { number }).await?;
            let told = tokio::time::timeout(SILENCE_MAX, self.channel.receive());
            let Tell::Time {
                number: answered,
                now_us,
            } = told.await.map_err(|_| Halt::Gone)??
            else {
                return Err(Halt::Gone);
            };
            let trip = whole_micros(clock.now()) - sent;
            // No clock that works is 292,000 years ahead.
            let ahead = now_us.checked_signed_diff(sent + trip / 2);
            let ahead = ahead.ok_or(Halt::Gone)?;
            if answered == number && best.is_none_or(|(quickest, _)| trip < quickest) {
                best = Some((trip, ahead));
            }
        }
        best.map(|(_, ahead)| ahead).ok_or(Halt::Gone)
    }

    /// Tells the agent that the stretch will not begin.
    pub async fn forget(&self) {
        // If the agent is gone, it has nothing to forget.
        let _ = self.channel.send(&Ask::Forget).await;
    }

    /// Tells the agent to begin at a time of the coordinator's clock, and follows it to the end. Returns the agent's
    /// part, and the reason if it stopped early.
    pub async fn follow(
        &mut self,
        begin_us: u64,
        ahead_us: i64,
        following: &Following,
    ) -> (Part, Option<Halt>) {
        let mut slices = Vec::new();
        let mut outstanding = 0;
        let ended = self
            .until_end(begin_us, ahead_us, following, &mut slices, &mut outstanding)
            .await;
        let own = &following.outstanding[following.at];
        own.store(0, Ordering::Relaxed);
        match ended {
            Ok(mut stretch) => {
                stretch.started_ms = ours(stretch.started_ms, ahead_us);
                let seconds = slices.into_iter();
                let seconds = seconds.map(|slice| (slice.second, slice.latencies));
                let part = Part {
                    stretch,
                    seconds: seconds.collect(),
                    lost: false,
                };
                (part, None)
            }
            Err(halt) => {
                following.site.with_books(|books| books.lost(outstanding));
                following.around.live.add(0, outstanding);
                let part = Part::of_lost(slices, outstanding, &self.address.address, LOST);
                (part, Some(halt))
            }
        }
    }

    async fn until_end(
        &mut self,
        begin_us: u64,
        ahead_us: i64,
        following: &Following,
        slices: &mut Vec<Slice>,
        outstanding: &mut u64,
    ) -> Result<Stretch, Halt> {
        let at_us = begin_us
            .checked_add_signed(ahead_us)
            .expect("the beginning is later than the comparison of the clocks");
        self.channel.send(&Ask::Begin { at_us }).await?;
        let around = &following.around;
        let mut told_to_stop = false;
        let mut heard = tokio::time::Instant::now();
        let mut signed = heard;
        loop {
            let told = tokio::select! {
                told = self.channel.receive() => Some(told?),
                () = tokio::time::sleep(LOOK_EVERY) => None,
            };
            let now = tokio::time::Instant::now();
            if around.stop.is_asked() && !told_to_stop {
                told_to_stop = true;
                self.channel.send(&Ask::Stop).await?;
            }
            if now.duration_since(signed) >= ALIVE_EVERY {
                signed = now;
                self.alive().await?;
            }
            match told {
                None if now.duration_since(heard) > SILENCE_MAX + lead(begin_us, following) => {
                    return Err(Halt::Gone);
                }
                None => continue,
                Some(Tell::Report(progress)) => {
                    *outstanding = progress.outstanding;
                    take(*progress, ahead_us, following, slices);
                }
                Some(Tell::Ended { stretch, rest }) => {
                    take(*rest, ahead_us, following, slices);
                    return Ok(*stretch);
                }
                Some(Tell::Failed { code, message }) => {
                    return Err(Halt::Failed(Failed::new(code, message)));
                }
                Some(_) => return Err(Halt::Gone),
            }
            heard = now;
        }
    }
}

/// Returns the time until the beginning; zero after it. An agent sends nothing before it.
fn lead(begin_us: u64, following: &Following) -> Duration {
    Duration::from_micros(begin_us).saturating_sub(following.clock.now())
}

/// Takes in a report.
fn take(progress: Progress, ahead_us: i64, following: &Following, slices: &mut Vec<Slice>) {
    let Following { site, around, .. } = following;
    site.with_books(|books| books.join(progress.books, |at_ms| ours(at_ms, ahead_us)));
    for mut slice in progress.slices {
        slice.second.at_ms = ours(slice.second.at_ms, ahead_us);
        let second = &slice.second;
        around.live.add(second.done, second.failed);
        around.live.second(second.p50_ms, second.p99_ms);
        slices.push(slice);
    }
    if let Some(sink) = &around.samples {
        send_rows(sink, progress.rows);
    }
    let all = &following.outstanding;
    all[following.at].store(progress.outstanding, Ordering::Relaxed);
    let sum = all.iter().map(|one| one.load(Ordering::Relaxed)).sum();
    around.live.outstanding(sum);
}

fn send_rows(sink: &crate::load::engine::SampleSink, rows: Vec<SampleRow>) {
    for batch in rows.chunks(crate::load::engine::BATCH_ROWS) {
        sink.send(batch.to_vec());
    }
}

/// Converts a time of the agent's clock to the coordinator's clock, in milliseconds. A load begins after the start of the
/// coordinator's clock, so an earlier time is an agent's mistake and becomes that start.
fn ours(at_ms: u64, ahead_us: i64) -> u64 {
    at_ms.saturating_add_signed(-(ahead_us / 1000))
}
