//! The monitoring thread.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{Client, Endpoint, Limits};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, timeout};

use super::looks::Looks;
use super::scrape::{Counters, Scrape, read};
use crate::connector::Connector;
use crate::measure::{Look, ProcessKey, own_cpu_ns, whole_millis};
use crate::results::{MetricSeries, MissingReadings, Process, ProcessSample};
use crate::topology::host::{Host, Looking, Seen, Wanted, this_machine};

/// Metrics that are always kept, for charts and for the distance to the machine's limits.
pub const METRICS: [&str; 10] = [
    "tally_flows_in_flight",
    "tally_flows_queued",
    "tally_transactions_recorded_total",
    "tally_signature_batch_checks_sum",
    "tally_signatures_made_total",
    "tally_hashed_bytes_total",
    "tally_commit_seconds_count",
    "tally_commit_seconds_sum",
    "tally_deliveries_pending",
    "tally_outbox_pending",
];
/// The minimum interval between two rounds.
const EVERY_MIN: Duration = Duration::from_millis(20);
/// A node that does not answer within this time leaves a gap.
const PATIENCE: Duration = Duration::from_secs(1);
/// The minimum interval between two sums of a folder's size: there may be many files.
const DISK_EVERY: Duration = Duration::from_secs(5);
/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// A subject to monitor. Fields that are `None` are not monitored.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its name in results: `notary`, `bank-1`.
    pub name: String,
    /// The machine of its process and its folders; this one by default.
    pub host: Arc<dyn Host>,
    /// A process of the host.
    pub pid: Option<u32>,
    /// Whether the processes that it has started are parts of it.
    pub with_children: bool,
    /// Its folder. The size is read every few seconds.
    pub folder: Option<PathBuf>,
    /// The folder within it that holds a log of bounded size.
    pub log: Option<PathBuf>,
    /// The API of a node. Without a process, its processor time and memory also come from its metrics.
    pub endpoint: Option<Endpoint>,
    /// The connector of another system, which reports its metrics.
    pub connector: Option<Arc<Connector>>,
}

impl Default for Subject {
    fn default() -> Self {
        Self {
            name: String::new(),
            host: this_machine(),
            pid: None,
            with_children: false,
            folder: None,
            log: None,
            endpoint: None,
            connector: None,
        }
    }
}

/// Settings of the monitor.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time between two rounds.
    pub every: Duration,
    /// Metrics to keep in addition to [`METRICS`], by their Prometheus names; with labels, one series of several.
    pub metrics: Vec<String>,
    /// The origin of the time axis.
    pub epoch: Instant,
}

/// The result of monitoring.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// Processes over time. The counters of a node that did not answer stand still for that look. One that never answered has no samples.
    pub processes: Vec<Process>,
    /// Metrics over time; a node that did not answer has no value for that look.
    pub metrics: Vec<MetricSeries>,
    /// Processor time that monitoring took.
    pub cost: Duration,
}

/// A running monitor. Dropping it ends it.
#[derive(Debug)]
pub struct Monitor {
    stop: oneshot::Sender<()>,
    seen: oneshot::Receiver<Watched>,
}

impl Monitor {
    /// Starts to monitor `subjects` and this program itself, named `generator`. Returns after a first round, or after a
    /// second if some do not answer.
    pub async fn start(subjects: Vec<Subject>, options: Options) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (ready, first) = oneshot::channel();
        let (give, seen) = oneshot::channel();
        let spawned = std::thread::Builder::new()
            .name("monitor".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                if let Ok(runtime) = runtime {
                    let watched = runtime.block_on(watch(subjects, options, ready, stopped));
                    // Ignore the error: the monitor was dropped.
                    let _ = give.send(watched);
                }
            });
        // Without a thread there is nothing to wait for, and the result will be empty.
        if spawned.is_ok() {
            let _ = first.await;
        }
        Self { stop, seen }
    }

    /// Takes a last reading and returns all samples.
    pub async fn stop(self) -> Watched {
        // Either end may be gone if the thread could not start. The result is then empty.
        let _ = self.stop.send(());
        self.seen.await.unwrap_or_default()
    }
}

/// The state of a subject between readings.
struct Watch {
    subject: Subject,
    process: Option<ProcessKey>,
    /// The last reading of the process.
    last: Option<Look>,
    client: Option<Client>,
    /// The counters of the last answer; `None` before the first answer.
    counters: Option<Counters>,
    /// The size of the folder; `None` before it was read.
    disk_bytes: Option<u64>,
    /// The part of it that is a log.
    log_bytes: Option<u64>,
}

