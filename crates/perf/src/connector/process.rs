//! A connector as the laboratory sees it: its process, its requests and their answers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::fs::File;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::codes::{BAD_LINE, ENDED, NOT_STARTED};
use super::message::{Answer, Audited, Hello, NAME_CHARS_MAX, PROTOCOL, Request, Task, is_plain};
use crate::load::Fault;
use crate::results::AuditResult;
use crate::topology::tail;

/// Maximum bytes of a line.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Time limit for the first line. A system that starts more slowly is started at the first preparation.
const HELLO_MAX: Duration = Duration::from_secs(60);
/// Time limit for an audit, and for a preparation.
const AUDIT_MAX: Duration = Duration::from_secs(1_800);
const PREPARE_MAX: Duration = Duration::from_secs(7_200);
/// Time in which a connector ends after its standard input was closed. Then it is killed.
const END_MAX: Duration = Duration::from_secs(30);
/// Pause before a unit fails because the connector has ended, so that a load does not fail without a pause.
const ENDED_PAUSE: Duration = Duration::from_millis(100);
/// Lines that are written at once.
const WRITE_MAX: usize = 256;
/// Metrics that are kept.
const METRICS_MAX: usize = 64;
/// Findings of an audit that are shown.
const FINDINGS_MAX: usize = 20;
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

/// The requests without an answer; the reason once there will be no more answers.
#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    asked: HashMap<u64, oneshot::Sender<Result<Value, Fault>>>,
    over: Option<Fault>,
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
                drop(input);
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
        self.shared.lock().over.clone()
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
            code: ENDED.to_owned(),
            message: format!("no answer within {} s", limit.as_secs()),
        };
        timeout(limit, self.ask(task)).await.map_err(|_| late())?
    }

    async fn ask(&self, task: Task) -> Result<Value, Fault> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut line =
            serde_json::to_string(&Request { id, task }).expect("a request has text keys");
        line.push('\n');
        let (answer, answered) = oneshot::channel();
        {
            let mut waiting = self.shared.lock();
            if let Some(fault) = &waiting.over {
                return Err(fault.clone());
            }
            waiting.asked.insert(id, answer);
        }
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

/// Waits until a connector whose standard input is closed has ended. If it does not end in time, it is killed with the processes that it has
/// started.
///
/// If the returned future is dropped, as by a second Ctrl-C, the connector is killed at once in the same way.
async fn finish(child: &mut Child) {
    let ending = Ending(child);
    if timeout(END_MAX, ending.0.wait()).await.is_err() {
        kill_group(ending.0);
        // It may have ended just now.
        let _ = ending.0.kill().await;
    }
}

/// A connector that is ending. Dropping this kills its process group, unless it has been waited for.
struct Ending<'a>(&'a mut Child);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        kill_group(self.0);
    }
}

/// Kills the process group of a connector that has not been waited for, so the number cannot belong to others.
fn kill_group(child: &Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(group) = id.and_then(rustix::process::Pid::from_raw) {
        // All its processes may have ended just now.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// Passes an answer on. Fails if no request has its number.
    fn answered(&self, answer: Answer) -> Result<(), String> {
        let result = match (answer.ok, answer.error) {
            (Some(value), None) => Ok(value),
            (None, Some(error)) if error.is_valid() => Err(Fault {
                code: error.code,
                message: error.message,
            }),
            (None, Some(error)) => return Err(format!("the code {:?} is not plain", error.code)),
            _ => return Err(format!("answer {} has to have `ok` or `error`", answer.id)),
        };
        let asked = self.lock().asked.remove(&answer.id);
        let asked = asked.ok_or_else(|| format!("no request has the id {}", answer.id))?;
        // A caller that has stopped waiting needs no answer.
        let _ = asked.send(result);
        Ok(())
    }

    /// Ends all requests: there will be no more answers.
    fn end(&self, fault: Fault) {
        let mut waiting = self.lock();
        for (_, asked) in waiting.asked.drain() {
            let _ = asked.send(Err(fault.clone()));
        }
        waiting.over = Some(fault);
    }
}

/// Reads a line; `None` at the end.
async fn line(from: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    let mut bounded = AsyncReadExt::take(from, LINE_BYTES_MAX);
    let read = AsyncBufReadExt::read_until(&mut bounded, b'\n', &mut bytes).await;
    read.map_err(|error| error.to_string())?;
    match bytes.last() {
        None => Ok(None),
        Some(b'\n') => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| "a line is not UTF-8".to_owned()),
        Some(_) if bytes.len() as u64 == LINE_BYTES_MAX => {
            Err(format!("a line has more than {LINE_BYTES_MAX} bytes"))
        }
        Some(_) => Err("its last line is cut off".to_owned()),
    }
}

