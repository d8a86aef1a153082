//! Tear-offs: the revealed parts are proved, and a notary receives everything it needs.

use ledger::{
    CheckedTearOff, Component, FilteredGroup, FilteredTransaction, Group, TearOffError,
    WireTransaction,
};
use primitives::{Decode, Encode, Hash};

use crate::rules::fixtures::*;

fn parts(tear_off: &FilteredTransaction) -> [FilteredGroup; 9] {
    Group::ALL.map(|group| tear_off.group(group).clone())
}

/// The notary's tear-off after a change of one group, checked after a trip over the wire.
fn changed(
    wire: &WireTransaction,
    group: Group,
    change: impl FnOnce(&mut FilteredGroup),
) -> Result<CheckedTearOff, TearOffError> {
    let mut groups = parts(&FilteredTransaction::for_notary(wire));
    change(&mut groups[group as usize]);
    let tear_off = FilteredTransaction::from_parts(wire.id(), groups);
    assert_eq!(
        FilteredTransaction::from_bytes(&tear_off.to_bytes()).unwrap(),
        tear_off
    );
    tear_off.verify()
}

fn components(group: &mut FilteredGroup) -> &mut Vec<Component> {
    match group {
        FilteredGroup::Whole(components) => components,
        other => panic!("{other:?} is not whole"),
    }
}

#[test]
fn a_notary_sees_what_it_needs_and_no_more() {
    let wire = full();
    let tear_off = FilteredTransaction::for_notary(&wire);
    let checked = tear_off.verify().unwrap();
    assert_eq!(checked.id(), wire.id());
    assert_eq!(checked.inputs(), wire.inputs());
    assert_eq!(checked.references(), wire.references());
    assert_eq!(Some(checked.notary()), wire.notary());
    assert_eq!(checked.time_window(), wire.time_window());
    assert_eq!(checked.parameters(), wire.parameters());
    for group in [
        Group::Outputs,
        Group::Commands,
        Group::Attachments,
        Group::Signers,
    ] {
        assert!(
            matches!(tear_off.group(group), FilteredGroup::Hidden(_)),
            "{group:?}"
        );
    }
    let bare = base().output(state(notary())).build(SALT).unwrap();
    let checked = FilteredTransaction::for_notary(&bare).verify().unwrap();
    assert!(checked.inputs().is_empty() && checked.time_window().is_none());
}

#[test]
fn nothing_of_what_a_notary_needs_can_be_held_back() {
    let wire = full();
    for group in Group::FOR_NOTARY {
        let hidden = changed(&wire, group, |g| {
            *g = FilteredGroup::Hidden(wire.group_hash(group))
        });
        check_error(
            &hidden.unwrap_err(),
            "tear_off.incomplete",
            "whole transaction",
        );
        let dropped = changed(&wire, group, |g| {
            components(g).pop();
        });
        check_error(
            &dropped.unwrap_err(),
            "tear_off.id_mismatch",
            "nothing of it may be changed",
        );
        let emptied = changed(&wire, group, |g| components(g).clear());
        check_error(&emptied.unwrap_err(), "tear_off.id_mismatch", "again");
    }
    // One of two inputs, properly proved, is still not all of them.
    let one = FilteredTransaction::of(&wire, |group, index| group != Group::Inputs || index == 0);
    check_error(
        &one.verify().unwrap_err(),
        "tear_off.incomplete",
        "whole transaction",
    );
}

#[test]
fn nothing_can_be_forged() {
    let wire = full();
    for group in Group::FOR_NOTARY {
        let flipped = changed(&wire, group, |g| {
            let bytes = &mut components(g)[0].bytes;
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
        });
        check_error(&flipped.unwrap_err(), "tear_off.id_mismatch", "again");
        let renonced = changed(&wire, group, |g| components(g)[0].nonce = Hash::ZERO);
        check_error(&renonced.unwrap_err(), "tear_off.id_mismatch", "again");
        let added = changed(&wire, group, |g| {
            let first = components(g)[0].clone();
            components(g).push(first);
        });
        check_error(&added.unwrap_err(), "tear_off.id_mismatch", "again");
    }
    let swapped = changed(&wire, Group::Inputs, |g| components(g).swap(0, 1));
    check_error(&swapped.unwrap_err(), "tear_off.id_mismatch", "again");
    let hidden = changed(&wire, Group::Outputs, |g| {
        *g = FilteredGroup::Hidden(Hash::ZERO)
    });
    check_error(&hidden.unwrap_err(), "tear_off.id_mismatch", "again");
    let other = base().input(input(9, 9)).build(SALT).unwrap().id();
    let groups = parts(&FilteredTransaction::for_notary(&wire));
    let renamed = FilteredTransaction::from_parts(other, groups)
        .verify()
        .unwrap_err();
    check_error(&renamed, "tear_off.id_mismatch", "again");
}

