//! A watch on the node's wall clock: notices that it was set, and then doubts it until peers or the operator confirm it.
//!
//! The wall clock less the monotonic one is constant while the wall clock runs evenly. A change by more than
//! [`JUMP_MAX_MS`] is a jump. Nothing on this machine says which side of a jump is right, so peers are asked. Nothing on it
//! says either whether the clock was set while the node was down, so peers are also asked after each start.
//!
//! # Invariants
//! - A clock that was confirmed is doubted only after a jump that this machine's own clocks show: no peer can raise that doubt.
//! - After a start, one answer is enough to trust the clock, because nothing speaks against it. To end a doubt takes
//!   [`ANSWERS_MIN`].
//! - Peers confirm the clock only if the median of the answers agrees with it. So a minority of those asked cannot confirm a wrong
//!   clock.
//! - A peer counts once in each asking.

use std::collections::{BTreeMap, BTreeSet};

use ledger::PartyId;
use primitives::{Domain, Hash, Moment, Monotonic, Seed, Timestamp};

use crate::part::Part;

/// A wall clock that gains or loses more than this against the monotonic one was set.
pub(crate) const JUMP_MAX_MS: u64 = 2_000;
/// Maximum difference of clocks that agree, in milliseconds.
pub(crate) const AGREE_MAX_MS: u64 = 5_000;
/// Maximum number of peers asked at once.
pub(crate) const ASKED_MAX: usize = 64;
/// Minimum number of answers that decide about the clock, in a network with as many other members.
pub(crate) const ANSWERS_MIN: usize = 3;
/// Maximum time for an answer, in milliseconds. A slower one is too inaccurate.
const ANSWER_MS: u64 = 2_000;
/// Interval between two rounds of questions, in milliseconds.
const ASK_EVERY_MS: u64 = 5_000;
/// Interval after which the reference offset is taken again, in milliseconds. In this time the clocks drift apart far less than a
/// jump.
const REBASE_MS: u64 = 60_000;

/// A change of the wall clock that the elapsed time does not explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockJump {
    /// The size of the jump in milliseconds; negative if back.
    pub by_ms: i64,
    /// The wall-clock time after the jump.
    pub at: Timestamp,
}

/// The figures of the clock watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockFigures {
    /// Jumps since the start.
    pub jumps: u64,
    /// The latest jump.
    pub last: Option<ClockJump>,
    /// The clock jumped or peers disagree with it, and neither peers nor the operator have confirmed it since then.
    pub in_doubt: bool,
    /// Peers or the operator have confirmed the clock since the start and since its last jump, or the network has no other member.
    pub is_trusted: bool,
    /// The median of the peers' clocks minus this node's, in milliseconds, from the latest round of questions.
    pub peers_ahead_ms: Option<i64>,
}

/// A round of questions to peers for their clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asking {
    pub(super) number: u64,
    pub(super) peers: Vec<PartyId>,
}

/// The trust in the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// The node has started, and no peer's clock is known since then.
    Unchecked,
    /// The clock jumped, or the peers disagreed with it after the start.
    Doubted,
    /// The clock was confirmed by peers or the operator, or the network has no other member.
    Confirmed,
}

/// The result of a round of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// This many peers' clocks agree with this node's.
    Agrees { answers: usize, ended_doubt: bool },
    /// They differ, or too few peers answered.
    Differs { began_doubt: bool },
}

/// The watch over this node's wall clock.
#[derive(Debug)]
pub(crate) struct ClockWatch {
    secret: Seed,
    /// Other members of the network.
    others: usize,
    up: BTreeSet<PartyId>,
    /// The offset between the two clocks that later readings are compared with, and the time at which it was taken.
    reference: (i128, Monotonic),
    trust: Trust,
    figures: ClockFigures,
    askings: u64,
    asking: Option<Open>,
    ask_at: Monotonic,
}

