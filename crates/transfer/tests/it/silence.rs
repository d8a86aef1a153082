//! Tests about peers that send nothing, or too little: the node asks them again, and other peers do not wait for them.

use transfer::Options;

use crate::table::*;

/// A machine with files of 500 bytes that move: so many of each peer, numbered by peer and file (23 is the third of peer 2).
fn moving(options: Options, peers: std::ops::RangeInclusive<u8>, files: u16) -> Table {
    let mut table = Table::new(options);
    for peer in peers {
        table.give([up(peer)]);
        for of in (1..=files).map(|of| u16::from(peer) * 10 + of) {
            table.give([fetch(of, peer)]);
            table.give([says(peer, &offer(of, 500))]);
            table.give([opened(of, 0)]);
        }
    }
    table
}

/// Collects the actions until nothing happens any more, or until `end`.
fn until(table: &mut Table, end: u64) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    while let Some(at) = table.machine.next_wakeup().filter(|at| *at <= end) {
        all.extend(table.at(at).into_iter().map(|said| (at, said)));
    }
    table.now = end;
    all
}

fn for_ms(table: &mut Table, time: u64) -> Vec<(u64, String)> {
    let end = table.now + time;
    until(table, end)
}

#[test]
fn a_silent_peer_is_asked_again_gives_its_slot_back_and_is_at_last_given_up() {
    let mut table = moving(options(), 1..=1, 1);
    table.give([says(1, &data(11, 0, 10))]);
    assert_eq!(table.at(999), Vec::<String>::new());
    let said = until(&mut table, 100_000);
    let said: Vec<(u64, &str)> = said.iter().map(|(at, said)| (*at, said.as_str())).collect();
    assert_eq!(
        said,
        [
            (1_000, "1: ask 11 10+30"),
            (3_000, "close 11"),
            (3_000, "1: want 11"),
            (7_000, "1: want 11"),
            (15_000, "1: want 11"),
            (23_000, "1: want 11"),
            (31_000, "1: want 11"),
            (39_000, "failed 11 of 1: Gone"),
        ]
    );
    assert_eq!(table.machine.figures().fetches, 0);
}

#[test]
fn silent_peers_stop_nobody_else() {
    // Four silent peers fill all slots and all memory.
    let few = Options {
        at_once: 8,
        memory_bytes: 220,
        ..options()
    };
    let mut table = moving(few, 1..=4, 2);
    // Large files leave some slots to small ones: the last of the four has one.
    assert_eq!(table.machine.figures().memory_in, 220);
    // Another has one file, and one part of it on the way at a time.
    table.give([up(5), fetch(51, 5), fetch(52, 5)]);
    assert_eq!(
        table.give([says(5, &offer(51, 500)), says(5, &offer(52, 500))]),
        ["offered 51 of 500", "offered 52 of 500", "open 51"]
    );
    assert_eq!(table.give([opened(51, 0)]), ["5: ask 51 0+10"]);
    assert_eq!(table.machine.figures().memory_in, 230);
    table.give([says(5, &data(51, 0, 10))]);
    assert_eq!(table.give([wrote(51, 10, 10)]), ["5: ask 51 10+10"]);
    // Those that were asked again in vain make room for all of it.
    let said = until(&mut table, 2_999);
    assert!(
        said.iter().all(|(_, said)| said.contains("ask")),
        "{said:?}"
    );
    table.give([says(5, &data(51, 10, 10))]);
    let said = table.at(3_000);
    for peer in 1..=4 {
        let close = format!("close {peer}");
        assert!(said.iter().any(|said| said.starts_with(&close)), "{said:?}");
    }
    assert!(said.contains(&"open 52".to_owned()), "{said:?}");
    let said = table.give([opened(52, 0), wrote(51, 20, 10)]);
    assert!(said.contains(&"5: ask 52 0+20".to_owned()), "{said:?}");
    // A peer that was silent has one file at a time until bytes come.
    let said = table.give([says(1, &offer(11, 500)), says(1, &offer(12, 500))]);
    assert_eq!(
        said.iter().filter(|said| said.starts_with("open")).count(),
        1
    );
    let said = table.give([opened(11, 0)]);
    assert!(said.contains(&"1: ask 11 0+40".to_owned()), "{said:?}");
    assert_eq!(
        table.give([says(1, &data(11, 0, 10))]),
        ["write 11 0+10", "open 12"]
    );
}

