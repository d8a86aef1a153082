//! The inbox, one event a line.

use flow::messaging::{INBOX_EARLY_MAX, Inbox, InboxAction};

use crate::messaging::peer;

struct Bench {
    inbox: Inbox,
    out: Vec<InboxAction>,
}

impl Bench {
    fn new() -> Bench {
        let mut inbox = Inbox::new();
        inbox.load(peer('B'), 1, 0);
        inbox.peer_up(peer('B'), 1);
        let mut b = Bench {
            inbox,
            out: Vec::new(),
        };
        b.round("ack 0");
        b
    }

    #[track_caller]
    fn expect(&mut self, expected: &str) {
        let lines: Vec<String> = self.out.drain(..).map(|action| line(&action)).collect();
        assert_eq!(lines.join(", "), expected);
    }

    #[track_caller]
    fn message(&mut self, seq: u64, expected: &str) {
        self.inbox
            .message(peer('B'), seq, format!("m{seq}").into(), &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn round(&mut self, expected: &str) {
        self.inbox.end_of_round(&mut self.out);
        self.expect(expected);
    }
}

fn line(action: &InboxAction) -> String {
    match action {
        InboxAction::Deliver { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
        InboxAction::StoreCursor { epoch, upto, .. } => format!("cursor {epoch}:{upto}"),
        InboxAction::Ack { upto, .. } => format!("ack {upto}"),
    }
}

#[test]
fn in_order() {
    let mut b = Bench::new();
    b.message(1, "m1");
    b.message(2, "m2");
    b.round("cursor 1:2, ack 2");
    b.round("");
}

#[test]
fn twice_is_acknowledged_twice_and_delivered_once() {
    let mut b = Bench::new();
    b.message(1, "m1");
    b.round("cursor 1:1, ack 1");
    b.message(1, "");
    b.round("ack 1");
}

#[test]
fn too_early_waits_for_its_turn() {
    let mut b = Bench::new();
    b.message(3, "");
    b.message(2, "");
    b.round("ack 0");
    b.message(1, "m1, m2, m3");
    b.round("cursor 1:3, ack 3");
}

#[test]
fn far_too_early_is_dropped() {
    let mut b = Bench::new();
    let max = INBOX_EARLY_MAX as u64;
    (2..=max + 10).for_each(|seq| b.message(seq, ""));
    b.message(
        1,
        &(1..=max + 1)
            .map(|seq| format!("m{seq}"))
            .collect::<Vec<_>>()
            .join(", "),
    );
}

#[test]
fn a_new_life_of_the_peers_store_numbers_anew() {
    let mut b = Bench::new();
    b.message(1, "m1");
    b.round("cursor 1:1, ack 1");
    b.inbox.peer_up(peer('B'), 2);
    b.round("cursor 2:0, ack 0");
    b.message(1, "m1");
    b.round("cursor 2:1, ack 1");
}

#[test]
fn a_reconnect_tells_the_peer_where_it_is() {
    let mut b = Bench::new();
    b.message(1, "m1");
    b.message(3, "");
    b.inbox.peer_down(&peer('B'));
    b.round("cursor 1:1");
    b.message(2, "");
    b.inbox.peer_up(peer('B'), 1);
    b.round("ack 1");
    b.message(2, "m2");
    b.message(3, "m3");
    b.round("cursor 1:3, ack 3");
}
