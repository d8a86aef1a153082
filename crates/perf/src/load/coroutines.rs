//! Flows started from Python coroutines over a node's HTTP API. They run in a separate process that uses the same package
//! as applications. Its delay is part of the latencies. Its processor time is its own and does not count as the
//! generator's, which is that of the laboratory's process.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::StartFlow;
use client::Endpoint;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::oneshot;

use super::fault::Fault;

/// The code of a process that did not start, or ended.
pub const NO_PYTHON: &str = "lab.no_python";

/// The program that runs in it.
const PROGRAM: &str = include_str!("coroutines.py");
/// The variable that names the interpreter, instead of the first `python3` of the path.
const INTERPRETER: &str = "TALLY_PYTHON";
/// Time limit for importing the package and reaching the node.
const READY_PATIENCE: Duration = Duration::from_secs(30);
/// Upper limit on the error output read after a failed start.
const WORDS_BYTES_MAX: u64 = 4_000;

/// A process that runs flows in Python coroutines. Dropping it ends the process.
pub struct Coroutines {
    stdin: tokio::sync::Mutex<ChildStdin>,
    waiting: Arc<Waiters>,
    next: AtomicU64,
    /// Killed when it is dropped.
    _process: Child,
}

/// The waiters by number; `None` once no more answers will come.
#[derive(Default)]
struct Waiters(Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>);

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Answer>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line of the process.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    n: u64,
    transactions: Vec<String>,
    code: Option<String>,
    message: String,
    begun: bool,
    retry_after_s: Option<f64>,
}

/// A flow that did not complete.
#[derive(Clone, Debug, PartialEq)]
pub struct NotRun {
    /// A stable code and a message.
    pub fault: Fault,
    /// Whether it may have begun.
    pub begun: bool,
    /// The time of the retry that a busy node asks for.
    pub retry_after: Option<Duration>,
}

impl NotRun {
    fn of(message: impl Into<String>, begun: bool) -> Self {
        let fault = Fault {
            code: NO_PYTHON.to_owned(),
            message: message.into(),
        };
        Self {
            fault,
            begun,
            retry_after: None,
        }
    }
}

impl Coroutines {
    /// Starts the process and waits until it has reached the node. It keeps at most `connections` connections.
    pub async fn start(endpoint: &Endpoint, connections: u32) -> Result<Self, NotRun> {
        let interpreter = std::env::var_os(INTERPRETER).unwrap_or_else(|| "python3".into());
        let words = interpreter.to_string_lossy().into_owned();
        let mut command = Command::new(interpreter);
        command.args(["-u", "-c", PROGRAM]);
        let node = json!({
            "address": endpoint.address, "server_name": endpoint.server_name,
            "root_pem": endpoint.root_pem, "token": endpoint.token.expose(), "connections": connections,
        });
        Self::begin(command, &words, &node).await
    }

    /// Starts the command of a coroutine process, named `words` in errors, and passes it the node.
    async fn begin(mut command: Command, words: &str, node: &Value) -> Result<Self, NotRun> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| NotRun::of(format!("{words}: {error}"), false))?;
        let missing = || NotRun::of(format!("{words} has no standard input and output"), false);
        let mut stdin = process.stdin.take().ok_or_else(missing)?;
        let stdout = process.stdout.take().ok_or_else(missing)?;
        let mut stderr = process.stderr.take().ok_or_else(missing)?;
        let mut lines = BufReader::new(stdout);
        let mut ready = String::new();
        let began = async {
            stdin.write_all(format!("{node}\n").as_bytes()).await?;
            lines.read_line(&mut ready).await
        };
        let began = tokio::time::timeout(READY_PATIENCE, began).await;
        if !matches!(began, Ok(Ok(_))) || !ready.contains("\"ready\"") {
            let mut said = Vec::new();
            // It has ended or is unusable. Its error output is the only explanation.
            let _ = process.start_kill();
            let _ = (&mut stderr)
                .take(WORDS_BYTES_MAX)
                .read_to_end(&mut said)
                .await;
            let said = String::from_utf8_lossy(&said);
            // It may end without a message.
            let last = said.lines().last().unwrap_or("it said nothing");
            return Err(NotRun::of(format!("{words}: {last}"), false));
        }
        // Later error output is only shown to the user. It is read so that the process never blocks on a full pipe.
        tokio::spawn(async move {
            let mut words = BufReader::new(stderr).lines();
            while let Ok(Some(line)) = words.next_line().await {
                eprintln!("python: {line}");
            }
        });
        let waiting = Arc::new(Waiters(Mutex::new(Some(HashMap::new()))));
        tokio::spawn(read(lines, Arc::clone(&waiting)));
        Ok(Self {
            stdin: tokio::sync::Mutex::new(stdin),
            waiting,
            next: AtomicU64::new(0),
            _process: process,
        })
    }

    /// Runs a flow in a coroutine of its own until it is delivered; returns its transactions.
    pub async fn run(&self, start: &StartFlow) -> Result<Vec<String>, NotRun> {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        match &mut *self.waiting.lock() {
            // The engine's limit on outstanding units bounds the number of entries.
            Some(waiting) => waiting.insert(n, sender),
            None => return Err(NotRun::of("the process has ended", false)),
        };
        let args: Value = serde_json::from_str(start.args.get())
            .map_err(|error| NotRun::of(error.to_string(), false))?;
        let line = json!({ "n": n, "flow": start.flow, "args": args });
        let written = {
            let mut stdin = self.stdin.lock().await;
            stdin.write_all(format!("{line}\n").as_bytes()).await
        };
        if let Err(error) = written {
            if let Some(waiting) = &mut *self.waiting.lock() {
                waiting.remove(&n);
            }
            return Err(NotRun::of(error.to_string(), true));
        }
        let ended = |_| NotRun::of("the process ended before the flow did", true);
        let answer = answer.await.map_err(ended)?;
        match answer.code {
            None => Ok(answer.transactions),
            Some(code) => Err(NotRun {
                fault: Fault {
                    code,
                    message: answer.message,
                },
                begun: answer.begun,
                retry_after: answer
                    .retry_after_s
                    .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            }),
        }
    }
}

