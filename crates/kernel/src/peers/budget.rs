//! The work that each peer may cause in a round, and the points that it is charged for invalid input.
//!
//! ```text
//!  message ──► cut off? ──yes──► dropped
//!                │ no
//!                ├─ within its share of the round ──► handled now
//!                └─ beyond it ──► backlog of the peer ──► handled in later rounds, peers in turn
//! ```
//!
//! # Invariants
//! - In one round a peer causes at most as much work as is left for the others (a dynamic threshold). A single peer gets half of each
//!   round. A peer that sends much delays the others by at most part of a round.
//! - Rounds make signature checks for a peer only at a rate by the time that has passed. A limit for each round would not bound the
//!   work, because rounds become longer with it. Checks beyond the rate are put off: another thread makes them
//!   ([`crate::intake::put_off`]), and no message of the peer is handled until it has.
//! - Messages of one peer are handled in the order of their arrival.
//! - A peer is charged for the contents of its messages, never for an announced length.
//! - There is one account for each peer that has sent a message in this run. The network map bounds their number.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use ledger::{PartyId, WireTransaction};
use primitives::{Monotonic, PublicKey, SignedMessage};

use crate::part::Part;
use crate::writes::Batch;

/// Maximum work that peers may cause in one round, in units of about ten microseconds (one Ed25519 signature within a batch).
pub const ROUND_WORK_MAX: u64 = 16_384;
/// Time whose signature checks a peer that was quiet may cause at once, in milliseconds.
const CHECK_BURST_MS: u64 = 100;
/// Work of one P-256 signature, which is checked alone.
pub const P256_WORK: u64 = 16;
/// Bytes of messages that make one unit of work.
const BYTES_PER_WORK: usize = 16 << 10;
/// States and commands whose contracts run in about one unit of work.
const PARTS_PER_WORK: usize = 8;
/// Look-ups of states or transactions that make one unit of work.
const STATES_PER_WORK: usize = 4;
/// Bytes of a transaction that its contracts read in about one unit of work.
const CONTRACT_BYTES_PER_WORK: usize = 4 << 10;
/// Bytes of recorded transactions that are read, decoded and encoded again in about one unit of work.
const SERVED_BYTES_PER_WORK: usize = 4 << 10;

/// Maximum size of all messages that wait for a later round, in bytes. Peers share it by the rule for work.
pub const BACKLOG_BYTES_MAX: usize = 64 << 20;
/// Overhead of a message in the backlog, in bytes.
const MESSAGE_BYTES: usize = 64;

/// Points for a message that does not decode.
pub const GARBAGE_MESSAGE: u64 = 1;
/// Points for an invalid signature. It costs more because it had to be checked.
pub const GARBAGE_SIGNATURE: u64 = 5;
/// Work of failed checks that costs one more point. Points are forgiven as fast as a peer with invalid signatures causes a
/// hundredth of a core's work.
const WORK_PER_POINT: u64 = 100;
/// Points that are forgiven in a second.
const FORGIVEN_PER_S: u64 = 10;
/// Points at which a peer is slowed down.
pub const SLOW_POINTS: u64 = 100;
/// Messages accepted from a slowed peer in each [`SLOW_MS`].
const SLOW_MESSAGES: u64 = 16;
/// Interval in which a slowed peer may send [`SLOW_MESSAGES`], in milliseconds. A limit per round would not slow it down, because an
/// idle node starts the next round at once.
const SLOW_MS: u64 = 20;
/// Maximum backlog of a slowed peer, in bytes. A longer backlog would delay the detection of later invalid messages.
const SLOW_BACKLOG_BYTES: usize = 1 << 20;
/// Price of a session beyond the peer's share, in thousandths of a point. 200 such sessions a second cost as much as is forgiven
/// in that time, so an honest member under heavy load is not slowed down.
const EXCESS_MILLI: u64 = 50;
/// Maximum number of points from such sessions. It is enough to slow a peer down and too few to cut it off.
const EXCESS_POINTS_MAX: u64 = 2 * SLOW_POINTS;
/// Points at which a peer is cut off.
pub const CUT_POINTS: u64 = 1_000;
/// Duration of the first cut-off, in milliseconds. Each further one lasts twice as long.
pub const CUT_MS_MIN: u64 = 10_000;
/// Maximum duration of a cut-off, in milliseconds.
pub const CUT_MS_MAX: u64 = 600_000;
/// Time without a cut-off after which the next one is short again, in milliseconds.
const CUT_FORGOTTEN_MS: u64 = 3_600_000;

