//! The last events of a peer's connection, for people.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// Number of events kept of one peer. Older ones are dropped.
pub const HISTORY_MAX: usize = 64;

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
        if self.0.len() >= HISTORY_MAX {
            self.0.pop_front();
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
    use super::ConnectionEvent::{Connected, Disconnected, NotReached};
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
    fn the_oldest_events_are_dropped() {
        let mut history = History::default();
        for at in 0..1_000 {
            let kind = if at % 2 == 0 { Connected } else { Disconnected };
            history.note(PeerEvent::new(kind, at));
        }
        let events = history.events();
        assert_eq!(events.len(), HISTORY_MAX);
        assert_eq!((events[0].at_ms, events[HISTORY_MAX - 1].at_ms), (936, 999));
    }
}
