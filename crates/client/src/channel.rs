//! One opened stream request: starts go out, answers come in, and each answer is passed to the caller that
//! waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use api::operations::STREAM;
use api::{Outcome, StreamAnswer, StreamStart};
use bytes::{BufMut, BytesMut};
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, Response};
use tokio::sync::oneshot;

use crate::answer::problem;
use crate::body::{Outgoing, RequestBody};
use crate::connection::Connection;
use crate::error::ClientError;
use crate::lines::Lines;

/// The result that a waiting caller gets.
pub(crate) type Answer = Result<Outcome, ClientError>;

/// One opened stream request, shared by the callers that wait on it.
pub(crate) struct Channel {
    outgoing: Arc<Outgoing>,
    waiting: Mutex<Callers>,
}

/// The waiting callers. Once `ended` is set no caller can join, so none waits without end.
#[derive(Default)]
struct Callers {
    next: u64,
    by_number: HashMap<u64, oneshot::Sender<Answer>>,
    ended: Option<ClientError>,
}

impl Channel {
    /// Opens the stream. A task of its own reads the answers.
    pub(crate) fn open(
        connection: Arc<Connection>,
    ) -> BoxFuture<'static, Result<Arc<Self>, ClientError>> {
        // Compiled here, and not in each crate that awaits it.
        Box::pin(Self::request(connection))
    }

    async fn request(connection: Arc<Connection>) -> Result<Arc<Self>, ClientError> {
        let channel = Arc::new(Self {
            outgoing: Arc::default(),
            waiting: Mutex::default(),
        });
        let body = RequestBody::Lines(Arc::clone(&channel.outgoing));
        let response = connection.send(Method::POST, STREAM.path, body).await?;
        if !response.status().is_success() {
            channel.outgoing.close();
            let status = response.status();
            let bytes = response
                .into_body()
                .collect()
                .await
                .map_err(|error| connection.lost(&error))?;
            return Err(problem(status, &bytes.to_bytes()));
        }
        let reading = Arc::clone(&channel);
        tokio::spawn(async move {
            let end = reading.read(&connection, response).await;
            reading.end(end);
        });
        Ok(channel)
    }

    /// Returns whether the stream has ended, so that it accepts no more starts.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended.is_some()
    }

    /// Sends a start. Returns its number, and the receiver of its answer.
    pub(crate) fn start(
        &self,
        write: impl FnOnce(u64, &mut bytes::buf::Writer<&mut BytesMut>) -> serde_json::Result<()>,
    ) -> Result<(u64, oneshot::Receiver<Answer>), ClientError> {
        let (sender, receiver) = oneshot::channel();
        let number = {
            let mut waiting = self.lock();
            if let Some(error) = &waiting.ended {
                return Err(error.clone());
            }
            let number = waiting.next;
            waiting.next += 1;
            waiting.by_number.insert(number, sender);
            number
        };
        let mut written = Ok(());
        self.outgoing.write(|bytes| {
            let before = bytes.len();
            written = write(number, &mut bytes.writer());
            match written {
                Ok(()) => bytes.put_u8(b'\n'),
                Err(_) => bytes.truncate(before),
            }
        });
        if let Err(error) = written {
            self.forget(number);
            return Err(ClientError::arguments(error));
        }
        Ok((number, receiver))
    }

    /// Drops the entry of a caller that no longer waits for its answer.
    pub(crate) fn forget(&self, number: u64) {
        self.lock().by_number.remove(&number);
    }

    /// Ends the stream after the starts written so far.
    pub(crate) fn close(&self) {
        self.outgoing.close();
    }

    /// Reads answers until the stream ends. Returns the reason of its end.
    async fn read(&self, connection: &Connection, response: Response<Incoming>) -> ClientError {
        let mut body = response.into_body();
        let mut lines = Lines::default();
        let most = connection.limits.answer_bytes_max;
        let mut answers: Vec<(u64, Answer)> = Vec::new();
        loop {
            let chunk = match body.frame().await {
                // A trailers frame contains no lines.
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return connection.lost(&error),
                None => return connection.lost_because("the node ended the stream"),
            };
            let mut fault = None;
            let fed = lines.feed(&chunk, most, |line| match read_line(line) {
                Ok(Some(answer)) => answers.push(answer),
                Ok(None) => {}
                Err(error) => fault = Some(error),
            });
            self.hand_out(&mut answers);
            if let Some(fault) = fault {
                return fault;
            }
            if fed.is_err() {
                return ClientError::BadAnswer(format!(
                    "a line of the stream exceeds {most} bytes"
                ));
            }
        }
    }

    fn hand_out(&self, answers: &mut Vec<(u64, Answer)>) {
        let mut waiting = self.lock();
        for (number, answer) in answers.drain(..) {
            if let Some(sender) = waiting.by_number.remove(&number) {
                // The waiting caller may have gone.
                let _ = sender.send(answer);
            }
        }
    }

    fn end(&self, error: ClientError) {
        let abandoned = {
            let mut waiting = self.lock();
            waiting.ended = Some(error.clone());
            std::mem::take(&mut waiting.by_number)
        };
        for sender in abandoned.into_values() {
            let _ = sender.send(Err(error.clone()));
        }
        self.outgoing.close();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Callers> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses an answer; `None` for an empty line. The node's refusal of a malformed line has no number, and ends the stream.
fn read_line(line: &[u8]) -> Result<Option<(u64, Answer)>, ClientError> {
    if line.is_empty() {
        return Ok(None);
    }
    let answer: StreamAnswer = serde_json::from_slice(line).map_err(|error| {
        ClientError::BadAnswer(format!("cannot decode a line of the stream: {error}"))
    })?;
    let number = answer.n;
    let answer = answer.into_outcome().map_err(ClientError::Problem);
    match (number, answer) {
        (Some(number), answer) => Ok(Some((number, answer))),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Err(ClientError::BadAnswer(
            "an outcome on the stream has no number".to_owned(),
        )),
    }
}

/// Writes a start as a line, without its end.
pub(crate) fn write_start(
    start: &api::StartFlow,
    number: u64,
    to: &mut bytes::buf::Writer<&mut BytesMut>,
) -> serde_json::Result<()> {
    let line = StreamStart {
        n: number,
        flow: start.flow.as_str().into(),
        version: start.version,
        args: &start.args,
        client_id: start.client_id.as_deref().map(Into::into),
        wait: start.wait,
    };
    serde_json::to_writer(to, &line)
}
