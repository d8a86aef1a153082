//! The third stage: notary, encumbrances, constraints, contracts.

use std::sync::Arc;

use ledger::{
    Command, Constraint, ContextualError, ContractExecutor, ContractName, ContractRegistry,
    LedgerTransaction, NetworkRules, StateAndRef, StateRef, TRANSITION_NAME, TransactionBuilder,
    TransactionState, Transition,
};
use primitives::{Hash, KeyPair, Scheme};

use crate::rules::fixtures::*;

/// Resolves against the states given and verifies.
fn verify_with(
    builder: TransactionBuilder,
    known: &[StateAndRef],
    registry: &ContractRegistry,
    rules: &NetworkRules,
) -> Result<(), ContextualError> {
    let wire = builder.build(SALT).unwrap();
    let look_up = |reference: &StateRef| {
        known
            .iter()
            .find(|s| s.reference == *reference)
            .map(|s| s.state.clone())
    };
    let resolved = LedgerTransaction::resolve(&wire, look_up).unwrap();
    // The first descriptor is the origin of every input, so any version of its signer may consume
    // them.
    let resolved = resolved.with_origins(|_| registry.descriptors().next().map(|d| vec![d.hash()]));
    resolved
        .verify(registry, rules)
        .map(|verified| assert_eq!(verified.id(), wire.id()))
}

fn verify(builder: TransactionBuilder, known: &[StateAndRef]) -> Result<(), ContextualError> {
    verify_with(builder, known, &registry(), &rules())
}

fn at(n: u8, index: u32, state: TransactionState) -> StateAndRef {
    StateAndRef {
        state,
        reference: reference(n, index),
    }
}

fn encumbered(n: u8, index: u32, next: u32) -> StateAndRef {
    at(
        n,
        index,
        TransactionState {
            encumbrance: Some(next),
            ..state(notary())
        },
    )
}

#[track_caller]
fn refused(result: Result<(), ContextualError>, code: &str, hint: &str) {
    check_error(&result.expect_err(code), code, hint);
}

#[test]
fn accepted() {
    let ring = [encumbered(1, 0, 2), encumbered(1, 2, 0)];
    let moved = base().input(input(1, 0)).output(state(notary()));
    assert_eq!(verify(moved, &[input(1, 0)]), Ok(()));
    assert_eq!(verify(base().output(state(notary())), &[]), Ok(()));
    assert_eq!(verify(base().inputs(&ring), &ring), Ok(()));
    let read = base().output(state(notary())).reference(reference(4, 0));
    assert_eq!(verify(read, &[at(4, 0, state(notary()))]), Ok(()));
}

#[test]
fn unknown_states() {
    let wire = base().input(input(1, 0)).build(SALT).unwrap();
    let error = LedgerTransaction::resolve(&wire, |_| None).unwrap_err();
    check_error(&error, "tx.state_unknown", "back chain");
}

#[test]
fn one_notary() {
    let foreign = at(1, 0, state(other_notary()));
    let table = [
        (
            base().input(&foreign).output(state(notary())),
            foreign.clone(),
        ),
        (
            base().output(state(notary())).reference(foreign.reference),
            foreign.clone(),
        ),
        (base().output(state(other_notary())), foreign.clone()),
    ];
    for (builder, known) in table {
        refused(
            verify(builder, &[known]),
            "tx.notary_mismatch",
            "one notary",
        );
    }
    let mut stranger = notary();
    stranger.key = public(55);
    let builder = TransactionBuilder::new(stranger.clone())
        .command(coin(), b"accept".to_vec(), vec![public(1)])
        .attachment(descriptor())
        .output(state(stranger));
    refused(
        verify(builder, &[]),
        "tx.notary_unknown",
        "network parameters",
    );
}

#[test]
fn a_window_implies_a_notary() {
    let wire = base()
        .output(state(notary()))
        .time_window(window())
        .build(SALT)
        .unwrap();
    let mut resolved = LedgerTransaction::resolve(&wire, |_| None).unwrap();
    resolved.notary = None;
    let verdict = resolved.verify(&registry(), &rules()).map(|_| ());
    refused(verdict, "tx.time_window_without_notary", "name a notary");
    resolved.time_window = None;
    let verdict = resolved.verify(&registry(), &rules()).map(|_| ());
    refused(verdict, "tx.notary_missing", "name the notary");
}

#[test]
fn encumbered_states_go_together() {
    let ring = [
        encumbered(1, 0, 2),
        encumbered(1, 2, 5),
        encumbered(1, 5, 0),
    ];
    let elsewhere = encumbered(2, 5, 0);
    for chosen in [
        &ring[..1],
        &ring[1..],
        &ring[..2],
        &[ring[0].clone(), elsewhere][..],
    ] {
        let verdict = verify(base().inputs(chosen), chosen);
        refused(
            verdict,
            "tx.encumbrance_missing",
            "consume all states of the ring",
        );
    }
    assert_eq!(verify(base().inputs(&ring), &ring), Ok(()));
}

