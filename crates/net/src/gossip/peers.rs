//! The known peers: connections, conduct and bans.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use libp2p_swarm::ConnectionId;

use super::bucket::{BURST_SECONDS, Bucket};
use super::exchange::ADDRESSES_MAX;
use super::wire::Wire;
use super::{Direction, GossipLimits, PeerId, PeerView, Topic};

/// Points against a peer at which it is banned.
pub const BAN_POINTS: u32 = 100;
/// Points against a peer that are forgiven each second.
pub const FORGIVEN_PER_SECOND: u32 = 1;
/// Maximum number of known peers. If there are more, the unconnected peer that was seen least recently is forgotten.
const PEERS_MAX: usize = ADDRESSES_MAX;
/// Connections with one peer: both may have dialled at the same moment.
pub(super) const PER_PEER_MAX: usize = 2;
/// Maximum length of texts from a peer, in characters.
const WORDS_CHARS_MAX: usize = 64;

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: ConnectionId,
    pub(super) direction: Direction,
    /// The other end.
    pub(super) remote: SocketAddr,
    pub(super) since: Instant,
    pub(super) wire: Arc<Wire>,
    /// Bytes read from it up to the last check of its conduct.
    pub(super) looked_at: u64,
}

/// One peer.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) connections: Vec<Connection>,
    /// Whether it has named our network.
    pub(super) is_identified: bool,
    /// Whether it has subscribed to the topics.
    pub(super) is_subscribed: [bool; Topic::ALL.len()],
    /// Since when the application knows of it.
    pub(super) announced: Option<Instant>,
    pub(super) address: Option<SocketAddr>,
    pub(super) software: String,
    pub(super) round_trip: Option<Duration>,
    pub(super) reason: Option<String>,
    pub(super) banned_until: Option<Instant>,
    /// Whether it is being dismissed because it was not useful.
    pub(super) dismissed: bool,
    /// Its recent usefulness: the number of accepted messages and answers, halved each minute.
    pub(super) useful: u32,
    points: u32,
    points_at: Instant,
    heard: Instant,
    messages: Bucket,
    bytes: Bucket,
    /// Useless bytes that it has sent, minus the allowance that has accrued since.
    wasted: u64,
    /// Useful bytes of messages, requests and answers since the last check of its conduct.
    used: u64,
    pub(super) messages_in: u64,
    pub(super) rejected: u64,
    pub(super) requests_in: u64,
    pub(super) requests_out: u64,
}

/// The known peers by their id.
#[derive(Debug, Default)]
pub(super) struct Peers(BTreeMap<PeerId, Peer>);

impl Peers {
    pub(super) fn get(&self, id: &PeerId) -> Option<&Peer> {
        self.0.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &PeerId) -> Option<&mut Peer> {
        self.0.get_mut(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&PeerId, &Peer)> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&PeerId, &mut Peer)> {
        self.0.iter_mut()
    }

    /// Returns the entry of a peer. If the peer is new, an old entry may be forgotten for it.
    pub(super) fn of(&mut self, id: PeerId, limits: &GossipLimits, now: Instant) -> &mut Peer {
        if self.0.len() >= PEERS_MAX && !self.0.contains_key(&id) {
            let idle = self
                .0
                .iter()
                .filter(|(_, peer)| peer.connections.is_empty());
            let oldest = idle.min_by_key(|(_, peer)| (peer.is_banned(now), peer.heard));
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                self.0.remove(&oldest);
            }
        }
        let peer = self.0.entry(id).or_insert_with(|| Peer::new(limits, now));
        peer.heard = now;
        peer
    }

    /// Returns how many peers have a connection, ready or not.
    #[cfg(test)]
    pub(super) fn connected(&self) -> usize {
        let connected = self.0.values().filter(|peer| !peer.connections.is_empty());
        connected.count()
    }

    /// Peers that the application knows of, with where they can be reached.
    pub(super) fn reachable(&self) -> impl Iterator<Item = (PeerId, SocketAddr)> {
        let ready = self.0.iter().filter(|(_, peer)| peer.announced.is_some());
        ready.filter_map(|(id, peer)| Some((*id, peer.address?)))
    }

    pub(super) fn views(&self, now: Instant) -> Vec<PeerView> {
        self.0
            .iter()
            .map(|(id, peer)| peer.view(*id, now))
            .collect()
    }
}

impl Peer {
    fn new(limits: &GossipLimits, now: Instant) -> Self {
        Self {
            connections: Vec::new(),
            is_identified: false,
            is_subscribed: [false; Topic::ALL.len()],
            announced: None,
            address: None,
            software: String::new(),
            round_trip: None,
            reason: None,
            banned_until: None,
            dismissed: false,
            useful: 0,
            points: 0,
            points_at: now,
            heard: now,
            messages: Bucket::new(limits.messages_per_second_max, now),
            bytes: Bucket::new(limits.bytes_per_second_max, now),
            wasted: 0,
            used: 0,
            messages_in: 0,
            rejected: 0,
            requests_in: 0,
            requests_out: 0,
        }
    }

    /// Returns whether its introduction is complete.
    pub(super) fn is_ready(&self) -> bool {
        self.is_identified && self.is_subscribed.iter().all(|is| *is)
    }

    pub(super) fn is_banned(&self, now: Instant) -> bool {
        self.banned_until.is_some_and(|until| now < until)
    }

    /// Returns the peer's points after the decay since they were given.
    pub(super) fn points(&self, now: Instant) -> u32 {
        // Clipped at 0: points may be given after `now` was read.
        let passed = now.saturating_duration_since(self.points_at).as_secs();
        // A time beyond the range forgives everything. Clipped at 0: no peer has fewer points.
        let forgiven = passed.saturating_mul(u64::from(FORGIVEN_PER_SECOND));
        u64::from(self.points).saturating_sub(forgiven) as u32
    }

