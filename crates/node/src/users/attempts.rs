//! Failed logins, and how long the next attempt waits.
//!
//! Failures for a name from a network hold back that name from that network. To bound guessing from many networks and for many
//! names, failures also count for the name and for the network. Those two counts hold back strangers only. A client is no
//! stranger if the user has logged in from its network since the start, or if it shows a token of the user. So an attacker
//! elsewhere cannot delay a user, and neither can one behind the same address that guesses other names.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::options::UserLimits;

/// Networks, and names with their network, whose failures are remembered; the one that failed longest ago is forgotten first.
const REMEMBERED_MAX: usize = 8_192;
/// Counts of failures for names from strangers. Names share them by a secret hash, so none is forgotten for another.
const NAME_COUNTS_MAX: usize = 4_096;
/// Users whose familiar clients are remembered; the one whose last login is oldest is forgotten first.
const FAMILIAR_USERS_MAX: usize = 16_384;
/// Networks and tokens remembered for a user; the one with the oldest login is forgotten first.
const FAMILIAR_PER_USER_MAX: usize = 32;
/// The first wait, doubled with each further failure.
const WAIT_MIN: Duration = Duration::from_secs(1);
/// Parts of the longest wait. A stranger without a failure waits one of them at most: that many networks at once must attack a
/// name before strangers no longer have a turn.
const STRANGER_PARTS: u32 = 12;

/// A client that wants to log in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt<'a> {
    pub(super) user: &'a str,
    /// The network of the client's address.
    pub(super) network: IpAddr,
    /// The hash of a token that the client shows with its password.
    pub(super) token_hash: Option<[u8; 32]>,
}

/// Failures of strangers that count together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stranger {
    Pair(String, IpAddr),
    Network(IpAddr),
    Name(usize),
}

/// A sign that a client belongs to a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Network(IpAddr),
    TokenHash([u8; 32]),
}

#[derive(Debug)]
struct Familiar {
    sign: Sign,
    failures: Failures,
    seen: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Failures {
    fn none(now: Instant) -> Self {
        Self {
            count: 0,
            last: now,
        }
    }

    fn wait(self, free: u32, wait_max: Duration, now: Instant) -> Option<Duration> {
        let over = self.count.checked_sub(free)?;
        // A longer wait is cut to the longest one anyway.
        let wait = WAIT_MIN.saturating_mul(1 << over.min(16)).min(wait_max);
        // Clipped at 0 here and below: a failure may be counted after `now` was read.
        wait.checked_sub(now.saturating_duration_since(self.last))
            .filter(|left| !left.is_zero())
    }

    fn add(&mut self, memory: Duration, now: Instant) {
        if now.saturating_duration_since(self.last) >= memory {
            self.count = 0;
        }
        // The wait is the longest one long before.
        self.count = self.count.saturating_add(1);
        self.last = now;
    }

    fn give_back(&mut self) {
        // The count may have been forgotten since.
        self.count = self.count.saturating_sub(1);
    }
}

/// The failed logins.
#[derive(Debug)]
pub(super) struct Attempts {
    strangers: HashMap<Stranger, Failures>,
    names: Vec<Option<Failures>>,
    name_hasher: RandomState,
    familiar: HashMap<String, Vec<Familiar>>,
    limits: UserLimits,
}

impl Attempts {
    /// Nothing has failed yet.
    pub(super) fn new(limits: UserLimits) -> Self {
        Self {
            strangers: HashMap::new(),
            names: vec![None; NAME_COUNTS_MAX],
            name_hasher: RandomState::new(),
            familiar: HashMap::new(),
            limits,
        }
    }

    /// Counts an attempt as failed before it is looked at, so that many at once gain nothing; or says how long to wait.
    pub(super) fn begin(&mut self, attempt: Attempt<'_>, now: Instant) -> Result<(), Duration> {
        let UserLimits {
            failures_free,
            failure_wait_max,
            failure_memory,
            ..
        } = self.limits;
        if let Some(familiar) = self.familiar(attempt) {
            let wait = familiar.failures.wait(failures_free, failure_wait_max, now);
            return match wait {
                Some(wait) => Err(wait),
                None => {
                    familiar.failures.add(failure_memory, now);
                    Ok(())
                }
            };
        }
        let strangers = self.strangers_of(attempt);
        let is_first = self.failures(&strangers[0]).is_none();
        let waits = strangers.iter().filter_map(|who| {
            let (free, wait_max) = self.bounds(who, is_first);
            self.failures(who)?.wait(free, wait_max, now)
        });
        if let Some(wait) = waits.max() {
            return Err(wait);
        }
        for who in strangers {
            self.failures_mut(who, now).add(failure_memory, now);
        }
        Ok(())
    }

