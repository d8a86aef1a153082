//! Events that the transfers handle, and the actions that they request.

use ledger::{PartyId, TxId};
use primitives::Hash;

use crate::offer::Offer;

/// An input of the transfers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// This node wants a file from a peer. A repeated event with another peer adds a second source.
    Fetch {
        /// Hash of the file.
        hash: Hash,
        /// The source peer.
        peer: PartyId,
        /// The transaction that refers to the file. The peer has shown it to this node.
        transaction: TxId,
        /// Largest accepted size, in bytes.
        size_max: u64,
    },
    /// This node no longer wants a file. The fetched part stays for a later attempt.
    Abandon {
        /// Hash of the file.
        hash: Hash,
    },
    /// A message arrived on the connection's lane for files. Its content is untrusted.
    Message {
        /// The authenticated sender.
        peer: PartyId,
        /// A [`Message`](crate::Message), or garbage.
        bytes: Vec<u8>,
    },
    /// A connection to a peer was made.
    PeerUp {
        /// The peer.
        peer: PartyId,
    },
    /// A connection is lost, with all messages in flight on it.
    PeerDown {
        /// The peer.
        peer: PartyId,
    },
    /// Answers [`Action::Permit`].
    Permitted {
        /// The asking peer.
        peer: PartyId,
        /// Hash of the file.
        hash: Hash,
        /// The file's description; `None` if this node has no such file or may not give it to the peer.
        offer: Option<Offer>,
    },
    /// Answers [`Action::Open`]: the number of bytes that are present from an earlier attempt.
    Opened {
        /// Hash of the file.
        hash: Hash,
        /// Bytes.
        have: u64,
    },
    /// Answers [`Action::Open`]: the whole file is here.
    Present {
        /// Hash of the file.
        hash: Hash,
        /// Bytes.
        size: u64,
    },
    /// Answers [`Action::Open`]: it failed.
    OpenFailed {
        /// Hash of the file.
        hash: Hash,
        /// Error code of the cause.
        code: &'static str,
    },
    /// Answers one [`Action::Write`].
    Wrote {
        /// Hash of the file.
        hash: Hash,
        /// Number of bytes of the file that are on disk now.
        upto: u64,
        /// Bytes of that write.
        bytes: u64,
    },
    /// Answers one [`Action::Write`]: it failed, and the part is closed.
    WriteFailed {
        /// Hash of the file.
        hash: Hash,
        /// Bytes of that write.
        bytes: u64,
        /// Error code of the cause.
        code: &'static str,
    },
    /// Answers [`Action::Publish`]: hash and size are right, and the file is in its final place.
    Published {
        /// Hash of the file.
        hash: Hash,
        /// Bytes.
        size: u64,
    },
    /// Answers [`Action::Publish`]: hash or size are wrong, and the bytes were deleted.
    Mismatched {
        /// Hash of the file.
        hash: Hash,
    },
    /// Answers [`Action::Publish`]: the disk failed. The part stays for a later attempt.
    PublishFailed {
        /// Hash of the file.
        hash: Hash,
        /// Error code of the cause.
        code: &'static str,
    },
    /// Answers one [`Action::Read`].
    Read {
        /// The receiving peer.
        peer: PartyId,
        /// Hash of the file.
        hash: Hash,
        /// Bytes of the file that were asked for.
        length: u64,
        /// The message to send: the head from the action, followed by the file's bytes.
        message: Vec<u8>,
    },
    /// Answers one [`Action::Read`]: there is nothing to send.
    ReadFailed {
        /// The receiving peer.
        peer: PartyId,
        /// Hash of the file.
        hash: Hash,
        /// Bytes that were asked for.
        length: u64,
    },
    /// Answers [`Action::Gauge`].
    Queued {
        /// The peer.
        peer: PartyId,
        /// Bytes that wait for it in the network's queues.
        bytes: u64,
    },
    /// The time asked for has come.
    Tick,
}

/// An output of the transfers, which the caller carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a message in the files' lane. It may be lost.
    Send {
        /// The receiving peer.
        peer: PartyId,
        /// A [`Message`](crate::Message).
        bytes: Vec<u8>,
    },
    /// Decide whether a peer may have a file.
    Permit {
        /// The asking peer.
        peer: PartyId,
        /// Hash of the file.
        hash: Hash,
        /// The transaction that it says refers to it.
        transaction: TxId,
    },
    /// Open the part of a file that is present, or create it.
    Open {
        /// Hash of the file.
        hash: Hash,
    },
    /// Append to an open file, after all writes before.
    Write {
        /// Hash of the file.
        hash: Hash,
        /// Offset of the bytes: the end of the bytes written before.
        offset: u64,
        /// The bytes.
        bytes: crate::Payload,
    },
    /// Close an open file for now.
    Close {
        /// Hash of the file.
        hash: Hash,
        /// Delete the part that is present.
        discard: bool,
    },
    /// Check the size and hash of an open file, and store it in its final place.
    Publish {
        /// Hash of the file.
        hash: Hash,
        /// Bytes that it must have.
        size: u64,
    },
    /// Read a part of a file and append it to `head`. Reads of one file for one peer are answered in order.
    Read {
        /// The receiving peer.
        peer: PartyId,
        /// Hash of the file.
        hash: Hash,
        /// Offset of the part.
        offset: u64,
        /// Bytes.
        length: u32,
        /// The message's first bytes.
        head: Vec<u8>,
    },
    /// Report the number of bytes that wait for the peer in the network's queues.
    Gauge {
        /// The peer.
        peer: PartyId,
    },
    /// A peer has a file for us; bytes follow unless it is abandoned.
    Offered {
        /// Hash of the file.
        hash: Hash,
        /// The peer.
        peer: PartyId,
        /// Bytes.
        size: u64,
    },
    /// A file is here.
    Arrived {
        /// Hash of the file.
        hash: Hash,
        /// Bytes.
        size: u64,
        /// The sender's name for it.
        name: Option<String>,
        /// The sender's media type.
        media_type: Option<String>,
        /// The source peer.
        peer: PartyId,
    },
    /// A fetch ended without the file.
    Failed {
        /// Hash of the file.
        hash: Hash,
        /// The source peer.
        peer: PartyId,
        /// Cause of the failure.
        failure: Failure,
    },
    /// A peer misbehaved: for the log. Reported at most once a minute for each peer.
    Fault {
        /// The peer.
        peer: PartyId,
        /// Kind of fault.
        fault: Fault,
    },
}

/// Reasons why a fetch failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer does not have it, or does not permit it to this node.
    Unknown,
    /// It is larger than the accepted size.
    TooLarge {
        /// Bytes that the peer offered.
        size: u64,
    },
    /// All bytes came from this peer, and their hash is not the requested one.
    Mismatch,
    /// Our disk failed.
    Disk {
        /// Error code of the cause.
        code: &'static str,
    },
    /// The peer is away or silent, or too many fetches or sources wait already. The fetch was given up and may be requested
    /// again.
    Gone,
}

/// Kinds of misbehaviour of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It sent bytes that are no valid message.
    Malformed,
    /// It sent bytes of a file that were not requested from it.
    Unasked,
    /// It asked for bytes beyond a file's end.
    Beyond,
}
