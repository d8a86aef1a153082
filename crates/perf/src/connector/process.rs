//! A connector as the laboratory sees it: its process, its requests and their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::BufReader;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::codes::{BAD_LINE, ENDED, NOT_STARTED, SILENT};
use super::ending::{finish, kill_group};
use super::message::{Audited, Hello, NAME_CHARS_MAX, Request, Task, is_plain};
use super::requests::{Shared, UNANSWERED_MAX, hello, lock, read, write};
use super::verdict::judge;
use crate::load::Fault;
use crate::results::AuditResult;
use crate::topology::tail;

/// Time limit for the first line. A system that starts more slowly is started at the first preparation.
const HELLO_MAX: Duration = Duration::from_secs(60);
/// Time limit for an audit, and for a preparation.
const AUDIT_MAX: Duration = Duration::from_secs(1_800);
const PREPARE_MAX: Duration = Duration::from_secs(7_200);
/// Pause before a unit fails because the connector has ended, so that a load does not fail without a pause.
const ENDED_PAUSE: Duration = Duration::from_millis(100);
/// Metrics that are kept.
const METRICS_MAX: usize = 64;
/// Its standard error, in its folder.
const LOG: &str = "connector.log";

/// A connector that runs.
pub struct Connector {
    hello: Hello,
    /// Where lines are sent, until it is ended.
    lines: Mutex<Option<mpsc::UnboundedSender<String>>>,
    /// Names of the metrics that are kept.
    reported: Mutex<BTreeSet<String>>,
    shared: Arc<Shared>,
    next: AtomicU64,
    acknowledged: AtomicU64,
    in_doubt: AtomicU64,
    child: Mutex<Option<Child>>,
    // Holds the log. It goes after the process.
    _folder: TempDir,
}

impl fmt::Debug for Connector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Connector")
            .field("hello", &self.hello)
            .finish_non_exhaustive()
    }
}

