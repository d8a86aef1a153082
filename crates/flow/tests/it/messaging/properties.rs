//! Streams over a network that loses, repeats and reorders, between nodes that crash: all of it, once, in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flow::messaging::{
    BackOff, Deliveries, DeliveryAction, DeliveryOptions, Inbox, InboxAction, Outbox, OutboxAction,
    OutboxOptions, PendingDelivery,
};
use ledger::TxId;
use proptest::prelude::*;

use crate::messaging::{at, peer};

const RESEND: BackOff = BackOff {
    first_ms: 50,
    max_ms: 200,
};

/// Bytes of rows that are read at once.
const READ_BYTES_MAX: usize = 15;

#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    Arrive(u8),
    Lose(u8),
    Repeat(u8),
    AckArrives(u8),
    Refill,
    Time,
    Reconnect,
    SenderCrashes,
    ReceiverCrashes,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Push),
        8 => any::<u8>().prop_map(Step::Arrive),
        1 => any::<u8>().prop_map(Step::Lose),
        1 => any::<u8>().prop_map(Step::Repeat),
        6 => any::<u8>().prop_map(Step::AckArrives),
        6 => Just(Step::Refill),
        2 => Just(Step::Time),
        1 => Just(Step::Reconnect),
        1 => Just(Step::SenderCrashes),
        1 => Just(Step::ReceiverCrashes),
    ]
}

/// Picks one of a queue; most often the first.
fn pick<T>(queue: &mut VecDeque<T>, choice: u8) -> Option<T> {
    let index = if choice < 200 {
        0
    } else {
        usize::from(choice) % queue.len().max(1)
    };
    queue.remove(index)
}

/// A sender and a receiver of session messages, each with its store.
struct Sessions {
    outbox: Outbox,
    rows: BTreeMap<u64, Vec<u8>>,
    refills: VecDeque<(u64, usize)>,
    wire: VecDeque<(u64, Vec<u8>)>,
    acks: VecDeque<u64>,
    inbox: Inbox,
    cursor: (u64, u64),
    got: Vec<u32>,
    pushed: u32,
    now: u64,
}

fn outbox() -> Outbox {
    Outbox::new(OutboxOptions {
        window_messages_max: 4,
        window_bytes_max: 40,
        resend: RESEND,
    })
}

impl Sessions {
    fn new() -> Sessions {
        let mut sessions = Sessions {
            outbox: outbox(),
            rows: BTreeMap::new(),
            refills: VecDeque::new(),
            wire: VecDeque::new(),
            acks: VecDeque::new(),
            inbox: Inbox::new(),
            cursor: (0, 0),
            got: Vec::new(),
            pushed: 0,
            now: 0,
        };
        sessions.connect();
        sessions
    }

    fn sender(&mut self, act: impl FnOnce(&mut Outbox, u64, &mut Vec<OutboxAction>)) {
        let mut out = Vec::new();
        act(&mut self.outbox, self.now, &mut out);
        for action in out {
            match action {
                OutboxAction::Store { seq, bytes, .. } => {
                    assert!(
                        self.rows.insert(seq, bytes).is_none(),
                        "number {seq} given out twice"
                    );
                }
                OutboxAction::Send { seq, bytes, .. } => self.wire.push_back((seq, bytes)),
                OutboxAction::Delete { from, upto, .. } => {
                    (from..=upto).for_each(|seq| assert!(self.rows.remove(&seq).is_some()));
                }
                OutboxAction::Refill { after, limit, .. } => self.refills.push_back((after, limit)),
            }
        }
    }

    fn receiver(&mut self, act: impl FnOnce(&mut Inbox, &mut Vec<InboxAction>)) {
        let mut out = Vec::new();
        act(&mut self.inbox, &mut out);
        self.inbox.end_of_round(&mut out);
        for action in out {
            match action {
                InboxAction::Deliver { bytes, .. } => {
                    self.got
                        .push(u32::from_be_bytes(bytes[..4].try_into().unwrap()));
                }
                InboxAction::StoreCursor { epoch, upto, .. } => self.cursor = (epoch, upto),
                InboxAction::Ack { upto, .. } => self.acks.push_back(upto),
            }
        }
    }