#[test]
fn a_byte_now_and_then_is_silence() {
    let mut table = moving(options(), 1..=1, 1);
    let mut offset = 0;
    let mut closed = None;
    while closed.is_none() && table.now < 60_000 {
        let said = for_ms(&mut table, 900);
        closed = said.into_iter().find(|(_, said)| said == "close 11");
        let said = table.give([says(1, &data(11, offset, 1))]);
        // Once the file is closed, the byte comes too late and is not written.
        if said.contains(&format!("write 11 {offset}+1")) {
            table.give([wrote(11, offset + 1, 1)]);
        }
        offset += 1;
    }
    assert_eq!(closed.map(|(at, _)| at), Some(3_000));
    // All that was asked for is enough, however little that is.
    let mut table = Table::new(options());
    table.give([up(1), fetch(5, 1), fetch(6, 1)]);
    table.give([says(1, &offer(5, 2)), says(1, &offer(6, 500))]);
    table.give([opened(5, 0), opened(6, 0)]);
    table.now = 900;
    table.give([says(1, &data(5, 0, 2))]);
    assert_eq!(until(&mut table, 1_899), []);
}

#[test]
fn a_file_behind_others_on_a_slow_link_is_not_asked_for_again() {
    let mut table = moving(options(), 1..=1, 2);
    // 40 bytes of the first and 20 of the second are on the way, which take a second for ten.
    for (of, offset) in [(11, 0), (11, 10), (11, 20), (11, 30), (12, 0), (12, 10)] {
        let said = for_ms(&mut table, 900);
        assert_eq!(said, [], "at {}", table.now);
        let said = table.give([says(1, &data(of, offset, 10))]);
        assert!(said[0].starts_with("write"), "{said:?}");
    }
    let figures = table.machine.figures();
    assert_eq!((figures.asked_again, figures.unasked_bytes), (0, 0));
}

#[test]
fn a_file_that_its_peer_starves_is_found() {
    let mut table = moving(options(), 1..=1, 2);
    let mut asked_again = None;
    for part in 0..40 {
        let offset = part * 10;
        let said = for_ms(&mut table, 900);
        asked_again = asked_again.or(said.into_iter().find(|(_, said)| said.contains("ask 12")));
        table.give([says(1, &data(11, offset, 10)), wrote(11, offset + 10, 10)]);
    }
    let (at, _) = asked_again.expect("it is asked for again");
    assert!((30_000..36_000).contains(&at), "{at}");
}

#[test]
fn bytes_that_come_twice_since_they_were_asked_for_twice_are_no_silence() {
    let mut table = moving(options(), 1..=1, 1);
    assert_eq!(table.at(1_000), ["1: ask 11 0+40"]);
    for offset in [0, 10, 20, 30] {
        table.give([says(1, &data(11, offset, 10))]);
    }
    assert_eq!(table.give([wrote(11, 40, 40)]), ["1: ask 11 40+40"]);
    // The answers to the second question, slowly.
    for offset in [0, 10, 20, 30] {
        assert_eq!(for_ms(&mut table, 900), []);
        table.give([says(1, &data(11, offset, 10))]);
    }
    // Further bytes count as not requested.
    assert_eq!(for_ms(&mut table, 900), []);
    table.give([says(1, &data(11, 0, 10))]);
    let said = for_ms(&mut table, 900);
    assert_eq!(said, [(5_600, "1: ask 11 40+40".to_owned())]);
}
