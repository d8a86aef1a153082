//! Vectors of requests to a notary and its answers.

use ledger::{
    NotaryError, NotaryRequest, NotaryResponse, NotarySubject, SignedTransaction, StateConflict,
    TimeWindow, TransactionSignature, consuming_hash,
};
use primitives::{SignatureChecker, Timestamp};
use serde_json::{Value, json};

use crate::golden::cast::{ALICE, NOTARY, issue, pair, party, pay};
use crate::golden::{decoded, encoded, entries, keys, text, transactions};

fn request() -> NotaryRequest {
    NotaryRequest::sign(&pay(), &party(NOTARY).id(), party(ALICE).id(), &pair(ALICE))
}

fn whole_request() -> NotaryRequest {
    let signed = SignedTransaction::new(pay(), []).signed_by(&pair(ALICE));
    NotaryRequest::sign_whole(
        &signed,
        &party(NOTARY).id(),
        party(ALICE).id(),
        &pair(ALICE),
    )
}

fn responses() -> Vec<(&'static str, NotaryResponse)> {
    let conflict = |is_reference| StateConflict {
        input: pay().inputs()[0],
        consumed_by: consuming_hash(&issue().id()),
        is_reference,
    };
    let now = Timestamp::from_ms(60_000);
    let window = TimeWindow::until(now);
    let code = "tear_off.id_mismatch".to_owned();
    let message = "the parts do not hash to the id".to_owned();
    let rejected = "tx.contract_rejected".to_owned();
    let rule = "more is made than consumed".to_owned();
    let alone = TransactionSignature::sign_batch(&[pay().id()], &pair(NOTARY)).remove(0);
    let mut all = vec![
        ("signed alone", NotaryResponse::Signed(alone)),
        (
            "signed in a batch",
            NotaryResponse::Signed(transactions::batch().swap_remove(3)),
        ),
    ];
    let errors = [
        (
            "a conflict",
            NotaryError::conflict(vec![conflict(false), conflict(true)]),
        ),
        ("too late", NotaryError::TimeWindowInvalid { now, window }),
        (
            "an invalid request",
            NotaryError::InvalidRequest { code, message },
        ),
        ("busy", NotaryError::Busy { eta_ms: 1_500 }),
        (
            "too many states",
            NotaryError::TooManyStates {
                count: 10_001,
                max: 10_000,
            },
        ),
        ("another notary's", NotaryError::WrongNotary(party(NOTARY))),
        (
            "an invalid transaction",
            NotaryError::TransactionInvalid {
                code: rejected,
                message: rule,
            },
        ),
    ];
    all.extend(errors.map(|(name, error)| (name, NotaryResponse::Refused(error))));
    all
}

pub fn vectors() -> Value {
    let notary = party(NOTARY).id();
    let requests = [
        ("pay, asked for by Alice", request()),
        ("pay whole, asked for by Alice", whole_request()),
    ];
    let requests = requests.map(|(name, request)| {
        let check = request.signed_message(&pay().id(), &notary);
        json!({
            "name": name,
            "encoding": encoded(&request),
            "id": pay().id(),
            "notary": notary,
            "check": keys::shown(&check, "by the requester"),
        })
    });
    let responses: Vec<Value> = responses()
        .iter()
        .map(|(name, response)| json!({ "name": name, "encoding": encoded(response) }))
        .collect();
    json!({
        "requests": requests,
        "responses": responses,
    })
}

pub fn check(file: &Value) {
    for entry in entries(file, "requests") {
        let request: NotaryRequest = decoded(entry, "encoding");
        let (id, notary) = match &request.subject {
            NotarySubject::TearOff(tear_off) => {
                let checked = tear_off.verify().expect("the tear-off is whole");
                (checked.id(), checked.notary().id())
            }
            NotarySubject::Whole(whole) => {
                let notary = whole.wire().notary().expect("a notary");
                (whole.id(), notary.id())
            }
        };
        assert_eq!(id.to_string(), text(entry, "id"));
        let signed = request.signed_message(&id, &notary);
        assert!(SignatureChecker::new().check(&signed));
    }
    for entry in entries(file, "responses") {
        decoded::<NotaryResponse>(entry, "encoding");
    }
}