    /// The attempt did not fail: its own failures are forgotten, it is subtracted from the shared counts, and the client is
    /// familiar from now on.
    pub(super) fn succeeded(&mut self, attempt: Attempt<'_>, hash: [u8; 32], now: Instant) {
        match self.familiar(attempt) {
            Some(familiar) => familiar.failures = Failures::none(now),
            None => {
                let [pair, others @ ..] = self.strangers_of(attempt);
                self.strangers.remove(&pair);
                others.into_iter().for_each(|who| self.give_back(&who));
            }
        }
        // A login by a token leaves the failures from its network as they are.
        let pair = Stranger::Pair(attempt.user.to_owned(), attempt.network);
        let failures = self.strangers.remove(&pair);
        self.remember(attempt.user, Sign::Network(attempt.network), failures, now);
        self.remember(attempt.user, Sign::TokenHash(hash), None, now);
    }

    /// A token that the client shows is the user's.
    pub(super) fn vouch(&mut self, user: &str, hash: [u8; 32], now: Instant) {
        self.remember(user, Sign::TokenHash(hash), None, now);
    }

    /// The attempt was not looked at.
    pub(super) fn undone(&mut self, attempt: Attempt<'_>) {
        match self.familiar(attempt) {
            Some(familiar) => familiar.failures.give_back(),
            None => {
                let strangers = self.strangers_of(attempt);
                strangers.iter().for_each(|who| self.give_back(who));
            }
        }
    }

    /// The record of the client, by its token or else by its network.
    fn familiar(&mut self, attempt: Attempt<'_>) -> Option<&mut Familiar> {
        let known = self.familiar.get_mut(attempt.user)?;
        let place = |sign: Sign| known.iter().position(|familiar| familiar.sign == sign);
        let by_token = attempt
            .token_hash
            .and_then(|hash| place(Sign::TokenHash(hash)));
        let found = by_token.or_else(|| place(Sign::Network(attempt.network)))?;
        known.get_mut(found)
    }

    fn remember(&mut self, user: &str, sign: Sign, failures: Option<Failures>, now: Instant) {
        if !self.familiar.contains_key(user) && self.familiar.len() >= FAMILIAR_USERS_MAX {
            let latest = |known: &[Familiar]| known.iter().map(|familiar| familiar.seen).max();
            let oldest = self.familiar.iter().min_by_key(|(_, known)| latest(known));
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.familiar.remove(&oldest);
            }
        }
        let known = self.familiar.entry(user.to_owned()).or_default();
        if let Some(familiar) = known.iter_mut().find(|familiar| familiar.sign == sign) {
            familiar.seen = now;
            return;
        }
        if known.len() >= FAMILIAR_PER_USER_MAX {
            let oldest = known.iter().enumerate().min_by_key(|(_, known)| known.seen);
            if let Some(oldest) = oldest.map(|(place, _)| place) {
                known.swap_remove(oldest);
            }
        }
        known.push(Familiar {
            sign,
            failures: failures.unwrap_or_else(|| Failures::none(now)),
            seen: now,
        });
    }

    /// The counts of a stranger. The first one is its own.
    fn strangers_of(&self, attempt: Attempt<'_>) -> [Stranger; 3] {
        let hash = self.name_hasher.hash_one(attempt.user);
        let place = hash % NAME_COUNTS_MAX as u64;
        [
            Stranger::Pair(attempt.user.to_owned(), attempt.network),
            Stranger::Network(attempt.network),
            Stranger::Name(usize::try_from(place).expect("less than the number of counts")),
        ]
    }

