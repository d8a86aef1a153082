//! The plan that a seed stands for: the flows that clients start with their times and predicted results, the faults, and the
//! limits of the nodes.

use finance::IssuedToken;
use flow::messaging::BackOff;
use kernel::KernelOptions;
use notary::{NotaryKind, NotaryOptions};
use vault::SelectionOptions;

use crate::adversary::{self, ClockFault};
use crate::chance::Chance;
use crate::links::Weather;
use crate::membership::{Membership, NODES, pairs};
use crate::planned_flow::{PlannedFlow, WORK_US};
use crate::swarm::RESPONDERS_MAX;
use crate::workload::Workload;
use crate::{Adversary, Bug, SimOptions};

/// A fault.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// A node crashes after a number of steps, and stays down for some time.
    Crash {
        node: usize,
        steps: u64,
        down_us: u64,
    },
    /// Two nodes cannot reach each other for some time.
    Partition { pair: (usize, usize), for_us: u64 },
}

/// The plan of a simulation.
pub struct Plan {
    pub tokens: Vec<IssuedToken>,
    pub funding: Vec<PlannedFlow>,
    pub work: Vec<PlannedFlow>,
    /// Faults with their times since the start of the work.
    pub faults: Vec<(u64, Fault)>,
    pub weather: Weather,
    /// End of the faults, in microseconds since the start of the work.
    pub calm_us: u64,
    /// Options of all kernels, except for the entropy.
    pub kernel: KernelOptions,
    pub notary: NotaryOptions,
    /// Minimum and maximum duration of a sync, in microseconds.
    pub sync_us: (u64, u64),
    /// Whether reads show rows that are not synced yet.
    pub shows_unsynced: bool,
    pub ahead_ms: [u64; NODES],
    /// Clients that start the same flow twice at once, per mille.
    pub double_starts: u64,
    /// The harmful member.
    pub adversary: Adversary,
    /// Tokens whose holders depend on a silent counterparty, with the quantity issued.
    pub loose: Vec<(IssuedToken, u64)>,
    /// Wrong clock settings, by time since the start of the work.
    pub(crate) clock_faults: Vec<ClockFault>,
}

/// How long a flow opened by the silent member waits for its next message, in milliseconds. This exceeds every silence that ends.
/// A node's default is a week, which is longer than a simulation.
const RESPONDER_IDLE_MS: u64 = 1_200_000;

impl Plan {
    pub fn new(options: &SimOptions, membership: &Membership, chance: &mut Chance) -> Self {
        let adversary = options.harmful_member();
        let mut workload = Workload::new(membership, chance.fork());
        workload.without_exchange = adversary.is_the_exchange();
        let mut funding = workload.funding();
        let count = chance.between(52, 70);
        let work = (0..count).map(|_| workload.any_perhaps_cancelled());
        let mut work: Vec<PlannedFlow> = work.collect();
        let faults = faults(&mut chance.fork());
        let calm_us = WORK_US + chance.between(0, 1_500_000);
        let mut kernel = small_kernel(&mut chance.fork());
        kernel.selection.restores_locks = options.bug != Some(Bug::LockForgotten);
        if options.bug == Some(Bug::JobsMisordered) {
            // Only a batch with several jobs has an order.
            kernel.gathered_jobs_max = KernelOptions::default().gathered_jobs_max;
            kernel.round_bytes_max = KernelOptions::default().round_bytes_max;
        }
        // Drawn last, so that the rest of a seed is the same with and without an adversary.
        let mut clock_faults = Vec::new();
        match adversary {
            Adversary::Swarm => {
                kernel.flow.responders_max = RESPONDERS_MAX;
                work.extend(workload.swarms());
            }
            Adversary::Clocks => {
                clock_faults = adversary::clock_faults(&mut chance.clone().fork());
                work.extend(workload.timed());
            }
            Adversary::Replayer => work.extend(workload.reissues()),
            Adversary::Silent => {
                kernel.flow.responder_idle_ms = RESPONDER_IDLE_MS;
                funding.extend(workload.loose_funding());
                work.extend(workload.trusting());
            }
            Adversary::Garbage => {}
        }
        Self {
            tokens: workload.tokens,
            funding,
            work,
            faults,
            weather: Weather {
                delay_us: chance.one_of(&[(50, 300), (100, 5_000), (500, 40_000)]),
                lost: chance.one_of(&[0, 0, 5, 30]),
                doubled: chance.one_of(&[0, 5, 30]),
            },
            calm_us,
            kernel,
            notary: NotaryOptions {
                batch_requests_max: chance.one_of(&[1, 3, 1_000]),
                queue_requests_max: chance.one_of(&[4, 1_000]),
                eta_unknown_ms: 50,
                kind: match membership.validating {
                    true => NotaryKind::Validating,
                    false => NotaryKind::NonValidating,
                },
                ..NotaryOptions::default()
            },
            sync_us: chance.one_of(&[(50, 600), (500, 4_000), (2_000, 20_000)]),
            shows_unsynced: chance.per_mille(500),
            ahead_ms: [0; NODES].map(|_| chance.between(0, 2_000)),
            double_starts: chance.one_of(&[0, 100]),
            adversary,
            loose: std::mem::take(&mut workload.loose),
            clock_faults,
        }
    }
}

