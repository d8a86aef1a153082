//! Messages to and from notaries.

use ledger::{
    NotaryError, NotaryRequest, NotaryResponse, NotarySubject, Rejection, StateConflict,
    TransactionSignature, consuming_hash,
};
use primitives::{Decode, Encode, SignatureChecker, Timestamp};

use crate::rules::fixtures::*;

#[test]
fn a_request_is_bound_to_its_transaction_and_its_notary() {
    let wire = full();
    let requester = party("Bank A", 1);
    let request = NotaryRequest::sign(&wire, &notary().id(), requester.id(), &key(1));
    let request = NotaryRequest::from_bytes(&request.to_bytes()).unwrap();
    let NotarySubject::TearOff(tear_off) = &request.subject else {
        panic!("a tear-off");
    };
    let id = tear_off.verify().unwrap().id();
    let other_id = base().input(input(8, 8)).build(SALT).unwrap().id();
    let mut checker = SignatureChecker::new();
    assert!(checker.check(&request.signed_message(&id, &notary().id())));
    assert!(!checker.check(&request.signed_message(&id, &other_notary().id())));
    assert!(!checker.check(&request.signed_message(&other_id, &notary().id())));
    let again = NotaryRequest::new(&wire, &requester, request.signature);
    assert_eq!(again, request);
}

#[test]
fn a_whole_request_carries_the_transaction_with_its_signatures() {
    let transaction = crate::rules::decoders::signed();
    let requester = party("Bank A", 1);
    let request = NotaryRequest::sign_whole(&transaction, &notary().id(), requester.id(), &key(1));
    let request = NotaryRequest::from_bytes(&request.to_bytes()).unwrap();
    let whole = NotarySubject::of(&transaction, true);
    assert_eq!(request.subject, whole);
    let again = NotaryRequest::new(whole, &requester, request.signature);
    assert_eq!(again, request);
    let tear_off = NotarySubject::of(&transaction, false);
    assert_eq!(tear_off, NotarySubject::from(transaction.wire()));
    let message = request.signed_message(&transaction.id(), &notary().id());
    assert!(SignatureChecker::new().check(&message));
}

#[test]
fn every_refusal_has_a_code_a_hint_and_an_encoding() {
    let conflict = StateConflict {
        input: reference(1, 2),
        consumed_by: consuming_hash(&full().id()),
        is_reference: false,
    };
    let table = [
        (
            NotaryError::conflict(vec![conflict.clone(); 200]),
            "notary.conflict",
            "other states",
        ),
        (
            NotaryError::TimeWindowInvalid {
                now: Timestamp::from_ms(5),
                window: window(),
            },
            "notary.time_window_invalid",
            "window that is open",
        ),
        (
            NotaryError::InvalidRequest {
                code: "a.b".into(),
                message: "c".into(),
            },
            "notary.invalid_request",
            "inner code",
        ),
        (NotaryError::Busy { eta_ms: 7 }, "notary.busy", "again"),
        (
            NotaryError::TooManyStates { count: 9, max: 8 },
            "notary.too_many_states",
            "split",
        ),
        (
            NotaryError::WrongNotary(other_notary()),
            "notary.wrong_notary",
            "names",
        ),
        (
            NotaryError::transaction_invalid(&Rejection::new("a.b", "c", "d")),
            "notary.transaction_invalid",
            "inner code",
        ),
    ];
    for (error, code, hint) in table {
        check_error(&error, code, hint);
        let response = NotaryResponse::Refused(error.clone());
        assert_eq!(
            NotaryResponse::from_bytes(&response.to_bytes()).unwrap(),
            response
        );
        assert_eq!(error.is_transient(), code == "notary.busy");
    }
    let message = NotaryError::conflict(vec![conflict]).to_string();
    assert!(
        message.contains(&reference(1, 2).to_string()),
        "names the input: {message}"
    );
    assert!(
        message.contains(&consuming_hash(&full().id()).to_string()),
        "{message}"
    );

    let signed = TransactionSignature::sign(&full().id(), &key(100));
    let response = NotaryResponse::Signed(signed);
    assert_eq!(
        NotaryResponse::from_bytes(&response.to_bytes()).unwrap(),
        response
    );
}
