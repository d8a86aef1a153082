//! Every recorded answer by itself: as it is, with more fields, and without each field that the driver needs.

use std::collections::BTreeSet;

use perf::chain::nxt::Signing;
use perf::chain::{ChainTarget, Detail, TxKey};
use perf::load::Fault;
use serde_json::{Value, json};

use super::driver::{connect, payment};
use super::recording::{self, Recording};
use super::replay::Replay;

/// Recorded requests that the driver does not make.
const OTHERS: [&str; 4] = [
    "getBundlerRates",
    "getBundlers",
    "getForging",
    "noSuchRequest",
];
/// Recordings of a payment that is prepared, signed and broadcast in three calls.
const PREPARED: std::ops::RangeInclusive<u32> = 15..=20;

/// Lets the driver make the recorded request, answered like this. Returns what it makes of the answer.
async fn outcome(recording: &Recording, answer: Value) -> Result<String, Fault> {
    let request = recording.request.as_str();
    // The driver asks for single balances only where there is no `getBalances`.
    let replay = match request {
        "getBalance" => Replay::start(&[("getBalances", 5)]).await,
        _ => Replay::start(&[]).await,
    };
    replay.answer(request, answer);
    let signing = match PREPARED.contains(&recording.number) {
        true => Signing::Prepared,
        false => Signing::Passphrase,
    };
    let target = connect(&replay, &[1, 2], signing).await?;
    let told = match request {
        "getAccountId" => target.account_name(0),
        "getBlockchainStatus" | "getPeers" => format!("{:?}", target.status().await?),
        "getUnconfirmedTransactions" => target.waiting().await?.to_string(),
        "getBlock" => format!("{:?}", target.blocks(2, 1, Detail::Keys).await?),
        "getTransaction" => format!("{:?}", target.fate(TxKey([7; 32])).await?),
        "getBalances" | "getBalance" => format!("{:?}", target.balances(1).await?),
        "sendMoney" | "signTransaction" | "broadcastTransaction" => {
            let mut keys = target.submit(&[payment(2, 2, 1, 7)]).await;
            keys.remove(0)?.to_string()
        }
        "startForging" => format!("{:?}", target.forge(true).await?),
        "stopForging" => format!("{:?}", target.forge(false).await?),
        "startBundler" => format!("{:?}", target.bundle().await?),
        other => panic!("the driver has no request {other}"),
    };
    assert!(replay.asked(request) > 0, "{request} was not made");
    Ok(told)
}

/// Returns the recordings of the driver's requests.
fn driven() -> impl Iterator<Item = Recording> {
    let all = recording::all().into_iter();
    all.filter(|one| !OTHERS.contains(&one.request.as_str()))
}

#[tokio::test]
async fn every_recorded_answer_is_understood() {
    for recording in driven() {
        let title = format!("{} {}", recording.number, recording.request);
        let outcome = outcome(&recording, recording.response.clone()).await;
        let code = recording.response["errorCode"].as_i64();
        // The end of a chain and an unknown transaction are answers, and no failures.
        let is_unknown = ["getBlock", "getTransaction"].contains(&recording.request.as_str());
        let wanted = code
            .filter(|_| !is_unknown)
            .map(|code| format!("nxt.error_{code}"));
        assert_eq!(outcome.err().map(|fault| fault.code), wanted, "{title}");
    }
}

#[test]
fn recordings_beyond_the_drivers_requests_are_known() {
    let all = recording::all();
    let kinds: BTreeSet<&str> = all.iter().map(|one| one.request.as_str()).collect();
    assert!(OTHERS.iter().all(|kind| kinds.contains(kind)));
    assert_eq!(driven().count(), all.len() - OTHERS.len(), "one of each");
}

#[tokio::test]
async fn unknown_fields_change_nothing() {
    for recording in driven() {
        let title = format!("{} {}", recording.number, recording.request);
        let mut more = recording.response.clone();
        add_fields(&mut more);
        let with_more = outcome(&recording, more).await;
        let recorded = outcome(&recording, recording.response.clone()).await;
        assert_eq!(with_more, recorded, "{title}");
    }
}

/// Adds a field to every object.
fn add_fields(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(add_fields),
        Value::Object(fields) => {
            fields.values_mut().for_each(add_fields);
            fields.insert("ofALaterVersion".to_owned(), json!({ "list": [1, null] }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn an_answer_without_a_needed_field_is_malformed() {
    for (number, object, field) in [
        (1, "", "account"),
        (1, "", "publicKey"),
        (4, "", "numberOfBlocks"),
        (4, "", "lastBlock"),
        (10, "", "fullHash"),
        (15, "", "unsignedTransactionBytes"),
        (16, "", "transactionBytes"),
        (18, "", "fullHash"),
        (21, "", "unconfirmedTransactions"),
        (21, "/unconfirmedTransactions/0", "fullHash"),
        (24, "", "height"),
        (28, "", "height"),
        (28, "", "block"),
        (28, "", "timestamp"),
        (28, "", "transactions"),
        (28, "/transactions/0", "fullHash"),
        (
            28,
            "/transactions/1/attachment",
            "childTransactionFullHashes",
        ),
        (32, "", "balanceNQT"),
        (34, "", "balances"),
        (34, "/balances/2", "balanceNQT"),
        (35, "", "peers"),
    ] {
        let title = format!("{number} {object}/{field}");
        let recording = driven().find(|one| one.number == number).expect("recorded");
        let mut answer = recording.response.clone();
        let inner = answer.pointer_mut(object).and_then(Value::as_object_mut);
        let removed = inner.expect("an object").remove(field);
        assert!(removed.is_some(), "{title} is recorded");
        let fault = outcome(&recording, answer).await.expect_err(&title);
        assert_eq!(fault.code, "lab.target_malformed", "{title}");
    }
}
