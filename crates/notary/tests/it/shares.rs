//! Several requesters at one notary: turns, shares of the queue, and rates.

use ledger::{NotaryError, PartyId};
use notary::{Notary, NotaryOptions, RequesterFigures};

use crate::requests::*;

const BANKS: [&str; 5] = ["Bank A", "Bank B", "Bank C", "Bank D", "Bank E"];

/// A notary, its durable rows, and numbers for states that no request has named before.
struct NotaryBench {
    notary: Notary,
    durable: Durable,
    next: u64,
    commit: u64,
}

impl NotaryBench {
    fn new(options: NotaryOptions) -> Self {
        Self {
            notary: Notary::new(options, me(), at(0)),
            durable: Durable::default(),
            next: 0,
            commit: 0,
        }
    }

    /// A bank asks for a transaction that consumes so many fresh states. The request's number is the bank's index.
    fn ask(&mut self, bank: usize, states: u64, ms: u64) -> Result<(), NotaryError> {
        let inputs: Vec<u64> = (self.next..self.next + states).collect();
        self.next += states;
        self.ask_for(bank, &inputs, ms)
    }

    fn ask_for(&mut self, bank: usize, inputs: &[u64], ms: u64) -> Result<(), NotaryError> {
        self.ask_for_tx(bank, &tx(inputs, &[], 1), ms)
    }

    fn ask_for_tx(&mut self, bank: usize, tx: &Tx, ms: u64) -> Result<(), NotaryError> {
        let request = request_from(BANKS[bank], bank as u64, tx.subject(&me()));
        self.notary
            .welcome(request.requester, moment(ms).monotonic)?;
        self.notary.admit(request, moment(ms))
    }

    /// One batch: the banks whose requests were decided, in order.
    fn decide(&mut self, ms: u64) -> Vec<usize> {
        self.commit += 1;
        let decision = decide_batch(&mut self.notary, self.commit, &self.durable);
        let Some(decision) = decision else {
            return Vec::new();
        };
        self.durable.write(&decision);
        self.notary.committed(self.commit, moment(ms).monotonic);
        let verdicts = decision.verdicts.iter();
        verdicts.map(|(bank, _)| *bank as usize).collect()
    }

    fn figures(&self, bank: usize) -> RequesterFigures {
        let id: PartyId = party(BANKS[bank], key().public()).id();
        let mut all = self.notary.requesters();
        all.find(|(requester, _)| *requester == id)
            .map(|(_, figures)| figures)
            .unwrap_or_default()
    }
}

fn options() -> NotaryOptions {
    NotaryOptions {
        batch_requests_max: 100,
        queue_requests_max: 1_000,
        requester_states_per_s: 0,
        ..NotaryOptions::default()
    }
}

#[test]
fn requesters_take_turns_however_much_one_asks() {
    // Requests that one bank queues first, and the states of each. Another bank asks once, for one state: its place
    // at most.
    for (requests, states, place) in [(400, 1, 40), (60, 100, 40), (400, 7, 40), (1, 5_000, 1)] {
        let mut bench = NotaryBench::new(options());
        for _ in 0..requests {
            bench.ask(0, states, 0).expect("room");
        }
        bench.ask(1, 1, 0).expect("room");
        let decided = bench.decide(0);
        let found = decided.iter().position(|bank| *bank == 1);
        assert!(
            found.is_some_and(|found| found <= place),
            "{requests} of {states}: at {found:?}"
        );
    }
}

#[test]
fn turns_are_weighed_by_states_and_every_request_is_decided() {
    let mut bench = NotaryBench::new(NotaryOptions {
        batch_requests_max: 36,
        ..options()
    });
    // One bank asks in large requests, the other in small ones.
    for _ in 0..20 {
        bench.ask(0, 16, 0).expect("room");
    }
    for _ in 0..320 {
        bench.ask(1, 1, 0).expect("room");
    }
    let decided = bench.decide(0);
    let large = decided.iter().filter(|bank| **bank == 0).count();
    assert!(
        (1..=4).contains(&large),
        "{large} large among {}",
        decided.len()
    );
    let mut all = decided.len();
    loop {
        match bench.decide(0).len() {
            0 => break,
            more => all += more,
        }
    }
    assert_eq!(all, 340);
    assert_eq!(
        (bench.figures(0).states, bench.figures(1).states),
        (320, 320)
    );
}

