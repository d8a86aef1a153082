//! The first stage: rules that a transaction alone can break, when it is built and when it is decoded.

use ledger::limits::{COMPONENT_BYTES_MAX, INPUTS_AND_REFERENCES_MAX, OUTPUTS_MAX};
use ledger::{
    Group, NotaryError, StructureError, TimeWindow, TransactionBuilder, TransactionState,
    WireTransaction,
};
use primitives::{Decode, Encode, Hash, Timestamp};

use crate::rules::fixtures::*;

fn encumbered(next: Option<u32>) -> TransactionState {
    TransactionState {
        encumbrance: next,
        ..state(notary())
    }
}

fn outputs(next: &[Option<u32>]) -> TransactionBuilder {
    next.iter()
        .fold(base(), |builder, next| builder.output(encumbered(*next)))
}

#[test]
fn what_the_builder_refuses() {
    let no_command = TransactionBuilder::new(notary()).output(state(notary()));
    let large = TransactionState {
        data: vec![0; COMPONENT_BYTES_MAX],
        ..state(notary())
    };
    let many_inputs = (0..=INPUTS_AND_REFERENCES_MAX as u32).map(|i| input(1, i));
    let many_outputs = (0..=OUTPUTS_MAX).fold(base(), |builder, _| builder.output(state(notary())));
    let table: Vec<(TransactionBuilder, &str, &str)> = vec![
        (base(), "tx.empty", "add an input or an output"),
        (no_command, "tx.no_command", "add a command"),
        (
            base()
                .output(state(notary()))
                .command(coin(), vec![], vec![]),
            "tx.no_signers",
            "at least one key",
        ),
        (
            base()
                .output(state(notary()))
                .command(coin(), vec![], vec![public(1), public(1)]),
            "tx.duplicate_signer",
            "once",
        ),
        (
            base().input(input(1, 0)).input(input(1, 0)),
            "tx.duplicate_input",
            "once",
        ),
        (
            base()
                .input(input(1, 0))
                .reference(reference(2, 0))
                .reference(reference(2, 0)),
            "tx.duplicate_reference",
            "once",
        ),
        (
            base().input(input(1, 0)).reference(reference(1, 0)),
            "tx.input_also_referenced",
            "leave the reference out",
        ),
        (base().output(large), "tx.too_large", "split"),
        (
            base().inputs(&many_inputs.collect::<Vec<_>>()),
            "tx.too_many_components",
            "split",
        ),
        (many_outputs, "tx.too_many_components", "split"),
        // An encumbrance that is no output, that is the output itself, that is not encumbered, that is named twice.
        (
            outputs(&[Some(2), None]),
            "tx.encumbrance_invalid",
            "leads back",
        ),
        (
            outputs(&[Some(0), None]),
            "tx.encumbrance_invalid",
            "leads back",
        ),
        (
            outputs(&[Some(1), None]),
            "tx.encumbrance_invalid",
            "leads back",
        ),
        (
            outputs(&[Some(1), Some(0), Some(0)]),
            "tx.encumbrance_invalid",
            "leads back",
        ),
    ];
    for (builder, code, hint) in table {
        check_error(&builder.build(SALT).unwrap_err(), code, hint);
    }
}

#[test]
fn what_the_builder_accepts() {
    let ring = outputs(&[Some(2), None, Some(1).map(|_| 0)]);
    let table = [
        base().output(state(notary())),
        base().input(input(1, 0)),
        base().input(input(1, 0)).reference(reference(1, 1)),
        ring,
        outputs(&[Some(1), Some(2), Some(0)]),
        base().inputs(
            &(0..INPUTS_AND_REFERENCES_MAX as u32)
                .map(|i| input(1, i))
                .collect::<Vec<_>>(),
        ),
    ];
    for builder in table {
        let built = builder.build(SALT).unwrap();
        let decoded = WireTransaction::parse(built.bytes()).unwrap();
        assert_eq!(decoded.id(), built.id());
        assert_eq!(decoded.bytes(), built.bytes());
        assert_eq!(decoded.inputs(), built.inputs());
        assert_eq!(decoded.outputs(), built.outputs());
        assert_eq!(decoded.commands(), built.commands());
    }
}

/// A change of one group of a good transaction.
type Change = fn(&mut Vec<Vec<u8>>);

