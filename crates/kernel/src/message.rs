//! Messages between nodes: each message of the transport holds one [`PeerMessage`] in canonical CBOR.
//!
//! There are three kinds of traffic. They differ in the side that keeps them durable:
//! - *session* messages are durable on both sides, ordered and de-duplicated per pair of nodes;
//! - *requests* are durable at the requester only (its flow's journal): the server answers the same question the same way
//!   whenever it is asked, and the requester asks again until it has the answer;
//! - *deliveries* of finalised transactions are durable at the sender until the participant has answered.

use flow::FlowId;
use flow::messaging::RequestId;
use ledger::{DataMark, NotarisedTearOff, Rejection, TransactionSignature, TxId};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};

/// Maximum number of transactions in one [`PeerMessage::Deliver`], and of dependencies sent along with them.
pub const DELIVER_TRANSACTIONS_MAX: usize = 2_048;
/// Maximum number of ids in one [`PeerMessage::Delivered`].
pub const DELIVERED_IDS_MAX: usize = 4_096;
/// Maximum number of ids in one fetch.
pub const FETCH_WANTED_MAX: usize = 20_000;

/// A service that answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ServiceId {
    /// Notarisation; body: `ledger::NotaryRequest`, answer: `ledger::NotaryResponse`.
    Notarise = 1,
    /// A part of a back chain; body: [`FetchRequest`], answer: [`FetchResponse`].
    Fetch = 2,
    /// The time of the peer's wall clock. No body; answer: a `primitives::Timestamp`. Kind 3 belongs to the transfer of files.
    Clock = 4,
    /// The transactions that the requesting node has lost. Body: [`RecoveryRequest`], answer: [`RecoveryResponse`].
    Recover = 5,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The service's answer.
    Done(Vec<u8>),
    /// The service refuses. Repeating the request is pointless.
    Failed(Rejection),
    /// Not yet: ask again after this many milliseconds.
    Wait(u64),
}

/// The id of notices, which are answers without a question. Programs that do not know notices ignore them.
pub const NOTICE_ID: RequestId = RequestId {
    flow: FlowId([0xfd; 16]),
    effect: 0,
};

/// A delivery is not answered for now, and why: in an [`Answer::Done`] under [`NOTICE_ID`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingNotice {
    /// The transaction that was delivered.
    pub transaction: TxId,
    /// Why it cannot be recorded for now.
    pub rejection: Rejection,
}

impl Encode for WaitingNotice {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        self.transaction.encode(e);
        self.rejection.encode(e);
    }
}

impl Decode for WaitingNotice {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        Ok(Self {
            transaction: TxId::decode(d)?,
            rejection: Rejection::decode(d)?,
        })
    }
}

/// One message between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerMessage {
    /// A flow session's message, number `seq` of the stream from this peer.
    Session {
        /// Position in the stream; starts at 1, no gaps.
        seq: u64,
        /// A `flow::SessionMessage`, encoded.
        body: Vec<u8>,
    },
    /// Everything up to and including `upto` is durable here.
    SessionAck {
        /// The highest contiguous position.
        upto: u64,
    },
    /// A question to a service.
    Request {
        /// An id chosen by the requester. The answer repeats it.
        id: RequestId,
        /// [`ServiceId`] as a number, so that an unknown one can be refused politely.
        service: u8,
        /// The service's own encoding.
        body: Vec<u8>,
    },
    /// The answer to a question.
    Response {
        /// The question's id.
        id: RequestId,
        /// The answer.
        answer: Answer,
    },
    /// Finality: record these transactions, and answer for each.
    Deliver {
        /// `SignedTransaction` bytes, dependencies first.
        transactions: Vec<Vec<u8>>,
        /// Dependencies that the receiver probably lacks, to save it a fetch. It verifies them like any other transaction.
        dependencies: Vec<Vec<u8>>,
    },
    /// These transactions are recorded here, durably.
    Delivered {
        /// Their ids.
        ids: Vec<TxId>,
    },
    /// This transaction will not be recorded here.
    Refused {
        /// Its id.
        id: TxId,
        /// The reason.
        rejection: Rejection,
    },
    /// The sender's side of the link, sent once in each connection before anything else.
    Standing(Standing),
    /// The sender's latest data mark, to be kept and shown to it in [`Standing`].
    Mark(DataMark),
}

impl Encode for Answer {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        match self {
            Answer::Done(bytes) => {
                e.u64(0);
                e.bytes(bytes);
            }
            Answer::Failed(rejection) => {
                e.u64(1);
                rejection.encode(e);
            }
            Answer::Wait(eta_ms) => {
                e.u64(2);
                e.u64(*eta_ms);
            }
        }
    }
}

impl Decode for Answer {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        match d.u64()? {
            0 => Ok(Answer::Done(d.bytes()?.to_vec())),
            1 => Ok(Answer::Failed(Rejection::decode(d)?)),
            2 => Ok(Answer::Wait(d.u64()?)),
            _ => Err(d.invalid("an answer's kind is 0, 1 or 2")),
        }
    }
}