    fn connect(&mut self) {
        self.wire.clear();
        self.acks.clear();
        self.outbox.peer_down(peer('B'));
        self.inbox.peer_down(&peer('A'));
        self.sender(|outbox, now, out| outbox.peer_up(peer('B'), at(now), out));
        self.receiver(|inbox, _| inbox.peer_up(peer('A'), 1));
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Push => {
                self.pushed += 1;
                let mut bytes = self.pushed.to_be_bytes().to_vec();
                bytes.resize(4 + (self.pushed as usize * 7) % 20, 0);
                self.sender(|outbox, now, out| outbox.push(peer('B'), bytes, at(now), out));
            }
            Step::Arrive(choice) => {
                if let Some((seq, bytes)) = pick(&mut self.wire, choice) {
                    self.receiver(|inbox, out| inbox.message(peer('A'), seq, bytes, out));
                }
            }
            Step::Lose(choice) => drop(pick(&mut self.wire, choice)),
            Step::Repeat(choice) => {
                let index = usize::from(choice) % self.wire.len().max(1);
                let copy = self.wire.get(index).cloned();
                self.wire.extend(copy);
            }
            Step::AckArrives(choice) => {
                if let Some(upto) = pick(&mut self.acks, choice) {
                    self.sender(|outbox, now, out| {
                        assert!(outbox.ack(peer('B'), upto, at(now), out));
                    });
                }
            }
            Step::Refill => {
                if let Some((after, limit)) = self.refills.pop_front() {
                    // Like a store that reads up to a byte limit, and one row more.
                    let mut bytes = 0;
                    let there = self.rows.range(after + 1..).take(limit);
                    let all = there.clone().count();
                    let read = there.take_while(|(_, row)| {
                        let further = bytes <= READ_BYTES_MAX;
                        bytes += row.len();
                        further
                    });
                    let rows: Vec<_> = read.map(|(seq, row)| (*seq, row.clone())).collect();
                    let more = rows.len() < all;
                    self.sender(|outbox, now, out| {
                        outbox.refilled(peer('B'), rows, more, at(now), out);
                    });
                }
            }
            Step::Time => {
                self.now += 300;
                self.sender(|outbox, now, out| outbox.timer(at(now), out));
            }
            Step::Reconnect => self.connect(),
            Step::SenderCrashes => {
                self.outbox = outbox();
                self.refills.clear();
                if let (Some(first), Some(last)) =
                    (self.rows.keys().next(), self.rows.keys().last())
                {
                    self.outbox.load(peer('B'), *first, *last);
                }
                self.connect();
            }
            Step::ReceiverCrashes => {
                self.inbox = Inbox::new();
                self.inbox.load(peer('A'), self.cursor.0, self.cursor.1);
                self.connect();
            }
        }
    }
}

/// Deliveries to one participant, with the sender's store.
struct Finals {
    deliveries: Deliveries,
    rows: BTreeMap<u64, TxId>,
    refills: VecDeque<(u64, usize)>,
    wire: VecDeque<TxId>,
    answers: VecDeque<TxId>,
    recorded: BTreeSet<TxId>,
    pushed: u32,
    waiting: BTreeSet<u64>,
    now: u64,
}

fn transaction(n: u32) -> TxId {
    TxId::from_hash(primitives::Hash::plain(&n.to_be_bytes()))
}

fn deliveries() -> Deliveries {
    Deliveries::new(DeliveryOptions {
        window_transactions_max: 4,
        window_bytes_max: 40,
        message_bytes_max: 20,
        resend: RESEND,
    })
}

impl Finals {
    fn new() -> Finals {
        let mut finals = Finals {
            deliveries: deliveries(),
            rows: BTreeMap::new(),
            refills: VecDeque::new(),
            wire: VecDeque::new(),
            answers: VecDeque::new(),
            recorded: BTreeSet::new(),
            pushed: 0,
            waiting: BTreeSet::new(),
            now: 0,
        };
        finals.connect();
        finals
    }

    fn act(&mut self, act: impl FnOnce(&mut Deliveries, &mut Vec<DeliveryAction>)) {
        let mut out = Vec::new();
        act(&mut self.deliveries, &mut out);
        self.deliveries.end_of_round(at(self.now), &mut out);
        for action in out {
            match action {
                DeliveryAction::Store {
                    seq, transaction, ..
                } => {
                    assert!(self.rows.insert(seq, transaction).is_none());
                }
                DeliveryAction::Delete { seq, .. } => {
                    let transaction = self.rows.remove(&seq).unwrap();
                    assert!(
                        self.recorded.contains(&transaction),
                        "deleted before it was recorded"
                    );
                }
                DeliveryAction::Send { transactions, .. } => self.wire.extend(transactions),
                DeliveryAction::Refill { after, limit, .. } => {
                    self.refills.push_back((after, limit))
                }
                DeliveryAction::AllAnswered { token, .. } => assert!(self.waiting.remove(&token)),
                DeliveryAction::Refused { .. } => {}
            }
        }
    }

