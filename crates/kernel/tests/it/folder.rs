//! A start compares the node's folder with the store's record of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::folder::{AuditMark, FolderReport, forget_member, members};
use kernel::port::{Table, WriteBatch};
use kernel::{Event, KernelOptions, OpenError};
use ledger::NetworkMap;
use primitives::Decode;

use crate::testnet::Testnet;

/// The node that the tests restart.
const NODE: usize = 2;

fn net() -> Testnet {
    let mut net = Testnet::with(2, false, KernelOptions::default());
    net.settle();
    net
}

fn restart(net: &mut Testnet) -> FolderReport {
    net.down(NODE);
    net.up(NODE);
    net.settle();
    net.nodes[NODE].report.clone()
}

fn mark(log: u8, part: u64, bytes: u64) -> AuditMark {
    let log = [log; 16];
    AuditMark { log, part, bytes }
}

fn put(net: &Testnet, key: &[u8], value: &[u8]) {
    let mut batch = WriteBatch::default();
    batch.put(Table::Meta, key, value);
    net.nodes[NODE].disk.write(batch);
}

/// Returns the network without a node.
fn without(net: &Testnet, node: usize) -> Arc<NetworkMap> {
    let gone = net.nodes[node].id;
    let kept = net.network.nodes().filter(|(id, _)| **id != gone);
    let infos: Vec<_> = kept.map(|(_, info)| info.clone()).collect();
    Arc::new(NetworkMap::new(net.network.parameters().clone(), infos))
}

#[test]
fn a_store_keeps_its_name_and_a_new_one_gets_another() {
    let mut net = net();
    let first = net.nodes[NODE].epoch;
    assert_ne!(first, 0);
    restart(&mut net);
    assert_eq!(net.nodes[NODE].epoch, first, "the same store");
    net.down(NODE);
    net.nodes[NODE].disk = Default::default();
    // Another start has other entropy.
    net.token();
    net.up(NODE);
    net.settle();
    assert_ne!(net.nodes[NODE].epoch, first, "an empty store");
}

#[test]
fn a_lost_member_stops_the_start() {
    let mut net = net();
    let known = members(&net.nodes[NODE].disk).expect("readable");
    assert_eq!(known.len(), net.nodes.len(), "the node itself, too");
    net.down(NODE);
    let whole = Arc::clone(&net.network);
    net.network = without(&net, 1);
    let lost = net.nodes[1].id;
    let before = net.nodes[NODE].disk.rows(Table::Meta);
    match net.try_up(NODE) {
        Err(OpenError::MemberLost { id, name }) => {
            assert_eq!(id, lost);
            assert_eq!(name, net.nodes[1].party.name.to_string());
        }
        other => panic!("{other:?}"),
    }
    let after = net.nodes[NODE].disk.rows(Table::Meta);
    assert_eq!(after, before, "nothing is written");

    // The file is restored. Later the operator forgets the member, and the node starts without it.
    net.network = whole;
    net.up(NODE);
    net.down(NODE);
    net.network = without(&net, 1);
    net.nodes[NODE].disk.write(forget_member(&lost));
    let left = members(&net.nodes[NODE].disk).expect("readable");
    assert_eq!(left.len(), known.len() - 1, "the others are remembered");
    net.try_up(NODE).expect("starts");
}