#[test]
fn code_is_attached_once() {
    let output = state(notary());
    let command = |builder: TransactionBuilder, name: &ContractName| {
        builder.command(name.clone(), b"accept".to_vec(), vec![public(1)])
    };
    let plain = || command(TransactionBuilder::new(notary()), &coin()).output(output.clone());
    refused(
        verify(plain(), &[]),
        "tx.contract_missing",
        "attach the contract's descriptor",
    );
    let other_file = plain().attachment(Hash::plain(b"a file"));
    refused(verify(other_file, &[]), "tx.contract_missing", "attach");

    let mut two = registry();
    let second = two
        .register(Arc::new(Obedient {
            name: "test.coin",
            version: 2,
        }))
        .unwrap();
    let both = base().attachment(second).output(output.clone());
    let verdict = verify_with(both, &[], &two, &rules());
    refused(verdict, "tx.contract_ambiguous", "exactly one version");

    let mut more = registry();
    let bond = ContractName::new("test.bond").unwrap();
    let hash = more
        .register(Arc::new(Obedient {
            name: "test.bond",
            version: 1,
        }))
        .unwrap();
    let stray = command(base(), &bond)
        .attachment(hash)
        .output(output.clone());
    let verdict = verify_with(stray, &[], &more, &rules());
    refused(verdict, "tx.command_without_state", "remove the command");

    let consumed = at(
        1,
        0,
        TransactionState {
            contract: bond,
            ..output.clone()
        },
    );
    let verdict = verify_with(
        base().input(&consumed).output(output),
        &[consumed],
        &more,
        &rules(),
    );
    refused(verdict, "tx.contract_missing", "attach");
}

#[test]
fn contracts_decide() {
    let say = |value: &[u8]| {
        TransactionBuilder::new(notary())
            .command(coin(), value.to_vec(), vec![public(1)])
            .attachment(descriptor())
            .output(state(notary()))
    };
    assert_eq!(verify(say(b"accept"), &[]), Ok(()));
    let error = verify(say(b"reject"), &[]).unwrap_err();
    check_error(&error, "tx.contract_rejected", "the contract's own code");
    assert!(error.to_string().contains("coin.rejected"), "{error}");
    refused(
        verify(say(b"panic"), &[]),
        "contract.panicked",
        "the node is unharmed",
    );
}

#[test]
fn constraints_hold_and_are_passed_on() {
    let author = KeyPair::from_seed(Scheme::Ed25519, [77; 32]);
    let stranger = KeyPair::from_seed(Scheme::Ed25519, [78; 32]);
    let mut registry = ContractRegistry::new();
    let contract = |version| {
        Arc::new(Obedient {
            name: "test.coin",
            version,
        })
    };
    let first = registry.register_signed(contract(1), &author).unwrap();
    let second = registry.register_signed(contract(2), &author).unwrap();
    let foreign = registry.register_signed(contract(3), &stranger).unwrap();
    let exactly = Constraint::Descriptor;
    let signed = || Constraint::SignedBy(author.public().clone());
    let always = || Constraint::AlwaysAccept;

    let strict = rules();
    let lax = NetworkRules {
        allow_always_accept: true,
        ..rules()
    };
    let table = [
        (&strict, exactly(first), exactly(first), first, ""),
        (
            &strict,
            exactly(first),
            exactly(first),
            second,
            "tx.constraint_unsatisfied",
        ),
        (
            &strict,
            exactly(first),
            exactly(second),
            first,
            "tx.constraint_unsatisfied",
        ),
        (&strict, signed(), signed(), first, ""),
        (&strict, signed(), signed(), second, ""),
        (
            &strict,
            signed(),
            signed(),
            foreign,
            "tx.constraint_unsatisfied",
        ),
        (
            &strict,
            signed(),
            exactly(second),
            second,
            "tx.constraint_not_propagated",
        ),
        (
            &strict,
            exactly(first),
            signed(),
            first,
            "tx.constraint_not_propagated",
        ),
        (
            &strict,
            always(),
            always(),
            first,
            "tx.always_accept_refused",
        ),
        (
            &strict,
            exactly(first),
            always(),
            first,
            "tx.always_accept_refused",
        ),
        (&lax, always(), always(), foreign, ""),
        (&lax, always(), exactly(first), first, ""),
        (
            &lax,
            exactly(first),
            always(),
            first,
            "tx.constraint_not_propagated",
        ),
    ];
    for (rules, before, after, attached, code) in table {
        let with = |constraint| TransactionState {
            constraint,
            ..state(notary())
        };
        let known = at(1, 0, with(before.clone()));
        let builder = TransactionBuilder::new(notary())
            .command(coin(), b"accept".to_vec(), vec![public(1)])
            .attachment(attached)
            .input(&known)
            .output(with(after.clone()));
        match verify_with(builder, &[known], &registry, rules) {
            Ok(()) => assert_eq!(code, "", "{before:?} -> {after:?}"),
            Err(error) => check_error(&error, code, "constra"),
        }
    }
}

