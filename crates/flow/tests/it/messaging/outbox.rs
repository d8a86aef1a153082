//! The outbox, one event a line.

use flow::messaging::{BackOff, Outbox, OutboxAction, OutboxOptions};

use crate::messaging::{at, name, peer};

struct Bench {
    outbox: Outbox,
    out: Vec<OutboxAction>,
    now: u64,
}

impl Bench {
    fn new(window_messages_max: usize, window_bytes_max: usize) -> Bench {
        let resend = BackOff {
            first_ms: 100,
            max_ms: 1_000,
        };
        let options = OutboxOptions {
            window_messages_max,
            window_bytes_max,
            resend,
        };
        Bench {
            outbox: Outbox::new(options),
            out: Vec::new(),
            now: 0,
        }
    }

    #[track_caller]
    fn expect(&mut self, expected: &str) {
        let lines: Vec<String> = self.out.drain(..).map(|action| line(&action)).collect();
        assert_eq!(lines.join(", "), expected);
    }

    #[track_caller]
    fn push(&mut self, text: &str, expected: &str) {
        self.outbox
            .push(peer('B'), text.into(), at(self.now), &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn up(&mut self, expected: &str) {
        self.outbox.peer_up(peer('B'), at(self.now), &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn ack(&mut self, upto: u64, expected: &str) {
        assert!(
            self.outbox
                .ack(peer('B'), upto, at(self.now), &mut self.out)
        );
        self.expect(expected);
    }

    #[track_caller]
    fn rows(&mut self, rows: &[(u64, &str)], expected: &str) {
        let rows = rows
            .iter()
            .map(|(seq, text)| (*seq, text.as_bytes().to_vec()))
            .collect();
        self.outbox
            .refilled(peer('B'), rows, false, at(self.now), &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn timer(&mut self, now: u64, expected: &str) {
        self.now = now;
        self.outbox.timer(at(now), &mut self.out);
        self.expect(expected);
    }
}

fn line(action: &OutboxAction) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match action {
        OutboxAction::Store { seq, bytes, .. } => format!("store {seq} {}", text(bytes)),
        OutboxAction::Send { peer, seq, bytes } => {
            format!("send {} {seq} {}", name(peer), text(bytes))
        }
        OutboxAction::Delete { from, upto, .. } => format!("delete {from}..={upto}"),
        OutboxAction::Refill { after, limit, .. } => format!("refill after {after} limit {limit}"),
    }
}

#[test]
fn to_a_peer_that_is_there() {
    let mut b = Bench::new(10, 1_000);
    b.up("");
    b.push("a", "store 1 a, send B 1 a");
    b.push("b", "store 2 b, send B 2 b");
    b.ack(1, "");
    b.ack(2, "delete 1..=1");
    b.ack(2, "");
    b.push("c", "store 3 c, send B 3 c");
    b.ack(3, "delete 2..=2");
    assert_eq!(b.outbox.pending(&peer('B')), 0);
    assert_eq!(b.outbox.next_deadline(), None);
}

#[test]
fn a_peer_that_is_away_costs_rows_only() {
    let mut b = Bench::new(2, 1_000);
    b.push("a", "store 1 a");
    b.push("b", "store 2 b");
    b.push("c", "store 3 c");
    assert_eq!(b.outbox.next_deadline(), None);
    b.up("refill after 0 limit 2");
    b.rows(&[(1, "a"), (2, "b")], "send B 1 a, send B 2 b");
    b.ack(1, "refill after 2 limit 1");
    b.rows(&[(3, "c")], "send B 3 c");
    b.ack(3, "delete 1..=2");
}

#[test]
fn a_full_window_waits_in_memory() {
    let mut b = Bench::new(2, 1_000);
    b.up("");
    b.push("a", "store 1 a, send B 1 a");
    b.push("b", "store 2 b, send B 2 b");
    b.push("c", "store 3 c");
    b.push("d", "store 4 d");
    b.ack(1, "send B 3 c");
    b.ack(3, "delete 1..=2, send B 4 d");
}

#[test]
fn what_does_not_fit_in_memory_is_read_back() {
    let mut b = Bench::new(2, 1_000);
    b.up("");
    for (seq, text) in ["a", "b", "c", "d", "e"].iter().enumerate() {
        let sent = if seq < 2 {
            format!(", send B {} {text}", seq + 1)
        } else {
            String::new()
        };
        b.push(text, &format!("store {} {text}{sent}", seq + 1));
    }
    b.ack(2, "delete 1..=1, refill after 2 limit 2");
    b.push("f", "store 6 f");
    b.rows(&[(3, "c"), (4, "d")], "send B 3 c, send B 4 d");
    b.ack(4, "delete 2..=3, send B 5 e, send B 6 f");
}

#[test]
fn bytes_bound_the_window_but_one_message_always_fits() {
    let mut b = Bench::new(10, 4);
    b.up("");
    b.push("too long", "store 1 too long, send B 1 too long");
    b.push("b", "store 2 b");
    b.ack(1, "send B 2 b");
}

#[test]
fn an_unacknowledged_window_is_sent_again_ever_more_rarely() {
    let mut b = Bench::new(10, 1_000);
    b.up("");
    b.push("a", "store 1 a, send B 1 a");
    b.push("b", "store 2 b, send B 2 b");
    let first = b.outbox.next_deadline().unwrap().as_ms();
    assert!((90..=110).contains(&first), "{first}");
    b.timer(first - 1, "");
    b.timer(first, "send B 1 a, send B 2 b");
    let second = b.outbox.next_deadline().unwrap().as_ms() - first;
    assert!((162..=198).contains(&second), "{second}");
    b.ack(2, "delete 1..=1");
    b.timer(first + second, "");
}

#[test]
fn a_reconnect_sends_what_is_not_acknowledged() {
    let mut b = Bench::new(10, 1_000);
    b.up("");
    b.push("a", "store 1 a, send B 1 a");
    b.push("b", "store 2 b, send B 2 b");
    b.ack(1, "");
    b.outbox.peer_down(peer('B'));
    assert_eq!(b.outbox.next_deadline(), None);
    b.push("c", "store 3 c");
    b.up("refill after 1 limit 10");
    // The peer acknowledges before the rows are read.
    b.ack(2, "delete 1..=1");
    b.rows(&[(2, "b"), (3, "c")], "send B 3 c");
    // The answer to a refill from the previous connection is not used; the rows are read again.
    b.push("d", "store 4 d, send B 4 d");
    b.outbox.peer_down(peer('B'));
    b.up("refill after 2 limit 10");
    b.outbox.peer_down(peer('B'));
    b.up("");
    b.rows(&[(3, "c")], "refill after 2 limit 10");
    b.rows(&[(3, "c"), (4, "d")], "send B 3 c, send B 4 d");
}

#[test]
fn numbers_go_on_after_a_restart() {
    let mut b = Bench::new(10, 1_000);
    // The last row acknowledged was kept, and holds the counter.
    b.outbox.load(peer('B'), 7, 7);
    b.push("h", "store 8 h");
    b.up("refill after 6 limit 10");
    b.rows(&[(7, "g"), (8, "h")], "send B 7 g, send B 8 h");
    b.ack(8, "delete 7..=7");
}

#[test]
fn an_acknowledgement_from_the_future_is_told() {
    let mut b = Bench::new(10, 1_000);
    assert!(!b.outbox.ack(peer('B'), 5, at(0), &mut b.out));
    b.up("");
    b.push("a", "store 1 a, send B 1 a");
    assert!(!b.outbox.ack(peer('B'), 2, at(0), &mut b.out));
    b.expect("");
}
