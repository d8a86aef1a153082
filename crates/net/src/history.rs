//! The last events of a peer's connection, for people.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// Number of events kept of one peer.
pub const HISTORY_MAX: usize = 64;

/// Number of kinds of events.
const KINDS: usize = 4;

/// Number of events kept of one kind of one peer. Older ones of the kind are dropped. A peer decides how often it connects, so
/// events of one kind must not displace those of another: reconnects would otherwise hide that it was cut off.
const KIND_MAX: usize = HISTORY_MAX / KINDS;

/// The kind of an event of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// A connection is open.
    Connected,
    /// The connection has ended.
    Disconnected,
    /// An attempt to connect has failed.
    NotReached,
    /// The peer was cut off for a time.
    CutOff,
}

/// An event of a peer's connection. Failed attempts in a row with the same code are one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerEvent {
    /// The kind.
    pub kind: ConnectionEvent,
    /// The time, in milliseconds since the Unix epoch on this node's clock.
    pub at_ms: u64,
    /// The time of the last of several equal events in a row; the same time if it is only one.
    pub last_ms: u64,
    /// The number of equal events in a row.
    pub count: u64,
    /// The other end of the connection, if there was one.
    pub address: Option<SocketAddr>,
    /// The reason: a stable code, empty for none.
    pub code: &'static str,
    /// The reason in words, empty for none. If several events were counted as one, it is the reason of the last.
    pub reason: String,
}

impl PeerEvent {
    /// Returns an event without a reason.
    pub(crate) fn new(kind: ConnectionEvent, at_ms: u64) -> Self {
        Self {
            kind,
            at_ms,
            last_ms: at_ms,
            count: 1,
            address: None,
            code: "",
            reason: String::new(),
        }
    }

    /// Adds the other end of the connection.
    pub(crate) fn at(self, address: SocketAddr) -> Self {
        Self {
            address: Some(address),
            ..self
        }
    }

    /// Adds the reason.
    pub(crate) fn because(self, code: &'static str, reason: String) -> Self {
        Self {
            code,
            reason,
            ..self
        }
    }
}

/// The last events of one peer's connection, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History(VecDeque<PeerEvent>);

impl History {
    /// Adds an event, or counts it with the last one.
    pub(crate) fn note(&mut self, event: PeerEvent) {
        if let Some(last) = self.0.back_mut()
            && last.kind == event.kind
            && last.kind == ConnectionEvent::NotReached
            && last.code == event.code
        {
            (last.last_ms, last.reason) = (event.at_ms, event.reason);
            last.count += 1;
            return;
        }
        let is_same = |kept: &PeerEvent| kept.kind == event.kind;
        if self.0.iter().filter(|kept| is_same(kept)).count() >= KIND_MAX
            && let Some(oldest) = self.0.iter().position(is_same)
        {
            self.0.remove(oldest);
        }
        self.0.push_back(event);
        assert!(
            self.0.len() <= HISTORY_MAX,
            "{} events of a peer are kept",
            self.0.len()
        );
    }

    /// Returns the events, oldest first.
    pub(crate) fn events(&self) -> Vec<PeerEvent> {
        self.0.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::ConnectionEvent::{Connected, CutOff, Disconnected, NotReached};
    use super::*;

    #[test]
    fn failed_attempts_in_a_row_are_one_event() {
        let mut history = History::default();
        for (at, kind, code) in [
            (1, NotReached, "net.unreachable"),
            (2, NotReached, "net.unreachable"),
            (3, NotReached, "net.not_trusted"),
            (4, Connected, ""),
            (5, Disconnected, "net.closed"),
            (6, Connected, ""),
            (7, NotReached, "net.not_trusted"),
        ] {
            history.note(PeerEvent::new(kind, at).because(code, format!("at {at}")));
        }
        let told: Vec<_> = history
            .events()
            .into_iter()
            .map(|event| (event.at_ms, event.last_ms, event.count, event.reason))
            .collect();
        let expected = [
            (1, 2, 2, "at 2"),
            (3, 3, 1, "at 3"),
            (4, 4, 1, "at 4"),
            (5, 5, 1, "at 5"),
            (6, 6, 1, "at 6"),
            (7, 7, 1, "at 7"),
        ];
        let expected = expected.map(|(at, last, count, why)| (at, last, count, why.to_owned()));
        assert_eq!(told, expected);
    }

    #[test]
    fn frequent_events_displace_only_their_own_kind() {
        let mut history = History::default();
        history.note(PeerEvent::new(NotReached, 0));
        history.note(PeerEvent::new(CutOff, 1));
        for at in 2..1_000 {
            let kind = if at % 2 == 0 { Connected } else { Disconnected };
            history.note(PeerEvent::new(kind, at));
        }
        let events = history.events();
        let times: Vec<u64> = events.iter().map(|event| event.at_ms).collect();
        let expected: Vec<u64> = (0..2).chain(968..1_000).collect();
        assert_eq!(
            times, expected,
            "both rare events, and 16 of each frequent kind"
        );
        for at in 1_000..2_000 {
            let kinds = [Connected, Disconnected, NotReached, CutOff];
            let code = if at % 3 == 0 { "net.lost" } else { "net.idle" };
            let event = PeerEvent::new(kinds[at as usize % KINDS], at);
            history.note(event.because(code, String::new()));
        }
        let events = history.events();
        assert_eq!(events.len(), HISTORY_MAX);
        assert!(events.is_sorted_by_key(|event| event.at_ms));
    }
}