impl Encode for PeerMessage {
    fn encode(&self, e: &mut Encoder) {
        match self {
            PeerMessage::Session { seq, body } => {
                e.array(3);
                e.u64(0);
                e.u64(*seq);
                e.bytes(body);
            }
            PeerMessage::SessionAck { upto } => {
                e.array(2);
                e.u64(1);
                e.u64(*upto);
            }
            PeerMessage::Request { id, service, body } => {
                e.array(4);
                e.u64(2);
                id.encode(e);
                e.u64(u64::from(*service));
                e.bytes(body);
            }
            PeerMessage::Response { id, answer } => {
                e.array(3);
                e.u64(3);
                id.encode(e);
                answer.encode(e);
            }
            PeerMessage::Deliver {
                transactions,
                dependencies,
            } => {
                e.array(3);
                e.u64(4);
                for list in [transactions, dependencies] {
                    e.array(list.len());
                    list.iter().for_each(|bytes| e.bytes(bytes));
                }
            }
            PeerMessage::Delivered { ids } => {
                e.array(2);
                e.u64(5);
                encode_ids(ids, e);
            }
            PeerMessage::Refused { id, rejection } => {
                e.array(3);
                e.u64(6);
                id.encode(e);
                rejection.encode(e);
            }
            PeerMessage::Standing(standing) => {
                e.array(2);
                e.u64(7);
                standing.encode(e);
            }
            PeerMessage::Mark(mark) => {
                e.array(2);
                e.u64(8);
                mark.encode(e);
            }
        }
    }
}

impl Decode for PeerMessage {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let len = d.array()?;
        let kind = d.u64()?;
        let expect = |d: &Decoder<'_>, n: usize| {
            if len == n {
                Ok(())
            } else {
                Err(d.invalid("the peer message does not have the number of fields of its kind"))
            }
        };
        match kind {
            0 => {
                expect(d, 3)?;
                Ok(PeerMessage::Session {
                    seq: d.u64()?,
                    body: d.bytes()?.to_vec(),
                })
            }
            1 => {
                expect(d, 2)?;
                Ok(PeerMessage::SessionAck { upto: d.u64()? })
            }
            2 => {
                expect(d, 4)?;
                Ok(PeerMessage::Request {
                    id: RequestId::decode(d)?,
                    service: d.u8()?,
                    body: d.bytes()?.to_vec(),
                })
            }
            3 => {
                expect(d, 3)?;
                Ok(PeerMessage::Response {
                    id: RequestId::decode(d)?,
                    answer: Answer::decode(d)?,
                })
            }
            4 => {
                expect(d, 3)?;
                Ok(PeerMessage::Deliver {
                    transactions: decode_list(d)?,
                    dependencies: decode_list(d)?,
                })
            }
            5 => {
                expect(d, 2)?;
                Ok(PeerMessage::Delivered {
                    ids: decode_ids(d, DELIVERED_IDS_MAX)?,
                })
            }
            6 => {
                expect(d, 3)?;
                Ok(PeerMessage::Refused {
                    id: TxId::decode(d)?,
                    rejection: Rejection::decode(d)?,
                })
            }
            7 => {
                expect(d, 2)?;
                Ok(PeerMessage::Standing(Standing::decode(d)?))
            }
            8 => {
                expect(d, 2)?;
                Ok(PeerMessage::Mark(DataMark::decode(d)?))
            }
            _ => Err(d.invalid("an unknown kind of peer message")),
        }
    }
}

/// Maximum number of transactions of a notary that a [`Standing`] shows to it.
pub const SHOWN_TO_NOTARY_MAX: usize = 16;
/// Maximum number of signatures by the notary's keys on one of them.
pub const SHOWN_SIGNATURES_MAX: usize = 16;
/// Maximum number of tear-offs in one [`RecoveryResponse`].
pub const RECOVERED_MAX: usize = 256;

/// A node's side of a link: the numbers of session messages sent and received, and the peer's own earlier numbers.
///
/// Encoded as `[sent, acked, taken, mark or null, [[transaction id, [signature, ...]], ...]]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The last number given to a session message to this peer.
    pub sent: u64,
    /// The highest number that the peer has acknowledged. Messages up to it are deleted.
    pub acked: u64,
    /// The number of the last session message handled from the peer, in its present epoch.
    pub taken: u64,
    /// The latest mark that the peer gave.
    pub mark: Option<DataMark>,
    /// For a notary: the transactions with its signatures that were recorded last.
    pub notarised: Vec<(TxId, Vec<TransactionSignature>)>,
}

impl Encode for Standing {
    fn encode(&self, e: &mut Encoder) {
        e.array(5);
        for number in [self.sent, self.acked, self.taken] {
            e.u64(number);
        }
        self.mark.encode(e);
        self.notarised.encode(e);
    }
}

