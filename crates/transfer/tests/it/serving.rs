//! Tests of a serving node.

use transfer::{Event, Message, Offer, Options};

use crate::table::*;

fn permitted(to: u8, of: u16, size: Option<u64>) -> Event {
    Event::Permitted {
        peer: peer(to),
        hash: file(of),
        offer: size.map(|size| Offer {
            size,
            name: Some("bad\nname".to_owned()),
            media_type: None,
        }),
    }
}

fn read(to: u8, of: u16, offset: u64, length: u64) -> Event {
    Event::Read {
        peer: peer(to),
        hash: file(of),
        length,
        message: primitives::Encode::to_bytes(&data(of, offset, length as usize)),
    }
}

fn served(size: u64) -> Table {
    let mut table = Table::new(options());
    table.give([up(1), says(1, &want(5)), permitted(1, 5, Some(size))]);
    table
}

#[test]
fn a_peer_gets_what_it_may_have_and_nothing_before_that_is_known() {
    let mut table = Table::new(options());
    for (events, expected) in [
        (vec![up(1)], vec![]),
        (vec![says(1, &ask(5, 0, 10))], vec!["1: refused 5 Again"]),
        (vec![says(1, &want(5))], vec!["permit 1 5?"]),
        (vec![says(1, &want(5))], vec![]),
        (vec![permitted(1, 5, Some(25))], vec!["1: offer 5 of 25"]),
        (
            vec![says(1, &ask(5, 0, 25))],
            vec![
                "read for 1 5 0+10",
                "read for 1 5 10+10",
                "read for 1 5 20+5",
            ],
        ),
        (vec![read(1, 5, 0, 10)], vec!["1: data 5 0+10"]),
        (vec![says(1, &Message::Done { hash: file(5) })], vec![]),
        (vec![read(1, 5, 10, 10)], vec![]),
    ] {
        assert_eq!(table.give(events), expected);
    }
    assert_eq!(table.machine.figures().bytes_out, 10);
    let mut table = Table::new(options());
    table.give([up(1), says(1, &want(5))]);
    assert_eq!(
        table.give([permitted(1, 5, None)]),
        ["1: refused 5 Unknown"]
    );
    assert_eq!(
        table.give([permitted(2, 5, Some(1)), permitted(1, 6, Some(1))]),
        Vec::<String>::new(),
        "answers that nobody waits for"
    );
}

#[test]
fn a_question_elsewhere_takes_the_place_of_the_last_one() {
    let mut table = Table::new(Options {
        memory_bytes: 10,
        ..options()
    });
    table.give([up(1), says(1, &want(5)), permitted(1, 5, Some(100))]);
    assert_eq!(table.give([says(1, &ask(5, 0, 50))]), ["read for 1 5 0+10"]);
    table.give([says(1, &ask(5, 80, 20))]);
    table.give([read(1, 5, 0, 10)]);
    let emptied = Event::Queued {
        peer: peer(1),
        bytes: 0,
    };
    assert_eq!(table.give([emptied]), ["read for 1 5 80+10"]);
}

#[test]
fn questions_beyond_the_end_are_a_fault() {
    let mut table = served(25);
    assert_eq!(
        table.give([says(1, &ask(5, 20, 6))]),
        ["fault of 1: Beyond"]
    );
    assert_eq!(
        table.give([says(1, &ask(5, 0, u64::MAX))]),
        Vec::<String>::new(),
        "pointed out already"
    );
}

#[test]
fn a_peer_that_reads_nothing_takes_its_share_of_memory_and_no_more() {
    let mut table = served(1_000);
    let said = table.give([says(1, &ask(5, 0, 1_000))]);
    assert_eq!(said.len(), 6, "60 bytes: {said:?}");
    let reads = (0..6).map(|n| read(1, 5, n * 10, 10));
    let said = table.give(reads);
    assert!(said.contains(&"1: data 5 50+10".to_owned()), "{said:?}");
    let figures = table.machine.figures();
    // Messages have heads of their own.
    assert!(figures.memory_out >= 60 && figures.memory_out <= 60 + 6 * 64);
    assert_eq!(table.at(10), ["gauge 1"]);
    let some = Event::Queued {
        peer: peer(1),
        bytes: 45,
    };
    assert_eq!(table.give([some]), ["read for 1 5 60+10"]);
    // Others are served meanwhile.
    table.give([up(2), says(2, &want(5)), permitted(2, 5, Some(1_000))]);
    assert!(!table.give([says(2, &ask(5, 0, 10))]).is_empty());
}

