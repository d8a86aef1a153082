//! Handles the disk's answers about files that are fetched.

use primitives::Hash;

use super::Receiving;
use crate::event::{Action, Failure};
use crate::fetch::FetchState;
use crate::message::Message;
use crate::out::Out;
use crate::time::later;

impl Receiving {
    pub(crate) fn opened(&mut self, now: u64, hash: Hash, have: u64, out: &mut Out<'_>) {
        let silence_ms = self.options.silence_ms;
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return out.act(Action::Close {
                hash,
                discard: false,
            });
        };
        if fetch.state != FetchState::Opening {
            return;
        }
        let size = fetch.size();
        if have > size {
            // A peer lied about the size: discard its part.
            out.act(Action::Close {
                hash,
                discard: true,
            });
            return out.act(Action::Open { hash });
        }
        fetch.state = FetchState::Moving;
        fetch.clean = have == 0;
        fetch.resumed |= have > 0;
        fetch.asked = have;
        fetch.received = have;
        fetch.written = have;
        fetch.pace.begin(now);
        self.arm(hash, later(now, silence_ms));
        self.publish_if_whole(hash, out);
    }

    pub(crate) fn open_failed(&mut self, hash: Hash, code: &'static str, out: &mut Out<'_>) {
        if self.is_in(&hash, FetchState::Opening) {
            self.fail(hash, Failure::Disk { code }, out);
        }
    }

    fn end_write(&mut self, bytes: u64) {
        assert!(
            bytes <= self.writing,
            "the disk answered a write of {bytes} bytes; {} were with it",
            self.writing
        );
        self.writing -= bytes;
    }

    pub(crate) fn wrote(&mut self, hash: Hash, (upto, bytes): (u64, u64), out: &mut Out<'_>) {
        self.end_write(bytes);
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        // In any other state it is a write from before the file was closed.
        if fetch.state == FetchState::Moving {
            fetch.written = fetch.written.max(upto.min(fetch.received));
            self.publish_if_whole(hash, out);
        }
    }

    pub(crate) fn write_failed(
        &mut self,
        hash: Hash,
        (bytes, code): (u64, &'static str),
        out: &mut Out<'_>,
    ) {
        self.end_write(bytes);
        if self.is_in(&hash, FetchState::Moving) {
            self.fail(hash, Failure::Disk { code }, out);
        }
    }

    /// Ends a fetch successfully: the whole file is present.
    pub(crate) fn published(&mut self, hash: Hash, size: u64, out: &mut Out<'_>) {
        let Some(fetch) = self.fetches.get(&hash) else {
            return;
        };
        let Some(source) = fetch.source() else { return };
        if !matches!(fetch.state, FetchState::Opening | FetchState::Publishing) {
            return;
        }
        let (name, media_type) = fetch
            .offer
            .clone()
            .map_or((None, None), |offer| (offer.name, offer.media_type));
        out.figures.arrived += 1;
        out.figures.resumed += u64::from(fetch.resumed);
        let peer = source.peer;
        out.send(peer, &Message::Done { hash });
        out.act(Action::Arrived {
            hash,
            size,
            name,
            media_type,
            peer,
        });
        self.leave_silently(hash);
        self.forget(hash);
    }

    pub(crate) fn mismatched(&mut self, now: u64, hash: Hash, out: &mut Out<'_>) {
        let Some(fetch) = self.fetches.get_mut(&hash) else {
            return;
        };
        if fetch.state != FetchState::Publishing {
            return;
        }
        out.figures.mismatched += 1;
        let inbound = fetch.source().and_then(|s| self.peers.get(&s.peer));
        let is_up = inbound.is_some_and(|inbound| inbound.up);
        if fetch.clean {
            self.fail(hash, Failure::Mismatch, out);
        } else if is_up {
            // The bytes came from several peers, and it is unknown which were wrong. Fetches the whole file again, from this
            // peer alone.
            fetch.state = FetchState::Opening;
            out.act(Action::Open { hash });
        } else {
            // Ask all sources once more, starting with the first that is connected.
            self.leave_silently(hash);
            self.next_source(hash);
            self.enlist(now, hash);
        }
    }

    pub(crate) fn publish_failed(&mut self, hash: Hash, code: &'static str, out: &mut Out<'_>) {
        if self.is_in(&hash, FetchState::Publishing) {
            self.fail(hash, Failure::Disk { code }, out);
        }
    }

    pub(super) fn publish_if_whole(&mut self, hash: Hash, out: &mut Out<'_>) {
        if let Some(fetch) = self.fetches.get_mut(&hash)
            && fetch.written == fetch.size()
        {
            fetch.state = FetchState::Publishing;
            let size = fetch.size();
            self.disarm(hash);
            out.act(Action::Publish { hash, size });
        }
    }
}
