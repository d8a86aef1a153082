//! Room for the flows that clients and states start: by their number, by the bytes that they are taken to weigh, and, for those that
//! wait, by how long they would. Flows that states have scheduled get at most half of it, because a counterparty decides about their
//! number and weight. A flow that comes back from its journal counts as a client's.
//!
//! The weight of a flow is not known when it starts. The expected weight is that of recent flows of its name, and it rises when
//! the flow handles more. Weights are estimates. Their purpose is to bound memory.

use primitives::Monotonic;
use primitives::collections::HashMap;

use crate::options::KernelOptions;

/// The fixed weight of a flow: its state, its journal, its sessions and its client's wait.
pub const FLOW_BYTES: usize = 8 << 10;
/// The weight of each byte of a flow's largest transaction or journal row. It is in memory several times: encoded, decoded, as a
/// tear-off, in a batch and in messages.
pub const WEIGHT_PER_BYTE: usize = 6;
/// Number of starts that may always wait, even if flows end slowly.
pub const WAITING_MIN: usize = 100;
/// The arguments of queued starts may take this part of the budget for live flows: one in this many.
pub const WAITING_PART: usize = 4;
/// The share of its excess by which an expected weight falls with each ended flow: one part in this many.
const FORGET_PART: usize = 16;
/// Maximum number of flow names whose weights are remembered. Flows of other names are assumed to have the minimum weight.
const NAMES_MAX: usize = 1_000;

/// Delay in milliseconds that a `busy` answer suggests before a rate is known.
const RETRY_UNKNOWN_MS: u64 = 250;
/// Minimum and maximum delay that a client is told, in milliseconds.
const RETRY_MS: (u64, u64) = (50, 10_000);
/// Minimum time over which the rate of ended flows is measured, in milliseconds.
const PACE_MS: u64 = 500;

/// The room for starts of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartCapacity {
    /// Estimated number of starts that would be taken now.
    pub places: usize,
    /// The delay recommended to any further starts, in milliseconds.
    pub retry_after_ms: u64,
}

/// The estimated weight of a flow, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    /// The weight counted for it now.
    held: usize,
    /// The largest weight that this flow has had.
    seen: usize,
    /// Whether a state has scheduled the flow.
    is_scheduled: bool,
}

/// The rate at which flows end.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    since: Monotonic,
    ended: u64,
    /// A number of flows in a number of milliseconds. Neither is 0.
    last: Option<(u64, u64)>,
}

impl Pace {
    /// Begins to measure at `now`.
    pub(crate) fn since(now: Monotonic) -> Self {
        Self {
            since: now,
            ..Self::default()
        }
    }

    /// Restarts the measurement, because no flow ran until now.
    fn begin(&mut self, now: Monotonic) {
        (self.since, self.ended) = (now, 0);
    }

    pub(crate) fn ended(&mut self, now: Monotonic) {
        self.ended += 1;
        let ms = now.passed_ms(self.since);
        if ms >= PACE_MS {
            self.last = Some((self.ended, ms));
            self.begin(now);
        }
    }

    /// Returns the estimated time until `count` flows have ended, in milliseconds.
    pub(crate) fn wait_ms(&self, count: usize) -> u64 {
        match self.last {
            // A product beyond 64 bits is longer than any wait that is announced, and clipped like those.
            Some((ended, ms)) => (count as u64).saturating_mul(ms) / ended,
            None => RETRY_UNKNOWN_MS,
        }
    }

    /// Returns the number of flows that end within a time, or `None` if no rate is known.
    fn within(&self, wait_ms: u64) -> Option<usize> {
        let (ended, ms) = self.last?;
        // A product beyond 64 bits is more flows than any queue has.
        usize::try_from(wait_ms.saturating_mul(ended) / ms).ok()
    }
}

/// The weights and places of flows that clients and states started.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// Flows started by clients and states that have not ended; parked ones hold no place.
    running: usize,
    /// Their total weight, in bytes.
    bytes: usize,
    /// The number of them that states started.
    scheduled: usize,
    /// The total weight of these, in bytes.
    scheduled_bytes: usize,
    /// The expected weight of the flows of each name.
    expected: HashMap<String, usize>,
    pace: Pace,
    /// Whether starts wait until peers have caught up with their deliveries.
    peers_behind: bool,
    /// Whether starts wait because the data may be an older copy and no peer has yet shown that it is not.
    unproved: bool,
}