const MS_PER_S: u64 = 1_000;

/// The figures of one peer since the start, and its present state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerWork {
    /// Work that it caused, in units of about ten microseconds.
    pub work: u64,
    /// Messages put off to a later round.
    pub deferred: u64,
    /// Messages dropped, because too many were put off or the peer was cut off. Their senders repeat them.
    pub dropped: u64,
    /// Invalid messages and signatures.
    pub garbage: u64,
    /// Times that it was cut off.
    pub cuts: u64,
    /// Gauge: it is slowed down.
    pub slowed: bool,
    /// Gauge: the time at which its cut-off ends, if it is cut off.
    pub cut_until: Option<Monotonic>,
    /// Gauge: bytes of its messages that wait for a later round.
    pub backlog_bytes: usize,
}

/// The decision on a message that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Door {
    /// To be handled now.
    Handle(Vec<u8>),
    /// The message waits for a later round, or was dropped.
    Kept,
}

/// The account of one peer.
#[derive(Debug, Default)]
struct Account {
    /// Work of this round.
    spent: u64,
    /// Messages since `slow_from`.
    handled: u64,
    /// Start of the current interval of [`SLOW_MS`].
    slow_from: Monotonic,
    /// Work of earlier rounds beyond its share.
    debt: u64,
    /// Work of signature checks made in rounds, less the work that its rate allowed until `checked_at`.
    checked: u64,
    checked_at: Monotonic,
    /// Work of checks that were put off and not made yet. No round is charged for it.
    put_off: u64,
    /// Garbage points in thousandths, at `scored_at`.
    points_milli: u64,
    scored_at: Monotonic,
    cuts_in_a_row: u32,
    backlog: VecDeque<Vec<u8>>,
    figures: PeerWork,
}

/// The accounts of all peers and the work of the present round.
#[derive(Debug, Default)]
pub struct PeerBudgets {
    accounts: BTreeMap<PartyId, Account>,
    /// Peers with messages that wait.
    waiting: BTreeSet<PartyId>,
    /// Peers with work in this round or debt from earlier ones.
    active: BTreeSet<PartyId>,
    /// The peer whose message was taken from the backlog last.
    turn: Option<PartyId>,
    /// Work of this round, of all peers.
    spent: u64,
    backlog_bytes: usize,
}

/// Returns the work of checking signatures.
pub fn work_of<'a>(messages: impl IntoIterator<Item = &'a SignedMessage>) -> u64 {
    let one = |message: &SignedMessage| match message.key {
        PublicKey::EcdsaP256(_) => P256_WORK,
        _ => 1,
    };
    messages.into_iter().map(one).sum()
}

/// Returns the work of running the contracts of a transaction. It is charged before they run, so it depends on the transaction
/// alone.
pub fn contract_work(wire: &WireTransaction) -> u64 {
    let states = wire.inputs().len() + wire.references().len() + wire.outputs().len();
    let parts = states + wire.commands().len();
    1 + (parts / PARTS_PER_WORK + wire.bytes().len() / CONTRACT_BYTES_PER_WORK) as u64
}

/// Returns the work of looking up the states that a transaction consumes and refers to.
pub fn look_up_work(wire: &WireTransaction) -> u64 {
    ((wire.inputs().len() + wire.references().len()) / STATES_PER_WORK) as u64
}

/// Returns the work of serving recorded transactions of this many bytes, after this many look-ups by id.
pub fn serving_work(bytes: usize, look_ups: usize) -> u64 {
    (bytes / SERVED_BYTES_PER_WORK + look_ups / STATES_PER_WORK) as u64
}

/// Returns the points charged for checks of this much work if one of them failed.
pub fn failed_check_points(work: u64) -> u64 {
    GARBAGE_SIGNATURE + work / WORK_PER_POINT
}

impl Account {
    fn points(&self, now: Monotonic) -> u64 {
        let ms = now.passed_ms(self.scored_at);
        // Points are thousandths and forgiven by the second, so thousandths by the millisecond. Clipped at no points.
        self.points_milli
            .saturating_sub(ms.saturating_mul(FORGIVEN_PER_S))
    }

    fn is_slow(&self, now: Monotonic) -> bool {
        self.points(now) >= SLOW_POINTS * MS_PER_S
    }

    fn is_cut(&self, now: Monotonic) -> bool {
        self.figures.cut_until.is_some_and(|until| now < until)
    }