/// Draws the faults, with at least one crash. Crashes may follow each other closely, or hit a node that is just starting.
fn faults(chance: &mut Chance) -> Vec<(u64, Fault)> {
    let mut faults = Vec::new();
    for _ in 0..chance.between(1, 5) {
        let crash = Fault::Crash {
            node: chance.below(NODES),
            steps: chance.between(0, 60),
            down_us: chance.one_of(&[1_000, 30_000, 500_000, 1_500_000]),
        };
        faults.push((chance.between(0, WORK_US), crash));
    }
    for _ in 0..chance.between(0, 4) {
        let partition = Fault::Partition {
            pair: chance.one_of(&pairs()),
            for_us: chance.between(1_000, 1_500_000),
        };
        faults.push((chance.between(0, WORK_US), partition));
    }
    faults.sort_by_key(|(at, _)| *at);
    faults
}

/// Returns kernel options with small limits and short timeouts, so that situations that are rare in a large node become common.
fn small_kernel(chance: &mut Chance) -> KernelOptions {
    let soon = BackOff {
        first_ms: 300,
        max_ms: 2_000,
    };
    let mut options = KernelOptions {
        live_flows_max: chance.one_of(&[3, 20, 1_000]),
        start_queue_max: chance.one_of(&[2, 1_000]),
        selection: SelectionOptions {
            coins_per_pool_max: chance.one_of(&[220, 20_000]),
            low_water: chance.one_of(&[0, 5]),
            refill_rows: chance.one_of(&[3, 2_000]),
            states_per_selection_max: 200,
            ..SelectionOptions::default()
        },
        transactions_bytes: chance.one_of(&[4_000, 16 << 20]),
        known_signatures_bytes: chance.one_of(&[500, 2 << 20]),
        outcomes_bytes: chance.one_of(&[1_000, 4 << 20]),
        fresh_keys_bytes: chance.one_of(&[0, 500, 1 << 20]),
        unshared_bytes: chance.one_of(&[0, 4_000, 4 << 20]),
        ..KernelOptions::default()
    };
    options.outbox.window_messages_max = chance.one_of(&[2, 7, 1_024]);
    options.outbox.window_bytes_max = chance.one_of(&[1_000, 1 << 20]);
    options.deliveries.window_transactions_max = chance.one_of(&[2, 7, 1_024]);
    options.deliveries.window_bytes_max = chance.one_of(&[3_000, 8 << 20]);
    options.outbox.resend = soon;
    options.deliveries.resend = soon;
    options.requests.in_flight_max = chance.one_of(&[1, 5, 4_096]);
    options.requests.resend = soon;
    options.peer_check_rate = chance.one_of(&[0, 1, 10]);
    options.history.flows_max = chance.one_of(&[1, 5, 1_000_000]);
    options.gathered_jobs_max = chance.one_of(&[1, 4, 128, 128]);
    options.round_bytes_max = chance.one_of(&[1, 4 << 10, 4 << 20, 4 << 20]);
    options
}
