//! Tests of the outputs that concern us, and of their role.

use std::collections::BTreeSet;

use ledger::{
    Constraint, ContractName, Fungible, LegalName, Party, StateAndRef, StateFacts, StateRef,
    TokenId, TransactionBuilder, TransactionState, TxId,
};
use primitives::{Hash, PublicKey};
use vault::{ViewChange, changes};

fn key(number: u8) -> PublicKey {
    PublicKey::Ed25519([number; 32])
}

/// The state's data are its owner and its participants, by number; 99 has no description.
fn describe(state: &TransactionState) -> Option<StateFacts> {
    let (owner, participants) = state.data.split_first()?;
    if *owner == 99 {
        return None;
    }
    Some(StateFacts {
        participants: participants.iter().map(|p| key(*p)).collect(),
        owner: Some(key(*owner)),
        fungible: Some(Fungible {
            token: TokenId::from_hash(Hash::ZERO),
            symbol: "GBP".into(),
            issuer: notary(),
            quantity: 5,
        }),
        ..StateFacts::default()
    })
}

fn notary() -> Party {
    let name = LegalName::new("Notary", "London", "GB").expect("a legal name");
    Party::new(name, key(200))
}

fn state(data: &[u8]) -> TransactionState {
    TransactionState {
        data: data.to_vec(),
        contract: ContractName::new("tally.test").expect("a name"),
        constraint: Constraint::AlwaysAccept,
        notary: notary(),
        encumbrance: None,
    }
}

#[test]
fn owners_have_money_participants_have_states_others_have_nothing() {
    // (data, kept, as money)
    let table: &[(&[u8], bool, bool)] = &[
        (&[1], true, true),
        (&[2, 1, 2], true, false),
        (&[2, 3], false, false),
        (&[2, 7, 1], true, false),
        (&[99], false, false),
        (&[7, 3], true, true),
    ];
    let ours: BTreeSet<PublicKey> = [key(1), key(7)].into();
    let consumed = StateAndRef {
        state: state(&[1]),
        reference: StateRef::new(TxId::from_hash(Hash::plain(b"before")), 4),
    };
    let mut builder = TransactionBuilder::new(notary()).input(&consumed).command(
        ContractName::new("tally.test").expect("a name"),
        vec![0],
        vec![key(1)],
    );
    for (data, _, _) in table {
        builder = builder.output(state(data));
    }
    let wire = builder.build([7; 32]).expect("a transaction");
    let mut found = changes(
        9,
        &wire,
        &|k| ours.contains(k),
        wire.outputs().iter().map(describe),
    )
    .into_iter();
    match found.next() {
        Some(ViewChange::Consumed(input)) => {
            assert_eq!((input.seq, input.reference), (9, consumed.reference));
        }
        other => panic!("{other:?}"),
    }
    for (index, (data, kept, money)) in (0u32..).zip(table) {
        if !kept {
            continue;
        }
        match found.next() {
            Some(ViewChange::Produced(output)) => {
                assert_eq!(output.state.reference, StateRef::new(wire.id(), index));
                assert_eq!((output.seq, output.state.state.data.as_slice()), (9, *data));
                assert_eq!(output.facts.fungible.is_some(), *money, "{data:?}");
            }
            other => panic!("{data:?}: {other:?}"),
        }
    }
    assert!(found.next().is_none());
}

#[test]
#[should_panic(expected = "each output has one description or none")]
fn an_output_without_a_description_in_its_place_is_a_bug() {
    let wire = TransactionBuilder::new(notary())
        .command(
            ContractName::new("tally.test").expect("a name"),
            vec![0],
            vec![key(1)],
        )
        .output(state(&[1]))
        .output(state(&[1]))
        .build([7; 32])
        .expect("a transaction");
    let _ = changes(9, &wire, &|_| true, [describe(&state(&[1]))]);
}

#[test]
fn what_is_encumbered_is_kept_and_is_no_money() {
    let ours: BTreeSet<PublicKey> = [key(1)].into();
    let bound = |to| TransactionState {
        encumbrance: Some(to),
        ..state(&[1])
    };
    let command = ContractName::new("tally.test").expect("a name");
    let wire = TransactionBuilder::new(notary())
        .command(command, vec![0], vec![key(1)])
        .output(bound(1))
        .output(bound(0))
        .output(state(&[1]))
        .build([7; 32])
        .expect("a transaction");
    let found = changes(
        9,
        &wire,
        &|k| ours.contains(k),
        wire.outputs().iter().map(describe),
    );
    let money = found.iter().map(|change| match change {
        ViewChange::Produced(output) => output.facts.fungible.is_some(),
        other => panic!("{other:?}"),
    });
    assert_eq!(money.collect::<Vec<_>>(), [false, false, true]);
}
