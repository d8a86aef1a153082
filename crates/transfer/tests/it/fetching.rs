//! Tests of a fetching node.

use transfer::{Event, Message, Options, Reason};

use crate::table::*;

fn moving(have: u64, size: u64) -> Table {
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1)]);
    table.give([says(1, &offer(5, size))]);
    table.give([opened(5, have)]);
    table
}

#[test]
fn a_file_is_wanted_offered_opened_asked_for_written_and_published() {
    let mut table = Table::new(options());
    for (events, expected) in [
        (vec![fetch(5, 1)], vec![]),
        (vec![up(1)], vec!["1: want 5"]),
        (
            vec![says(1, &offer(5, 25))],
            vec!["offered 5 of 25", "open 5"],
        ),
        (vec![opened(5, 0)], vec!["1: ask 5 0+25"]),
        (vec![says(1, &data(5, 0, 10))], vec!["write 5 0+10"]),
        (
            vec![says(1, &data(5, 10, 10)), wrote(5, 10, 10)],
            vec!["write 5 10+10"],
        ),
        (vec![says(1, &data(5, 20, 5))], vec!["write 5 20+5"]),
        (vec![wrote(5, 20, 10)], vec![]),
        (vec![wrote(5, 25, 5)], vec!["publish 5 of 25"]),
        (
            vec![Event::Published {
                hash: file(5),
                size: 25,
            }],
            vec!["1: done 5", "arrived 5 of 25"],
        ),
    ] {
        assert_eq!(table.give(events), expected);
    }
    let figures = table.machine.figures();
    assert_eq!((figures.arrived, figures.bytes_in), (1, 25));
    assert_eq!((figures.fetches, figures.memory_in), (0, 0));
    assert_eq!(table.machine.next_wakeup(), None);
}

#[test]
fn what_is_here_already_is_not_asked_for_again() {
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1)]);
    table.give([says(1, &offer(5, 25))]);
    assert_eq!(table.give([opened(5, 20)]), ["1: ask 5 20+5"]);
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1)]);
    table.give([says(1, &offer(5, 25))]);
    assert_eq!(table.give([opened(5, 25)]), ["publish 5 of 25"]);
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1)]);
    table.give([says(1, &offer(5, 25))]);
    let present = Event::Present {
        hash: file(5),
        size: 25,
    };
    assert_eq!(table.give([present]), ["1: done 5", "arrived 5 of 25"]);
    let mut table = moving(0, 0);
    let published = Event::Published {
        hash: file(5),
        size: 0,
    };
    assert_eq!(table.give([published]), ["1: done 5", "arrived 5 of 0"]);
}

#[test]
fn a_part_longer_than_the_file_is_thrown_away() {
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1)]);
    table.give([says(1, &offer(5, 25))]);
    assert_eq!(table.give([opened(5, 26)]), ["discard 5", "open 5"]);
    assert_eq!(table.give([opened(5, 0)]), ["1: ask 5 0+25"]);
}

#[test]
fn a_file_over_its_limit_is_refused_before_any_byte_is_asked_for() {
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1)]);
    assert_eq!(
        table.give([says(1, &offer(5, 1_001))]),
        ["1: done 5", "failed 5 of 1: TooLarge { size: 1001 }"]
    );
    assert_eq!(table.machine.figures().fetches, 0);
}

#[test]
fn a_refusal_is_for_good_unless_it_says_again() {
    let refused = |reason| {
        says(
            1,
            &Message::Refused {
                hash: file(5),
                reason,
            },
        )
    };
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1)]);
    assert_eq!(
        table.give([refused(Reason::Unknown)]),
        ["failed 5 of 1: Unknown"]
    );
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1)]);
    let mut wants = 0;
    for _ in 0..7 {
        let said = table.give([refused(Reason::Again)]);
        if said == ["failed 5 of 1: Gone"] {
            break;
        }
        assert!(said.is_empty(), "{said:?}");
        let at = table.machine.next_wakeup().expect("a pause");
        assert_eq!(table.at(at), ["1: want 5"]);
        wants += 1;
    }
    assert_eq!((wants, table.machine.figures().fetches), (6, 0));
}

#[test]
fn a_lost_connection_closes_the_part_and_the_next_one_goes_on() {
    let mut table = moving(0, 25);
    table.give([says(1, &data(5, 0, 10))]);
    assert_eq!(table.give([down(1)]), ["close 5"]);
    // The write was on its way to the disk; its answer is of no use any more.
    assert_eq!(table.give([wrote(5, 10, 10)]), Vec::<String>::new());
    assert_eq!(table.give([up(1)]), ["1: want 5"]);
    assert_eq!(
        table.give([says(1, &offer(5, 25))]),
        ["offered 5 of 25", "open 5"]
    );
    assert_eq!(table.give([opened(5, 10)]), ["1: ask 5 10+15"]);
    let mut table = moving(0, 25);
    table.give([down(1)]);
    assert_eq!(table.at(5_000), ["failed 5 of 1: Gone"]);
}