async fn hello(from: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Hello, String> {
    let line = line(from).await?.ok_or("it ended before its hello")?;
    let hello: Hello =
        serde_json::from_str(&line).map_err(|error| format!("its first line: {error}"))?;
    if hello.protocol != PROTOCOL {
        let other = hello.protocol;
        return Err(format!("it speaks version {other}; this is {PROTOCOL}"));
    }
    hello.check()?;
    Ok(hello)
}

/// Passes answers on until the connector ends or breaks the protocol.
async fn read(
    mut from: BufReader<impl AsyncRead + Unpin>,
    shared: Arc<Shared>,
    log: std::path::PathBuf,
) {
    let fault = loop {
        let answered = match line(&mut from).await {
            Ok(None) => {
                break Fault {
                    code: ENDED.to_owned(),
                    message: format!("the connector has ended\n{}", tail(&log)),
                };
            }
            Ok(Some(line)) => serde_json::from_str::<Answer>(&line)
                .map_err(|error| error.to_string())
                .and_then(|answer| shared.answered(answer)),
            Err(message) => Err(message),
        };
        if let Err(message) = answered {
            break Fault {
                code: BAD_LINE.to_owned(),
                message,
            };
        }
    };
    shared.end(fault);
}

/// Writes lines until there are no more, then closes the standard input.
async fn write(mut input: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>) {
    let mut taken = Vec::new();
    while lines.recv_many(&mut taken, WRITE_MAX).await > 0 {
        // A connector that reads no more has ended, and the reader says so.
        if input.write_all(taken.concat().as_bytes()).await.is_err() {
            return;
        }
        taken.clear();
    }
}

fn read_result<T: DeserializeOwned>(value: Value) -> Result<T, Fault> {
    serde_json::from_value(value).map_err(|error| Fault {
        code: BAD_LINE.to_owned(),
        message: error.to_string(),
    })
}

/// Judges the result of a connector's audit. Every acknowledged unit has to be there, and no unit that was not started.
fn judge(audited: &Audited, acknowledged: u64, in_doubt: u64) -> AuditResult {
    let recorded = audited.recorded;
    // Clipped: a load never starts so many units.
    let most = acknowledged.saturating_add(in_doubt);
    let mut findings = Vec::new();
    if recorded < acknowledged {
        findings.push(format!(
            "{acknowledged} units were acknowledged, but only {recorded} are there"
        ));
    }
    if recorded > most {
        findings.push(format!(
            "{recorded} units are there, but only {most} were started"
        ));
    }
    findings.extend(audited.findings.iter().take(FINDINGS_MAX).cloned());
    let clean = findings.is_empty();
    let words = match clean {
        true => format!(
            "{recorded} units are there, of {acknowledged} acknowledged and {in_doubt} in doubt"
        ),
        false => findings.join("; "),
    };
    AuditResult {
        clean,
        words,
        transactions: recorded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a connector that is a shell script.
    async fn script(text: &str) -> Result<Connector, Fault> {
        Connector::start(&["sh".to_owned(), "-c".to_owned(), text.to_owned()]).await
    }

    const HELLO: &str = r#"echo '{"protocol":1,"name":"a script"}'"#;

    #[tokio::test]
    async fn requests_are_answered_in_any_order() {
        // Answers the second request first.
        let text = format!(
            r#"{HELLO}; read a; read b; echo '{{"id":2,"ok":{{}}}}'; echo '{{"id":1,"error":{{"code":"x.full","message":"no room"}}}}'; read c; echo '{{"id":3,"ok":{{"recorded":1}}}}'; cat >/dev/null"#
        );
        let connector = script(&text).await.expect("it starts");
        assert_eq!(connector.hello().name, "a script");
        let (one, two) = tokio::join!(connector.run_unit(1), connector.run_unit(2));
        assert_eq!(one.expect_err("it failed").code, "x.full");
        assert_eq!(two, Ok(()));
        let audit = connector.audit().await;
        assert!(audit.clean, "{}", audit.words);
        assert_eq!(audit.transactions, 1);
        connector.end().await;
    }

    #[tokio::test]
    async fn a_connector_that_breaks_the_rules_fails_what_was_asked() {
        for (script_text, code, words) in [
            (
                format!("{HELLO}; read a; echo nonsense; cat"),
                BAD_LINE,
                "expected",
            ),
            (
                format!("{HELLO}; read a; echo '{{\"id\":77,\"ok\":{{}}}}'; cat"),
                BAD_LINE,
                "no request has",
            ),
            (
                format!("{HELLO}; read a; echo '{{\"id\":1}}'; cat"),
                BAD_LINE,
                "`ok` or `error`",
            ),
            (
                format!(
                    "{HELLO}; read a; echo '{{\"id\":1,\"error\":{{\"code\":\"A B\",\"message\":\"\"}}}}'; cat"
                ),
                BAD_LINE,
                "not plain",
            ),
            (
                format!("{HELLO}; read a; head -c 2000000 /dev/zero | tr '\\0' x; cat"),
                BAD_LINE,
                "more than",
            ),
            (
                format!("{HELLO}; read a; echo broken >&2; exit 3"),
                ENDED,
                "broken",
            ),
            (format!("{HELLO}; read a; printf 12"), BAD_LINE, "cut off"),
        ] {
            let connector = script(&script_text).await.expect("it starts");
            let fault = connector.run_unit(1).await.expect_err(&script_text);
            assert_eq!(fault.code, code, "{script_text}: {fault}");
            assert!(fault.message.contains(words), "{script_text}: {fault}");
            // So does everything after it.
            assert_eq!(
                connector.run_unit(2).await.expect_err("it ended").code,
                code
            );
            assert!(!connector.audit().await.clean);
        }
    }

    #[tokio::test]
    async fn an_end_that_is_cut_short_kills_the_group() {
        // It ignores the end of its input, and so does its child.
        let text = r#"sleep 600 & child=$!; echo "{\"protocol\":1,\"name\":\"a script\",\"processes\":[{\"name\":\"db\",\"pid\":$child}]}"; wait"#;
        let connector = script(text).await.expect("it starts");
        let child = connector.hello().processes[0].pid;
        let stat = format!("/proc/{child}/stat");
        let is_running = || {
            let text = std::fs::read_to_string(&stat).unwrap_or_default();
            // The state follows the name, which is in parentheses. A zombie has ended.
            !text.is_empty() && !text.contains(") Z")
        };
        assert!(is_running());
        let cut_short = timeout(Duration::from_millis(50), connector.end()).await;
        assert!(cut_short.is_err(), "it does not end by itself");
        for _ in 0..200 {
            if !is_running() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("process {child} still runs");
    }

    #[tokio::test]
    async fn a_program_that_is_no_connector_is_refused() {
        for (command, words) in [
            (&["/no/such/program"][..], "/no/such/program"),
            (&[], "no program"),
            (&["sh", "-c", "echo why >&2; exit 1"], "why"),
            (&["echo", "hello"], "first line"),
            (&["echo", r#"{"protocol":2,"name":"later"}"#], "version 2"),
            (
                &[
                    "echo",
                    r#"{"protocol":1,"name":"x","processes":[{"name":"agent-db","pid":1}]}"#,
                ],
                "agent-db",
            ),
        ] {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            let fault = Connector::start(&command).await.expect_err("no connector");
            assert_eq!(fault.code, NOT_STARTED);
            assert!(fault.message.contains(words), "{command:?}: {fault}");
        }
    }

    #[test]
    fn an_audit_compares_what_is_there_with_what_was_acknowledged() {
        for (recorded, findings, acknowledged, in_doubt, clean) in [
            (5, &[][..], 5, 0, true),
            (6, &[], 5, 1, true),
            (4, &[], 5, 1, false),
            (7, &[], 5, 1, false),
            (5, &["a balance is wrong"], 5, 0, false),
        ] {
            let audited = Audited {
                recorded,
                findings: findings.iter().map(|one| (*one).to_owned()).collect(),
            };
            let found = judge(&audited, acknowledged, in_doubt);
            assert_eq!(
                found.clean, clean,
                "{recorded} {acknowledged} {in_doubt}: {}",
                found.words
            );
        }
    }
}
