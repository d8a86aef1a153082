//! Server-sent events, one after another.

use std::sync::Arc;

use bytes::{Buf, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;

use crate::connection::Connection;
use crate::error::ClientError;

/// A stream of events of a flow, the vault or a chain. Dropping it ends the request.
pub struct Events {
    connection: Arc<Connection>,
    body: Incoming,
    /// Received text that is not parsed yet.
    text: BytesMut,
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// The kind of event: one of the names in [`api::events`].
    pub kind: String,
    /// The number of the event. To resume, pass the number of the last event read as `after`.
    pub id: Option<u64>,
    /// Its data, JSON.
    pub data: String,
}

impl Event {
    /// Returns the data as one of the API's types.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_str(&self.data).map_err(|error| ClientError::BadAnswer(error.to_string()))
    }

    /// Parses the text of an event. Returns `None` for a heartbeat.
    fn parse(text: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let mut event = Self::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("event", kind)) => kind.clone_into(&mut event.kind),
                Some(("id", id)) => event.id = id.parse().ok(),
                Some(("data", data)) => data.clone_into(&mut event.data),
                _ => {}
            }
        }
        (!event.data.is_empty()).then_some(event)
    }
}

impl Events {
    pub(crate) fn new(connection: Arc<Connection>, body: Incoming) -> Self {
        Self {
            connection,
            body,
            text: BytesMut::new(),
        }
    }

    /// Returns the next event, or `None` after the node has ended the stream. It is cancel safe: a dropped call loses no event.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            while let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") {
                let event = Event::parse(&self.text[..end]);
                self.text.advance(end + 2);
                if event.is_some() {
                    return Ok(event);
                }
            }
            let most = self.connection.limits.answer_bytes_max;
            if self.text.len() > most {
                return Err(ClientError::BadAnswer(format!(
                    "an event exceeds {most} bytes"
                )));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Some(chunk) = frame.data_ref() {
                        self.text.extend_from_slice(chunk);
                    }
                }
                Some(Err(error)) => return Err(self.connection.lost(&error)),
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_heartbeats() {
        let event = Event::parse(b"event: step\nid: 7\ndata: {\"step\":\"a: b\"}").expect("one");
        assert_eq!((event.kind.as_str(), event.id), ("step", Some(7)));
        let step: api::FlowStep = event.read().expect("a step");
        assert_eq!(step.step, "a: b");
        assert_eq!(Event::parse(b": alive"), None);
    }
}