#[test]
fn another_source_takes_over_when_the_first_is_away_or_fails() {
    let mut table = moving(0, 25);
    assert_eq!(table.give([up(2), fetch(5, 2)]), Vec::<String>::new());
    assert_eq!(table.give([down(1)]), ["close 5", "2: want 5"]);
    let refused = Message::Refused {
        hash: file(5),
        reason: Reason::Unknown,
    };
    assert_eq!(table.give([says(2, &refused)]), ["failed 5 of 2: Unknown"]);
    assert_eq!(table.give([up(1)]), ["1: want 5"]);
    let mut table = Table::new(options());
    table.give([up(2), fetch(5, 1)]);
    assert_eq!(table.give([fetch(5, 2)]), ["2: want 5"]);
}

#[test]
fn a_wrong_hash_is_blamed_only_on_whoever_sent_all_of_it() {
    let mismatched = || Event::Mismatched { hash: file(5) };
    let mut table = moving(10, 20);
    table.give([says(1, &data(5, 10, 10))]);
    assert_eq!(table.give([wrote(5, 20, 10)]), ["publish 5 of 20"]);
    assert_eq!(table.give([mismatched()]), ["open 5"]);
    assert_eq!(table.give([opened(5, 0)]), ["1: ask 5 0+20"]);
    table.give([says(1, &data(5, 0, 10)), says(1, &data(5, 10, 10))]);
    assert_eq!(
        table.give([wrote(5, 10, 10), wrote(5, 20, 10)]),
        ["publish 5 of 20"]
    );
    assert_eq!(table.give([mismatched()]), ["failed 5 of 1: Mismatch"]);
}

#[test]
fn a_wrong_hash_found_while_its_peer_is_away_waits_for_a_source_like_any_other() {
    let mismatched = || Event::Mismatched { hash: file(5) };
    let checked = || {
        let mut table = moving(10, 20);
        table.give([says(1, &data(5, 10, 10))]);
        assert_eq!(table.give([wrote(5, 20, 10)]), ["publish 5 of 20"]);
        table
    };
    // No other peer has it: wait until the peer is back, but not without end.
    let mut table = checked();
    assert_eq!(table.give([down(1), mismatched()]), Vec::<String>::new());
    assert_eq!(table.at(5_000), ["failed 5 of 1: Gone"]);
    let mut table = checked();
    table.give([down(1), mismatched()]);
    assert_eq!(table.give([up(1)]), ["1: want 5"]);
    // Another one has it.
    let mut table = checked();
    table.give([up(2), fetch(5, 2)]);
    assert_eq!(table.give([down(1), mismatched()]), ["2: want 5"]);
    assert_eq!(
        table.give([says(2, &offer(5, 20))]),
        ["offered 5 of 20", "open 5"]
    );
    assert_eq!(table.give([opened(5, 0)]), ["2: ask 5 0+20"]);
}

#[test]
fn a_disk_that_fails_ends_the_fetch_with_its_code() {
    let code = "files.disk_full";
    let mut table = moving(0, 30);
    table.give([says(1, &data(5, 0, 10)), says(1, &data(5, 10, 10))]);
    let failed = || Event::WriteFailed {
        hash: file(5),
        bytes: 10,
        code,
    };
    let expected = format!("failed 5 of 1: Disk {{ code: {code:?} }}");
    assert_eq!(
        table.give([failed()]),
        ["close 5".to_owned(), expected.clone()]
    );
    assert_eq!(table.give([failed()]), Vec::<String>::new());
    assert_eq!(table.machine.figures().memory_in, 0);
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1)]);
    table.give([says(1, &offer(5, 25))]);
    let failed = Event::OpenFailed {
        hash: file(5),
        code,
    };
    assert_eq!(table.give([failed]), ["close 5".to_owned(), expected]);
}

