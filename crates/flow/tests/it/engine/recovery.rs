//! Recovery: two phases, parked flows, versions in flight.

use primitives::Encode;

use crate::engine::bench::{Bench, id, start_record};
use crate::engine::flows::{self, Greet};
use crate::engine::sessions::{data, init, session};

#[test]
fn a_flow_goes_on_where_it_was() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.greet",
        &"hi".to_owned(),
        &["progress asking", "effect 1 first"],
    );
    b.round(&["journal 0"]);
    b.round(&[]);
    b.crash(&["effect 1 first"]);
    b.text(1, 1, "x", &["effect 4 second x"]);
    b.round(&["journal 1"]);
    b.crash(&["effect 4 second x"]);
    b.text(1, 4, "y", &["forget 2", "ended hi x y 1003 31"]);
    assert!(b.journal.is_empty());
}

#[test]
fn a_retired_version_continues_and_does_not_start() {
    let greeting = "hi".to_owned();
    let mut b = Bench::new();
    b.start(
        1,
        "test.greet",
        &greeting,
        &["progress asking", "effect 1 first"],
    );
    b.round(&["journal 0"]);
    let mut registry = flows::registry();
    registry.register_retired::<Greet>();
    assert_eq!(
        registry.current_version("test.greet").unwrap_err().code,
        "flow.version_unsupported"
    );
    assert!(registry.has("test.greet", 1));
    let listed = registry.list();
    let greet = listed.iter().find(|flow| flow.name == "test.greet");
    assert!(greet.unwrap().versions.is_empty());
    b.registry = std::sync::Arc::new(registry);
    b.crash(&["effect 1 first"]);
    let record = start_record(2, "test.greet", 1, &greeting);
    let refused = b.engine.start(record).unwrap_err();
    assert_eq!(refused.code, "flow.version_unsupported");
    b.text(1, 1, "x", &["effect 4 second x"]);
    b.text(1, 4, "y", &["forget 1", "ended hi x y 1003 31"]);
    // A later registration of the same version makes it one that starts.
    let mut registry = flow::FlowRegistry::new();
    registry.register_retired::<Greet>().register::<Greet>();
    assert_eq!(registry.current_version("test.greet"), Ok(1));
}

#[test]
fn what_was_not_durable_happens_again() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.greet",
        &"hi".to_owned(),
        &["progress asking", "effect 1 first"],
    );
    b.round(&["journal 0"]);
    b.text(1, 1, "x", &["effect 4 second x"]);
    b.crash(&["effect 1 first"]);
}

#[test]
fn a_flow_that_ends_in_its_first_round_writes_nothing() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.greet",
        &"hi".to_owned(),
        &["progress asking", "effect 1 first"],
    );
    b.text(1, 1, "x", &["effect 4 second x"]);
    b.text(1, 4, "y", &["ended hi x y 1002 31"]);
    b.round(&[]);
}

/// Damages a journal.
type Spoil = fn(&mut Bench);

/// Rows that were tampered with, or written by other code.
#[test]
fn an_unreadable_journal_parks_one_flow() {
    let spoil: [(&str, Spoil); 6] = [
        ("flow.journal_unreadable", |b| {
            b.journal.insert((id(1), 0), vec![0xff, 1, 2]);
        }),
        ("flow.journal_unreadable", |b| {
            b.journal.insert((id(1), 1), vec![9]);
        }),
        ("flow.journal_unreadable", |b| {
            b.journal.remove(&(id(1), 0));
        }),
        ("flow.journal_unreadable", |b| {
            let row = b.journal[&(id(2), 0)].clone();
            b.journal.insert((id(1), 0), row);
        }),
        ("flow.replay_mismatched", |b| {
            let row = b.journal[&(id(2), 1)].clone();
            b.journal.insert((id(1), 1), row);
        }),
        ("flow.replay_mismatched", |b| {
            let row = b.journal[&(id(1), 1)].clone();
            b.journal.insert((id(1), 2), row);
        }),
    ];
    for (code, spoil) in spoil {
        let mut b = Bench::new();
        b.start(
            1,
            "test.greet",
            &"hi".to_owned(),
            &["progress asking", "effect 1 first"],
        );
        b.start(2, "test.outer", &"go".to_owned(), &["effect 1 before"]);
        b.round(&["journal 0", "journal 0"]);
        b.text(1, 1, "x", &["effect 4 second x"]);
        b.text(2, 1, "y", &["effect 1/1 one"]);
        b.round(&["journal 1", "journal 1"]);
        spoil(&mut b);
        let parked = format!("parked {code}");
        b.crash(&[&parked, "effect 1/1 one"]);
        assert_eq!(b.engine.live(), 2);
        b.text(1, 4, "z", &[]);
    }
}