impl Watch {
    fn of(subject: Subject) -> Self {
        let limits = Limits {
            connect_timeout: PATIENCE,
            call_timeout: PATIENCE,
            answer_bytes_max: ANSWER_BYTES_MAX,
            ..Limits::default()
        };
        // A client that cannot be created leaves a gap from the first round on.
        let endpoint = subject.endpoint.clone();
        Self {
            process: subject.pid.and_then(|pid| subject.host.process(pid)),
            last: None,
            client: endpoint.and_then(|endpoint| Client::with_limits(endpoint, limits).ok()),
            counters: None,
            disk_bytes: None,
            log_bytes: None,
            subject,
        }
    }

    /// Begins a reading, with the sizes of the folders if `folders`.
    fn look(&self, folders: bool) -> Looking {
        let of = |folder: &Option<PathBuf>| folder.clone().filter(|_| folders);
        self.subject.host.look(Wanted {
            process: self.process,
            with_children: self.subject.with_children,
            folder: of(&self.subject.folder),
            log: of(&self.subject.log),
        })
    }

    /// Takes in the sizes of a reading, and returns the rest. A folder that cannot be read keeps its last size.
    fn seen(&mut self, seen: Seen) -> Option<Look> {
        self.disk_bytes = seen.folder_bytes.or(self.disk_bytes);
        self.log_bytes = seen.log_bytes.or(self.log_bytes);
        let look = seen.process?;
        // Its key names one process alone, so its counters never begin again.
        let look = self.last.map_or(look, |last| look.not_below(&last));
        self.last = Some(look);
        self.last
    }

    /// Returns the sample of a round; `None` if there was nothing to read.
    fn sample(
        &mut self,
        at_ms: u64,
        look: Option<Look>,
        scrape: Option<&Scrape>,
    ) -> Option<ProcessSample> {
        let counters = scrape.map(|scrape| scrape.counters).or(self.counters);
        self.counters = counters;
        let of_metrics = || {
            let counters = scrape.filter(|_| self.subject.pid.is_none())?.counters;
            Some(Look {
                // 0 stands for a value that the sample lacks.
                cpu_ms: counters.cpu_ms.unwrap_or(0),
                rss_bytes: counters.rss_bytes.unwrap_or(0),
                missing: MissingReadings {
                    process: counters.cpu_ms.is_none() || counters.rss_bytes.is_none(),
                    io: true,
                    ..MissingReadings::default()
                },
                ..Look::default()
            })
        };
        let look = look.or_else(of_metrics)?;
        let is_own = self.subject.pid == Some(std::process::id()) && self.subject.host.is_here();
        let missing = MissingReadings {
            counters: !is_own && !counters.is_some_and(|counters| counters.is_counted),
            disk: self.disk_bytes.is_none(),
            ..look.missing
        };
        // A node that never answered has no counters yet, as at its start.
        let mut counters = counters.unwrap_or_default();
        if is_own {
            let own = client::traffic();
            (counters.sent_bytes, counters.received_bytes) = (own.sent_bytes, own.received_bytes);
        }
        Some(ProcessSample {
            at_ms,
            cpu_ms: look.cpu_ms,
            rss_bytes: look.rss_bytes,
            read_bytes: look.read_bytes,
            written_bytes: look.written_bytes,
            commits: counters.commits,
            sent_bytes: counters.sent_bytes,
            received_bytes: counters.received_bytes,
            to_clients_bytes: counters.to_clients_bytes,
            from_clients_bytes: counters.from_clients_bytes,
            // 0 stands for a value that the sample lacks.
            disk_bytes: self.disk_bytes.unwrap_or(0),
            log_bytes: self.log_bytes,
            cores: look.cores,
            missing,
            kernel_us: look.kernel_us,
            // Only of this round: an earlier value would count the jobs since then as decisions.
            kernel_jobs_us: scrape.and_then(|scrape| scrape.counters.kernel_jobs_us),
        })
    }
}

