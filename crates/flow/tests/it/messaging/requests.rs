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
        let options = RequestOptions {
            in_flight_max,
            resend,
            silence_ms: 700,
        };
        let services = [('S', ['P', 'Q'])];
        let services =
            services.map(|(service, servers)| (peer(service), servers.map(peer).to_vec()));
        let requests = Requests::new(options, services.into());
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
    fn down(&mut self, who: char, expected: &str) {
        self.requests
            .peer_down(peer(who), at(self.now), &mut self.out);
        self.expect(expected);
    }

    #[track_caller]
    fn answered(&mut self, n: u32, by: char, known: bool, expected: &str) {
        let now = at(self.now);
        let party = self
            .requests
            .answered(&id(n), &peer(by), now, &mut self.out);
        assert_eq!(party.is_some(), known);
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
    b.down('N', "");
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
    b.down('N', "");
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
fn pauses_follow_the_time_that_the_server_names() {
    let mut b = Bench::new(10);
    b.up('N', "");
    b.ask(1, 'N', "N1");
    for round in 0..30 {
        let named = 100 + 30 * round;
        b.requests.wait(&id(1), &peer('N'), named, at(b.now));
        let pause = b.deadline() - b.now;
        assert!(
            (named..=named + named / 10).contains(&pause),
            "{named}: {pause}"
        );
        b.timer(b.deadline(), "N1");
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

#[test]
fn requests_to_a_service_are_spread_over_its_servers() {
    let mut b = Bench::new(10);
    b.ask(1, 'S', "");
    b.up('Q', "Q1");
    b.ask(2, 'S', "Q2");
    b.up('P', "");
    b.ask(3, 'S', "P3");
    b.ask(4, 'S', "P4");
    b.ask(5, 'S', "P5");
    b.ask(6, 'S', "Q6");
    // An answer of another server counts too, as the request may have moved.
    b.answered(1, 'P', true, "");
    b.answered(2, 'N', false, "");
    b.answered(2, 'Q', true, "");
    assert_eq!(b.requests.outstanding(), 4);
}

#[test]
fn requests_to_a_service_leave_a_server_that_goes_away() {
    let mut b = Bench::new(2);
    b.up('P', "");
    b.up('Q', "");
    b.ask(1, 'S', "P1");
    b.ask(2, 'S', "Q2");
    b.ask(3, 'P', "P3");
    b.ask(4, 'S', "Q4");
    // The queue of the other server is full. The request to the server itself stays.
    b.down('P', "");
    b.answered(2, 'Q', true, "Q1");
    b.up('P', "P3");
    b.down('P', "");
    b.down('Q', "");
    b.up('P', "P1 P3");
}

#[test]
fn requests_to_a_service_leave_a_silent_server() {
    let mut b = Bench::new(10);
    b.up('P', "");
    b.up('Q', "");
    b.ask(1, 'S', "P1");
    b.ask(2, 'S', "Q2");
    b.ask(3, 'P', "P3");
    b.timer(400, "");
    // A server that answers others is only slow.
    b.answered(3, 'P', true, "");
    b.answered(2, 'Q', true, "");
    b.timer(700, "");
    b.timer(1_099, "");
    b.timer(1_100, "Q1");
    // The silent server is passed over for a while, or until it answers.
    b.ask(4, 'S', "Q4");
    b.answered(1, 'P', true, "");
    b.ask(5, 'S', "P5");
}

#[test]
fn a_slow_server_of_a_service_gets_more_time_for_a_while() {
    let mut b = Bench::new(10);
    b.up('P', "");
    b.up('Q', "");
    b.ask(1, 'S', "P1");
    b.timer(700, "Q1");
    b.timer(900, "");
    // P had needed 900 ms. It gets twice as much.
    b.answered(1, 'P', true, "");
    b.ask(2, 'S', "Q2");
    b.answered(2, 'Q', true, "");
    b.ask(3, 'Q', "Q3");
    b.ask(4, 'S', "P4");
    b.timer(2_699, "");
    b.timer(2_700, "Q4");
    // At most three times the usual time, so that a server that fails is noticed.
    b.timer(3_000, "");
    b.answered(4, 'P', true, "");
    b.answered(3, 'Q', true, "");
    b.ask(5, 'Q', "Q5");
    b.ask(6, 'S', "P6");
    b.timer(5_099, "");
    b.timer(5_100, "Q6");
    b.answered(5, 'Q', true, "");
    b.answered(6, 'Q', true, "");
    // After a while it gets as much as the others.
    b.now = 33_000;
    b.ask(7, 'Q', "Q7");
    b.ask(8, 'S', "P8");
    b.timer(33_699, "");
    b.timer(33_700, "Q8");
}

#[test]
fn a_server_without_its_database_gets_no_more_time() {
    let mut b = Bench::new(10);
    b.up('P', "");
    b.up('Q', "");
    b.ask(1, 'S', "P1");
    b.timer(700, "Q1");
    b.ask(2, 'P', "P2");
    b.now = 800;
    // It says something, but serves nothing.
    b.requests.wait(&id(2), &peer('P'), 5_000, at(800));
    b.ask(3, 'S', "P3");
    b.answered(1, 'Q', true, "");
    b.timer(1_499, "");
    b.timer(1_500, "Q3");
}

#[test]
fn a_service_whose_servers_are_all_silent_is_asked_now_and_then() {
    let mut b = Bench::new(10);
    b.up('P', "");
    b.up('Q', "");
    b.ask(1, 'S', "P1");
    b.timer(700, "Q1");
    b.timer(1_400, "P1");
    let mut sent = 0;
    for now in (1_500..30_000).step_by(100) {
        b.now = now;
        b.requests.timer(at(now), &mut b.out);
        sent += b.out.drain(..).count();
    }
    assert!((1..=41).contains(&sent), "{sent}");
    b.down('Q', "");
    assert!(b.deadline() > 0);
}

#[test]
fn a_server_that_asks_to_wait_has_the_others_asked_first() {
    let mut b = Bench::new(10);
    b.up('P', "");
    b.up('Q', "");
    b.ask(1, 'S', "P1");
    b.requests.wait(&id(1), &peer('P'), 5_000, at(0));
    assert!(b.deadline() <= 11, "{}", b.deadline());
    b.timer(11, "Q1");
    b.requests.wait(&id(1), &peer('Q'), 5_000, at(11));
    assert!((5_011..=5_600).contains(&b.deadline()), "{}", b.deadline());
    b.timer(b.deadline(), "P1");
}