/// A round of questions that has not ended.
#[derive(Debug)]
struct Open {
    number: u64,
    at: Monotonic,
    waits_for: BTreeSet<PartyId>,
    asked: usize,
    /// Each peer's clock less ours.
    ahead_ms: BTreeMap<PartyId, i128>,
}

impl Part for ClockWatch {
    fn next_time(&self, _: Monotonic) -> Option<Monotonic> {
        if self.is_trusted() {
            return None;
        }
        match &self.asking {
            Some(asking) if asking.waits_for.is_empty() => Some(Monotonic::START),
            Some(asking) => asking.at.plus_ms(ANSWER_MS),
            // A peer that connects is asked at once.
            None if self.up.is_empty() => None,
            None => Some(self.ask_at),
        }
    }
}

impl ClockWatch {
    /// Creates a watch over a clock that peers have still to confirm, or that was in doubt before the start. The choice among
    /// many peers is derived from `secret`.
    pub(crate) fn new(now: Moment, others: usize, secret: Seed, in_doubt: bool) -> Self {
        let trust = match (in_doubt, others) {
            (true, _) => Trust::Doubted,
            (false, 0) => Trust::Confirmed,
            (false, _) => Trust::Unchecked,
        };
        Self {
            secret,
            others,
            up: BTreeSet::new(),
            reference: (now.offset_ms(), now.monotonic),
            trust,
            figures: ClockFigures::default(),
            askings: 0,
            asking: None,
            ask_at: now.monotonic,
        }
    }

    pub(crate) fn figures(&self) -> ClockFigures {
        // Too few peers differ to raise a doubt, but an operator should know of them.
        let differs = self.trust == Trust::Unchecked && self.figures.peers_ahead_ms.is_some();
        ClockFigures {
            in_doubt: self.in_doubt() || differs,
            is_trusted: self.is_trusted(),
            ..self.figures
        }
    }

    /// Returns whether time windows and locks may be judged by the wall clock.
    pub(crate) fn is_trusted(&self) -> bool {
        self.trust == Trust::Confirmed
    }

    /// Returns whether there is evidence against the wall clock. The doubt survives restarts.
    pub(super) fn in_doubt(&self) -> bool {
        self.trust == Trust::Doubted
    }

    pub(crate) fn peer_up(&mut self, peer: PartyId) {
        if self.up.insert(peer) && self.asking.is_none() {
            // One more may be enough.
            self.ask_at = Monotonic::START;
        }
    }

    pub(crate) fn peer_down(&mut self, peer: &PartyId) {
        self.up.remove(peer);
        if let Some(asking) = &mut self.asking {
            asking.waits_for.remove(peer);
        }
    }

    /// Compares the clocks. Returns a jump, once.
    pub(super) fn observe(&mut self, now: Moment) -> Option<ClockJump> {
        let (offset, since) = self.reference;
        let by_ms = now.offset_ms() - offset;
        if by_ms.unsigned_abs() <= u128::from(JUMP_MAX_MS) {
            if now.monotonic.since_ms(since) >= Some(REBASE_MS) {
                self.reference = (now.offset_ms(), now.monotonic);
            }
            return None;
        }
        self.reference = (now.offset_ms(), now.monotonic);
        let jump = ClockJump {
            by_ms: clipped(by_ms),
            at: now.wall,
        };
        self.figures.jumps += 1;
        self.figures.last = Some(jump);
        self.trust = Trust::Doubted;
        self.figures.peers_ahead_ms = None;
        // Answers to the previous question compare with the clock before the jump.
        self.asking = None;
        self.ask_at = now.monotonic;
        Some(jump)
    }

    /// Trusts the wall clock on the operator's word. Returns whether it was in doubt.
    pub(super) fn confirm(&mut self) -> bool {
        self.asking = None;
        let was_in_doubt = self.in_doubt();
        self.trust = Trust::Confirmed;
        was_in_doubt
    }