async fn watch(
    mut subjects: Vec<Subject>,
    options: Options,
    ready: oneshot::Sender<()>,
    mut stopped: oneshot::Receiver<()>,
) -> Watched {
    let cost_before = own_cpu_ns();
    subjects.push(Subject {
        name: "generator".to_owned(),
        pid: Some(std::process::id()),
        ..Subject::default()
    });
    let wanted: HashSet<String> = METRICS
        .into_iter()
        .map(str::to_owned)
        .chain(options.metrics)
        .collect();
    let mut looks = Looks::of(subjects.iter().map(|subject| {
        let is_expected = subject.pid.is_some() || subject.endpoint.is_some();
        (subject.name.clone(), is_expected)
    }));
    let mut watches: Vec<Watch> = subjects.into_iter().map(Watch::of).collect();
    let mut ready = Some(ready);
    let mut every = options.every.max(EVERY_MIN);
    let mut folders_next = Instant::now();
    let mut ticks = ticks(every);
    loop {
        let last = tokio::select! {
            biased;
            _ = &mut stopped => true,
            _ = ticks.tick() => false,
        };
        let folders = last || Instant::now() >= folders_next;
        if folders {
            folders_next = Instant::now() + DISK_EVERY;
        }
        let at_ms = whole_millis(options.epoch.elapsed());
        if looks.round(at_ms) {
            every *= 2;
            ticks = self::ticks(every);
            // The first tick of these is at once, and this is its round.
            ticks.reset();
        }
        round(&mut watches, &mut looks, at_ms, &wanted, folders).await;
        if let Some(ready) = ready.take() {
            // Ignore the error: the waiting caller may have given up.
            let _ = ready.send(());
        }
        if last {
            break;
        }
    }
    let (processes, metrics) = looks.into_results();
    Watched {
        processes,
        metrics,
        // Both are 0 if the system does not report them.
        cost: Duration::from_nanos(own_cpu_ns().saturating_sub(cost_before)),
    }
}

