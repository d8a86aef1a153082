//! A member that replays everything: whole sessions under new ids, and single messages unchanged. It observes all sessions among
//! the banks and the exchange, and can use the keys of any of them.
//!
//! A replayed session is opened by the node that opened it first or by one that only observed it, with the first responder or
//! with another node. Sessions of a flow that gives value for evidence are replayed while the first one runs, and later. Sessions
//! of flows that sign transactions are replayed only after the first one has ended well: an open session of a seller may keep the
//! buyer's states locked, which is a documented limit.

use std::collections::{BTreeMap, VecDeque};

use flow::{SessionBody, SessionId, SessionMessage};
use kernel::Priority;
use kernel::message::PeerMessage;
use primitives::Decode;

use super::replays::{REPLAYED, ReplayArgs};
use crate::chance::Chance;
use crate::membership::{BANKS, EXCHANGE, Membership, NODES};

/// Sessions that are kept. Later ones are not replayed.
const SESSIONS_MAX: usize = 64;
/// Latest messages that are kept for each sender and receiver.
const MESSAGES_MAX: usize = 32;
/// Replays of each session.
const TIMES: u64 = 4;
/// Delay in microseconds before a session that has not ended well is looked at again.
pub(crate) const LATER_US: u64 = 400_000;
/// The flow whose responder gives value for evidence.
const GIVES: &str = "cash.reissue";

/// A recorded session.
struct Heard {
    from: usize,
    to: usize,
    flow: String,
    versions: Vec<u32>,
    said: BTreeMap<u32, Vec<u8>>,
    ended_well: bool,
}

impl Heard {
    fn begins_with(&self, said: &BTreeMap<u32, Vec<u8>>) -> bool {
        !said.is_empty() && said.get(&0) == self.said.get(&0)
    }
}

/// A recorded message.
pub(crate) type Sent = (Priority, Vec<u8>);

/// The recorded sessions and messages.
pub(crate) struct Replayer {
    pub(crate) chance: Chance,
    sessions: BTreeMap<SessionId, Heard>,
    messages: [[VecDeque<Sent>; NODES]; NODES],
}

impl Replayer {
    pub(crate) fn new(chance: Chance) -> Self {
        Self {
            chance,
            sessions: BTreeMap::new(),
            messages: Default::default(),
        }
    }

    /// Records a message. If it opens a session to be replayed, returns the delays after which to replay it, in microseconds.
    pub(crate) fn hear(
        &mut self,
        from: usize,
        to: usize,
        priority: Priority,
        bytes: &[u8],
    ) -> Opened {
        let Ok(message) = PeerMessage::from_bytes(bytes) else {
            return None;
        };
        if !matches!(message, PeerMessage::Standing(_)) {
            let kept = &mut self.messages[from][to];
            kept.push_back((priority, bytes.to_vec()));
            if kept.len() > MESSAGES_MAX {
                kept.pop_front();
            }
        }
        let PeerMessage::Session { body, .. } = message else {
            return None;
        };
        let message = SessionMessage::from_bytes(&body).ok()?;
        let is_new = !message.to_initiator && self.note(from, to, &message);
        let one = self.sessions.get(&message.session).filter(|_| is_new)?;
        let soon: u64 = if one.flow == GIVES { 3_000 } else { LATER_US };
        let times = [soon, soon * 10, 1_000_000, 4_000_000];
        let times = times.map(|most| self.chance.between(0, most));
        Some((message.session, times))
    }

    /// Records an initiator's message. Returns true if it opens a session to be replayed.
    fn note(&mut self, from: usize, to: usize, message: &SessionMessage) -> bool {
        let one = self.sessions.get_mut(&message.session);
        match (&message.body, one) {
            (
                SessionBody::Init {
                    flow,
                    versions,
                    first,
                },
                None,
            ) => {
                let first: BTreeMap<u32, Vec<u8>> =
                    first.iter().cloned().map(|first| (0, first)).collect();
                let worth = REPLAYED.contains(&flow.as_str());
                // A replay has the same first message, and is not recorded again.
                let mut known = self.sessions.values();
                let known = known.any(|one| one.flow == *flow && one.begins_with(&first));
                if !worth || known || self.sessions.len() >= SESSIONS_MAX {
                    return false;
                }
                let heard = Heard {
                    from,
                    to,
                    flow: flow.clone(),
                    versions: versions.clone(),
                    said: first,
                    ended_well: false,
                };
                self.sessions.insert(message.session, heard);
                return true;
            }
            (
                SessionBody::Data {
                    index,
                    payload,
                    last,
                },
                Some(one),
            ) => {
                one.said.insert(*index, payload.clone());
                one.ended_well |= last;
            }
            (SessionBody::End { error, .. }, Some(one)) => one.ended_well |= error.is_none(),
            _ => {}
        }
        false
    }

    /// Chooses the node that replays the session and the party that receives it.
    pub(crate) fn presented(&mut self, world: &Membership, id: &SessionId) -> Presented {
        let Some(one) = self.sessions.get(id) else {
            return Presented::Never;
        };
        if !one.ended_well && one.flow != GIVES {
            return Presented::Later;
        }
        let members = [BANKS[0], BANKS[1], EXCHANGE];
        let by = match self.chance.per_mille(700) {
            true => one.from,
            false => self.chance.one_of(&members),
        };
        let mut to = one.to;
        if by == to || self.chance.per_mille(200) {
            let others = members.map(|node| if node == by { one.from } else { node });
            to = self.chance.one_of(&others);
        }
        if by == to {
            return Presented::Never;
        }
        let args = ReplayArgs {
            flow: one.flow.clone(),
            versions: one.versions.clone(),
            with: world.parties[to].name.clone(),
            said: one.said.values().cloned().collect(),
        };
        Presented::Now(by, args)
    }

    /// Returns one of the recorded messages, with the node that sends it again and its receiver.
    pub(crate) fn message(&mut self) -> Option<(usize, usize, Sent)> {
        let members = [BANKS[0], BANKS[1], EXCHANGE];
        let from = self.chance.one_of(&members);
        let first = self.chance.below(NODES);
        let kept = &self.messages[from][first];
        let at = self.chance.below(kept.len());
        let sent = kept.get(at)?.clone();
        let to = match self.chance.per_mille(700) {
            true => first,
            false => self.chance.below(NODES),
        };
        // Another node would take a numbered message for the next one of the sender's own stream. The replayer would only break
        // its own stream.
        let numbered = matches!(
            PeerMessage::from_bytes(&sent.1),
            Ok(PeerMessage::Session { .. } | PeerMessage::SessionAck { .. })
        );
        let harms_itself = numbered && to != first;
        (from != to && !harms_itself).then_some((from, to, sent))
    }
}

/// A session and the delays after which it is replayed.
pub(crate) type Opened = Option<(SessionId, [u64; TIMES as usize])>;

/// The decision about a session that is due for replay.
pub(crate) enum Presented {
    Now(usize, ReplayArgs),
    Later,
    Never,
}
