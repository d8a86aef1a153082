//! The second stage: whose signatures are there, whose are missing, and whether they are good.

use ledger::{SignatureError, SignedTransaction, TransactionSignature, WireTransaction};
use primitives::{
    CompositeKey, Decode, Encode, KeyPair, PublicKey, Scheme, Signature, SignatureChecker,
    SignatureContext,
};
use std::sync::Arc;

use crate::rules::fixtures::*;

fn needs(keys: Vec<PublicKey>) -> WireTransaction {
    base()
        .input(input(1, 0))
        .output(state(notary()))
        .command(coin(), b"more".to_vec(), keys)
        .build(SALT)
        .unwrap()
}

fn check(
    wire: &WireTransaction,
    signatures: Vec<TransactionSignature>,
    missing_allowed: &[PublicKey],
) -> Result<(), SignatureError> {
    let signed = SignedTransaction::new(wire.clone(), signatures);
    assert_eq!(
        SignedTransaction::from_bytes(&signed.to_bytes()).unwrap(),
        signed
    );
    assert_eq!(
        SignedTransaction::parse(&signed.to_bytes()).unwrap(),
        signed
    );
    let pending = signed.check_signatures(missing_allowed)?;
    pending.check_with(&mut SignatureChecker::new()).map(|_| ())
}

fn by(wire: &WireTransaction, n: u8) -> TransactionSignature {
    match n {
        NOTARY => TransactionSignature::sign_batch(&[wire.id()], &key(n)).remove(0),
        _ => TransactionSignature::sign(&wire.id(), &key(n)),
    }
}

const NOTARY: u8 = 100;

/// Accepted, or refused with this code and a hint that says this.
type Expected = Result<(), (&'static str, &'static str)>;