    /// Adds points against it. Returns whether they suffice for a ban.
    pub(super) fn penalise(&mut self, points: u32, reason: &str, now: Instant) -> bool {
        // Points beyond the range are beyond the limit.
        self.points = self.points(now).saturating_add(points);
        self.points_at = now;
        self.reason = Some(words(reason));
        self.points >= BAN_POINTS
    }

    pub(super) fn ban(&mut self, time: Duration, reason: &str, now: Instant) {
        self.banned_until = now.checked_add(time).or(self.banned_until);
        self.reason = Some(words(reason));
    }

    /// Ends the ban and clears the points that led to it.
    pub(super) fn unban(&mut self) {
        self.banned_until = None;
        self.points = 0;
    }

    /// Counts a message of this size. Returns false if the peer exceeds its rate limit.
    pub(super) fn admit(&mut self, bytes: usize, now: Instant) -> bool {
        self.uses(bytes);
        self.messages.take(1, now) && self.bytes.take(bytes as u64, now)
    }

    /// Adds to the useful bytes received from this peer.
    pub(super) fn uses(&mut self, bytes: usize) {
        self.used += bytes as u64;
    }

    /// Checks, each second, whether the peer has sent more useless bytes than ten seconds' allowance. At most ten seconds'
    /// allowance is kept for later checks.
    pub(super) fn wastes(&mut self, per_second: u32) -> bool {
        for connection in &mut self.connections {
            let read = connection.wire.read();
            self.wasted += read - connection.looked_at.min(read);
            connection.looked_at = read;
        }
        let forgiven = std::mem::take(&mut self.used) + u64::from(per_second);
        // Clipped at 0: an allowance that a peer does not use is not saved.
        self.wasted = self.wasted.saturating_sub(forgiven);
        let most = u64::from(per_second) * BURST_SECONDS;
        let too_much = self.wasted > most;
        self.wasted = self.wasted.min(most);
        too_much
    }

    /// Resets the state of the last connection: the peer has to identify itself and subscribe again.
    pub(super) fn forget_connection(&mut self) {
        self.is_identified = false;
        self.is_subscribed = [false; Topic::ALL.len()];
        self.announced = None;
        self.round_trip = None;
        self.dismissed = false;
        self.useful = 0;
    }
}

/// Shortens a peer's text and replaces its control characters.
pub(super) fn words(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(WORDS_CHARS_MAX).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u16) -> PeerId {
        let mut key = [0; 32];
        key[..2].copy_from_slice(&number.to_be_bytes());
        PeerId::from_bytes(key)
    }

    #[test]
    fn points_add_up_to_a_ban_and_are_forgiven_with_time() {
        let (start, limits) = (Instant::now(), GossipLimits::default());
        let mut peer = Peer::new(&limits, start);
        let at = |seconds| start + Duration::from_secs(seconds);
        for (seconds, points, banned, left) in [
            (0, 60, false, 60),
            (0, 39, false, 99),
            (9, 10, true, 100),
            (59, 0, false, 50),
            (1_000, 99, false, 99),
            (1_000, u32::MAX, true, u32::MAX),
        ] {
            assert_eq!(peer.penalise(points, "why", at(seconds)), banned);
            assert_eq!(peer.points(at(seconds)), left);
        }
        peer.ban(Duration::from_secs(5), "enough", at(1_000));
        assert!(peer.is_banned(at(1_004)) && !peer.is_banned(at(1_005)));
        let view = peer.view(id(1), at(1_000));
        assert_eq!(view.reason.as_deref(), Some("enough"));
        assert!(view.banned_until.is_some());
        peer.unban();
        assert_eq!(
            (peer.is_banned(at(1_000)), peer.points(at(1_000))),
            (false, 0)
        );
    }

    #[test]
    fn what_is_sent_for_nothing_adds_up_and_time_makes_up_for_it() {
        let (now, limits) = (Instant::now(), GossipLimits::default());
        let mut peer = Peer::new(&limits, now);
        let wire = Arc::new(Wire::default());
        peer.connections.push(Connection {
            id: ConnectionId::new_unchecked(1),
            direction: Direction::Inbound,
            remote: ([127, 0, 0, 1], 1).into(),
            since: now,
            wire: Arc::clone(&wire),
            looked_at: 0,
        });
        for (read, used, too_much) in [
            (100, 0, false),
            (1_200, 100, false),
            (1_000, 0, true),
            (50, 0, false),
            (100, 0, false),
            (200, 50, false),
            (251, 0, true),
        ] {
            wire.count_read(read);
            peer.uses(used);
            assert_eq!(peer.wastes(100), too_much, "{read}");
        }
    }

    #[test]
    fn of_many_peers_the_banned_are_remembered_longest() {
        let (now, limits) = (Instant::now(), GossipLimits::default());
        let mut peers = Peers::default();
        let time = Duration::from_secs(100);
        peers.of(id(0), &limits, now).ban(time, "first", now);
        for number in 1..5_000 {
            peers.of(
                id(number),
                &limits,
                now + Duration::from_millis(number.into()),
            );
        }
        assert_eq!(peers.0.len(), PEERS_MAX);
        assert!(peers.get(&id(0)).is_some() && peers.get(&id(1)).is_none());
    }

    #[test]
    fn words_of_others_are_short_and_plain() {
        assert_eq!(words("a\u{1b}[31mb\n"), "a [31mb ");
        assert_eq!(words(&"x".repeat(1_000)).len(), WORDS_CHARS_MAX);
    }
}
