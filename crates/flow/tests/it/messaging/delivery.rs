//! Deliveries, one event a line.

use flow::messaging::{BackOff, Deliveries, DeliveryAction, DeliveryOptions, PendingDelivery};
use ledger::Rejection;

use crate::messaging::{at, name, peer, tx};

struct Bench {
    deliveries: Deliveries,
    out: Vec<DeliveryAction>,
    now: u64,
}

impl Bench {
    fn new(window_transactions_max: usize) -> Bench {
        let options = DeliveryOptions {
            window_transactions_max,
            window_bytes_max: 1_000,
            message_bytes_max: 25,
            resend: BackOff {
                first_ms: 100,
                max_ms: 1_000,
            },
        };
        Bench {
            deliveries: Deliveries::new(options),
            out: Vec::new(),
            now: 0,
        }
    }

    #[track_caller]
    fn expect(&mut self, expected: &str) {
        self.deliveries.end_of_round(at(self.now), &mut self.out);
        let lines: Vec<String> = self.out.drain(..).map(|action| line(&action)).collect();
        assert_eq!(lines.join(", "), expected);
    }

    #[track_caller]
    fn push(&mut self, to: char, n: u8, expected: &str) {
        self.deliveries.push(peer(to), tx(n), 10, &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn up(&mut self, who: char, expected: &str) {
        self.deliveries.peer_up(peer(who));
        self.expect(expected);
    }

    #[track_caller]
    fn delivered(&mut self, by: char, ns: &[u8], expected: &str) {
        let ids: Vec<_> = ns.iter().map(|n| tx(*n)).collect();
        self.deliveries.delivered(peer(by), &ids, &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn refused(&mut self, by: char, n: u8, expected: &str) {
        let rejection = Rejection::new("tx.bad", "no", "mend it");
        self.deliveries
            .refused(peer(by), tx(n), rejection, &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn rows(&mut self, of: char, rows: &[(u64, u8)], expected: &str) {
        let row = |(seq, n): &(u64, u8)| PendingDelivery {
            seq: *seq,
            transaction: tx(*n),
            bytes: 10,
        };
        self.deliveries
            .refilled(peer(of), rows.iter().map(row).collect(), false);
        self.expect(expected);
    }

    #[track_caller]
    fn wait(&mut self, n: u8, participants: &str, token: u64, expected: &str) {
        let participants: Vec<_> = participants.chars().map(peer).collect();
        self.deliveries
            .wait(tx(n), &participants, token, &mut self.out);
        self.expect(expected);
    }
}

fn line(action: &DeliveryAction) -> String {
    let n = |id: &ledger::TxId| id.as_bytes()[0];
    match action {
        DeliveryAction::Store {
            peer,
            seq,
            transaction,
        } => {
            format!("store {}{seq} {}", name(peer), n(transaction))
        }
        DeliveryAction::Delete { peer, seq } => format!("delete {}{seq}", name(peer)),
        DeliveryAction::Send { peer, transactions } => {
            format!(
                "send {} {:?}",
                name(peer),
                transactions.iter().map(n).collect::<Vec<_>>()
            )
        }
        DeliveryAction::Refill { peer, after, limit } => {
            format!("refill {} after {after} limit {limit}", name(peer))
        }
        DeliveryAction::AllAnswered {
            token,
            transaction,
            refused,
        } => {
            let refused: String = refused.iter().map(|(peer, _)| name(peer)).collect();
            format!(
                "answered {} token {token} refused '{refused}'",
                n(transaction)
            )
        }
        DeliveryAction::Refused {
            peer,
            transaction,
            rejection,
        } => {
            format!(
                "refused {} {} {}",
                name(peer),
                n(transaction),
                rejection.code
            )
        }
    }
}

#[test]
fn to_participants_that_are_there() {
    let mut b = Bench::new(10);
    b.up('B', "");
    b.up('C', "");
    b.push('B', 1, "store B1 1, send B [1]");
    b.push('C', 1, "store C1 1, send C [1]");
    b.wait(1, "BC", 7, "");
    b.delivered('C', &[1], "delete C1");
    b.delivered('C', &[1], "");
    b.delivered('B', &[1], "delete B1, answered 1 token 7 refused ''");
    assert_eq!(b.deliveries.next_deadline(), None);
}

#[test]
fn a_participant_that_is_away_costs_rows_only() {
    let mut b = Bench::new(2);
    b.push('B', 1, "store B1 1");
    b.push('B', 2, "store B2 2");
    b.push('B', 3, "store B3 3");
    assert_eq!(b.deliveries.in_flight(&peer('B')), 0);
    b.up('B', "refill B after 0 limit 2");
    b.rows('B', &[(1, 1), (2, 2)], "send B [1, 2]");
    // Answers come in any order; the window opens.
    b.delivered('B', &[2], "delete B2, refill B after 2 limit 1");
    b.rows('B', &[(3, 3)], "send B [3]");
    b.delivered('B', &[1, 3], "delete B1, delete B3");
    assert!(!b.deliveries.has_backlog(&peer('B')));
}

#[test]
fn messages_are_of_limited_size() {
    let mut b = Bench::new(10);
    b.push('B', 1, "store B1 1");
    b.up('B', "refill B after 0 limit 10");
    b.push('B', 4, "store B2 4");
    b.rows('B', &[(1, 1)], "send B [1, 4]");
    b.delivered('B', &[1, 4], "delete B1, delete B2");
    for n in 1..=5 {
        b.deliveries.push(peer('B'), tx(n), 10, &mut b.out);
    }
    b.expect("store B3 1, store B4 2, store B5 3, store B6 4, store B7 5, send B [1, 2], send B [3, 4], send B [5]");
}

#[test]
fn a_refusal_is_reported_and_ends_the_duty() {
    let mut b = Bench::new(10);
    b.up('B', "");
    b.push('B', 1, "store B1 1, send B [1]");
    b.wait(1, "B", 7, "");
    b.wait(1, "B", 8, "");
    b.refused('B', 1, "delete B1, refused B 1 tx.bad, answered 1 token 7 refused 'B', answered 1 token 8 refused 'B'");
    b.refused('B', 1, "");
}

#[test]
fn waiters_come_and_go() {
    let mut b = Bench::new(10);
    b.wait(1, "", 1, "answered 1 token 1 refused ''");
    b.up('B', "");
    b.push('B', 2, "store B1 2, send B [2]");
    b.wait(2, "B", 2, "");
    b.wait(2, "B", 3, "");
    b.deliveries.forget(2);
    b.deliveries.forget(99);
    b.delivered('B', &[2], "delete B1, answered 2 token 3 refused ''");
}

#[test]
fn a_reconnect_sends_what_is_not_answered() {
    let mut b = Bench::new(10);
    b.up('B', "");
    for n in 1..=3 {
        b.push('B', n, &format!("store B{n} {n}, send B [{n}]"));
    }
    b.delivered('B', &[2], "delete B2");
    b.deliveries.peer_down(peer('B'));
    b.expect("");
    b.push('B', 4, "store B4 4");
    // An answer from the previous connection: the row is still there, and will be sent again.
    b.delivered('B', &[1], "");
    b.up('B', "refill B after 0 limit 10");
    b.rows('B', &[(1, 1), (3, 3), (4, 4)], "send B [1, 3], send B [4]");
    b.delivered('B', &[1, 3, 4], "delete B1, delete B3, delete B4");
}

#[test]
fn silence_is_answered_by_sending_again() {
    let mut b = Bench::new(10);
    b.up('B', "");
    b.push('B', 1, "store B1 1, send B [1]");
    let first = b.deliveries.next_deadline().unwrap().as_ms();
    b.now = first;
    b.deliveries.timer(at(first));
    b.expect("send B [1]");
    let second = b.deliveries.next_deadline().unwrap().as_ms() - first;
    assert!((162..=198).contains(&second), "{second}");
}

#[test]
fn what_a_peer_leaves_unanswered_takes_no_room() {
    // A window of three: 1 and 2 stay unanswered. The answer to 3 overtakes 1, and the answer to 5 overtakes 2.
    let mut b = Bench::new(3);
    b.up('B', "");
    for n in 1..=3 {
        b.push('B', n, &format!("store B{n} {n}, send B [{n}]"));
    }
    b.push('B', 4, "store B4 4");
    b.push('B', 5, "store B5 5");
    b.push('B', 6, "store B6 6");
    assert_eq!(b.deliveries.aside(&peer('B')), 0);
    b.delivered('B', &[3], "delete B3, send B [4, 5]");
    assert_eq!(b.deliveries.aside(&peer('B')), 1, "2 is too near");
    b.delivered('B', &[5], "delete B5, send B [6]");
    assert_eq!(b.deliveries.aside(&peer('B')), 2);
    // Still answered, and still sent again.
    b.delivered('B', &[1], "delete B1");
    assert_eq!(b.deliveries.in_flight(&peer('B')), 3);
    b.now = b.deliveries.next_deadline().unwrap().as_ms();
    b.deliveries.timer(at(b.now));
    b.expect("send B [2, 4], send B [6]");
    // A peer that connects is sent every unanswered transaction.
    b.deliveries.peer_down(peer('B'));
    b.up('B', "refill B after 1 limit 3");
    assert_eq!(b.deliveries.aside(&peer('B')), 0);
    b.rows('B', &[(2, 2), (4, 4), (6, 6)], "send B [2, 4], send B [6]");
}

#[test]
fn a_window_that_is_not_answered_makes_room_when_a_timer_has_passed() {
    let mut b = Bench::new(2);
    b.up('B', "");
    b.push('B', 1, "store B1 1, send B [1]");
    b.push('B', 2, "store B2 2, send B [2]");
    b.push('B', 3, "store B3 3");
    b.push('B', 4, "store B4 4");
    b.push('B', 5, "store B5 5");
    let next = |b: &mut Bench, expected: &str| {
        b.now = b.deliveries.next_deadline().unwrap().as_ms();
        b.deliveries.timer(at(b.now));
        b.expect(expected);
    };
    // Rows aside are sent again in turns, as many as a window holds.
    next(&mut b, "send B [1, 2], refill B after 2 limit 2");
    b.rows('B', &[(3, 3), (4, 4)], "send B [3, 4]");
    next(&mut b, "send B [3, 4], send B [5]");
    next(&mut b, "send B [5]");
    next(&mut b, "send B [1, 2]");
    let all = "delete B1, delete B2, delete B3, delete B4, delete B5";
    b.delivered('B', &[1, 2, 3, 4, 5], all);
    assert_eq!(b.deliveries.next_deadline(), None);
}

#[test]
fn a_restart_finds_the_rows() {
    let mut b = Bench::new(10);
    b.deliveries.load(peer('B'), 5, 9);
    b.push('B', 1, "store B10 1");
    b.up('B', "refill B after 4 limit 10");
    b.rows('B', &[(5, 5), (9, 9), (10, 1)], "send B [5, 9], send B [1]");
    b.delivered('B', &[5, 9, 1], "delete B5, delete B9, delete B10");
}