#[test]
fn what_the_decoder_refuses() {
    let repeat_first: Change = |group| group.push(group[0].clone());
    let table: &[(Group, Change, &str, &str)] = &[
        (Group::Inputs, repeat_first, "tx.duplicate_input", "once"),
        (
            Group::Inputs,
            |group| group.push(reference(3, 1).to_bytes()),
            "tx.input_also_referenced",
            "leave the reference out",
        ),
        (
            Group::References,
            repeat_first,
            "tx.duplicate_reference",
            "once",
        ),
        (
            Group::Attachments,
            repeat_first,
            "tx.duplicate_attachment",
            "once",
        ),
        (
            Group::Notary,
            Vec::clear,
            "tx.time_window_without_notary",
            "name a notary",
        ),
        (
            Group::Notary,
            repeat_first,
            "tx.too_many_components",
            "split",
        ),
        (
            Group::TimeWindow,
            repeat_first,
            "tx.too_many_components",
            "split",
        ),
        (
            Group::Parameters,
            repeat_first,
            "tx.too_many_components",
            "split",
        ),
        (
            Group::Signers,
            |group| group.truncate(1),
            "tx.malformed",
            "CBOR",
        ),
        (
            Group::Signers,
            |group| group[0] = vec![0x80],
            "tx.no_signers",
            "at least one key",
        ),
        (
            Group::Signers,
            |group| group[0] = vec![public(1), public(1)].to_bytes(),
            "tx.duplicate_signer",
            "once",
        ),
        (
            Group::Inputs,
            |group| group[0].push(0),
            "tx.malformed",
            "CBOR",
        ),
        (
            Group::Inputs,
            |group| group[0].clear(),
            "tx.malformed",
            "CBOR",
        ),
        (
            Group::Outputs,
            |group| group[0] = vec![0; COMPONENT_BYTES_MAX + 1],
            "tx.too_large",
            "split",
        ),
        (
            Group::TimeWindow,
            |group| {
                group[0] = (Some(Timestamp::from_ms(5)), Some(Timestamp::from_ms(5))).to_bytes()
            },
            "tx.malformed",
            "CBOR",
        ),
    ];
    for (group, change, code, hint) in table {
        let mut parts = groups(&full());
        change(&mut parts[*group as usize]);
        let bytes = assemble(1, &SALT, &parts);
        check_error(&WireTransaction::parse(&bytes).unwrap_err(), code, hint);
        assert!(
            WireTransaction::from_bytes(&bytes).is_err(),
            "the plain decoder agrees: {code}"
        );
    }
}

#[test]
fn the_decoder_refuses_other_frames() {
    let parts = groups(&full());
    let good = assemble(1, &SALT, &parts);
    assert_eq!(WireTransaction::parse(&good).unwrap(), full());
    let mut trailing = good.clone();
    trailing.push(0);
    let frames = [
        assemble(2, &SALT, &parts),
        assemble(1, &SALT[..31], &parts),
        assemble(1, &SALT, &parts[..8]),
        trailing,
        good[..good.len() - 1].to_vec(),
        Vec::new(),
    ];
    for frame in frames {
        check_error(
            &WireTransaction::parse(&frame).unwrap_err(),
            "tx.malformed",
            "CBOR",
        );
    }
    let mut without_notary = parts.clone();
    without_notary[Group::Notary as usize].clear();
    without_notary[Group::TimeWindow as usize].clear();
    let error = WireTransaction::parse(&assemble(1, &SALT, &without_notary)).unwrap_err();
    check_error(&error, "tx.notary_missing", "name the notary");
}

#[test]
fn the_id_commits_to_every_component_to_its_place_and_to_the_salt() {
    let wire = full();
    let mut ids = vec![wire.id()];
    let builders = [
        base().input(input(2, 3)).input(input(1, 0)),
        base().input(input(1, 0)).input(input(2, 3)),
        base().input(input(1, 0)).reference(reference(2, 3)),
        base()
            .input(input(1, 0))
            .time_window(TimeWindow::from(Timestamp::from_ms(1))),
        base()
            .input(input(1, 0))
            .time_window(TimeWindow::from(Timestamp::from_ms(2))),
        base().input(input(1, 0)).parameters(Hash::ZERO),
        base().input(input(1, 0)).output(state(notary())),
        base().input(input(1, 0)).output(state(other_notary())),
    ];
    for builder in builders {
        ids.push(builder.clone().build(SALT).unwrap().id());
        ids.push(builder.build([8; 32]).unwrap().id());
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn structure_errors_reach_a_requester_with_their_code() {
    let error = StructureError::DuplicateInput(reference(1, 0));
    let refused = NotaryError::invalid(&error);
    check_error(&refused, "notary.invalid_request", "inner code");
    assert!(refused.to_string().contains("tx.duplicate_input"));
}