#[test]
fn all_required_signers_and_nobody_else() {
    let wire = needs(vec![public(2)]);
    let other = needs(vec![public(3)]);
    let sign = |keys: &[u8]| keys.iter().map(|n| by(&wire, *n)).collect::<Vec<_>>();
    let mut renamed = by(&wire, 3);
    renamed.by = public(2);
    let mut flipped = by(&wire, 2);
    let mut bytes = *flipped.signature.bytes();
    bytes[40] ^= 1;
    flipped.signature = Signature::new(Scheme::Ed25519, bytes);
    let mut wrong_context = by(&wire, 2);
    wrong_context.signature = key(2).sign(SignatureContext::NotaryRequest, &wire.id().hash());
    let with = |signature: TransactionSignature| {
        let mut all = sign(&[1, NOTARY]);
        all.push(signature);
        all
    };
    let table: Vec<(Vec<TransactionSignature>, &[u8], Expected)> = vec![
        (sign(&[1, 2, NOTARY]), &[], Ok(())),
        (sign(&[NOTARY, 2, 1]), &[], Ok(())),
        (sign(&[1, 2]), &[NOTARY], Ok(())),
        (sign(&[]), &[1, 2, NOTARY], Ok(())),
        (
            sign(&[1, NOTARY]),
            &[],
            Err(("tx.signature_missing", "collect")),
        ),
        (
            sign(&[1, 2]),
            &[],
            Err(("tx.signature_missing", "notary's")),
        ),
        (
            sign(&[1]),
            &[NOTARY],
            Err(("tx.signature_missing", "collect")),
        ),
        (
            sign(&[1, 2, 3, NOTARY]),
            &[],
            Err(("tx.signature_superfluous", "remove")),
        ),
        (
            with(renamed),
            &[],
            Err(("tx.signature_bad", "sign the transaction's id again")),
        ),
        (
            with(flipped),
            &[],
            Err(("tx.signature_bad", "sign the transaction's id again")),
        ),
        (with(wrong_context), &[], Err(("tx.signature_bad", "sign"))),
        (with(by(&other, 2)), &[], Err(("tx.signature_bad", "sign"))),
    ];
    for (signatures, missing, expected) in table {
        let missing: Vec<PublicKey> = missing.iter().map(|n| public(*n)).collect();
        match (check(&wire, signatures, &missing), expected) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err((code, hint))) => check_error(&error, code, hint),
            (got, expected) => panic!("{got:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn a_key_signs_once() {
    let wire = needs(vec![public(2)]);
    let twice = SignedTransaction::new(wire.clone(), [by(&wire, 1), by(&wire, 1)]);
    assert_eq!(twice.signatures().len(), 1);
    let mut e = primitives::Encoder::new();
    e.array(2);
    wire.encode(&mut e);
    vec![by(&wire, 1), by(&wire, 1)].encode(&mut e);
    let bytes = e.into_bytes();
    let error = SignedTransaction::parse(&bytes).unwrap_err();
    check_error(&error, "tx.malformed", "CBOR");
}

/// A notary that owns states would otherwise give them away with each verdict, and give verdicts with each agreement.
#[test]
fn a_verdict_is_no_agreement_and_an_agreement_no_verdict() {
    let wire = needs(vec![public(NOTARY)]);
    let verdict = || by(&wire, NOTARY);
    let agreement = || TransactionSignature::sign(&wire.id(), &key(NOTARY));
    let table = [
        (vec![verdict(), agreement()], ""),
        (vec![agreement(), verdict()], ""),
        (vec![verdict()], "tx.signature_missing"),
        (vec![agreement()], "tx.signature_missing"),
    ];
    for (signatures, code) in table {
        let all = [vec![by(&wire, 1)], signatures].concat();
        match check(&wire, all, &[]) {
            Ok(()) => assert_eq!(code, ""),
            Err(error) => check_error(&error, code, "notary's"),
        }
    }
    let signed = SignedTransaction::new(wire.clone(), [by(&wire, 1), verdict()]);
    assert_eq!(signed.missing_parties(), [public(NOTARY)]);
    assert_eq!(signed.missing_signers(), [public(NOTARY)]);

    let other = needs(vec![public(2)]);
    let alone = TransactionSignature::sign(&other.id(), &key(NOTARY));
    let error = check(&other, vec![by(&other, 1), by(&other, 2), alone], &[]).unwrap_err();
    check_error(&error, "tx.signature_superfluous", "remove");
}

#[test]
fn composite_keys_by_weight() {
    let p256 = KeyPair::from_seed(Scheme::EcdsaP256, [9; 32]);
    let inner = CompositeKey::new(1, vec![(1, public(4)), (1, p256.public().clone())]).unwrap();
    let inner = PublicKey::Composite(Arc::new(inner));
    let outer = CompositeKey::new(3, vec![(2, public(2)), (1, public(3)), (1, inner)]).unwrap();
    let composite = PublicKey::Composite(Arc::new(outer));
    let wire = needs(vec![composite.clone()]);
    let sign = |keys: &[u8]| {
        let mut all = vec![by(&wire, 1), by(&wire, NOTARY)];
        all.extend(keys.iter().map(|n| by(&wire, *n)));
        all
    };
    let table: &[(&[u8], &str)] = &[
        (&[2, 3], ""),
        (&[2, 4], ""),
        (&[2, 3, 4], ""),
        (&[2], "tx.signature_missing"),
        (&[3, 4], "tx.signature_missing"),
        (&[2, 3, 5], "tx.signature_superfluous"),
    ];
    for (keys, code) in table {
        match check(&wire, sign(keys), &[]) {
            Ok(()) => assert_eq!(*code, "", "{keys:?}"),
            Err(error) => check_error(&error, code, "command"),
        }
    }
    let mut with_p256 = sign(&[2]);
    with_p256.push(TransactionSignature::sign(&wire.id(), &p256));
    assert_eq!(check(&wire, with_p256, &[]), Ok(()));
    assert_eq!(
        check(&wire, sign(&[2]), &[composite]),
        Ok(()),
        "a part may be missing"
    );
}

#[test]
fn a_notary_signs_batches_and_nobody_else_does() {
    let wire = needs(vec![public(2)]);
    let others: Vec<_> = (10..30).map(|n| needs(vec![public(n)]).id()).collect();
    let mut ids = others.clone();
    ids.insert(7, wire.id());
    let batch = |n: u8| TransactionSignature::sign_batch(&ids, &key(n)).swap_remove(7);
    let sign = |last: TransactionSignature| vec![by(&wire, 1), by(&wire, 2), last];
    assert_eq!(check(&wire, sign(batch(NOTARY)), &[]), Ok(()));

    let one = TransactionSignature::sign_batch(&[wire.id()], &key(NOTARY)).remove(0);
    assert_eq!(check(&wire, sign(one), &[]), Ok(()));
    assert!(TransactionSignature::sign_batch(&[], &key(NOTARY)).is_empty());

    let signatures = vec![by(&wire, 1), batch(2), batch(NOTARY)];
    let error = check(&wire, signatures, &[]).unwrap_err();
    check_error(&error, "tx.batch_not_by_notary", "alone");

    let mut short = batch(NOTARY);
    short.batch.as_mut().unwrap().path.pop();
    let error = check(&wire, sign(short), &[]).unwrap_err();
    check_error(&error, "tx.batch_proof_invalid", "ask the notary again");

    let mut moved = batch(NOTARY);
    moved.batch.as_mut().unwrap().index = 6;
    let error = check(&wire, sign(moved), &[]).unwrap_err();
    check_error(&error, "tx.signature_bad", "sign");

    let elsewhere = TransactionSignature::sign_batch(&others, &key(NOTARY)).remove(7);
    let error = check(&wire, sign(elsewhere), &[]).unwrap_err();
    check_error(&error, "tx.signature_bad", "sign");
}

#[test]
fn a_notary_signs_where_there_is_something_to_decide() {
    let issue = base().output(state(notary()));
    let table = [
        (issue.clone(), false),
        (issue.clone().time_window(window()), true),
        (issue.clone().reference(reference(1, 0)), true),
        (issue.clone().input(input(1, 0)), true),
    ];
    for (builder, needed) in table {
        let wire = builder.build(SALT).unwrap();
        assert_eq!(wire.needs_notary(), needed);
        assert_eq!(wire.required_signers().contains(&public(NOTARY)), needed);
        let result = check(&wire, vec![by(&wire, 1)], &[]);
        assert_eq!(result.is_ok(), !needed);
    }
}

#[test]
fn missing_verdicts_count_as_bad() {
    let wire = needs(vec![public(2)]);
    let signed = SignedTransaction::new(wire.clone(), [by(&wire, 1)]);
    assert_eq!(signed.missing_signers().len(), 2);
    let pending = signed
        .check_signatures(&[public(2), public(NOTARY)])
        .unwrap();
    assert_eq!(pending.messages().len(), 1);
    let checked = pending.clone().conclude(&[true]).unwrap();
    assert_eq!((checked.id(), checked.missing().len()), (wire.id(), 2));
    let error = pending.conclude(&[]).unwrap_err();
    check_error(&error, "tx.signature_bad", "sign");
}

#[test]
fn the_weight_counts_signatures_and_their_proofs() {
    let wire = needs(vec![public(2)]);
    let others = (10..30).map(|n| needs(vec![public(n)]).id());
    let ids: Vec<_> = std::iter::once(wire.id()).chain(others).collect();
    let unsigned = SignedTransaction::new(wire.clone(), []);
    assert_eq!(unsigned.weight(), wire.bytes().len());
    let mut last = unsigned.weight();
    let in_batch = TransactionSignature::sign_batch(&ids, &key(NOTARY)).swap_remove(0);
    // A signature and its key have about a hundred bytes, and each step of a proof has 32: five lead through 21 leaves.
    for (signature, least) in [(by(&wire, 2), 96), (in_batch, 96 + 5 * 32)] {
        let weight = unsigned.clone().with(signature).weight();
        assert!(weight - unsigned.weight() >= least, "{weight}");
        assert!(weight > last);
        last = weight;
    }
}