    /// The free failures of a count, and its longest wait.
    fn bounds(&self, who: &Stranger, is_first: bool) -> (u32, Duration) {
        let longest = self.limits.failure_wait_max;
        let part = longest / STRANGER_PARTS;
        match who {
            Stranger::Pair(..) => (self.limits.failures_free, longest),
            Stranger::Network(_) if is_first => (self.limits.address_failures_free, part),
            Stranger::Network(_) => (self.limits.address_failures_free, longest),
            Stranger::Name(_) => (self.limits.failures_free, part),
        }
    }

    fn failures(&self, who: &Stranger) -> Option<Failures> {
        match who {
            Stranger::Name(place) => self.names[*place],
            who => self.strangers.get(who).copied(),
        }
    }

    fn failures_mut(&mut self, who: Stranger, now: Instant) -> &mut Failures {
        match who {
            Stranger::Name(place) => self.names[place].get_or_insert(Failures::none(now)),
            who => {
                if !self.strangers.contains_key(&who) {
                    self.make_room(now);
                }
                let entry = self.strangers.entry(who);
                entry.or_insert(Failures::none(now))
            }
        }
    }

    fn give_back(&mut self, who: &Stranger) {
        let failures = match who {
            Stranger::Name(place) => self.names[*place].as_mut(),
            who => self.strangers.get_mut(who),
        };
        if let Some(failures) = failures {
            failures.give_back();
        }
    }