#[test]
fn what_nobody_asked_for_is_dropped_and_pointed_out_once() {
    let mut table = Table::new(options());
    table.give([up(1), up(2)]);
    assert_eq!(
        table.give([says(1, &data(9, 0, 10)), says(1, &data(9, 10, 10))]),
        ["fault of 1: Unasked"]
    );
    let garbage = Event::Message {
        peer: peer(2),
        bytes: vec![0xff; 9],
    };
    assert_eq!(table.give([garbage]), ["fault of 2: Malformed"]);
    let figures = table.machine.figures();
    assert_eq!((figures.unasked_bytes, figures.malformed), (20, 1));
    // Repeated bytes, bytes beyond the request, a gap, or another peer: dropped, and nothing is written.
    let mut table = moving(0, 100);
    table.give([up(2), says(1, &data(5, 0, 10))]);
    for (from, part) in [
        (1, data(5, 0, 10)),
        (1, data(5, 20, 10)),
        (1, data(5, 10, 90)),
        (2, data(5, 10, 10)),
    ] {
        assert_eq!(table.give([says(from, &part)]), Vec::<String>::new());
    }
}

#[test]
fn an_abandoned_file_is_closed_and_its_late_bytes_are_no_fault() {
    let mut table = moving(0, 25);
    assert_eq!(
        table.give([Event::Abandon { hash: file(5) }]),
        ["close 5", "1: done 5"]
    );
    assert_eq!(table.give([says(1, &data(5, 0, 10))]), Vec::<String>::new());
    assert_eq!(table.machine.figures().fetches, 0);
}

#[test]
fn small_files_go_first_but_the_oldest_is_never_forgotten() {
    let mut table = Table::new(Options {
        at_once: 1,
        at_once_per_peer: 1,
        ..options()
    });
    table.give([up(1)]);
    table.give((1..=9).map(|of| fetch(of, 1)));
    // The first offered takes the one slot; then nine wait, the large one the oldest of them.
    table.give([says(1, &offer(9, 1))]);
    table.give([says(1, &offer(1, 900))]);
    table.give((2..=8).map(|of| says(1, &offer(of, u64::from(of)))));
    let mut order = Vec::new();
    let mut open = 9;
    for _ in 0..9 {
        order.push(open);
        let published = Event::Present {
            hash: file(open),
            size: 1,
        };
        let said = table.give([published]);
        let next = said.iter().find_map(|said| said.strip_prefix("open "));
        let Some(next) = next else { break };
        open = next.parse().expect("a number");
    }
    assert_eq!(order.len(), 9, "{order:?}");
    assert!(order[1..4].contains(&2), "{order:?}");
    let large = order.iter().position(|of| *of == 1).expect("it moved");
    assert!(large <= 4, "{order:?}");
}

#[test]
fn large_files_leave_slots_to_small_ones() {
    let mut table = Table::new(Options {
        at_once: 8,
        at_once_per_peer: 4,
        ..options()
    });
    table.give([up(1)]);
    table.give((1..=8).map(|of| fetch(of, 1)));
    let said = table.give((1..=6).map(|of| says(1, &offer(of, 500))));
    let open = said.iter().filter(|said| said.starts_with("open")).count();
    assert_eq!(open, 3, "{said:?}");
    let said = table.give([says(1, &offer(7, 5))]);
    assert_eq!(said, ["offered 7 of 5", "open 7"]);
}

#[test]
fn peers_take_turns_and_budgets_hold() {
    let mut table = Table::new(options());
    table.give([up(1), up(2)]);
    table.give([fetch(1, 1), fetch(2, 1), fetch(3, 2), fetch(4, 2)]);
    let offers = [(1, 1), (2, 1), (3, 2), (4, 2)];
    table.give(offers.map(|(of, from)| says(from, &offer(of, 500))));
    let mut asked = std::collections::BTreeMap::new();
    for of in 1..=4 {
        for said in table.give([opened(of, 0)]) {
            let (from, length) = said.split_once(": ask").expect("a question");
            let length: u64 = length
                .rsplit('+')
                .next()
                .and_then(|length| length.parse().ok())
                .expect("a length");
            *asked.entry(from.to_owned()).or_insert(0) += length;
        }
    }
    // 40 a file, 60 a peer, 100 in all.
    assert_eq!(table.machine.figures().memory_in, 100);
    assert!(
        asked.values().all(|bytes| (40..=60).contains(bytes)),
        "{asked:?}"
    );
}

#[test]
fn a_budget_of_bandwidth_spreads_the_questions() {
    let mut table = Table::new(Options {
        down_bytes_per_s: 40,
        ..options()
    });
    table.give([up(1), fetch(5, 1)]);
    table.give([says(1, &offer(5, 100))]);
    assert_eq!(table.give([opened(5, 0)]), ["1: ask 5 0+10"]);
    let at = table.machine.next_wakeup().expect("the budget's time");
    assert_eq!(at, 250);
    assert_eq!(table.at(at), ["1: ask 5 10+10"]);
}