/// A requester could hash anything into an id of its own; the rules of the groups still hold.
#[test]
fn rules_hold_for_ids_made_up_to_fit() {
    let nonce = Hash::ZERO;
    let component = |bytes: Vec<u8>| Component { nonce, bytes };
    let made_up = |inputs: Vec<Vec<u8>>, references: Vec<Vec<u8>>, notaries: usize| {
        let mut groups = [const { FilteredGroup::Whole(Vec::new()) }; 9];
        let whole =
            |parts: Vec<Vec<u8>>| FilteredGroup::Whole(parts.into_iter().map(component).collect());
        groups[Group::Inputs as usize] = whole(inputs);
        groups[Group::References as usize] = whole(references);
        groups[Group::Notary as usize] = whole(vec![notary().to_bytes(); notaries]);
        let hashes = Group::ALL.map(|group| match &groups[group as usize] {
            FilteredGroup::Whole(components) => {
                let leaves: Vec<Hash> = components
                    .iter()
                    .map(|c| ledger::group::leaf(&c.nonce, &c.bytes))
                    .collect();
                ledger::group::group_of_leaves(group, &leaves)
            }
            _ => unreachable!(),
        });
        let id = ledger::group::transaction_id(&hashes);
        FilteredTransaction::from_parts(id, groups).verify()
    };
    let r = |n| reference(n, 0).to_bytes();
    assert!(made_up(vec![r(1)], vec![r(2)], 1).is_ok());
    let table = [
        (made_up(vec![r(1), r(1)], vec![], 1), "tx.duplicate_input"),
        (
            made_up(vec![r(1)], vec![r(2), r(2)], 1),
            "tx.duplicate_reference",
        ),
        (
            made_up(vec![r(1)], vec![r(1)], 1),
            "tx.input_also_referenced",
        ),
        (made_up(vec![r(1)], vec![], 0), "tx.notary_missing"),
        (made_up(vec![r(1)], vec![], 2), "tx.too_many_components"),
        (made_up(vec![vec![0xff]], vec![], 1), "tear_off.malformed"),
    ];
    for (verdict, code) in table {
        check_error(&verdict.unwrap_err(), code, "");
    }
}

#[test]
fn parts_are_shown_with_proof() {
    let wire = full();
    let table: &[(Group, u32)] = &[
        (Group::Inputs, 1),
        (Group::Outputs, 0),
        (Group::Commands, 1),
        (Group::Attachments, 0),
        (Group::References, 0),
    ];
    for (group, index) in table {
        let tear_off = FilteredTransaction::of(&wire, |g, i| (g, i) == (*group, *index));
        let tear_off = FilteredTransaction::from_bytes(&tear_off.to_bytes()).unwrap();
        let opened = tear_off.open().unwrap();
        assert_eq!(opened.id, wire.id());
        let shown = opened.inputs.len()
            + opened.outputs.len()
            + opened.commands.len()
            + opened.attachments.len()
            + opened.references.len();
        assert_eq!(shown, 1, "{group:?}");
        match group {
            Group::Inputs => assert_eq!(opened.inputs, [(1, wire.inputs()[1])]),
            Group::Outputs => assert_eq!(opened.outputs, [(0, wire.outputs()[0].clone())]),
            Group::Commands => assert_eq!(opened.commands, [(1, wire.commands()[1].clone())]),
            _ => {}
        }
    }
    let nothing = FilteredTransaction::of(&wire, |_, _| false).open().unwrap();
    assert!(nothing.inputs.is_empty() && nothing.notary.is_none());
    let all = FilteredTransaction::of(&wire, |_, _| true).open().unwrap();
    assert_eq!(all.commands.len(), 2);
}

#[test]
fn a_command_is_never_shown_without_its_signers() {
    let wire = full();
    let tear_off =
        FilteredTransaction::of(&wire, |group, index| group == Group::Commands && index == 0);
    assert!(matches!(
        tear_off.group(Group::Signers),
        FilteredGroup::Whole(_)
    ));
    let mut groups = parts(&tear_off);
    groups[Group::Signers as usize] = FilteredGroup::Hidden(wire.group_hash(Group::Signers));
    let error = FilteredTransaction::from_parts(wire.id(), groups)
        .open()
        .unwrap_err();
    check_error(&error, "tear_off.signers_hidden", "whole group of signers");
}

#[test]
fn a_part_that_is_changed_is_refused() {
    let wire = full();
    let tear_off = FilteredTransaction::of(&wire, |g, i| g == Group::Inputs && i == 0);
    type Change = fn(&mut u32, &mut Vec<(u32, Component)>, &mut Vec<Hash>);
    let table: &[(Change, &str)] = &[
        (
            |_, components, _| components[0].1.bytes[5] ^= 1,
            "tear_off.id_mismatch",
        ),
        (
            |_, components, _| components[0].0 = 1,
            "tear_off.id_mismatch",
        ),
        (|_, components, _| components[0].0 = 2, "tear_off.bad_proof"),
        (|count, _, _| *count = 1, "tear_off.bad_proof"),
        (|count, _, _| *count = 0, "tear_off.bad_proof"),
        (|count, _, _| *count = u32::MAX, "tear_off.bad_proof"),
        (|_, _, hashes| hashes.clear(), "tear_off.bad_proof"),
        (|_, _, hashes| hashes.push(Hash::ZERO), "tear_off.bad_proof"),
        (
            |_, _, hashes| hashes[0] = Hash::ZERO,
            "tear_off.id_mismatch",
        ),
    ];
    for (change, code) in table {
        let mut groups = parts(&tear_off);
        let FilteredGroup::Part {
            count,
            components,
            hashes,
        } = &mut groups[0]
        else {
            panic!("one of two inputs is a part");
        };
        change(count, components, hashes);
        let error = FilteredTransaction::from_parts(wire.id(), groups)
            .open()
            .unwrap_err();
        check_error(&error, code, "again");
    }
}