impl Admission {
    /// Returns the estimated total weight of the running flows, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn expected(&self, name: &str, args: usize) -> usize {
        // Nothing is known of a flow before the first one has ended.
        let known = self.expected.get(name).copied().unwrap_or(0);
        known.max(weight_of(args))
    }

    /// Notes whether peers have to catch up with deliveries before further flows are begun.
    pub(crate) fn note_peers_behind(&mut self, peers_behind: bool) {
        self.peers_behind = peers_behind;
    }

    /// Notes whether the data may be an older copy. No flow is begun while it may.
    pub(super) fn note_unproved(&mut self, unproved: bool) {
        self.unproved = unproved;
    }

    /// Returns whether no flow is begun although there may be a place.
    pub(super) fn is_held_up(&self) -> bool {
        self.peers_behind || self.unproved
    }

    /// Returns the number of flows of clients that have a place.
    fn clients(&self) -> usize {
        self.running - self.scheduled
    }

    /// Returns the number of places that no flow holds.
    pub(super) fn free_places(&self, options: &KernelOptions) -> usize {
        // Clipped at 0: flows that come back from their journals need no free place.
        options.live_flows_max.saturating_sub(self.running)
    }

    /// Returns the bytes that flows of clients may still take. Heavy flows that states have scheduled take at most half of the budget.
    fn client_bytes_left(&self, options: &KernelOptions) -> usize {
        let scheduled = self.scheduled_bytes.min(options.live_bytes_max / 2);
        let used = self.bytes - self.scheduled_bytes + scheduled;
        // Clipped at 0: a flow may turn out to weigh more than was expected.
        options.live_bytes_max.saturating_sub(used)
    }

    /// Returns whether a client's flow may run now. A single one always may.
    pub(crate) fn has_place(&self, name: &str, args: usize, options: &KernelOptions) -> bool {
        let fits = self.expected(name, args) <= self.client_bytes_left(options);
        !self.is_held_up() && self.running < options.live_flows_max && (self.clients() == 0 || fits)
    }

    /// Returns whether a flow that a state has scheduled may run now. A single one may if a place is free, however much it weighs. Several
    /// have at most half of the room.
    pub(super) fn has_scheduled_place(
        &self,
        name: &str,
        args: usize,
        options: &KernelOptions,
    ) -> bool {
        let weight = self.expected(name, args);
        let fits = self.scheduled_bytes + weight <= options.live_bytes_max / 2
            && self.bytes + weight <= options.live_bytes_max;
        !self.is_held_up()
            && self.running < options.live_flows_max
            && self.scheduled < (options.live_flows_max / 2).max(1)
            && (self.scheduled == 0 || fits)
    }

    /// Gives a place to a client's flow. The caller keeps the returned weight with the flow.
    pub(crate) fn take(&mut self, name: &str, args: usize, now: Monotonic) -> Weight {
        if self.clients() == 0 {
            self.pace.begin(now);
        }
        self.hold(name, args, false)
    }

    /// Gives a place to a flow that a state has scheduled. The caller keeps the returned weight with the flow.
    pub(super) fn take_scheduled(&mut self, name: &str, args: usize) -> Weight {
        let weight = self.hold(name, args, true);
        self.scheduled += 1;
        self.scheduled_bytes += weight.held;
        weight
    }

    fn hold(&mut self, name: &str, args: usize, is_scheduled: bool) -> Weight {
        let weight = Weight {
            held: self.expected(name, args),
            seen: weight_of(args),
            is_scheduled,
        };
        self.running += 1;
        self.bytes += weight.held;
        weight
    }

    /// Raises a flow's weight, because it handles an item of `bytes`.
    pub(crate) fn weigh(&mut self, weight: &mut Weight, bytes: usize) {
        weight.seen = weight.seen.max(weight_of(bytes));
        if weight.seen > weight.held {
            let more = weight.seen - weight.held;
            self.bytes += more;
            if weight.is_scheduled {
                self.scheduled_bytes += more;
            }
            weight.held = weight.seen;
        }
    }

    /// Frees the place of a flow.
    pub(crate) fn free(&mut self, weight: Weight, now: Monotonic) {
        self.running -= 1;
        self.bytes -= weight.held;
        if weight.is_scheduled {
            self.scheduled -= 1;
            self.scheduled_bytes -= weight.held;
        } else {
            // The pace tells clients how long they wait.
            self.pace.ended(now);
        }
        assert!(
            self.scheduled <= self.running && self.scheduled_bytes <= self.bytes,
            "{} scheduled flows of {} bytes run, and {} of {} bytes in all",
            self.scheduled,
            self.scheduled_bytes,
            self.running,
            self.bytes
        );
    }

    /// Updates the expected weight of a flow's name after the flow has ended.
    pub(super) fn learn(&mut self, name: &str, weight: Weight) {
        let room = self.expected.len() < NAMES_MAX;
        match self.expected.get_mut(name) {
            Some(expected) if *expected > weight.seen => {
                *expected -= (*expected - weight.seen).div_ceil(FORGET_PART);
            }
            Some(expected) => *expected = weight.seen,
            None if room => {
                self.expected.insert(name.to_owned(), weight.seen);
            }
            None => {}
        }
    }

    /// Returns the number of clients' starts that may wait for a place.
    pub(super) fn waiting_max(&self, options: &KernelOptions) -> usize {
        let in_time = self.pace.within(options.start_wait_ms_max);
        let in_time = in_time.map_or(usize::MAX, |count| count.max(WAITING_MIN));
        in_time.min(options.start_queue_max)
    }

    /// Returns the room for further starts of clients while `queued` of them wait.
    pub(crate) fn capacity(&self, queued: usize, options: &KernelOptions) -> StartCapacity {
        // Clipped at 0: the limits follow the pace, and one flow always runs, so there can be more than they allow.
        let waiting = self.waiting_max(options).saturating_sub(queued);
        let bytes_left = self.client_bytes_left(options);
        let least = usize::from(self.clients() == 0);
        let running = options.live_flows_max.saturating_sub(self.running);
        let running = match self.is_held_up() {
            true => 0,
            false => running.min((bytes_left / FLOW_BYTES).max(least)),
        };
        StartCapacity {
            places: match queued {
                // Clipped if there is no limit.
                0 => waiting.saturating_add(running),
                _ => waiting,
            },
            retry_after_ms: self.retry_after_ms(queued),
        }
    }

    /// Returns the delay that a refused start is told, in milliseconds: the estimated time until all waiting starts have a place.
    pub(crate) fn retry_after_ms(&self, queued: usize) -> u64 {
        self.pace.wait_ms(queued).clamp(RETRY_MS.0, RETRY_MS.1)
    }
}