    fn may_work(&self, spent_by_all: u64, now: Monotonic) -> bool {
        // Clipped at 0: one message may cause more work than is left.
        let left = ROUND_WORK_MAX.saturating_sub(spent_by_all);
        self.put_off == 0
            && self.debt.saturating_add(self.spent) < left
            && self.slow_until(now) <= now
    }

    /// Returns the time at which the peer's next message may be handled: `now` unless it is slowed down.
    fn slow_until(&self, now: Monotonic) -> Monotonic {
        let end = self.slow_from.plus_ms(SLOW_MS);
        match end {
            Some(end) if end > now && self.handled >= SLOW_MESSAGES && self.is_slow(now) => end,
            _ => now,
        }
    }
}

impl Part for PeerBudgets {
    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        let waiting = self.waiting.iter();
        waiting.filter_map(|peer| self.works_from(peer, now)).min()
    }

    fn end_round(&mut self, _: &mut Batch) {
        self.spent = 0;
        for peer in std::mem::take(&mut self.active) {
            let Some(account) = self.accounts.get_mut(&peer) else {
                continue;
            };
            // Clipped far above the work of any round. A clipped value would only keep the peer in debt.
            let debt = account.debt.saturating_add(account.spent);
            // Clipped at 0: work that was not done is not saved up.
            account.debt = debt.saturating_sub(ROUND_WORK_MAX / 2);
            account.spent = 0;
            if account.debt > 0 {
                self.active.insert(peer);
            }
        }
    }
}

impl PeerBudgets {
    /// Decides whether a message that has arrived is handled now.
    pub fn arrived(&mut self, peer: PartyId, bytes: Vec<u8>, now: Monotonic) -> Door {
        let (spent, left) = (self.spent, BACKLOG_BYTES_MAX - self.backlog_bytes);
        let account = self.accounts.entry(peer).or_default();
        if account.is_cut(now) {
            account.figures.dropped += 1;
            return Door::Kept;
        }
        if account.backlog.is_empty() && account.may_work(spent, now) {
            self.handled(peer, bytes.len(), now);
            return Door::Handle(bytes);
        }
        let weight = bytes.len() + MESSAGE_BYTES;
        let slow = account.is_slow(now) && !account.backlog.is_empty();
        let kept = account.figures.backlog_bytes + weight;
        if kept > left || (slow && kept > SLOW_BACKLOG_BYTES) {
            account.figures.dropped += 1;
            return Door::Kept;
        }
        account.figures.deferred += 1;
        account.figures.backlog_bytes += weight;
        account.backlog.push_back(bytes);
        self.backlog_bytes += weight;
        self.waiting.insert(peer);
        Door::Kept
    }

    /// Takes the next message of the backlog that may be handled in this round. Peers take turns.
    pub fn next(&mut self, now: Monotonic) -> Option<(PartyId, Vec<u8>)> {
        let after = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let later = self.waiting.range((after, Bound::Unbounded));
        let mut turns = later.chain(&self.waiting);
        let may_work = |peer: &&PartyId| {
            let account = self.accounts.get(*peer);
            account.is_some_and(|account| account.may_work(self.spent, now))
        };
        let peer = *turns.find(may_work)?;
        let account = self.accounts.get_mut(&peer)?;
        let bytes = account.backlog.pop_front()?;
        let weight = bytes.len() + MESSAGE_BYTES;
        account.figures.backlog_bytes -= weight;
        if account.backlog.is_empty() {
            self.waiting.remove(&peer);
        }
        self.backlog_bytes -= weight;
        self.turn = Some(peer);
        self.handled(peer, bytes.len(), now);
        Some((peer, bytes))
    }

    fn handled(&mut self, peer: PartyId, bytes: usize, now: Monotonic) {
        let account = self.accounts.entry(peer).or_default();
        let passed_ms = now.passed_ms(account.slow_from);
        if passed_ms >= SLOW_MS {
            (account.slow_from, account.handled) = (now, 0);
        }
        account.handled += 1;
        self.charge(peer, 1 + (bytes / BYTES_PER_WORK) as u64);
    }

    /// Charges work to a peer.
    pub fn charge(&mut self, peer: PartyId, work: u64) {
        let account = self.accounts.entry(peer).or_default();
        // The counters are far larger than any real work. A clipped value would only keep the peer in debt.
        account.spent = account.spent.saturating_add(work);
        account.figures.work = account.figures.work.saturating_add(work);
        self.spent = self.spent.saturating_add(work);
        self.active.insert(peer);
    }