/// Takes a reading of every process. Those of other machines are on their way at the same time; one that is late is a gap.
async fn look_at_all(watches: &mut [Watch], folders: bool) -> Vec<Option<Look>> {
    let begun: Vec<Looking> = watches.iter().map(|watch| watch.look(folders)).collect();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut all = Vec::with_capacity(begun.len());
    for (watch, looking) in watches.iter_mut().zip(begun) {
        let seen = tokio::time::timeout_at(deadline, looking).await;
        all.push(watch.seen(seen.unwrap_or_default()));
    }
    all
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Reads everything once: first the processes, then the nodes concurrently. The sizes of folders only if `folders`.
async fn round(
    watches: &mut [Watch],
    looks: &mut Looks,
    at_ms: u64,
    wanted: &HashSet<String>,
    folders: bool,
) {
    let seen = look_at_all(watches, folders).await;
    let mut asked = JoinSet::new();
    for (position, watch) in watches.iter().enumerate() {
        // A process that has ended does not answer.
        let ended = watch.subject.pid.is_some() && seen[position].is_none();
        if let Some(client) = watch.client.clone().filter(|_| !ended) {
            asked.spawn(async move {
                let answer = timeout(PATIENCE, client.metrics()).await;
                (position, answer.ok().and_then(Result::ok))
            });
        }
    }
    let mut reports = JoinSet::new();
    for watch in watches.iter() {
        if let Some(connector) = watch.subject.connector.clone() {
            let name = watch.subject.name.clone();
            reports.spawn(async move {
                let answer = timeout(PATIENCE, connector.metrics()).await;
                (name, answer.ok().and_then(Result::ok).unwrap_or_default())
            });
        }
    }
    let mut scrapes: Vec<Option<Scrape>> = vec![None; watches.len()];
    while let Some(answer) = asked.join_next().await {
        if let Ok((position, Some(text))) = answer {
            scrapes[position] = Some(read(&text, wanted));
        }
    }
    while let Some(report) = reports.join_next().await {
        let (name, values) = report.unwrap_or_default();
        for (metric, value) in values {
            looks.metric(&name, metric, at_ms, value);
        }
    }
    for (position, ((watch, look), scrape)) in watches.iter_mut().zip(seen).zip(scrapes).enumerate()
    {
        if let (None, Some(scrape)) = (watch.counters, &scrape) {
            looks.counted_from(position, scrape.counters);
        }
        if let Some(sample) = watch.sample(at_ms, look, scrape.as_ref()) {
            looks.process(position, sample);
        }
        for (name, value) in scrape.into_iter().flat_map(|scrape| scrape.series) {
            looks.metric(&watch.subject.name, name, at_ms, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[tokio::test]
    async fn what_dies_or_does_not_answer_leaves_a_gap() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("file"), vec![1; 5000]).expect("written");
        let file = std::fs::File::open(folder.path().join("file")).expect("it is there");
        // Blocks are given when the file is synced.
        file.sync_all().expect("synced");
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .spawn()
            .expect("cat is there");
        let nobody = Endpoint {
            address: "127.0.0.1:1".to_owned(),
            server_name: "localhost".to_owned(),
            root_pem: "no certificate".to_owned(),
            token: "x".into(),
        };
        let subjects = vec![
            Subject {
                name: "bank-1".to_owned(),
                pid: Some(child.id()),
                folder: Some(folder.path().to_owned()),
                endpoint: Some(nobody),
                ..Subject::default()
            },
            Subject {
                name: "nobody".to_owned(),
                ..Subject::default()
            },
        ];
        let options = Options {
            every: Duration::ZERO,
            metrics: Vec::new(),
            epoch: Instant::now(),
        };
        let monitor = Monitor::start(subjects, options).await;
        child.kill().expect("it runs");
        child.wait().expect("it ended");
        let watched = monitor.stop().await;
        let names: Vec<&str> = watched
            .processes
            .iter()
            .map(|process| process.name.as_str())
            .collect();
        assert_eq!(names, ["bank-1", "generator"]);
        let [bank, generator] = &watched.processes[..] else {
            panic!("two processes were seen");
        };
        assert_eq!(bank.samples[0].disk_bytes, 5000);
        let lacks = |process: &Process| {
            let missing = process.samples[0].missing;
            [missing.process, missing.io, missing.counters, missing.disk]
        };
        for (process, expected) in [
            // Its API does not answer.
            (bank, [false, false, true, false]),
            // It has no folder.
            (generator, [false, false, false, true]),
        ] {
            assert_eq!(lacks(process), expected, "{}", process.name);
        }
        assert!(
            generator.samples.len() > bank.samples.len(),
            "the last look did not see the bank"
        );
        assert!(generator.samples.iter().all(|sample| sample.rss_bytes > 0));
        assert!(watched.metrics.is_empty());
    }

    #[test]
    fn a_node_elsewhere_lacks_what_only_its_machine_knows() {
        let counters = |cpu_ms| Counters {
            is_counted: true,
            cpu_ms,
            rss_bytes: Some(5),
            ..Counters::default()
        };
        for (cpu_ms, expected) in [
            (Some(7), [false, true, false, true]),
            (None, [true, true, false, true]),
        ] {
            let mut watch = Watch::of(Subject::default());
            let scrape = Scrape {
                counters: counters(cpu_ms),
                ..Scrape::default()
            };
            let sample = watch.sample(0, None, Some(&scrape)).expect("it answered");
            let missing = sample.missing;
            let found = [missing.process, missing.io, missing.counters, missing.disk];
            assert_eq!(found, expected, "{cpu_ms:?}");
        }
        let mut silent = Watch::of(Subject::default());
        assert_eq!(silent.sample(0, None, None), None);
    }

    #[test]
    fn counters_of_one_process_never_fall() {
        let mut watch = Watch::of(Subject::default());
        let mut samples = Vec::new();
        for (at_ms, count) in [(0, 100_000), (1, 99_000), (2, 101_000)] {
            let process = Some(Look {
                cpu_ms: count,
                read_bytes: count,
                written_bytes: count,
                ..Look::default()
            });
            let look = watch.seen(Seen {
                process,
                ..Seen::default()
            });
            samples.extend(watch.sample(at_ms, look, None));
        }
        let counters: [fn(&ProcessSample) -> u64; 3] = [
            |sample| sample.cpu_ms,
            |sample| sample.read_bytes,
            |sample| sample.written_bytes,
        ];
        for counter in counters {
            assert_eq!(crate::stats::growth(&samples, counter), 1_000);
        }
        assert_eq!(watch.seen(Seen::default()), None, "it has ended");
    }

    #[tokio::test]
    async fn a_dropped_monitor_ends() {
        let options = Options {
            every: Duration::from_secs(3600),
            metrics: Vec::new(),
            epoch: Instant::now(),
        };
        let monitor = Monitor::start(Vec::new(), options).await;
        let Monitor { stop, seen } = monitor;
        drop(stop);
        assert!(seen.await.is_ok(), "its thread came to an end by itself");
    }
}