/// Returns the weight of a flow that handles an item of this length.
fn weight_of(bytes: usize) -> usize {
    FLOW_BYTES + bytes * WEIGHT_PER_BYTE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> KernelOptions {
        KernelOptions {
            live_flows_max: 4,
            live_bytes_max: 4 * FLOW_BYTES,
            start_queue_max: 1_000,
            start_wait_ms_max: 1_000,
            ..KernelOptions::default()
        }
    }

    fn at(ms: u64) -> Monotonic {
        Monotonic::from_ms(1_000_000 + ms)
    }

    #[test]
    fn flows_weigh_what_their_like_weighed_of_late_and_more_when_they_handle_more() {
        let (mut admission, options) = (Admission::default(), options());
        let fits = |admission: &Admission| admission.has_place("a", 0, &options);
        let mut first = admission.take("a", 0, at(0));
        assert_eq!(admission.bytes(), FLOW_BYTES);
        admission.weigh(&mut first, FLOW_BYTES / WEIGHT_PER_BYTE);
        admission.weigh(&mut first, 7);
        assert!((2 * FLOW_BYTES - 8..=2 * FLOW_BYTES).contains(&admission.bytes()));
        assert!(fits(&admission));
        admission.free(first, at(1));
        admission.learn("a", first);
        assert_eq!(admission.bytes(), 0);
        // Two of them are expected to fill the budget. A flow of another name is not.
        let second = admission.take("a", 0, at(2));
        let third = admission.take("a", 0, at(2));
        assert!(!fits(&admission));
        admission.free(second, at(3));
        assert!(admission.has_place("b", 0, &options) && fits(&admission));
        admission.free(third, at(3));
        // Light ones make it forget.
        for _ in 0..200 {
            let light = admission.take("a", 0, at(4));
            admission.free(light, at(4));
            admission.learn("a", light);
        }
        assert_eq!(admission.expected("a", 0), FLOW_BYTES);
        // A single flow runs with any weight.
        assert!(admission.has_place("a", 1 << 30, &options));
        let heavy = admission.take("a", 1 << 30, at(5));
        assert!(!fits(&admission) && admission.capacity(0, &options).places == 1_000);
        admission.free(heavy, at(6));
        assert_eq!(admission.bytes(), 0);
    }

    #[test]
    fn as_many_wait_as_end_within_the_time() {
        let options = options();
        // Ended flows in a number of milliseconds, the number of starts that may wait, and the delay suggested with 200 waiting.
        for (ended, ms, waiting, retry_after_ms) in [
            (0, 0, 1_000, 250),
            (500, 400, 1_000, 250),
            (500, 500, 1_000, 200),
            (400, 1_000, 400, 500),
            (10, 1_000, WAITING_MIN, 10_000),
            (1, 60_000, WAITING_MIN, 10_000),
            (10_000, 1_000, 1_000, 50),
        ] {
            let mut admission = Admission::default();
            let weights: Vec<Weight> = (0..=ended).map(|_| admission.take("a", 0, at(0))).collect();
            for (n, weight) in weights.into_iter().take(ended).enumerate() {
                let last = n + 1 == ended;
                admission.free(weight, at(if last { ms } else { 0 }));
            }
            let found = (
                admission.waiting_max(&options),
                admission.capacity(200, &options).retry_after_ms,
            );
            assert_eq!(found, (waiting, retry_after_ms), "{ended} in {ms} ms");
        }
    }

    #[test]
    fn while_peers_have_to_catch_up_starts_wait_and_none_runs() {
        let (mut admission, options) = (Admission::default(), options());
        // Held up: whether a flow may run, and places.
        for (held_up, has_place, places) in [(false, true, 1_004), (true, false, 1_000)] {
            admission.note_peers_behind(held_up);
            assert_eq!(admission.has_place("a", 0, &options), has_place);
            assert_eq!(admission.capacity(0, &options).places, places);
        }
    }

    #[test]
    fn scheduled_flows_get_half_of_the_room() {
        let options = options();
        let light = FLOW_BYTES;
        // Flows of clients and scheduled ones that run, and the bytes that each scheduled one turns out to weigh. Whether a further flow
        // of a client, and a further scheduled one, has a place.
        for (clients, scheduled, bytes, client_fits, scheduled_fits) in [
            (0, 0, light, true, true),
            (0, 1, light, true, true),
            (0, 2, light, true, false),
            (2, 1, light, true, true),
            (2, 2, light, false, false),
            (3, 0, light, true, true),
            (4, 0, light, false, false),
            // A heavy one leaves half of the bytes to clients.
            (0, 1, 100 * light, true, false),
            (1, 1, 100 * light, true, false),
            (2, 1, 100 * light, false, false),
        ] {
            let mut admission = Admission::default();
            let mut weights: Vec<Weight> = (0..clients)
                .map(|_| admission.take("a", 0, at(0)))
                .collect();
            for _ in 0..scheduled {
                let mut weight = admission.take_scheduled("b", 0);
                let item = (bytes - FLOW_BYTES) / WEIGHT_PER_BYTE;
                admission.weigh(&mut weight, item);
                weights.push(weight);
            }
            let found = (
                admission.has_place("a", 0, &options),
                admission.has_scheduled_place("b", 0, &options),
            );
            let line = format!("{clients} clients, {scheduled} scheduled of {bytes} bytes");
            assert_eq!(found, (client_fits, scheduled_fits), "{line}");
            for weight in weights {
                admission.free(weight, at(1));
            }
            let left = (admission.running, admission.bytes, admission.scheduled);
            assert_eq!(left, (0, 0, 0), "{line}");
        }
    }

    #[test]
    fn room_is_what_may_run_and_what_may_wait() {
        let options = options();
        // Running, waiting: places.
        for (running, queued, places) in [
            (0, 0, 1_004),
            (3, 0, 1_001),
            (4, 0, 1_000),
            (4, 1, 999),
            (1, 999, 1),
            (4, 1_000, 0),
            (4, 2_000, 0),
        ] {
            let mut admission = Admission::default();
            (0..running).for_each(|_| {
                admission.take("a", 0, at(0));
            });
            let room = admission.capacity(queued, &options);
            assert_eq!(room.places, places, "{running} run, {queued} wait");
        }
    }
}