#[test]
fn a_parked_flow_keeps_its_messages_and_can_be_tried_again() {
    let mut b = Bench::of('B', Default::default());
    b.message('A', init("test.talk", &[1], Some("twice")), &[]);
    b.round(&["journal 0"]);
    let flow = *b.journal.keys().next().map(|(flow, _)| flow).unwrap();
    let registry = b.registry.clone();
    b.registry = std::sync::Arc::new(flow::FlowRegistry::new());
    b.crash(&["parked flow.version_unsupported"]);
    let missing = b.engine.versions_missing();
    assert_eq!(missing.len(), 1);
    assert_eq!(
        (
            missing[0].name.as_str(),
            missing[0].version,
            missing[0].responder
        ),
        ("test.talk", 1, true)
    );
    assert_eq!(missing[0].flows, [flow]);
    b.message('A', data(1, "late"), &[]);
    b.message(
        'C',
        data(1, "of somebody else"),
        &["send C back end flow.session_unknown"],
    );
    b.round(&["journal 1"]);
    // A second crash while it is parked changes nothing.
    b.crash(&["parked flow.version_unsupported"]);
    b.registry = registry;
    b.crash(&["send A back data 0 late last", "forget 2", "ended 0 bytes"]);
}

#[test]
fn a_parked_flow_can_be_killed() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.talk",
        &"BC".to_owned(),
        &[
            "send B init test.talk [1] hello",
            "send C init test.talk [1] hello",
        ],
    );
    b.round(&["journal 0"]);
    b.journal.insert((id(1), 1), vec![9]);
    b.crash(&["parked flow.journal_unreadable"]);
    b.kill(
        1,
        flow::Kill::Done,
        &[
            "send B end flow.killed",
            "send C end flow.killed",
            "forget 2",
            "failed flow.killed",
        ],
    );
    assert_eq!(session().number, 1);
}

#[test]
fn any_row_of_garbage_only_parks() {
    let mut b = Bench::new();
    b.start(1, "test.outer", &"go".to_owned(), &["effect 1 before"]);
    b.text(1, 1, "y", &["effect 1/1 one"]);
    b.text(1, 0x1_0001, "y", &["effect 1/2 two"]);
    b.text(1, 0x1_0002, "y", &["effect 3 after"]);
    b.round(&["journal 0"]);
    let row = b.journal[&(id(1), 0)].clone();
    for at in 0..row.len() {
        for bit in 0..8 {
            let mut spoiled = row.clone();
            spoiled[at] ^= 1 << bit;
            b.journal.insert((id(1), 0), spoiled);
            b.engine = crate::engine::bench::engine('A', &b.registry, b.limits);
            let loaded = b.engine.load(id(1), &[(0, b.journal[&(id(1), 0)].clone())]);
            b.engine
                .resume(id(1), &crate::engine::bench::Held::default(), &mut b.out);
            b.out.clear();
            assert!(loaded.start.is_some() || loaded.unreadable.is_some());
            assert_eq!(b.engine.live(), 1);
        }
    }
    assert_eq!("y".to_owned().to_bytes().len(), 2);
}

#[test]
fn what_arrived_while_parked_runs_once_also_if_the_flow_goes_on() {
    let mut b = Bench::of('B', Default::default());
    b.message('A', init("test.talk", &[1], None), &[]);
    b.round(&["journal 0"]);
    let registry = b.registry.clone();
    b.registry = std::sync::Arc::new(flow::FlowRegistry::new());
    b.crash(&["parked flow.version_unsupported"]);
    b.message('A', data(0, "rate?"), &[]);
    b.round(&["journal 1"]);
    b.registry = registry;
    b.crash(&["effect 1 rate?"]);
    b.round(&["journal 2"]);
    b.crash(&["effect 1 rate?"]);
    b.round(&[]);
}

#[test]
fn an_operator_can_read_a_row() {
    let mut b = Bench::new();
    b.start(
        1,
        "test.greet",
        &"hi".to_owned(),
        &["progress asking", "effect 1 first"],
    );
    b.text(1, 1, "x", &["effect 4 second x"]);
    b.round(&["journal 0"]);
    let lines = flow::describe_row(&b.journal[&(id(1), 0)]).unwrap();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(
        lines[0].starts_with("Start(") && lines[1].starts_with("Result {"),
        "{lines:?}"
    );
    assert!(flow::describe_row(&[]).is_err());
}