    /// Asks peers, if it is time to.
    pub(super) fn ask(&mut self, now: Monotonic) -> Option<Asking> {
        let is_due = !self.is_trusted() && self.asking.is_none() && self.ask_at <= now;
        if !is_due || self.up.is_empty() {
            return None;
        }
        self.askings += 1;
        let number = self.askings;
        let peers = self.chosen(number);
        self.ask_at = now.after_ms(ASK_EVERY_MS);
        self.asking = Some(Open {
            number,
            at: now,
            waits_for: peers.iter().copied().collect(),
            asked: peers.len(),
            ahead_ms: BTreeMap::new(),
        });
        Some(Asking { number, peers })
    }

    /// Notes a peer's answer: its wall clock, or `None` if it does not tell.
    pub(super) fn answered(
        &mut self,
        number: u64,
        peer: PartyId,
        wall: Option<Timestamp>,
        now: Moment,
    ) {
        let Some(asking) = &mut self.asking else {
            return;
        };
        if asking.number != number || !asking.waits_for.remove(&peer) {
            return;
        }
        let took_ms = now.monotonic.passed_ms(asking.at);
        if let Some(wall) = wall.filter(|_| took_ms <= ANSWER_MS) {
            // It spoke somewhere between the question and the answer.
            let then = i128::from(wall.as_ms()) + i128::from(took_ms / 2);
            let ahead_ms = then - i128::from(now.wall.as_ms());
            asking.ahead_ms.insert(peer, ahead_ms);
        }
    }

    /// Ends a round of questions if all peers have answered or its time is over.
    pub(super) fn judge(&mut self, now: Monotonic) -> Option<Agreement> {
        let over = self.asking.as_ref().is_some_and(|asking| {
            let waited_ms = now.passed_ms(asking.at);
            asking.waits_for.is_empty() || waited_ms >= ANSWER_MS
        });
        let asking = if over {
            self.asking.take()?
        } else {
            return None;
        };
        let asked = asking.asked;
        let mut ahead_ms: Vec<i128> = asking.ahead_ms.into_values().collect();
        ahead_ms.sort_unstable();
        let answers = ahead_ms.len();
        let (Some(low), Some(high)) = (
            // Clipped at 0: without answers there is no middle either way.
            ahead_ms.get(answers.saturating_sub(1) / 2).copied(),
            ahead_ms.get(answers / 2).copied(),
        ) else {
            return Some(Agreement::Differs { began_doubt: false });
        };
        assert!(low <= high, "the middle of what is sorted");
        self.figures.peers_ahead_ms = Some(clipped((low + high) / 2));
        let was_in_doubt = self.in_doubt();
        let most_answered = answers * 2 > asked;
        let enough = most_answered && answers >= self.others.min(ANSWERS_MIN);
        let suffices = match self.trust {
            Trust::Doubted => enough,
            Trust::Unchecked | Trust::Confirmed => most_answered,
        };
        let agrees = |ms: i128| ms.unsigned_abs() <= u128::from(AGREE_MAX_MS);
        // With an even number of answers, both middle ones count, because one of them may come from a liar.
        if suffices && agrees(low) && agrees(high) {
            self.trust = Trust::Confirmed;
            return Some(Agreement::Agrees {
                answers,
                ended_doubt: was_in_doubt,
            });
        }
        if enough && !agrees(low) && !agrees(high) {
            self.trust = Trust::Doubted;
        }
        Some(Agreement::Differs {
            began_doubt: self.in_doubt() && !was_in_doubt,
        })
    }

    /// Returns the peers to ask: all connected ones, or a random choice that no peer can foresee.
    fn chosen(&self, number: u64) -> Vec<PartyId> {
        let mut peers: Vec<PartyId> = self.up.iter().copied().collect();
        if peers.len() > ASKED_MAX {
            peers.sort_by_cached_key(|peer| {
                let number = number.to_be_bytes();
                let parts: [&[u8]; 4] = [b"clock", self.secret.expose(), &number, peer.as_bytes()];
                *Hash::of(Domain::Derive, &parts).as_bytes()
            });
            peers.truncate(ASKED_MAX);
        }
        peers
    }
}

