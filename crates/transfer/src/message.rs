//! Messages between two nodes in the files' lane: canonical CBOR, one message each. Layout: `docs/formats/attachments.md`.

use std::fmt;
use std::ops::Deref;

use ledger::TxId;
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash};

use crate::offer::Offer;

/// Maximum bytes of a file's name on the wire.
pub const NAME_BYTES_MAX: usize = 255;
/// Maximum bytes of a media type on the wire.
pub const MEDIA_TYPE_BYTES_MAX: usize = 127;
/// Maximum bytes of a message of this protocol, without the file's bytes in it.
pub const MESSAGE_HEAD_BYTES_MAX: usize = 64;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The sender of this wants a file that a transaction refers to.
    Want {
        /// Hash of the file.
        hash: Hash,
        /// The transaction. The receiver of this message has shown it to the sender before.
        transaction: TxId,
    },
    /// Describes the file; the receiver may now ask for its parts.
    Offer {
        /// Hash of the file.
        hash: Hash,
        /// The file's description.
        offer: Offer,
    },
    /// Send these bytes. If they start where the last request for the file ended, they are appended to it. Otherwise they replace
    /// its remaining bytes.
    Ask {
        /// Hash of the file.
        hash: Hash,
        /// Offset of the first byte.
        offset: u64,
        /// Number of bytes; at least one.
        length: u64,
    },
    /// A part of the file.
    Data {
        /// Hash of the file.
        hash: Hash,
        /// Offset in the file.
        offset: u64,
        /// The bytes; at least one.
        bytes: Payload,
    },
    /// The request for the file is refused.
    Refused {
        /// Hash of the file.
        hash: Hash,
        /// Reason of the refusal.
        reason: Reason,
    },
    /// The sender of this asks for no more of the file.
    Done {
        /// Hash of the file.
        hash: Hash,
    },
}

/// Reasons of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no such file, or the receiver may not have it. The reason does not tell which.
    Unknown,
    /// The receiver should send [`Message::Want`] again later. The sender no longer remembers the request, or is busy.
    Again,
}

primitives::variants!(Reason { 0 => Unknown, 1 => Again });

/// The file's bytes in a received message. They stay in the message's buffer and are never copied.
#[derive(Clone)]
pub struct Payload {
    message: Vec<u8>,
    at: usize,
    end: usize,
}

impl Payload {
    /// Makes a payload from bytes that did not come in a message.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            at: 0,
            end: bytes.len(),
            message: bytes,
        }
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.message[self.at..self.end]
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Payload {}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

const WANT: u64 = 0;
const OFFER: u64 = 1;
const ASK: u64 = 2;
const DATA: u64 = 3;
const REFUSED: u64 = 4;
const DONE: u64 = 5;

impl Encode for Message {
    fn encode(&self, e: &mut Encoder) {
        match self {
            Message::Want { hash, transaction } => {
                begin(e, 3, WANT, hash);
                transaction.encode(e);
            }
            Message::Offer { hash, offer } => {
                begin(e, 5, OFFER, hash);
                e.u64(offer.size);
                hint(e, offer.name.as_deref());
                hint(e, offer.media_type.as_deref());
            }
            Message::Ask {
                hash,
                offset,
                length,
            } => {
                begin(e, 4, ASK, hash);
                e.u64(*offset);
                e.u64(*length);
            }
            Message::Data {
                hash,
                offset,
                bytes,
            } => {
                begin(e, 4, DATA, hash);
                e.u64(*offset);
                e.bytes(bytes);
            }
            Message::Refused { hash, reason } => {
                begin(e, 3, REFUSED, hash);
                reason.encode(e);
            }
            Message::Done { hash } => begin(e, 2, DONE, hash),
        }
    }
}

fn begin(e: &mut Encoder, items: usize, kind: u64, hash: &Hash) {
    e.array(items);
    e.u64(kind);
    hash.encode(e);
}

fn hint(e: &mut Encoder, text: Option<&str>) {
    match text {
        Some(text) => e.text(text),
        None => e.null(),
    }
}