    fn connect(&mut self) {
        self.wire.clear();
        self.answers.clear();
        self.act(|deliveries, _| {
            deliveries.peer_down(peer('B'));
            deliveries.peer_up(peer('B'));
        });
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Push => {
                self.pushed += 1;
                let (n, id) = (self.pushed, transaction(self.pushed));
                self.waiting.insert(n.into());
                self.act(|deliveries, out| {
                    deliveries.push(peer('B'), id, (n as usize * 7) % 20, out);
                    deliveries.wait(id, &[peer('B')], n.into(), out);
                });
            }
            Step::Arrive(choice) => {
                if let Some(id) = pick(&mut self.wire, choice) {
                    self.recorded.insert(id);
                    self.answers.push_back(id);
                }
            }
            Step::Lose(choice) => drop(pick(&mut self.wire, choice)),
            Step::Repeat(choice) => {
                let index = usize::from(choice) % self.wire.len().max(1);
                let copy = self.wire.get(index).cloned();
                self.wire.extend(copy);
            }
            Step::AckArrives(choice) => {
                if let Some(id) = pick(&mut self.answers, choice) {
                    self.act(|deliveries, out| deliveries.delivered(peer('B'), &[id], out));
                }
            }
            Step::Refill => {
                if let Some((after, limit)) = self.refills.pop_front() {
                    let rows = self.rows.range(after + 1..).take(limit);
                    let row = |(seq, id): (&u64, &TxId)| PendingDelivery {
                        seq: *seq,
                        transaction: *id,
                        bytes: 10,
                    };
                    let rows = rows.map(row).collect();
                    self.act(|deliveries, _| deliveries.refilled(peer('B'), rows, false));
                }
            }
            Step::Time => {
                self.now += 300;
                let now = at(self.now);
                self.act(|deliveries, _| deliveries.timer(now));
            }
            Step::Reconnect => self.connect(),
            Step::SenderCrashes | Step::ReceiverCrashes => {
                self.deliveries = deliveries();
                self.refills.clear();
                self.waiting.clear();
                if let (Some(first), Some(last)) =
                    (self.rows.keys().next(), self.rows.keys().last())
                {
                    self.deliveries.load(peer('B'), *first, *last);
                }
                self.connect();
            }
        }
    }
}

/// Runs a network without faults, for long enough.
fn settle(mut step: impl FnMut(Step)) {
    for _ in 0..400 {
        step(Step::Refill);
        step(Step::Arrive(0));
        step(Step::AckArrives(0));
    }
    for _ in 0..60 {
        step(Step::Time);
        for _ in 0..20 {
            step(Step::Refill);
            step(Step::Arrive(0));
            step(Step::AckArrives(0));
        }
    }
}

proptest! {
    #![proptest_config(properties::config!(1_000))]

    #[test]
    fn session_messages_arrive_once_and_in_order(steps in prop::collection::vec(step(), 0..150)) {
        let mut sessions = Sessions::new();
        steps.into_iter().for_each(|step| sessions.step(step));
        settle(|step| sessions.step(step));
        prop_assert_eq!(&sessions.got, &(1..=sessions.pushed).collect::<Vec<_>>());
        prop_assert!(sessions.rows.len() <= 1, "rows are left: {:?}", sessions.rows.keys());
        prop_assert_eq!(sessions.outbox.pending(&peer('B')), 0);
    }

    #[test]
    fn final_transactions_arrive(steps in prop::collection::vec(step(), 0..150)) {
        let mut finals = Finals::new();
        steps.into_iter().for_each(|step| finals.step(step));
        settle(|step| finals.step(step));
        prop_assert_eq!(finals.recorded.len(), finals.pushed as usize);
        prop_assert!(finals.rows.is_empty(), "rows are left: {:?}", finals.rows.keys());
        prop_assert!(finals.waiting.is_empty());
    }
}
