//! Requests, one event a line.

use flow::messaging::{BackOff, RequestAction, RequestId, RequestOptions, Requests};
use flow::{FlowId, Service};

use crate::messaging::{at, name, peer};

struct Bench {
    requests: Requests,
    out: Vec<RequestAction>,
    now: u64,
}

fn id(n: u32) -> RequestId {
    RequestId {
        flow: FlowId([(n / 10) as u8; 16]),
        effect: n,
    }
}

impl Bench {
    fn new(in_flight_max: usize) -> Bench {
        let resend = BackOff {
            first_ms: 30_000,
            max_ms: 600_000,
        };
        let requests = Requests::new(RequestOptions {
            in_flight_max,
            resend,
        });
        Bench {
            requests,
            out: Vec::new(),
            now: 0,
        }
    }

    #[track_caller]
    fn expect(&mut self, expected: &str) {
        let lines: Vec<String> = self
            .out
            .drain(..)
            .map(|RequestAction::Send { peer, id, .. }| format!("{}{}", name(&peer), id.effect))
            .collect();
        assert_eq!(lines.join(" "), expected);
    }

    #[track_caller]
    fn ask(&mut self, n: u32, of: char, expected: &str) {
        let body = vec![n as u8];
        let now = at(self.now);
        self.requests
            .ask(id(n), peer(of), Service::Notarise, body, now, &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn up(&mut self, who: char, expected: &str) {
        self.requests
            .peer_up(peer(who), at(self.now), &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn answered(&mut self, n: u32, by: char, known: bool, expected: &str) {
        let now = at(self.now);
        assert_eq!(
            self.requests
                .answered(&id(n), &peer(by), now, &mut self.out),
            known
        );
        self.expect(expected);
    }

    #[track_caller]
    fn timer(&mut self, now: u64, expected: &str) {
        self.now = now;
        self.requests.timer(at(now), &mut self.out);
        self.expect(expected);
    }

    fn deadline(&self) -> u64 {
        self.requests.next_deadline().map_or(0, |at| at.as_ms())
    }
}

#[test]
fn asked_and_answered() {
    let mut b = Bench::new(10);
    b.up('N', "");
    b.ask(1, 'N', "N1");
    b.ask(1, 'N', "");
    b.answered(1, 'B', false, "");
    b.answered(1, 'N', true, "");
    b.answered(1, 'N', false, "");
    assert_eq!((b.requests.outstanding(), b.deadline()), (0, 0));
}

#[test]
fn a_peer_that_is_away_is_asked_when_it_comes() {
    let mut b = Bench::new(10);
    b.ask(1, 'N', "");
    b.ask(2, 'N', "");
    assert_eq!(b.deadline(), 0);
    b.up('N', "N1 N2");
    b.requests.peer_down(peer('N'));
    assert_eq!(b.deadline(), 0);
    b.ask(3, 'N', "");
    b.up('N', "N1 N2 N3");
}

#[test]
fn the_cap_holds_and_the_rest_waits_in_order() {
    let mut b = Bench::new(2);
    b.up('N', "");
    b.ask(1, 'N', "N1");
    b.ask(2, 'N', "N2");
    b.ask(3, 'N', "");
    b.ask(4, 'N', "");
    b.up('B', "");
    b.ask(5, 'B', "B5");
    b.answered(2, 'N', true, "N3");
    b.requests.peer_down(peer('N'));
    b.up('N', "N1 N3");
    b.answered(1, 'N', true, "N4");
}

#[test]
fn silence_is_answered_by_asking_ever_more_rarely() {
    let mut b = Bench::new(10);
    b.up('N', "");
    b.ask(1, 'N', "N1");
    for delay in [30_000, 54_000, 97_200, 174_960] {
        let deadline = b.deadline();
        let waited = deadline - b.now;
        assert!(
            waited >= delay - delay / 10 && waited <= delay + delay / 10,
            "{waited} {delay}"
        );
        b.timer(deadline - 1, "");
        b.timer(deadline, "N1");
    }
}

#[test]
fn a_busy_server_is_asked_again_after_the_time_it_names() {
    for (named, from, to) in [
        (200_000, 200_000, 220_000),
        (40, 40, 44),
        (0, 9, 11),
        (u64::MAX, 540_000, 660_000),
    ] {
        let mut b = Bench::new(10);
        b.up('N', "");
        b.ask(1, 'N', "N1");
        b.requests.wait(&id(1), &peer('N'), named, at(0));
        let deadline = b.deadline();
        assert!((from..=to).contains(&deadline), "{named}: {deadline}");
        // Neither another request nor another peer changes it.
        b.requests.wait(&id(2), &peer('N'), 1, at(0));
        b.requests.wait(&id(1), &peer('B'), 1, at(0));
        assert_eq!(b.deadline(), deadline);
    }
}

#[test]
fn a_server_that_always_says_wait_is_asked_ever_more_rarely() {
    let mut b = Bench::new(10);
    b.up('N', "");
    b.ask(1, 'N', "N1");
    let mut asked = 0;
    while b.now < 3_600_000 {
        b.requests.wait(&id(1), &peer('N'), 0, at(b.now));
        b.timer(b.deadline(), "N1");
        asked += 1;
    }
    assert!((15..=40).contains(&asked), "{asked}");
}

#[test]
fn a_request_to_wait_does_not_count_as_silence() {
    let mut b = Bench::new(10);
    b.up('N', "");
    b.ask(1, 'N', "N1");
    for _ in 0..10 {
        b.requests.wait(&id(1), &peer('N'), 0, at(b.now));
        b.timer(b.deadline(), "N1");
    }
    // The server took the request now, and its answer is lost.
    let waited = b.deadline() - b.now;
    assert!((27_000..=33_000).contains(&waited), "{waited}");
}

#[test]
fn an_ended_flow_waits_for_nothing() {
    let mut b = Bench::new(1);
    b.up('N', "");
    b.ask(11, 'N', "N11");
    b.ask(12, 'N', "");
    b.ask(21, 'N', "");
    b.requests.cancel_flow(id(11).flow, at(0), &mut b.out);
    // Request 12 may be sent for a moment before it is cancelled too; request 21 remains.
    assert_eq!(b.requests.outstanding(), 1);
    b.out.clear();
    b.answered(11, 'N', false, "");
    b.answered(21, 'N', true, "");
}
