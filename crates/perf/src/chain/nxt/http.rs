//! `/nxt?requestType=...` over persistent HTTP/1.1 connections: reads as GET, and everything with a secret or an effect
//! as POST with form parameters, so that no secret is in a URL.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::chain::codes::{MALFORMED, SLOW, UNREACHABLE};
use crate::load::Fault;

/// Upper limit on idle connections kept. Further ones are closed after use.
const IDLE_MAX: usize = 256;
/// The longest answer that is read: a block of 100,000 transactions in full.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Time limit for opening a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Characters shown of an answer that is not JSON.
const SHOWN: usize = 120;

type Connection = SendRequest<Full<Bytes>>;

/// The address of such a server, and its idle connections.
pub(super) struct Http {
    /// `host:port`.
    address: String,
    /// Time limit for one answer.
    patience: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Http {
    /// Parses `http://host:port`, with or without a path. Returns `None` for anything else.
    pub fn new(url: &str, patience: Duration) -> Option<Self> {
        // The scheme may be left out.
        let rest = url.strip_prefix("http://").unwrap_or(url);
        let address = rest.split('/').next().unwrap_or_default();
        let (host, port) = address.rsplit_once(':')?;
        if host.is_empty()
            || host.contains('@')
            || port.parse::<u16>().is_err()
            || url.starts_with("https:")
        {
            return None;
        }
        let address = address.to_owned();
        Some(Self {
            address,
            patience,
            idle: Mutex::default(),
        })
    }

    /// Reads: sends the parameters in the URL. Returns the answer's object. An `errorCode` in it becomes the fault
    /// `nxt.error_N`.
    pub async fn get(&self, request: &str, parameters: &[(&str, &str)]) -> Result<Value, Fault> {
        self.call(Method::GET, request, parameters).await
    }

    /// Sends the parameters as a form, so that secrets stay out of the server's log of URLs. Returns as [`Self::get`].
    pub async fn post(&self, request: &str, form: &[(&str, &str)]) -> Result<Value, Fault> {
        self.call(Method::POST, request, form).await
    }

    async fn call(
        &self,
        method: Method,
        request: &str,
        form: &[(&str, &str)],
    ) -> Result<Value, Fault> {
        let answer = timeout(self.patience, self.exchange(method, request, form)).await;
        let bytes = answer.map_err(|_| {
            let message = format!(
                "{}: no answer to {request} within {:?}",
                self.address, self.patience
            );
            fault(SLOW, message)
        })??;
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| {
            let text = String::from_utf8_lossy(&bytes);
            let shown: String = text.chars().take(SHOWN).collect();
            fault(
                MALFORMED,
                format!(
                    "{}: {request} was answered with no JSON: {shown}",
                    self.address
                ),
            )
        })?;
        if !value.is_object() {
            return Err(fault(
                MALFORMED,
                format!("{}: {request} was answered with no object", self.address),
            ));
        }
        match &value["errorCode"] {
            Value::Null => Ok(value),
            code => {
                let words = value["errorDescription"]
                    .as_str()
                    .unwrap_or("no description");
                // Some servers write the number as a string.
                let number = code.as_i64().or_else(|| code.as_str()?.parse().ok());
                let number =
                    number.map_or_else(|| "unknown".to_owned(), |number| number.to_string());
                let words: String = words.chars().take(SHOWN * 2).collect();
                Err(fault(
                    &format!("nxt.error_{number}"),
                    format!("{request}: {words}"),
                ))
            }
        }
    }

    async fn exchange(
        &self,
        method: Method,
        request: &str,
        form: &[(&str, &str)],
    ) -> Result<Bytes, Fault> {
        let pairs = form
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)));
        let parameters = pairs.collect::<Vec<_>>().join("&");
        let mut path = format!("/nxt?requestType={request}");
        let mut body = Bytes::new();
        match method {
            Method::POST => body = Bytes::from(parameters),
            _ if parameters.is_empty() => {}
            _ => path.push_str(&format!("&{parameters}")),
        }
        let lost = |error: &dyn std::fmt::Display| {
            fault(UNREACHABLE, format!("{}: {error}", self.address))
        };
        loop {
            let (mut connection, kept) = self.connection().await?;
            let made = Request::builder()
                .method(method.clone())
                .uri(path.as_str())
                .header(HOST, &self.address)
                .header(
                    CONTENT_TYPE,
                    "application/x-www-form-urlencoded; charset=utf-8",
                )
                .body(Full::new(body.clone()))
                .map_err(|error| lost(&error))?;
            let response = match connection.try_send_request(made).await {
                Ok(response) => response,
                Err(mut error) => {
                    // An idle connection may have been closed in the meantime. In that case nothing was sent.
                    let unsent = error.take_message().is_some();
                    match kept && unsent {
                        true => continue,
                        false => return Err(lost(error.error())),
                    }
                }
            };
            let limited = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
            let bytes =
                limited.collect().await.map_err(|error| match error
                    .is::<http_body_util::LengthLimitError>()
                {
                    true => fault(
                        MALFORMED,
                        format!(
                            "{}: the answer to {request} is longer than {ANSWER_BYTES_MAX} bytes",
                            self.address
                        ),
                    ),
                    false => lost(&error),
                })?;
            self.keep(connection);
            return Ok(bytes.to_bytes());
        }
    }

    /// Returns a connection, and whether it is a reused one.
    async fn connection(&self) -> Result<(Connection, bool), Fault> {
        while let Some(kept) = self.lock().pop() {
            if !kept.is_closed() {
                return Ok((kept, true));
            }
        }
        let failed = |words: String| fault(UNREACHABLE, format!("{}: {words}", self.address));
        let stream = timeout(CONNECT_MAX, TcpStream::connect(&self.address))
            .await
            .map_err(|_| failed(format!("no connection within {CONNECT_MAX:?}")))?
            .map_err(|error| failed(error.to_string()))?;
        stream
            .set_nodelay(true)
            .map_err(|error| failed(error.to_string()))?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| failed(error.to_string()))?;
        tokio::spawn(async move {
            // Ignore the error: a request on this connection fails by itself.
            let _ = connection.await;
        });
        Ok((sender, false))
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.lock();
        if idle.len() < IDLE_MAX && !connection.is_closed() {
            idle.push(connection);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a fault of this driver.
pub(super) fn fault(code: &str, message: impl Into<String>) -> Fault {
    Fault {
        code: code.to_owned(),
        message: message.into(),
    }
}

/// Encodes text for a form: all but letters, digits and `-_.~` as `%XX`.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte))
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (url, wanted) in [
            ("http://127.0.0.1:27876", Some("127.0.0.1:27876")),
            ("http://host:1/nxt", Some("host:1")),
            ("host:1", Some("host:1")),
            ("http://[::1]:5/", Some("[::1]:5")),
            ("https://host:1", None),
            ("http://host", None),
            ("http://:1", None),
            ("http://user@host:1", None),
            ("http://host:99999", None),
            ("", None),
        ] {
            let found = Http::new(url, Duration::ZERO);
            assert_eq!(
                found.as_ref().map(|found| found.address.as_str()),
                wanted,
                "{url}"
            );
        }
    }

    #[test]
    fn forms_are_encoded() {
        assert_eq!(encoded("a b&c=d/é"), "a%20b%26c%3Dd%2F%C3%A9");
        assert_eq!(encoded("Az09-_.~"), "Az09-_.~");
    }
}
