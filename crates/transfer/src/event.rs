//! What happens to the transfers, and what they want done.

use ledger::{PartyId, TxId};
use primitives::Hash;

/// What a sender says of a file before bytes move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Bytes.
    pub size: u64,
    /// A name for people, not part of what is hashed.
    pub name: Option<String>,
    /// A media type, not part of what is hashed.
    pub media_type: Option<String>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// This node wants a file from a peer. Once more from another peer: a second source.
    Fetch {
        /// Which.
        hash: Hash,
        /// From whom.
        peer: PartyId,
        /// The transaction that refers to it, which the peer has shown us.
        transaction: TxId,
        /// More bytes are not wanted.
        size_max: u64,
    },
    /// This node no longer wants a file. What was fetched of it stays for another time.
    Abandon {
        /// Which.
        hash: Hash,
    },
    /// A message came in the files' lane; anything can be in it.
    Message {
        /// From whom, authenticated.
        peer: PartyId,
        /// A [`Message`](crate::Message), or garbage.
        bytes: Vec<u8>,
    },
    /// A connection to a peer stands.
    PeerUp {
        /// The peer.
        peer: PartyId,
    },
    /// A connection is gone, with everything that was on its way.
    PeerDown {
        /// The peer.
        peer: PartyId,
    },
    /// Answers [`Action::Permit`].
    Permitted {
        /// Who asked.
        peer: PartyId,
        /// For what.
        hash: Hash,
        /// What it is; nothing if this node has none for that peer.
        offer: Option<Offer>,
    },
    /// Answers [`Action::Open`]: so many bytes of the file are here from an earlier try.
    Opened {
        /// Which.
        hash: Hash,
        /// Bytes.
        have: u64,
    },
    /// Answers [`Action::Open`]: the whole file is here.
    Present {
        /// Which.
        hash: Hash,
        /// Bytes.
        size: u64,
    },
    /// Answers [`Action::Open`]: it failed.
    OpenFailed {
        /// Which.
        hash: Hash,
        /// Why.
        code: &'static str,
    },
    /// Answers one [`Action::Write`].
    Wrote {
        /// Which.
        hash: Hash,
        /// How many bytes of the file are here now.
        upto: u64,
        /// Bytes of that write.
        bytes: u64,
    },
    /// Answers one [`Action::Write`]: it failed, and the part is closed.
    WriteFailed {
        /// Which.
        hash: Hash,
        /// Bytes of that write.
        bytes: u64,
        /// Why.
        code: &'static str,
    },
    /// Answers [`Action::Publish`]: hash and size are right, and the file is where it belongs.
    Published {
        /// Which.
        hash: Hash,
        /// Bytes.
        size: u64,
    },
    /// Answers [`Action::Publish`]: the bytes are others, and were thrown away.
    Mismatched {
        /// Which.
        hash: Hash,
    },
    /// Answers [`Action::Publish`]: the disk failed, the part stays.
    PublishFailed {
        /// Which.
        hash: Hash,
        /// Why.
        code: &'static str,
    },
    /// Answers one [`Action::Read`].
    Read {
        /// For whom.
        peer: PartyId,
        /// Which.
        hash: Hash,
        /// Bytes of the file that were asked for.
        length: u64,
        /// The message to send: the head that the action named, and the file's bytes.
        message: Vec<u8>,
    },
    /// Answers one [`Action::Read`]: there is nothing to send.
    ReadFailed {
        /// For whom.
        peer: PartyId,
        /// Which.
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

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a message in the files' lane. It may be lost.
    Send {
        /// To whom.
        peer: PartyId,
        /// A [`Message`](crate::Message).
        bytes: Vec<u8>,
    },
    /// Say whether a peer may have a file.
    Permit {
        /// Who asks.
        peer: PartyId,
        /// For what.
        hash: Hash,
        /// The transaction that it says refers to it.
        transaction: TxId,
    },
    /// Open what is here of a file, or begin it.
    Open {
        /// Which.
        hash: Hash,
    },
    /// Append to an open file, after all writes before.
    Write {
        /// Which.
        hash: Hash,
        /// Where: the end of what was written before.
        offset: u64,
        /// What.
        bytes: crate::Payload,
    },
    /// Close an open file for now.
    Close {
        /// Which.
        hash: Hash,
        /// Throw away what is here of it.
        discard: bool,
    },
    /// Check size and hash of an open file, and put it where it belongs.
    Publish {
        /// Which.
        hash: Hash,
        /// Bytes that it must have.
        size: u64,
    },
    /// Read a part of a file and append it to the head. Reads of one file for one peer are answered in order.
    Read {
        /// For whom.
        peer: PartyId,
        /// Which.
        hash: Hash,
        /// Where.
        offset: u64,
        /// Bytes.
        length: u32,
        /// The message's first bytes.
        head: Vec<u8>,
    },
    /// Say how much waits for the peer in the network's queues.
    Gauge {
        /// The peer.
        peer: PartyId,
    },
    /// A peer has a file for us; bytes follow unless it is abandoned.
    Offered {
        /// Which.
        hash: Hash,
        /// Who.
        peer: PartyId,
        /// Bytes.
        size: u64,
    },
    /// A file is here.
    Arrived {
        /// Which.
        hash: Hash,
        /// Bytes.
        size: u64,
        /// The sender's name for it.
        name: Option<String>,
        /// The sender's media type.
        media_type: Option<String>,
        /// From whom.
        peer: PartyId,
    },
    /// A fetch ended without the file.
    Failed {
        /// Which.
        hash: Hash,
        /// From whom.
        peer: PartyId,
        /// Why.
        failure: Failure,
    },
    /// A peer misbehaved: for the log. Said once a minute of one peer at most.
    Fault {
        /// Who.
        peer: PartyId,
        /// How.
        fault: Fault,
    },
}

/// Why a file did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The peer has it not, or not for us.
    Unknown,
    /// It is larger than wanted.
    TooLarge {
        /// Bytes that the peer offered.
        size: u64,
    },
    /// All of it came from this peer, and the hash is another.
    Mismatch,
    /// Our disk failed.
    Disk {
        /// How.
        code: &'static str,
    },
    /// The peer is away or silent, or there is no room to wait: given up for now.
    Gone,
}

/// How a peer misbehaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It sent something that is no message.
    Malformed,
    /// It sent bytes of a file that nobody asked it for.
    Unasked,
    /// It asked for bytes beyond a file's end.
    Beyond,
}