impl Message {
    /// Returns the first bytes of a [`Message::Data`]. The message is complete when `length` bytes of the file are appended.
    pub(crate) fn data_head(hash: &Hash, offset: u64, length: u32) -> Vec<u8> {
        let room = MESSAGE_HEAD_BYTES_MAX + length as usize;
        let mut e = Encoder::with_capacity(room);
        begin(&mut e, 4, DATA, hash);
        e.u64(offset);
        let at = e.len();
        e.array(length as usize);
        let mut head = e.into_bytes();
        // Turns the head of an array into that of a byte string. The two differ only in the major type, the upper three bits.
        if let Some(first) = head.get_mut(at) {
            *first = *first & 0x1f | 0x40;
        }
        head
    }

    /// Reads a message and keeps its bytes for the part of a file in it.
    ///
    /// # Errors
    /// Rejects bytes that are not exactly one message, or that break a limit.
    pub fn read(bytes: Vec<u8>) -> Result<Self, DecodeError> {
        let mut d = Decoder::new(&bytes);
        let (items, kind, hash) = head_of(&mut d)?;
        let expected = match kind {
            DONE => 2,
            WANT | REFUSED => 3,
            ASK | DATA => 4,
            OFFER => 5,
            tag => return Err(DecodeError::UnknownVariant { offset: 1, tag }),
        };
        if items != expected {
            return Err(DecodeError::WrongLength {
                offset: 0,
                expected,
                found: items,
            });
        }
        let message = match kind {
            WANT => Message::Want {
                hash,
                transaction: TxId::decode(&mut d)?,
            },
            OFFER => {
                let offer = Offer {
                    size: d.u64()?,
                    name: read_hint(&mut d, NAME_BYTES_MAX)?,
                    media_type: read_hint(&mut d, MEDIA_TYPE_BYTES_MAX)?,
                };
                Message::Offer { hash, offer }
            }
            ASK => {
                let (offset, length) = (d.u64()?, d.u64()?);
                if length == 0 || offset.checked_add(length).is_none() {
                    return Err(d.invalid("a part of a file is empty, or ends beyond 2^64"));
                }
                Message::Ask {
                    hash,
                    offset,
                    length,
                }
            }
            DATA => {
                let offset = d.u64()?;
                let part = d.bytes()?;
                let length = part.len();
                if length == 0 || offset.checked_add(length as u64).is_none() {
                    return Err(d.invalid("a part of a file is empty, or ends beyond 2^64"));
                }
                let end = d.offset();
                d.finish()?;
                return Ok(Message::Data {
                    hash,
                    offset,
                    bytes: Payload {
                        at: end - length,
                        end,
                        message: bytes,
                    },
                });
            }
            REFUSED => Message::Refused {
                hash,
                reason: Reason::decode(&mut d)?,
            },
            _ => Message::Done { hash },
        };
        d.finish()?;
        Ok(message)
    }
}

impl Decode for Message {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Message::read(d.raw()?.to_vec())
    }
}

fn head_of(d: &mut Decoder<'_>) -> Result<(usize, u64, Hash), DecodeError> {
    let items = d.array()?;
    if items < 2 {
        return Err(DecodeError::WrongLength {
            offset: 0,
            expected: 2,
            found: items,
        });
    }
    Ok((items, d.u64()?, Hash::decode(d)?))
}

fn read_hint(d: &mut Decoder<'_>, limit: usize) -> Result<Option<String>, DecodeError> {
    if d.peek_null() {
        d.null()?;
        return Ok(None);
    }
    let text = d.text_within(limit)?;
    if !hint_is_good(text, limit) {
        return Err(d.invalid("a name or media type is empty or has control characters"));
    }
    Ok(Some(text.to_owned()))
}

/// Tells whether a name or a media type may be sent: not empty, within its limit, without control characters.
pub fn hint_is_good(text: &str, limit: usize) -> bool {
    !text.is_empty() && text.len() <= limit && !text.chars().any(char::is_control)
}