/// Hands answers to their waiters until the process ends. The remaining waiters then get an error.
async fn read(lines: BufReader<ChildStdout>, waiting: Arc<Waiters>) {
    let mut lines = lines.lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(answer) = serde_json::from_str::<Answer>(&line) else {
            break;
        };
        let who = waiting
            .lock()
            .as_mut()
            .and_then(|all| all.remove(&answer.n));
        if let Some(who) = who {
            // Ignore the error: the waiter has given up.
            let _ = who.send(answer);
        }
    }
    waiting.lock().take();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a process that answers like this shell script.
    async fn begin(script: &str) -> Result<Coroutines, NotRun> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Coroutines::begin(command, "sh", &json!({ "address": "x" })).await
    }

    fn start() -> StartFlow {
        StartFlow::new("my.flow", &json!({ "a": 1 })).expect("arguments")
    }

    #[tokio::test]
    async fn answers_come_in_any_order_and_refusals_keep_their_code() {
        // Answers the second start first.
        let script = r#"read node; echo '{"ready":"1"}'; read a; read b; read c
            echo '{"n":1,"code":"node.busy","message":"no","begun":false,"retry_after_s":0.5}'
            echo '{"n":2,"code":"my.code","message":"bad","begun":true}'
            echo '{"n":0,"transactions":["ab","cd"]}'; read end"#;
        let coroutines = begin(script).await.expect("it is ready");
        let start = start();
        let (one, two, three) = tokio::join!(
            coroutines.run(&start),
            coroutines.run(&start),
            coroutines.run(&start)
        );
        assert_eq!(one, Ok(vec!["ab".to_owned(), "cd".to_owned()]));
        let two = two.expect_err("refused");
        assert_eq!((two.fault.code.as_str(), two.begun), ("node.busy", false));
        assert_eq!(two.retry_after, Some(Duration::from_millis(500)));
        let three = three.expect_err("failed");
        assert_eq!((three.fault.code.as_str(), three.begun), ("my.code", true));
        assert_eq!(three.retry_after, None);
    }

    #[tokio::test]
    async fn a_process_that_ends_leaves_nobody_waiting() {
        let script = r#"read node; echo '{"ready":"1"}'; read a"#;
        let coroutines = begin(script).await.expect("it is ready");
        let lost = coroutines.run(&start()).await.expect_err("it ended");
        assert!(lost.begun, "nobody knows: {lost:?}");
        assert_eq!(lost.fault.code, NO_PYTHON);
        let refused = coroutines.run(&start()).await.expect_err("it ended");
        assert_eq!(refused.fault.code, NO_PYTHON);
    }

    #[tokio::test]
    async fn one_that_is_never_ready_says_why() {
        let script = "echo Traceback >&2; echo 'ModuleNotFoundError: tallystick' >&2; exit 1";
        let said = begin(script).await.err().expect("it ended");
        assert_eq!(said.fault.message, "sh: ModuleNotFoundError: tallystick");
        let missing = Command::new("/nowhere/python3");
        let said = Coroutines::begin(missing, "python3", &Value::Null).await;
        let said = said.err().expect("no such file");
        assert!(said.fault.message.starts_with("python3: "), "{said:?}");
        assert!(!said.begun);
    }
}