impl Connector {
    /// Starts a program with its arguments, and waits for its hello.
    ///
    /// # Errors
    /// The program is missing, ends, or says something else.
    pub async fn start(command: &[String]) -> Result<Self, Fault> {
        let not_started = |message: String| Fault {
            code: NOT_STARTED.to_owned(),
            message,
        };
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| not_started("no program is named".to_owned()))?;
        let folder = tempfile::Builder::new()
            .prefix("tally-connector-")
            .tempdir();
        let folder = folder.map_err(|error| not_started(error.to_string()))?;
        let log = File::create(folder.path().join(LOG));
        let log = log.map_err(|error| not_started(error.to_string()))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // Ctrl-C is meant for the laboratory, which ends its connectors in order.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| not_started(format!("{program}: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(not_started(format!("{program}: it has no pipes")));
        };
        let mut output = BufReader::new(output);
        let shared = Arc::new(Shared::default());
        let said = timeout(HELLO_MAX, hello(&mut output)).await;
        let said =
            said.unwrap_or_else(|_| Err(format!("no hello within {} s", HELLO_MAX.as_secs())));
        let hello = match said {
            Ok(hello) => hello,
            Err(message) => {
                // With closed pipes it ends, even if it writes without an end.
                drop((input, output));
                finish(&mut child).await;
                let log = tail(&folder.path().join(LOG));
                return Err(not_started(format!("{program}: {message}\n{log}")));
            }
        };
        let (lines, queued) = mpsc::unbounded_channel();
        tokio::spawn(write(input, queued));
        tokio::spawn(read(output, Arc::clone(&shared), folder.path().join(LOG)));
        Ok(Self {
            hello,
            lines: Mutex::new(Some(lines)),
            reported: Mutex::default(),
            shared,
            next: AtomicU64::new(1),
            acknowledged: AtomicU64::new(0),
            in_doubt: AtomicU64::new(0),
            child: Mutex::new(Some(child)),
            _folder: folder,
        })
    }

    /// Returns its hello.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Returns its process id, if it still runs.
    pub fn pid(&self) -> Option<u32> {
        lock(&self.child).as_ref()?.id()
    }

    /// Returns why it has ended, if it has.
    pub fn ended(&self) -> Option<Fault> {
        self.shared.over()
    }

    /// Prepares the system for a work and resets the counts.
    ///
    /// # Errors
    /// It could not, or it has ended.
    pub async fn prepare(
        &self,
        work: BTreeMap<String, Value>,
        seed: u64,
        units_expected: u64,
    ) -> Result<(), Fault> {
        let task = Task::Prepare {
            work,
            seed,
            units_expected,
        };
        self.ask_within(task, PREPARE_MAX).await?;
        self.acknowledged.store(0, Ordering::Relaxed);
        self.in_doubt.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Runs a unit to its end. A unit whose future is dropped counts as in doubt.
    ///
    /// # Errors
    /// It failed, or the connector has ended.
    pub async fn run_unit(&self, unit: u64) -> Result<(), Fault> {
        let mut doubt = Doubt(Some(&self.in_doubt));
        let ran = self.ask(Task::Start { unit }).await;
        if ran.is_ok() {
            doubt.0 = None;
            self.acknowledged.fetch_add(1, Ordering::Relaxed);
        } else if self.ended().is_some() {
            tokio::time::sleep(ENDED_PAUSE).await;
        }
        ran.map(drop)
    }

    /// Audits all units since the preparation, and compares their number with the acknowledgements.
    pub async fn audit(&self) -> AuditResult {
        let acknowledged = self.acknowledged.load(Ordering::Relaxed);
        let in_doubt = self.in_doubt.load(Ordering::Relaxed);
        let task = Task::Audit {
            acknowledged,
            in_doubt,
        };
        let answer = self.ask_within(task, AUDIT_MAX).await;
        match answer.and_then(read_result::<Audited>) {
            Ok(audited) => judge(&audited, acknowledged, in_doubt),
            Err(fault) => AuditResult {
                clean: false,
                words: fault.to_string(),
                transactions: 0,
            },
        }
    }

    /// Returns the present values of the system's own metrics: of the first 64 plain names that it reported.
    ///
    /// # Errors
    /// It could not read them, or it has ended.
    pub async fn metrics(&self) -> Result<BTreeMap<String, f64>, Fault> {
        let mut values: BTreeMap<String, f64> = read_result(self.ask(Task::Metrics).await?)?;
        let mut reported = lock(&self.reported);
        values.retain(|name, _| {
            let is_new = !reported.contains(name);
            if is_new && reported.len() < METRICS_MAX && is_plain(name, NAME_CHARS_MAX) {
                reported.insert(name.clone());
            }
            reported.contains(name)
        });
        Ok(values)
    }

    /// Closes its standard input, and waits until it has ended. If it does not end in time, it is killed with the processes that it has started.
    pub async fn end(&self) {
        // The writer closes the standard input when there are no more lines.
        drop(lock(&self.lines).take());
        let child = lock(&self.child).take();
        if let Some(mut child) = child {
            finish(&mut child).await;
        }
    }

    async fn ask_within(&self, task: Task, limit: Duration) -> Result<Value, Fault> {
        let late = || Fault {
            code: SILENT.to_owned(),
            message: format!("no answer within {limit:?}"),
        };
        timeout(limit, self.ask(task)).await.map_err(|_| late())?
    }

    async fn ask(&self, task: Task) -> Result<Value, Fault> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut line =
            serde_json::to_string(&Request { id, task }).expect("a request has text keys");
        line.push('\n');
        let answered = self.shared.ask(id, UNANSWERED_MAX)?;
        // If the writer has ended, so has the connector, and the reader says so.
        if let Some(lines) = &*lock(&self.lines) {
            let _ = lines.send(line);
        }
        let lost = || Fault {
            code: ENDED.to_owned(),
            message: "the connector was stopped".to_owned(),
        };
        answered.await.unwrap_or_else(|_| Err(lost()))
    }
}

impl Drop for Connector {
    fn drop(&mut self) {
        if let Some(child) = &*lock(&self.child) {
            kill_group(child);
        }
    }
}

/// A unit without a good answer, which counts as in doubt when this is dropped.
struct Doubt<'a>(Option<&'a AtomicU64>);

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if let Some(in_doubt) = self.0 {
            in_doubt.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn read_result<T: DeserializeOwned>(value: Value) -> Result<T, Fault> {
    serde_json::from_value(value).map_err(|error| Fault {
        code: BAD_LINE.to_owned(),
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests;