    fn make_room(&mut self, now: Instant) {
        if self.strangers.len() < REMEMBERED_MAX {
            return;
        }
        let memory = self.limits.failure_memory;
        self.strangers
            .retain(|_, known| now.saturating_duration_since(known.last) < memory);
        if self.strangers.len() >= REMEMBERED_MAX {
            let oldest = self.strangers.iter().min_by_key(|(_, known)| known.last);
            if let Some(oldest) = oldest.map(|(who, _)| who.clone()) {
                self.strangers.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: [u8; 32] = [1; 32];

    fn at(user: &str, network: u32) -> Attempt<'_> {
        Attempt {
            user,
            network: IpAddr::from(network.to_be_bytes()),
            token_hash: None,
        }
    }

    fn attempts() -> (Attempts, Instant) {
        (Attempts::new(UserLimits::default()), Instant::now())
    }

    fn longest() -> Duration {
        UserLimits::default().failure_wait_max
    }

    /// A name that does not share its count with Ann.
    fn stranger_to_ann(attempts: &Attempts) -> String {
        let place = |name: &str| attempts.strangers_of(at(name, 1))[2].clone();
        let names = (0..).map(|n: u32| format!("bob{n}"));
        let mut others = names.filter(|name| place(name) != place("ann"));
        others.next().expect("there are many")
    }

    /// Lets networks fail as often as it may for a time, one attempt at a time. Returns the number of attempts.
    fn attack(attempts: &mut Attempts, networks: u32, from: Instant, seconds: u64) -> u64 {
        let mut guesses = 0;
        for second in 0..seconds {
            for network in 0..networks {
                let now = from + Duration::from_secs(second);
                guesses += u64::from(attempts.begin(at("ann", 1_000 + network), now).is_ok());
            }
        }
        guesses
    }

    #[test]
    fn failures_cost_more_and_more_time_up_to_a_bound() {
        let (mut attempts, start) = attempts();
        let mut now = start;
        let bob = stranger_to_ann(&attempts);
        for _ in 0..UserLimits::default().failures_free {
            assert_eq!(attempts.begin(at("ann", 1), now), Ok(()));
        }
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            let wait = Duration::from_secs(seconds);
            assert_eq!(attempts.begin(at("ann", 1), now), Err(wait));
            assert_eq!(attempts.begin(at(&bob, 1), now), Ok(()));
            attempts.undone(at(&bob, 1));
            now += wait;
            assert_eq!(attempts.begin(at("ann", 1), now), Ok(()));
        }
        now += UserLimits::default().failure_memory;
        assert_eq!(attempts.begin(at("ann", 1), now), Ok(()));
        attempts.succeeded(at("ann", 1), TOKEN, now);
        for _ in 0..UserLimits::default().failures_free {
            assert_eq!(attempts.begin(at("ann", 1), now), Ok(()), "a fresh start");
        }
    }

    #[test]
    fn many_names_from_one_address_are_held_up_and_memory_is_bounded() {
        let (mut attempts, now) = attempts();
        for n in 0..UserLimits::default().address_failures_free {
            assert!(attempts.begin(at(&n.to_string(), 1), now).is_ok());
        }
        assert_eq!(attempts.begin(at("x", 1), now), Err(WAIT_MIN));
        // Each one beyond the bound looks through all, so a few suffice.
        let beyond = |most: usize| 0..u32::try_from(most + 50).expect("thousands");
        for n in beyond(REMEMBERED_MAX) {
            // Names share counts, so a stranger may have to wait for the guesses of another name.
            let _ = attempts.begin(at(&format!("u{n}"), 1_000 + n), now);
        }
        assert!(attempts.strangers.len() <= REMEMBERED_MAX);
        for n in beyond(FAMILIAR_USERS_MAX) {
            // If users logged in at the same time, any of them may be forgotten.
            let now = now + Duration::from_millis(n.into());
            attempts.succeeded(at(&format!("u{n}"), n), TOKEN, now);
            attempts.succeeded(at("ann", n), TOKEN, now);
        }
        assert!(attempts.familiar.len() <= FAMILIAR_USERS_MAX);
        let most = attempts.familiar.values().map(Vec::len).max();
        assert_eq!(most, Some(FAMILIAR_PER_USER_MAX));
    }

    #[test]
    fn attackers_elsewhere_do_not_delay_a_familiar_network() {
        let (mut attempts, start) = attempts();
        assert_eq!(attempts.begin(at("ann", 1), start), Ok(()));
        attempts.succeeded(at("ann", 1), TOKEN, start);
        attack(&mut attempts, 200, start, 600);
        let now = start + Duration::from_secs(600);
        assert_eq!(attempts.begin(at("ann", 1), now), Ok(()));
        // Guesses for other names from the user's own network do not delay the user either.
        for n in 0..100_u32 {
            let _ = attempts.begin(at(&format!("u{n}"), 1), now);
        }
        assert_eq!(attempts.begin(at("ann", 1), now), Ok(()));
    }

    #[test]
    fn a_token_of_the_user_passes_an_attack_from_its_own_address() {
        let (mut attempts, start) = attempts();
        let with_token = Attempt {
            token_hash: Some(TOKEN),
            ..at("ann", 1_000)
        };
        assert_eq!(attempts.begin(with_token, start), Ok(()));
        attempts.succeeded(with_token, TOKEN, start);
        attack(&mut attempts, 1, start, 600);
        let now = start + Duration::from_secs(600);
        assert!(attempts.begin(at("ann", 1_000), now).is_err());
        assert_eq!(attempts.begin(with_token, now), Ok(()));
        // A token of another user has no effect, and one token gives no more guesses than one network.
        let other = Attempt {
            user: "bob",
            ..with_token
        };
        let mut guess = |attempt| {
            for _ in 0..100 {
                let _ = attempts.begin(attempt, now);
            }
            attempts.begin(attempt, now)
        };
        assert!(guess(other).is_err());
        assert!(guess(with_token).is_err());
    }

    #[test]
    fn a_stranger_has_its_turn_while_few_networks_attack() {
        let (mut attempts, start) = attempts();
        let prepared = 1_200;
        attack(&mut attempts, STRANGER_PARTS - 2, start, prepared);
        // The attackers have used up their free failures, and always come first.
        let mut second = prepared;
        loop {
            let now = start + Duration::from_secs(second);
            attack(&mut attempts, STRANGER_PARTS - 2, now, 1);
            match attempts.begin(at("ann", 1), now) {
                Ok(()) => break,
                Err(wait) => assert!(wait <= longest() / STRANGER_PARTS, "{wait:?}"),
            }
            second += 1;
            assert!(second <= prepared + longest().as_secs(), "a bounded wait");
        }
    }

    #[test]
    fn guesses_of_one_name_from_many_networks_are_bounded() {
        let (mut attempts, start) = attempts();
        let seconds = 3_600;
        let guesses = attack(&mut attempts, 300, start, seconds);
        let part = longest().as_secs() / u64::from(STRANGER_PARTS);
        let free = u64::from(UserLimits::default().failures_free);
        assert!(guesses <= seconds / part + free + 3, "{guesses}");
    }
}