    /// Takes the work of a signature check from a peer's rate, which is this much in a millisecond. Returns false if the check has to
    /// be put off.
    pub fn takes_check(&mut self, peer: PartyId, work: u64, per_ms: u64, now: Monotonic) -> bool {
        let account = self.accounts.entry(peer).or_default();
        let ms = now.passed_ms(account.checked_at);
        // Clipped at 0: a quiet peer saves up no more than a burst.
        account.checked = account.checked.saturating_sub(ms.saturating_mul(per_ms));
        account.checked_at = account.checked_at.max(now);
        let checked = account.checked.saturating_add(work);
        let is_within = checked <= per_ms.saturating_mul(CHECK_BURST_MS);
        if is_within {
            account.checked = checked;
        }
        is_within
    }

    /// Returns the time from which a peer may cause the checks of a burst again. Returns `None` if its rate is 0.
    pub fn burst_from(&self, peer: &PartyId, per_ms: u64) -> Option<Monotonic> {
        let account = self.accounts.get(peer);
        let (checked, at) = account.map_or_else(Default::default, |it| (it.checked, it.checked_at));
        let ms = checked.checked_next_multiple_of(per_ms)? / per_ms;
        at.plus_ms(ms)
    }

    /// Puts off checks that this round was charged for. It is charged no more.
    pub fn put_off(&mut self, peer: PartyId, work: u64) {
        let account = self.accounts.entry(peer).or_default();
        let charged = account.spent.checked_sub(work);
        account.spent = charged.expect("checks are charged in the round that puts them off");
        account.put_off += work;
        self.spent -= work;
    }

    /// Notes that checks which were put off are made, or are not needed any more.
    pub fn made_up(&mut self, peer: PartyId, work: u64) {
        let account = self.accounts.entry(peer).or_default();
        assert!(work <= account.put_off, "{work} of {}", account.put_off);
        account.put_off -= work;
    }

    /// Returns whether checks for a peer were put off.
    pub fn has_put_off(&self, peer: &PartyId) -> bool {
        let account = self.accounts.get(peer);
        account.is_some_and(|account| account.put_off > 0)
    }

    /// Returns whether a peer may cause more work in this round.
    pub fn may_work(&self, peer: &PartyId, now: Monotonic) -> bool {
        let account = self.accounts.get(peer);
        account.is_none_or(|account| account.may_work(self.spent, now))
    }

    /// Returns the time from which rounds may do work for a peer, or `None` while checks for it were put off.
    pub fn works_from(&self, peer: &PartyId, now: Monotonic) -> Option<Monotonic> {
        match self.accounts.get(peer) {
            Some(account) => (account.put_off == 0).then(|| account.slow_until(now)),
            None => Some(now),
        }
    }

    /// Charges a peer with points for invalid input. Returns the duration of its cut-off in milliseconds, if it has reached the
    /// limit.
    pub fn garbage(&mut self, peer: PartyId, points: u64, now: Monotonic) -> Option<u64> {
        let account = self.accounts.entry(peer).or_default();
        account.figures.garbage += 1;
        if account.is_cut(now) {
            return None;
        }
        // Points are few; clipped, they are more than enough to be cut off.
        account.points_milli = account.points(now).saturating_add(points * MS_PER_S);
        account.scored_at = now;
        if account.points_milli < CUT_POINTS * MS_PER_S {
            return None;
        }
        let since = account
            .figures
            .cut_until
            .and_then(|until| now.since_ms(until));
        if since.is_none_or(|since| since >= CUT_FORGOTTEN_MS) {
            account.cuts_in_a_row = 0;
        }
        let ms = CUT_MS_MIN << account.cuts_in_a_row.min(16);
        let ms = ms.min(CUT_MS_MAX);
        account.cuts_in_a_row += 1;
        account.points_milli = 0;
        account.figures.cuts += 1;
        account.figures.cut_until = now.plus_ms(ms);
        self.forget_backlog(&peer);
        Some(ms)
    }

    /// Charges a peer for a session beyond its share. Such sessions slow a peer down, but never cut it off.
    pub fn excess(&mut self, peer: PartyId, now: Monotonic) {
        let account = self.accounts.entry(peer).or_default();
        let points = account.points(now);
        let most = points.max(EXCESS_POINTS_MAX * MS_PER_S);
        account.points_milli = (points + EXCESS_MILLI).min(most);
        account.scored_at = now;
    }