#[test]
fn peers_take_turns_and_small_files_go_first() {
    let mut table = Table::new(Options {
        up_bytes_per_s: 40,
        ..options()
    });
    for number in [1, 2] {
        table.give([up(number)]);
        for of in [5, 6] {
            let size = if of == 5 { 1_000 } else { 20 };
            table.give([says(number, &want(of)), permitted(number, of, Some(size))]);
        }
    }
    let mut said = table.give([
        says(1, &ask(5, 0, 1_000)),
        says(1, &ask(6, 0, 20)),
        says(2, &ask(5, 0, 1_000)),
        says(2, &ask(6, 0, 20)),
    ]);
    while said.len() < 6 {
        let at = table.machine.next_wakeup().expect("the budget's time");
        said.extend(table.at(at));
    }
    let of_first = said
        .iter()
        .filter(|said| said.starts_with("read for 1"))
        .count();
    assert_eq!(of_first, 3, "{said:?}");
    let small = said.iter().filter(|said| said.contains(" 6 ")).count();
    assert!(small >= 3, "{said:?}");
    assert!(said.iter().any(|said| said.contains(" 5 ")), "{said:?}");
}

#[test]
fn a_peer_asks_for_a_bounded_number_of_files() {
    let mut table = Table::new(options());
    table.give([up(1)]);
    let said = table.give((0..70).map(|of| says(1, &want(of))));
    let refused = said.iter().filter(|said| said.contains("Again")).count();
    assert_eq!((said.len(), refused), (70, 6));
    table.give((0..64).map(|of| permitted(1, of, Some(1))));
    offered(&mut table, 64..300);
    assert_eq!(table.machine.figures().served, 256);
}

#[test]
fn a_wish_that_is_taken_back_counts_until_it_is_answered() {
    let done = |of| says(1, &Message::Done { hash: file(of) });
    let mut table = Table::new(options());
    table.give([up(1)]);
    let said = table.give((0..200).flat_map(|of| [says(1, &want(of)), done(of)]));
    let permits = |said: &[String]| said.iter().filter(|s| s.starts_with("permit")).count();
    assert_eq!((said.len(), permits(&said)), (200, 64));
    // Over and over again, and over another connection: no more than one question waits for each.
    let said = table.give((0..64).flat_map(|of| [says(1, &want(of)), done(of)]));
    assert_eq!(said, Vec::<String>::new());
    let said = table.give([down(1), up(1), says(1, &want(70))]);
    assert_eq!(said, ["1: refused 70 Again"]);
    // The answers are no longer wanted, except by peers that have asked once more.
    let said = table.give([says(1, &want(2)), says(1, &want(3))]);
    assert_eq!(said, Vec::<String>::new());
    let answers = [(1, Some(1)), (2, Some(2)), (3, None)];
    let said = table.give(answers.map(|(of, size)| permitted(1, of, size)));
    // The third may be requested for another transaction by now.
    assert_eq!(said, ["1: offer 2 of 2", "1: refused 3 Again"]);
    assert_eq!(table.give([says(1, &want(70))]), ["permit 1 70?"]);
}

/// Makes a peer want files that it may have.
fn offered(table: &mut Table, files: std::ops::Range<u16>) -> Vec<String> {
    let each = |of| table.give([says(1, &want(of)), permitted(1, of, Some(5))]);
    files.flat_map(each).collect()
}

#[test]
fn what_is_forgotten_for_another_is_idle_or_the_peer_is_told() {
    for (asked, told) in [(255, vec![]), (256, vec!["1: refused 0 Again"])] {
        let mut table = Table::new(options());
        table.give([up(1)]);
        offered(&mut table, 0..256);
        // No byte of these is read yet.
        for of in 0..asked {
            table.give([says(1, &ask(of, 0, 5))]);
        }
        let said = offered(&mut table, 300..301);
        let again: Vec<&String> = said.iter().filter(|said| said.contains("Again")).collect();
        assert_eq!(again, told, "{asked} asked for");
        assert_eq!(table.machine.figures().served, 256);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_refused_for_now() {
    let mut table = served(25);
    table.give([says(1, &ask(5, 0, 5))]);
    let failed = Event::ReadFailed {
        peer: peer(1),
        hash: file(5),
        length: 5,
    };
    assert_eq!(table.give([failed]), ["1: refused 5 Again"]);
    assert_eq!(table.machine.figures().memory_out, 0);
}