/// Clips a difference for display. Beyond the range the exact value does not matter.
fn clipped(ms: i128) -> i64 {
    i64::try_from(ms).unwrap_or(if ms < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: usize = 5;

    fn peer(n: u8) -> PartyId {
        PartyId::from_hash(Hash::plain(&[n]))
    }

    /// A simulated machine with two clocks that the test sets, and its clock watch.
    struct Bench {
        monotonic: u64,
        wall: u64,
        watch: ClockWatch,
    }

    impl Bench {
        fn new() -> Self {
            let (monotonic, wall) = (70_000, 1_000_000_000);
            let now = Moment::new(Monotonic::from_ms(monotonic), Timestamp::from_ms(wall));
            Self {
                monotonic,
                wall,
                watch: ClockWatch::new(now, MEMBERS, [7; 32].into(), false),
            }
        }

        /// Creates a watch whose clock was confirmed after the start.
        fn confirmed() -> Self {
            let mut bench = Self::new();
            assert!(!bench.watch.confirm(), "there was no doubt");
            bench
        }

        fn now(&self) -> Moment {
            Moment::new(
                Monotonic::from_ms(self.monotonic),
                Timestamp::from_ms(self.wall),
            )
        }

        fn pass(&mut self, ms: u64) -> Option<ClockJump> {
            (self.monotonic, self.wall) = (self.monotonic + ms, self.wall + ms);
            self.watch.observe(self.now())
        }

        fn set(&mut self, by_ms: i64) -> Option<ClockJump> {
            self.wall = self.wall.checked_add_signed(by_ms).expect("a time");
            self.watch.observe(self.now())
        }

        /// Asks the peers, answers with the difference of each peer's clock (or not at all), and waits for the verdict.
        fn asks(&mut self, clocks: &[Option<i64>]) -> Option<Agreement> {
            for n in 0..clocks.len() {
                self.watch.peer_up(peer(n as u8));
            }
            self.pass(ASK_EVERY_MS);
            let asking = self.watch.ask(self.now().monotonic)?;
            for (n, clock) in clocks.iter().enumerate() {
                let Some(ahead_ms) = clock else { continue };
                let wall = self.wall.checked_add_signed(*ahead_ms).expect("a time");
                let wall = Some(Timestamp::from_ms(wall));
                let now = self.now();
                self.watch.answered(asking.number, peer(n as u8), wall, now);
            }
            let at = self
                .watch
                .next_time(Monotonic::START)
                .expect("a doubted clock is watched");
            self.monotonic = self.monotonic.max(at.as_ms());
            self.watch.judge(Monotonic::from_ms(self.monotonic))
        }
    }

    #[test]
    fn only_a_step_is_a_jump() {
        let mut bench = Bench::confirmed();
        assert_eq!(bench.pass(86_400_000), None);
        assert_eq!(bench.set(JUMP_MAX_MS as i64), None, "a step too small");
        assert_eq!(bench.set(-(JUMP_MAX_MS as i64)), None);
        // Half a millisecond a second, for a day.
        for _ in 0..1_440 {
            assert_eq!(bench.pass(REBASE_MS), None);
            assert_eq!(bench.set(30), None, "slewed");
        }
        assert_eq!(bench.pass(REBASE_MS), None);
        let jump = bench.set(3_600_000).expect("a jump");
        assert_eq!(jump.by_ms, 3_600_000);
        assert_eq!(jump.at, Timestamp::from_ms(bench.wall));
        assert_eq!(bench.pass(10), None, "told once");
        let back = bench.set(-3_600_000).expect("another one");
        assert_eq!(back.by_ms, -3_600_000);
        assert_eq!(bench.watch.figures().jumps, 2);
        assert!(bench.watch.in_doubt(), "back is no proof");
    }

    #[test]
    fn the_middle_of_the_peers_decides() {
        const HOUR: i64 = 3_600_000;
        let agrees = |answers| {
            Some(Agreement::Agrees {
                answers,
                ended_doubt: true,
            })
        };
        let differs = Some(Agreement::Differs { began_doubt: false });
        // The difference between each peer's clock and this node's after a jump of an hour, and the expected judgement.
        let table: &[(&[Option<i64>], Option<Agreement>)] = &[
            (&[Some(0), Some(5), Some(-9)], agrees(3)),
            (&[Some(-HOUR), Some(-HOUR), Some(-HOUR)], differs),
            // Fewer than half lie.
            (&[Some(-HOUR), Some(-HOUR), Some(0)], differs),
            (&[Some(HOUR), Some(0), Some(-20)], agrees(3)),
            (
                &[Some(HOUR), Some(i64::MAX >> 8), Some(0), Some(1), Some(2)],
                agrees(5),
            ),
            (
                &[Some(0), Some(0), Some(-HOUR), Some(-HOUR), Some(-HOUR)],
                differs,
            ),
            // Half lie: their word is not taken.
            (&[Some(0), Some(0), Some(-HOUR), Some(-HOUR)], differs),
            (&[Some(0), Some(0), Some(0), Some(-HOUR)], agrees(4)),
            // Too few answer.
            (&[Some(0), Some(0)], differs),
            (&[Some(0), Some(0), Some(0), None, None], agrees(3)),
            (&[Some(0), Some(0), None, None, None], differs),
            (&[None, None, None], differs),
        ];
        for (line, (clocks, expected)) in table.iter().enumerate() {
            let mut bench = Bench::confirmed();
            bench.set(HOUR).expect("a jump");
            assert_eq!(bench.asks(clocks), *expected, "line {line}");
            let in_doubt = *expected == differs;
            assert_eq!(bench.watch.in_doubt(), in_doubt, "line {line}");
            let next = bench.watch.next_time(Monotonic::START);
            assert_eq!(next.is_some(), in_doubt, "line {line}: asked again");
        }
    }

    #[test]
    fn peers_check_the_clock_after_a_start() {
        const HOUR: i64 = 3_600_000;
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Judged {
            Trusted,
            NobodyTold,
            /// Too few for a doubt, but reported to the operator.
            Shown,
            Doubted,
        }
        use Judged::*;
        // Each peer's clock less this node's.
        let table: &[(&[Option<i64>], Judged)] = &[
            (&[None], NobodyTold),
            (&[Some(20)], Trusted),
            (&[Some(20), None], Shown),
            (&[Some(0), Some(5), Some(HOUR)], Trusted),
            (&[Some(HOUR)], Shown),
            (&[Some(HOUR), Some(HOUR)], Shown),
            (&[Some(HOUR), Some(0)], Shown),
            (&[Some(HOUR), Some(HOUR), Some(HOUR)], Doubted),
            (&[Some(-HOUR), Some(HOUR), Some(HOUR)], Doubted),
            // Half of them are no majority.
            (&[Some(0), Some(0), Some(HOUR), Some(HOUR)], Shown),
        ];
        for (line, (clocks, expected)) in table.iter().enumerate() {
            let mut bench = Bench::new();
            assert!(!bench.watch.is_trusted(), "nobody was asked");
            assert!(!bench.watch.figures().in_doubt);
            let judged = bench.asks(clocks).expect("judged");
            let watch = &bench.watch;
            let shown = watch.figures().in_doubt;
            assert_eq!(watch.figures().is_trusted, watch.is_trusted());
            let found = match (watch.is_trusted(), watch.in_doubt(), shown) {
                (true, false, false) => Trusted,
                (false, false, false) => NobodyTold,
                (false, false, true) => Shown,
                (false, true, true) => Doubted,
                other => panic!("line {line}: {other:?}"),
            };
            assert_eq!(found, *expected, "line {line}");
            let began_doubt = found == Doubted;
            let told = match found {
                Trusted => Agreement::Agrees {
                    answers: clocks.len(),
                    ended_doubt: false,
                },
                _ => Agreement::Differs { began_doubt },
            };
            assert_eq!(judged, told, "line {line}");
            let next = watch.next_time(Monotonic::START);
            assert_eq!(next.is_some(), found != Trusted, "line {line}: asked again");
        }
    }

    #[test]
    fn a_node_without_peers_trusts_its_clock() {
        let now = Moment::new(Monotonic::from_ms(1), Timestamp::from_ms(1_000_000));
        let alone = ClockWatch::new(now, 0, [7; 32].into(), false);
        assert!(alone.is_trusted());
        let doubted = ClockWatch::new(now, 0, [7; 32].into(), true);
        assert!(doubted.in_doubt(), "as before the restart");
    }

    #[test]
    fn answers_of_strangers_and_late_ones_say_nothing() {
        let mut bench = Bench::confirmed();
        bench.set(-60_000).expect("a jump");
        for n in 0..3 {
            bench.watch.peer_up(peer(n));
        }
        let asking = bench.watch.ask(bench.now().monotonic).expect("asked");
        assert_eq!(asking.peers.len(), 3);
        let wall = Some(Timestamp::from_ms(bench.wall));
        let now = bench.now();
        // Twice by the same, once by one that was not asked, once to another question.
        bench.watch.answered(asking.number, peer(0), wall, now);
        bench.watch.answered(asking.number, peer(0), wall, now);
        bench.watch.answered(asking.number, peer(9), wall, now);
        bench.watch.answered(asking.number + 1, peer(1), wall, now);
        bench.pass(ANSWER_MS + 1);
        let now = bench.now();
        bench.watch.answered(asking.number, peer(1), wall, now);
        bench.watch.answered(asking.number, peer(2), wall, now);
        let judged = bench.watch.judge(now.monotonic);
        assert_eq!(judged, Some(Agreement::Differs { began_doubt: false }));
        assert!(bench.watch.in_doubt());
    }

    #[test]
    fn a_jump_during_an_asking_voids_it() {
        let mut bench = Bench::confirmed();
        bench.set(60_000).expect("a jump");
        for n in 0..3 {
            bench.watch.peer_up(peer(n));
        }
        let asking = bench.watch.ask(bench.now().monotonic).expect("asked");
        let wall = Some(Timestamp::from_ms(bench.wall));
        let now = bench.now();
        for n in 0..3 {
            bench.watch.answered(asking.number, peer(n), wall, now);
        }
        bench.set(60_000).expect("a second jump");
        assert_eq!(bench.watch.judge(bench.now().monotonic), None);
        assert!(bench.watch.in_doubt());
        assert!(bench.watch.ask(bench.now().monotonic).is_some(), "again");
    }

    #[test]
    fn the_operator_ends_a_doubt() {
        let mut bench = Bench::confirmed();
        assert!(!bench.watch.confirm(), "there was none");
        bench.set(60_000).expect("a jump");
        assert!(bench.watch.confirm());
        assert!(!bench.watch.in_doubt());
        assert_eq!(bench.watch.next_time(Monotonic::START), None);
        assert!(bench.watch.is_trusted());
        assert!(bench.set(60_000).is_some(), "the next one is seen");
        assert!(bench.watch.in_doubt());
    }

    #[test]
    fn a_bounded_choice_of_many_peers_is_asked() {
        let now = Moment::new(Monotonic::from_ms(1), Timestamp::from_ms(1_000_000));
        let mut watch = ClockWatch::new(now, 255, [7; 32].into(), false);
        (0..=254).for_each(|n| watch.peer_up(peer(n)));
        let set = Moment::new(now.monotonic, Timestamp::from_ms(9_000_000));
        watch.observe(set).expect("a jump");
        let first = watch.ask(now.monotonic).expect("asked").peers;
        assert_eq!(first.len(), ASKED_MAX);
        watch.observe(now).expect("a jump");
        let second = watch.ask(now.monotonic).expect("asked").peers;
        assert_ne!(first, second, "not always the same");
    }
}
