//! The requests to a connector that have no answer yet, and the pipes that carry them and their answers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};

use super::codes::{BAD_LINE, ENDED, SILENT};
use super::message::{Answer, Hello, PROTOCOL};
use crate::load::Fault;
use crate::topology::tail;

/// Maximum bytes of a line.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Lines that are written at once.
const WRITE_MAX: usize = 256;
/// Maximum number of requests without an answer: twice the units that a load can have outstanding, because units that a load no longer
/// waits for may still be answered.
pub(super) const UNANSWERED_MAX: usize = 2_000_000;

/// The requests without an answer; the reason once there will be no more answers.
#[derive(Default)]
pub(super) struct Shared {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    asked: HashMap<u64, oneshot::Sender<Result<Value, Fault>>>,
    over: Option<Fault>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// Notes a request. Returns where its answer comes. Fails if there will be no more answers, or if `most` requests have none.
    pub(super) fn ask(
        &self,
        id: u64,
        most: usize,
    ) -> Result<oneshot::Receiver<Result<Value, Fault>>, Fault> {
        let mut waiting = self.lock();
        if let Some(fault) = &waiting.over {
            return Err(fault.clone());
        }
        if waiting.asked.len() >= most {
            return Err(Fault {
                code: SILENT.to_owned(),
                message: format!("{most} requests have no answer"),
            });
        }
        let (answer, answered) = oneshot::channel();
        waiting.asked.insert(id, answer);
        Ok(answered)
    }

    /// Returns why there will be no more answers, if that is so.
    pub(super) fn over(&self) -> Option<Fault> {
        self.lock().over.clone()
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

pub(super) async fn hello(from: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Hello, String> {
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
pub(super) async fn read(
    mut from: BufReader<impl AsyncRead + Unpin>,
    shared: Arc<Shared>,
    log: PathBuf,
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
pub(super) async fn write(mut input: ChildStdin, mut lines: mpsc::UnboundedReceiver<String>) {
    let mut taken = Vec::new();
    while lines.recv_many(&mut taken, WRITE_MAX).await > 0 {
        // A connector that reads no more has ended, and the reader says so.
        if input.write_all(taken.concat().as_bytes()).await.is_err() {
            return;
        }
        taken.clear();
    }
}

/// Locks a value of which no half-made change is ever left.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(id: u64) -> Answer {
        Answer {
            id,
            ok: Some(json!({})),
            error: None,
        }
    }

    #[test]
    fn requests_without_an_answer_are_bounded() {
        let shared = Shared::default();
        for id in 1..=3 {
            assert!(shared.ask(id, 3).is_ok(), "{id}");
        }
        let code = |id| shared.ask(id, 3).map(drop).map_err(|fault| fault.code);
        assert_eq!(code(4), Err(SILENT.to_owned()));
        // The caller has given up, and the answer makes room.
        assert_eq!(shared.answered(answer(2)), Ok(()));
        assert_eq!(code(5), Ok(()));
        assert!(shared.answered(answer(2)).is_err(), "answered twice");
    }

    #[tokio::test]
    async fn lines_have_a_bounded_length_and_are_utf_8() {
        let longest = "x".repeat(LINE_BYTES_MAX as usize - 1) + "\n";
        for (bytes, wanted) in [
            (&b"a\nb\n"[..], Ok(Some("a\n".to_owned()))),
            (b"", Ok(None)),
            (b"a", Err("cut off")),
            (b"\xff\n", Err("not UTF-8")),
            (longest.as_bytes(), Ok(Some(longest.clone()))),
            (&[b'x'; LINE_BYTES_MAX as usize], Err("more than")),
        ] {
            match (line(&mut &bytes[..]).await, wanted) {
                (Ok(found), Ok(wanted)) => assert!(found == wanted, "{} bytes", bytes.len()),
                (Err(found), Err(wanted)) => assert!(found.contains(wanted), "{found}"),
                (found, _) => panic!("{} bytes: {}", bytes.len(), found.is_ok()),
            }
        }
    }
}