impl Decode for Standing {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(5)?;
        let (sent, acked, taken) = (d.u64()?, d.u64()?, d.u64()?);
        let mark = Option::decode(d)?;
        let mut notarised = Vec::new();
        for _ in 0..d.array_within(SHOWN_TO_NOTARY_MAX)? {
            d.expect_array(2)?;
            notarised.push((TxId::decode(d)?, d.vec_of(SHOWN_SIGNATURES_MAX)?));
        }
        Ok(Self {
            sent,
            acked,
            taken,
            mark,
            notarised,
        })
    }
}

/// Asks for the transactions of the answering node's ledger that concern the requesting node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryRequest {
    /// Positions of the answering node's ledger after this one.
    pub after: u64,
}

primitives::record!(RecoveryRequest { after });

/// The result for a part of the answering node's ledger. Transactions in which the requesting node takes part are delivered as
/// usual. It gets tear-offs of those that it notarised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryResponse {
    /// The last position searched. Unless it is the end, the next request continues from it.
    pub upto: u64,
    /// The last position of the ledger.
    pub end: u64,
    /// Transactions that are delivered.
    pub delivered: u64,
    /// Transactions that the requesting node has notarised.
    pub notarised: Vec<NotarisedTearOff>,
}

impl Encode for RecoveryResponse {
    fn encode(&self, e: &mut Encoder) {
        e.array(4);
        for number in [self.upto, self.end, self.delivered] {
            e.u64(number);
        }
        self.notarised.encode(e);
    }
}

impl Decode for RecoveryResponse {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(4)?;
        Ok(Self {
            upto: d.u64()?,
            end: d.u64()?,
            delivered: d.u64()?,
            notarised: d.vec_of(RECOVERED_MAX)?,
        })
    }
}

/// Asks for transactions and as many of their ancestors as fit, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// The transaction that was received and whose ancestors these are.
    pub root: TxId,
    /// The transactions whose chains are wanted.
    pub wanted: Vec<TxId>,
    /// Maximum number of transactions in the answer. It grows from request to request.
    pub transactions_max: u32,
    /// Maximum length of the answer in bytes. It contains at least one transaction.
    pub bytes_max: u32,
}

/// A part of a back chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchResponse {
    /// `(position in the server's ledger, signed transaction)`, in descending position: every transaction comes after
    /// all that depend on it.
    pub transactions: Vec<(u64, Vec<u8>)>,
    /// Wanted transactions that the server does not have.
    pub unknown: Vec<TxId>,
}

impl Encode for FetchRequest {
    fn encode(&self, e: &mut Encoder) {
        e.array(4);
        self.root.encode(e);
        encode_ids(&self.wanted, e);
        e.u64(u64::from(self.transactions_max));
        e.u64(u64::from(self.bytes_max));
    }
}

impl Decode for FetchRequest {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(4)?;
        Ok(Self {
            root: TxId::decode(d)?,
            wanted: decode_ids(d, FETCH_WANTED_MAX)?,
            transactions_max: d.u32()?,
            bytes_max: d.u32()?,
        })
    }
}

impl Encode for FetchResponse {
    fn encode(&self, e: &mut Encoder) {
        e.array(2);
        e.array(self.transactions.len());
        for (seq, bytes) in &self.transactions {
            e.array(2);
            e.u64(*seq);
            e.bytes(bytes);
        }
        encode_ids(&self.unknown, e);
    }
}

impl Decode for FetchResponse {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(2)?;
        let count = d.array()?;
        let mut transactions = Vec::new();
        for _ in 0..count {
            d.expect_array(2)?;
            transactions.push((d.u64()?, d.bytes()?.to_vec()));
        }
        Ok(Self {
            transactions,
            unknown: decode_ids(d, FETCH_WANTED_MAX)?,
        })
    }
}

fn encode_ids(ids: &[TxId], e: &mut Encoder) {
    // One byte string of 32-byte ids: compact, and as cheap to read as to copy.
    let mut bytes = Vec::with_capacity(ids.len() * 32);
    for id in ids {
        bytes.extend_from_slice(id.as_bytes());
    }
    e.bytes(&bytes);
}

fn decode_ids(d: &mut Decoder<'_>, max: usize) -> Result<Vec<TxId>, DecodeError> {
    let bytes = d.bytes()?;
    let (ids, rest) = bytes.as_chunks::<32>();
    if !rest.is_empty() || ids.len() > max {
        return Err(d.invalid("a list of ids is a multiple of 32 bytes, within its limit"));
    }
    Ok(ids.iter().map(|id| TxId::from_array(*id)).collect())
}

fn decode_list(d: &mut Decoder<'_>) -> Result<Vec<Vec<u8>>, DecodeError> {
    let count = d.array()?;
    if count > DELIVER_TRANSACTIONS_MAX {
        return Err(d.invalid("a delivery carries at most 2048 transactions"));
    }
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(d.bytes()?.to_vec());
    }
    Ok(list)
}
