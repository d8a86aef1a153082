//! Messages of a session between two nodes' engines. The outbox carries them once and in order.

use ledger::Rejection;
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};

use crate::SessionId;

/// One message of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionMessage {
    /// The session.
    pub session: SessionId,
    /// Whether the message goes to the side that opened the session.
    pub to_initiator: bool,
    /// The content.
    pub body: SessionBody,
}

impl SessionMessage {
    /// Returns the answer to a side that opened a session that this node does not serve.
    pub fn refusal(session: SessionId, reason: Rejection) -> Self {
        Self {
            session,
            to_initiator: true,
            body: SessionBody::End {
                index: 0,
                error: Some(reason),
            },
        }
    }
}

/// The content of a session message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionBody {
    /// Opens the session; may carry the first message.
    Init {
        /// The flow whose responder is requested.
        flow: String,
        /// The versions that the initiator supports; the responder picks the highest that it supports too.
        versions: Vec<u32>,
        /// The message with index 0.
        first: Option<Vec<u8>>,
    },
    /// Tells which version was picked; sent only if several were offered.
    Confirm {
        /// The version.
        version: u32,
    },
    /// A message of the application.
    Data {
        /// Its index among this side's messages, from 0.
        index: u32,
        /// Its bytes.
        payload: Vec<u8>,
        /// Whether this is the last message: this side's flow has ended without an error.
        last: bool,
    },
    /// This side has ended.
    End {
        /// The number of messages it had sent.
        index: u32,
        /// The reason, unless it ended without an error.
        error: Option<Rejection>,
    },
}

/// Maximum number of versions offered.
pub const VERSIONS_OFFERED_MAX: usize = 16;

impl Encode for SessionMessage {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        self.session.encode(e);
        e.bool(self.to_initiator);
        match &self.body {
            SessionBody::Init {
                flow,
                versions,
                first,
            } => {
                e.array(4);
                e.u64(0);
                e.text(flow);
                e.array(versions.len());
                versions.iter().for_each(|v| e.u64(u64::from(*v)));
                encode_optional(first.as_deref(), e);
            }
            SessionBody::Confirm { version } => {
                e.array(2);
                e.u64(1);
                e.u64(u64::from(*version));
            }
            SessionBody::Data {
                index,
                payload,
                last,
            } => {
                e.array(4);
                e.u64(2);
                e.u64(u64::from(*index));
                e.bytes(payload);
                e.bool(*last);
            }
            SessionBody::End { index, error } => {
                e.array(3);
                e.u64(3);
                e.u64(u64::from(*index));
                error.encode(e);
            }
        }
    }
}

impl Decode for SessionMessage {
    fn decode(d: &mut Decoder<'_>) -> Result<SessionMessage, DecodeError> {
        d.expect_array(3)?;
        let session = SessionId::decode(d)?;
        let to_initiator = d.bool()?;
        let fields = d.array()?;
        let tag = d.u64()?;
        let body = match (tag, fields) {
            (0, 4) => {
                let flow = d.text()?.to_owned();
                let count = d.array()?;
                if count > VERSIONS_OFFERED_MAX {
                    return Err(d.invalid("too many versions offered"));
                }
                let mut versions = Vec::with_capacity(count);
                for _ in 0..count {
                    versions.push(d.u32()?);
                }
                SessionBody::Init {
                    flow,
                    versions,
                    first: decode_optional(d)?,
                }
            }
            (1, 2) => SessionBody::Confirm { version: d.u32()? },
            (2, 4) => SessionBody::Data {
                index: d.u32()?,
                payload: d.bytes()?.to_vec(),
                last: d.bool()?,
            },
            (3, 3) => SessionBody::End {
                index: d.u32()?,
                error: Option::decode(d)?,
            },
            _ => return Err(d.invalid("unknown session message")),
        };
        Ok(SessionMessage {
            session,
            to_initiator,
            body,
        })
    }
}

fn encode_optional(bytes: Option<&[u8]>, e: &mut Encoder) {
    match bytes {
        Some(bytes) => e.bytes(bytes),
        None => e.null(),
    }
}

fn decode_optional(d: &mut Decoder<'_>) -> Result<Option<Vec<u8>>, DecodeError> {
    if d.peek_null() {
        d.null()?;
        return Ok(None);
    }
    Ok(Some(d.bytes()?.to_vec()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FlowId;

    fn message() -> impl Strategy<Value = SessionMessage> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..40);
        let versions = prop::collection::vec(any::<u32>(), 0..=VERSIONS_OFFERED_MAX);
        let body = prop_oneof![
            (".{0,20}", versions, prop::option::of(bytes())).prop_map(|(flow, versions, first)| {
                SessionBody::Init {
                    flow,
                    versions,
                    first,
                }
            }),
            any::<u32>().prop_map(|version| SessionBody::Confirm { version }),
            (any::<u32>(), bytes(), any::<bool>()).prop_map(|(index, payload, last)| {
                SessionBody::Data {
                    index,
                    payload,
                    last,
                }
            }),
            (any::<u32>(), any::<bool>()).prop_map(|(index, fails)| SessionBody::End {
                index,
                error: fails.then(|| Rejection::new("a.b", "c", "d")),
            }),
        ];
        (any::<[u8; 16]>(), any::<u32>(), any::<bool>(), body).prop_map(
            |(id, number, to_initiator, body)| {
                let session = SessionId {
                    initiator: FlowId(id),
                    number,
                };
                SessionMessage {
                    session,
                    to_initiator,
                    body,
                }
            },
        )
    }

    proptest! {
        #![proptest_config(properties::config!(256))]

        #[test]
        fn messages_round_trip(message in message()) {
            prop_assert_eq!(SessionMessage::from_bytes(&message.to_bytes()), Ok(message));
        }

        #[test]
        fn garbage_is_an_error(garbage in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = SessionMessage::from_bytes(&garbage);
        }
    }

    #[test]
    fn too_many_versions_are_refused() {
        let session = SessionId {
            initiator: FlowId([0; 16]),
            number: 1,
        };
        let versions = vec![1; VERSIONS_OFFERED_MAX + 1];
        let body = SessionBody::Init {
            flow: "a".into(),
            versions,
            first: None,
        };
        let message = SessionMessage {
            session,
            to_initiator: false,
            body,
        };
        assert!(SessionMessage::from_bytes(&message.to_bytes()).is_err());
    }
}
