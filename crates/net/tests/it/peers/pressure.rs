//! A slow consumer: memory stays bounded, urgent things still move, nothing is lost that was accepted.

use std::time::Duration;

use net::{NetLimits, Options, Sent};

use crate::peers::fixture::{Network, limits, until};

const MESSAGE: usize = 10_000;
const WINDOW: u32 = 256 << 10;
const QUEUE: usize = 1 << 20;

fn small() -> NetLimits {
    NetLimits {
        window_bytes: WINDOW,
        queue_bytes_max: QUEUE,
        message_bytes_max: 256 << 10,
        ..limits()
    }
}

#[test]
fn a_full_sink_stops_the_sender_and_not_the_connection() {
    let network = Network::new();
    let patient = NetLimits {
        ping_after: Duration::from_millis(20),
        ..small()
    };
    let one = Options {
        limits: small(),
        ..network.options(1)
    };
    let two = Options {
        limits: patient,
        ..network.options(2)
    };
    let (one, two) = network.pair_of(one, two);
    two.inbox.set_full(true);
    let mut accepted = 0;
    let mut fill = || {
        while one.net.send(&two.id, 0, vec![1; MESSAGE]) == Sent::Queued {
            accepted += 1;
        }
    };
    fill();
    until("the window is used up", || {
        two.inbox.bytes() >= WINDOW as usize
    });
    // The queue may have been full before the window was used up, and have given way to it since.
    fill();
    assert!(
        accepted * MESSAGE <= QUEUE + WINDOW as usize + 2 * MESSAGE,
        "{accepted}"
    );
    assert!(one.net.is_full(&two.id, MESSAGE));
    assert!(one.net.figures().dropped_full >= 1);
    // Another lane has credit of its own, and the other direction is free.
    assert_eq!(two.net.send(&one.id, 0, b"back".to_vec()), Sent::Queued);
    assert_eq!(one.inbox.message(), b"back");
    let held = two.inbox.bytes();
    assert!(held <= WINDOW as usize + MESSAGE, "{held} bytes");
    two.inbox.set_full(false);
    for _ in 0..accepted {
        assert_eq!(two.inbox.message().len(), MESSAGE);
    }
    until("the queue is empty", || {
        one.net.peers()[0].queued_bytes == 0
    });
    assert!(!one.net.is_full(&two.id, MESSAGE));
}

#[test]
fn more_than_the_overrun_is_left_in_the_socket() {
    let network = Network::new();
    let strict = NetLimits {
        overrun_bytes_max: 50_000,
        window_bytes: 64 << 20,
        ..limits()
    };
    let one = Options {
        limits: limits(),
        ..network.options(1)
    };
    let two = Options {
        limits: strict,
        ..network.options(2)
    };
    let (one, two) = network.pair_of(one, two);
    two.inbox.set_full(true);
    let mut accepted = 0;
    while one.net.send(&two.id, 0, vec![1; MESSAGE]) == Sent::Queued {
        accepted += 1;
    }
    // One read's worth more than allowed.
    let bound = 50_000 + 4 * (128 << 10) + (1 << 20);
    until("it arrives", || two.inbox.bytes() > 50_000);
    assert!(two.inbox.bytes() <= bound);
    two.inbox.set_full(false);
    for _ in 0..accepted {
        assert_eq!(two.inbox.message().len(), MESSAGE);
    }
}

#[test]
fn messages_larger_than_the_window_pass() {
    let network = Network::new();
    let narrow = NetLimits {
        window_bytes: 1_024,
        ..small()
    };
    let one = Options {
        limits: narrow.clone(),
        ..network.options(1)
    };
    let two = Options {
        limits: narrow,
        ..network.options(2)
    };
    let (one, two) = network.pair_of(one, two);
    for size in [200_000, 10, 100_000, 3_000, 0, 0, 0] {
        assert_eq!(one.net.send(&two.id, 0, vec![2; size]), Sent::Queued);
    }
    for size in [200_000, 10, 100_000, 3_000, 0, 0, 0] {
        assert_eq!(two.inbox.message().len(), size);
    }
}

#[test]
fn more_than_a_turn_of_sending_goes_on_without_another_call() {
    let network = Network::new();
    // No ping comes to the rescue of a sender that has gone to sleep.
    let quiet = || NetLimits {
        window_bytes: 64 << 20,
        ping_after: Duration::from_secs(600),
        silence_max: Duration::from_secs(1_200),
        ..limits()
    };
    let one = Options {
        limits: quiet(),
        ..network.options(1)
    };
    let two = Options {
        limits: quiet(),
        ..network.options(2)
    };
    let (one, two) = network.pair_of(one, two);
    for _ in 0..100 {
        let burst = (0..40).map(|_| (two.id, 0, vec![1; 60_000]));
        assert_eq!(one.net.send_many(burst).queued, 40);
        for _ in 0..40 {
            assert_eq!(two.inbox.message().len(), 60_000);
        }
    }
}