#[test]
fn the_registry_keeps_versions_side_by_side() {
    let mut registry = registry();
    let (first, _) = registry.current(&coin()).unwrap();
    let error = registry
        .register(Arc::new(Obedient {
            name: "test.coin",
            version: 1,
        }))
        .unwrap_err();
    check_error(&error, "contract.registered_twice", "new version");
    let error = registry
        .register(Arc::new(Obedient {
            name: "Bad",
            version: 1,
        }))
        .unwrap_err();
    check_error(&error, "contract.name_invalid", "tally.cash");
    let second = registry
        .register(Arc::new(Obedient {
            name: "test.coin",
            version: 2,
        }))
        .unwrap();
    assert_eq!(
        registry.current(&coin()).unwrap(),
        (second, Constraint::Descriptor(second))
    );
    assert_eq!(registry.descriptor(&first).unwrap().contract().version, 1);
    assert_eq!(registry.descriptors().count(), 2);
    assert!(registry.descriptor(&Hash::ZERO).is_none());

    assert!(
        registry
            .describe(&state(notary()))
            .unwrap()
            .linear_id
            .is_some()
    );
    let with = |data: &[u8]| TransactionState {
        data: data.to_vec(),
        ..state(notary())
    };
    let error = registry.describe(&with(b"\xff")).unwrap_err();
    check_error(&error, "contract.state_malformed", "format");
    let error = registry.describe(&with(b"panic")).unwrap_err();
    check_error(&error, "contract.panicked", "unharmed");
    let unknown = TransactionState {
        contract: ContractName::new("no.such").unwrap(),
        ..state(notary())
    };
    check_error(
        &registry.describe(&unknown).unwrap_err(),
        "contract.unknown",
        "install",
    );
    let tx = base().output(state(notary())).build(SALT).unwrap();
    let tx = LedgerTransaction::resolve(&tx, |_| None).unwrap();
    let rejection = registry
        .execute(&unknown.contract, &first, &tx)
        .unwrap_err();
    assert_eq!(rejection.code, "contract.unknown");
}

#[test]
fn commands_are_described_by_the_listed_version() {
    let mut registry = registry();
    let (first, _) = registry.current(&coin()).expect("version 1");
    let second = registry.register(Arc::new(Obedient {
        name: "test.coin",
        version: 2,
    }));
    let second = second.expect("version 2");
    let other = registry.register(Arc::new(Obedient {
        name: "test.other",
        version: 3,
    }));
    let other = other.expect("another contract");
    let change = Transition::NotaryChange { to: other_notary() };
    let name = other_notary().name.to_string();
    let accept = |version: &str| format!("accept version={version}");
    type Row<'a> = (&'a str, &'a [u8], &'a [Hash], Option<String>);
    let table: &[Row<'_>] = &[
        ("test.coin", b"accept", &[first], Some(accept("1"))),
        ("test.coin", b"accept", &[other, second], Some(accept("2"))),
        // The newest, if the transaction lists no version that is here.
        (
            "test.coin",
            b"accept",
            &[other, Hash::ZERO],
            Some(accept("2")),
        ),
        ("test.coin", b"", &[first], None),
        ("test.coin", b"malformed", &[first], None),
        ("test.coin", b"panic", &[first], None),
        ("no.such", b"accept", &[first], None),
        (
            TRANSITION_NAME,
            &change.value(),
            &[],
            Some(format!("notary_change to={name}")),
        ),
        (TRANSITION_NAME, b"accept", &[], None),
    ];
    for (contract, value, attachments, expected) in table {
        let command = Command {
            contract: ContractName::new(contract).expect("a name"),
            value: value.to_vec(),
            signers: vec![public(1)],
        };
        let facts = registry.describe_command(&command, attachments);
        let shown = facts.map(|facts| {
            let fields = facts.fields.iter();
            let fields = fields.map(|(name, value)| format!(" {name}={value}"));
            format!("{}{}", facts.name, fields.collect::<String>())
        });
        assert_eq!(shown, *expected, "{contract} {value:?}");
    }
}