    /// Drops the backlog of a peer whose connection has ended. To the peer, these messages were lost in transit.
    pub fn forget_backlog(&mut self, peer: &PartyId) {
        if let Some(account) = self.accounts.get_mut(peer) {
            account.figures.dropped += account.backlog.len() as u64;
            account.backlog.clear();
            self.backlog_bytes -= std::mem::take(&mut account.figures.backlog_bytes);
            self.waiting.remove(peer);
        }
    }

    /// Returns the figures of each peer, in order of their ids.
    pub fn figures(&self, now: Monotonic) -> impl Iterator<Item = (PartyId, PeerWork)> + '_ {
        self.accounts.iter().map(move |(peer, account)| {
            let cut_until = account.figures.cut_until.filter(|until| now < *until);
            let figures = PeerWork {
                slowed: account.is_slow(now),
                cut_until,
                ..account.figures
            };
            (*peer, figures)
        })
    }
}

#[cfg(test)]
mod tests {
    use primitives::Hash;

    use super::*;

    fn peer(number: u8) -> PartyId {
        PartyId::from_hash(Hash::plain(&[number]))
    }

    fn at(ms: u64) -> Monotonic {
        Monotonic::from_ms(1_000_000 + ms)
    }

    fn is_handled(budgets: &mut PeerBudgets, number: u8) -> bool {
        budgets.arrived(peer(number), vec![number], at(0)) != Door::Kept
    }

    #[test]
    fn in_a_round_a_peer_does_no_more_than_is_left_for_others() {
        // Each handled message causes this much work: how many messages of five peers in turn are handled in the round.
        for (work, handled) in [
            (ROUND_WORK_MAX / 64 - 1, [32, 16, 8, 4, 2]),
            // Work that shows only afterwards goes into debt.
            (ROUND_WORK_MAX * 10, [1, 0, 0, 0, 0]),
        ] {
            let mut budgets = PeerBudgets::default();
            let counts = [1, 2, 3, 4, 5].map(|number| {
                let mut count = 0;
                for _ in 0..100 {
                    if is_handled(&mut budgets, number) {
                        budgets.charge(peer(number), work);
                        count += 1;
                    }
                }
                count
            });
            assert_eq!(counts, handled, "{work}");
            assert!(budgets.next_time(at(0)).is_some());
        }
    }

    #[test]
    fn what_waits_is_handled_in_order_and_peers_take_turns() {
        let mut budgets = PeerBudgets::default();
        assert!([1, 2].map(|number| is_handled(&mut budgets, number)) == [true; 2]);
        for number in [1, 2] {
            budgets.charge(peer(number), ROUND_WORK_MAX);
            for message in 0..3 {
                let door = budgets.arrived(peer(number), vec![number, message], at(0));
                assert_eq!(door, Door::Kept);
            }
        }
        assert_eq!(budgets.next(at(0)), None, "the round is over for both");
        let mut taken = Vec::new();
        // A round without work pays debts too.
        for _ in 0..8 {
            budgets.end_round(&mut Batch::default());
            while let Some((_, bytes)) = budgets.next(at(0)) {
                taken.push(bytes);
            }
        }
        for number in [1, 2] {
            let own: Vec<u8> = taken
                .iter()
                .filter(|b| b[0] == number)
                .map(|b| b[1])
                .collect();
            assert_eq!(own, [0, 1, 2]);
        }
        assert_ne!(taken[0][0], taken[1][0], "in turn");
        assert!(budgets.next_time(at(0)).is_none() && budgets.backlog_bytes == 0);
    }

    #[test]
    fn a_peer_in_debt_delays_no_other() {
        let mut budgets = PeerBudgets::default();
        assert!(is_handled(&mut budgets, 1));
        budgets.charge(peer(1), ROUND_WORK_MAX * 100);
        budgets.end_round(&mut Batch::default());
        assert!(!is_handled(&mut budgets, 1));
        for _ in 0..1_000 {
            assert!(is_handled(&mut budgets, 2));
        }
        let mut rounds = 0;
        while budgets.next(at(0)).is_none() {
            budgets.end_round(&mut Batch::default());
            rounds += 1;
        }
        assert!((190..=200).contains(&rounds), "{rounds}");
    }