#[test]
fn states_of_missing_contracts_are_reported_at_each_start() {
    let mut net = net();
    let unusable = |states: &[(&str, u64)]| FolderReport {
        unusable_states: states.iter().map(|(n, s)| ((*n).to_owned(), *s)).collect(),
        is_audit_log_lost: false,
    };
    type States<'a> = &'a [(&'a str, u64)];
    // (states in the view, whether the program lacks the contract of deeds, the report)
    let starts: &[(States<'_>, bool, States<'_>)] = &[
        (&[("test.deed", 3), ("tally.cash", 9)], false, &[]),
        (
            &[("test.deed", 3), ("tally.cash", 9)],
            true,
            &[("test.deed", 3)],
        ),
        // The view was rebuilt, so it lacks the states.
        (&[("tally.cash", 9)], true, &[("test.deed", 3)]),
        (&[("test.deed", 5)], true, &[("test.deed", 5)]),
        (
            &[("not a name", 1)],
            true,
            &[("not a name", 1), ("test.deed", 5)],
        ),
        (&[], false, &[("not a name", 1)]),
        (&[], true, &[("not a name", 1)]),
    ];
    for (at, (view, lacks, expected)) in starts.iter().enumerate() {
        let view = view
            .iter()
            .map(|(name, states)| ((*name).to_owned(), *states));
        net.nodes[NODE].contents.view_states = BTreeMap::from_iter(view);
        match lacks {
            true => net.plain.insert(NODE),
            false => net.plain.remove(&NODE),
        };
        assert_eq!(restart(&mut net), unusable(expected), "start {at}");
    }
}

#[test]
fn another_or_shorter_audit_log_counts_as_lost() {
    let recorded = mark(1, 2, 300);
    let cases = [
        ("the same position", Some(recorded.clone()), false),
        ("a longer file", Some(mark(1, 2, 301)), false),
        ("a later file", Some(mark(1, 3, 5)), false),
        ("a shorter file", Some(mark(1, 2, 299)), true),
        ("an earlier file", Some(mark(1, 1, 900)), true),
        ("another log", Some(mark(2, 2, 300)), true),
        ("no log", None, true),
    ];
    for (name, found, is_lost) in cases {
        let mut net = net();
        assert!(!restart(&mut net).is_audit_log_lost, "{name}: none before");
        net.tell(NODE, Event::AuditMarked(recorded.clone()));
        net.settle();
        net.nodes[NODE].contents.audit = found;
        assert_eq!(restart(&mut net).is_audit_log_lost, is_lost, "{name}");
    }
}

#[test]
fn an_empty_audit_row_matches_any_log() {
    let rows: [(&[u8], Option<AuditMark>, bool); 3] = [
        (b"", Some(mark(7, 0, 1)), false),
        (b"", None, true),
        // A row that is neither empty nor a mark.
        (b"\xff", Some(mark(7, 0, 1)), true),
    ];
    for (row, found, is_lost) in rows {
        let mut net = net();
        put(&net, b"folder/audit", row);
        net.nodes[NODE].contents.audit = found;
        assert_eq!(restart(&mut net).is_audit_log_lost, is_lost);
    }
}

#[test]
fn each_start_records_the_position_of_a_log_that_is_not_lost() {
    let mut net = net();
    // (the position at the start, the position on record after it)
    let starts = [
        (mark(1, 0, 10), mark(1, 0, 10)),
        (mark(1, 0, 50), mark(1, 0, 50)),
        // Lost: the record stays until the new log says that it begins anew.
        (mark(1, 0, 49), mark(1, 0, 50)),
        (mark(2, 0, 90), mark(1, 0, 50)),
        (mark(1, 1, 5), mark(1, 1, 5)),
    ];
    for (found, recorded) in starts {
        net.nodes[NODE].contents.audit = Some(found);
        restart(&mut net);
        let rows = net.nodes[NODE].disk.rows(Table::Meta);
        let row = rows.iter().find(|(key, _)| key == b"folder/audit");
        let row = row.map(|(_, value)| AuditMark::from_bytes(value).expect("a mark"));
        assert_eq!(row, Some(recorded));
    }
}

#[test]
fn the_record_of_the_folder_begins_no_life_of_the_data() {
    let mut net = Testnet::with(0, false, KernelOptions::default());
    for _ in 0..3 {
        net.down(0);
        net.up(0);
        net.settle();
    }
    let rows = net.nodes[0].disk.rows(Table::Meta);
    let lives = rows.iter().filter(|(key, _)| key.starts_with(b"life/"));
    assert_eq!(lives.count(), 0, "a node without peers and starts");
}

#[test]
fn damaged_rows_about_the_folder_stop_the_start() {
    let member: &[u8] = &[b"folder/member/".as_slice(), &[9; 32]].concat();
    let rows: &[(&[u8], &[u8], &str)] = &[
        (b"epoch", b"short", "the number that names the store"),
        (b"epoch", &[0; 8], "the number that names the store"),
        (b"folder/member/short", b"O=X", "a member of the network"),
        (member, b"O=\xff", "a member of the network"),
        (
            b"lacking/test.deed",
            b"x",
            "a contract that the program lacks",
        ),
    ];
    for (key, value, name) in rows {
        let mut net = net();
        net.down(NODE);
        put(&net, key, value);
        let error = net.try_up(NODE).expect_err("damaged");
        assert_eq!(error.code(), "store.damaged", "{key:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
}