#[test]
fn requesters_that_fill_their_shares_leave_room_for_one_more() {
    for (requests_max, states_max) in [(64, 50_000), (20_000, 64)] {
        let mut bench = NotaryBench::new(NotaryOptions {
            queue_requests_max: requests_max,
            queue_states_max: states_max,
            ..options()
        });
        let mut shares = Vec::new();
        for bank in 0..BANKS.len() {
            let taken = (0..1_000).take_while(|_| bench.ask(bank, 1, 0).is_ok());
            shares.push(taken.count());
        }
        assert_eq!(shares, [32, 16, 8, 4, 2]);
        assert_eq!(bench.figures(0).busy, 1);
        // The first requester gets its share back as its requests are decided.
        while !bench.decide(0).is_empty() {}
        assert_eq!(
            (0..1_000)
                .take_while(|_| bench.ask(0, 1, 0).is_ok())
                .count(),
            32
        );
    }
}

#[test]
fn invented_states_are_bounded_by_a_rate_for_each_requester() {
    let mut bench = NotaryBench::new(NotaryOptions {
        requester_states_per_s: 100,
        requester_burst_s: 2,
        ..options()
    });
    for _ in 0..25 {
        bench.ask(0, 10, 0).expect("within the burst");
    }
    while !bench.decide(0).is_empty() {}
    assert_eq!(bench.figures(0).states, 250);
    // 250 of 200 are used: half a second is owed.
    assert_eq!(bench.ask(0, 1, 0), Err(NotaryError::Busy { eta_ms: 500 }));
    assert_eq!(bench.ask(0, 1, 400), Err(NotaryError::Busy { eta_ms: 100 }));
    // Others pay nothing for it.
    bench.ask(1, 10, 0).expect("its own rate");
    bench.ask(0, 1, 500).expect("paid for");
    assert_eq!(bench.figures(0).busy, 2);
}

#[test]
fn a_transaction_that_consumes_nothing_is_charged_once_as_one_state() {
    let mut bench = NotaryBench::new(NotaryOptions {
        requester_states_per_s: 10,
        requester_burst_s: 1,
        ..options()
    });
    for salt in 0..15 {
        bench
            .ask_for_tx(0, &tx(&[], &[], salt), 0)
            .expect("within the burst");
    }
    while !bench.decide(0).is_empty() {}
    // 15 of 10 are used: half a second is owed.
    let busy = bench.ask_for_tx(0, &tx(&[], &[], 99), 0);
    assert_eq!(busy, Err(NotaryError::Busy { eta_ms: 500 }));
    let (figures, rows) = (bench.figures(0), 15);
    assert_eq!((figures.signed, figures.states), (rows, 0));
    for _ in 0..50 {
        bench
            .ask_for_tx(1, &tx(&[], &[], 3), 0)
            .expect("accepted before");
        assert_eq!(bench.decide(0).len(), 1);
    }
}

#[test]
fn a_window_that_cannot_be_judged_counts_as_busy() {
    let mut bench = NotaryBench::new(options());
    bench.notary.doubt_clock();
    let timed = Tx {
        window: Some((0, u64::MAX)),
        ..tx(&[1], &[], 1)
    };
    bench.ask_for_tx(0, &timed, 0).expect("room");
    assert_eq!(bench.decide(0).len(), 1);
    let figures = bench.figures(0);
    assert_eq!((figures.signed, figures.refused, figures.busy), (0, 0, 1));
}

#[test]
fn only_newly_consumed_states_are_charged() {
    let mut bench = NotaryBench::new(NotaryOptions {
        requester_states_per_s: 10,
        requester_burst_s: 1,
        ..options()
    });
    // Bank A consumes ten states; bank B asks for the same transaction again, and in vain for others of them.
    let inputs: Vec<u64> = (0..10).collect();
    bench.ask_for(0, &inputs, 0).expect("room");
    bench.decide(0);
    for _ in 0..50 {
        bench.ask_for(1, &inputs, 0).expect("accepted before");
        bench.ask_for(1, &inputs[..3], 0).expect("a conflict");
        assert_eq!(bench.decide(0).len(), 2);
    }
    let figures = bench.figures(1);
    assert_eq!(
        (figures.signed, figures.refused, figures.states),
        (50, 50, 0)
    );
    assert_eq!(bench.figures(0).states, 10);
}