    #[test]
    fn the_backlog_is_bounded_by_bytes_received() {
        let mut budgets = PeerBudgets::default();
        let mut kept = Vec::new();
        assert!([1, 2].map(|number| is_handled(&mut budgets, number)) == [true; 2]);
        for number in [1, 2] {
            budgets.charge(peer(number), ROUND_WORK_MAX);
            (0..100).for_each(|_| {
                budgets.arrived(peer(number), vec![0; 1 << 20], at(0));
            });
            let account = &budgets.accounts[&peer(number)];
            kept.push((account.backlog.len(), account.figures.dropped));
        }
        assert_eq!(kept, [(32, 68), (16, 84)]);
        budgets.forget_backlog(&peer(1));
        budgets.forget_backlog(&peer(2));
        assert_eq!((budgets.backlog_bytes, budgets.next_time(at(0))), (0, None));
    }

    #[test]
    fn garbage_slows_a_peer_down_and_then_cuts_it_off_longer_each_time() {
        let mut budgets = PeerBudgets::default();
        let mut now = 0;
        // Milliseconds without invalid input, then invalid inputs: the points of each, the interval in milliseconds, and their
        // number. Last the duration of the cut-off.
        for (peace, points, apart, pieces, cut) in [
            (0, 1, 0, 999, None),
            (0, 1, 0, 1, Some(10_000)),
            // It is cut off already.
            (0, 1, 0, 5_000, None),
            (10_000, 5, 10, 300, Some(20_000)),
            // Forgiven as fast as it comes.
            (20_000, 1, 100, 5_000, None),
            (0, 1_000, 0, 1, Some(40_000)),
            (400_000, 1_000, 0, 1, Some(80_000)),
            (400_000, 1_000, 0, 1, Some(160_000)),
            (400_000, 1_000, 0, 1, Some(320_000)),
            (400_000, 1_000, 0, 1, Some(600_000)),
            (700_000, 1_000, 0, 1, Some(600_000)),
            // An hour of peace is a new beginning.
            (5_000_000, 1_000, 0, 1, Some(10_000)),
        ] {
            now += peace;
            let before = budgets.arrived(peer(1), vec![1], at(now));
            assert_eq!(before == Door::Kept, peace == 0 && pieces == 5_000);
            budgets.end_round(&mut Batch::default());
            let mut found = None;
            for _ in 0..pieces {
                now += apart;
                found = found.or(budgets.garbage(peer(1), points, at(now)));
            }
            assert_eq!(found, cut, "{pieces} of {points}, {apart} ms apart");
            if cut.is_some() {
                assert_eq!(budgets.arrived(peer(1), vec![1], at(now)), Door::Kept);
            }
        }
    }

    #[test]
    fn a_slowed_peer_is_heard_a_little_in_each_time() {
        let mut budgets = PeerBudgets::default();
        assert_eq!(budgets.garbage(peer(1), SLOW_POINTS * 2, at(0)), None);
        let heard = (0..100).filter(|_| is_handled(&mut budgets, 1)).count();
        assert_eq!(heard as u64, SLOW_MESSAGES);
        // Further rounds at the same time change nothing, so the node may sleep until the next time.
        for _ in 0..10 {
            budgets.end_round(&mut Batch::default());
            assert_eq!(budgets.next(at(0)), None);
            assert_eq!(budgets.next_time(at(0)), Some(at(SLOW_MS)));
        }
        let later = std::iter::from_fn(|| budgets.next(at(SLOW_MS))).count();
        assert_eq!(later as u64, SLOW_MESSAGES);
        assert_eq!(budgets.next_time(at(SLOW_MS)), Some(at(2 * SLOW_MS)));
        let figures = budgets.figures(at(0)).next().map(|(_, figures)| figures);
        assert!(figures.is_some_and(|figures| figures.slowed && figures.deferred == 84));
        assert!((0..100).all(|_| is_handled(&mut budgets, 2)));
    }

    #[test]
    fn sessions_beyond_the_share_slow_a_peer_and_never_cut_it() {
        let mut budgets = PeerBudgets::default();
        (0..100_000).for_each(|_| budgets.excess(peer(1), at(0)));
        let figures = |budgets: &PeerBudgets, now| {
            let found = budgets.figures(now).next().map(|(_, figures)| figures);
            found.expect("an account")
        };
        assert!(figures(&budgets, at(0)).slowed);
        assert_eq!(figures(&budgets, at(0)).cuts, 0);
        let quiet_ms = (EXCESS_POINTS_MAX - SLOW_POINTS) * MS_PER_S / FORGIVEN_PER_S + 1;
        assert!(!figures(&budgets, at(quiet_ms)).slowed);
        // Garbage still counts on top.
        assert!(budgets.garbage(peer(1), CUT_POINTS, at(0)).is_some());
    }
}
