//! Recorded refusals, as the driver reports them.

use perf::chain::nxt::Signing::{self, Passphrase, Prepared};
use perf::chain::{ChainTarget, TxKey};

use super::driver::{payment, target};
use super::recording;
use super::replay::Replay;

#[tokio::test]
async fn each_recorded_refusal_has_its_code_and_words() {
    let cases: [(Signing, &str, u32, &str, &str); 7] = [
        (
            Passphrase,
            "sendMoney",
            5,
            "nxt.error_1",
            "Incorrect request",
        ),
        (
            Passphrase,
            "sendMoney",
            12,
            "nxt.error_4",
            "equivalent to at least 0.010000 ARDR",
        ),
        (
            Passphrase,
            "sendMoney",
            13,
            "nxt.error_6",
            "Not enough funds",
        ),
        (
            Passphrase,
            "sendMoney",
            14,
            "nxt.error_3",
            "\"recipient\" not specified",
        ),
        (Prepared, "sendMoney", 13, "nxt.error_6", "Not enough funds"),
        (
            Prepared,
            "signTransaction",
            17,
            "nxt.error_4",
            "doesn't match transaction sender",
        ),
        (
            Prepared,
            "broadcastTransaction",
            20,
            "nxt.error_4",
            "Incorrect transactionBytes",
        ),
    ];
    for (signing, request, number, code, words) in cases {
        let replay = Replay::start(&[(request, number)]).await;
        let target = target(&replay, &[1, 2], signing).await;
        let answers = target.submit(&[payment(2, 2, 1, 7)]).await;
        let fault = answers[0].as_ref().expect_err("it is refused");
        assert_eq!(fault.code, code, "recording {number}");
        assert!(
            fault.message.starts_with(request) && fault.message.contains(words),
            "recording {number}: {}",
            fault.message
        );
        assert!(replay.served().contains(&number));
    }
}

#[tokio::test]
async fn a_payment_above_the_balance_is_refused() {
    let replay = Replay::start(&[]).await;
    let target = target(&replay, &[1, 2], Passphrase).await;
    let answers = target
        .submit(&[payment(2, 2, 1, 99_999_999_999_999_999)])
        .await;
    let code = answers[0].as_ref().map_err(|fault| fault.code.as_str());
    assert_eq!(code, Err("nxt.error_6"));
    assert_eq!(replay.served(), [1, 2, 3, 13]);
}

#[tokio::test]
async fn a_broadcast_that_is_answered_twice_is_one_payment() {
    let replay = Replay::start(&[("broadcastTransaction", 19)]).await;
    let target = target(&replay, &[1, 2], Prepared).await;
    let answers = target.submit(&[payment(2, 2, 1, 7)]).await;
    let hash = recording::answer(19)["fullHash"].as_str().map(TxKey::parse);
    assert_eq!(answers[0].as_ref().ok(), hash.flatten().as_ref());
}

#[tokio::test]
async fn refused_reads_are_errors_and_no_empty_answers() {
    for (request, status_fails, waiting_fails) in [
        ("getBlockchainStatus", true, true),
        ("getPeers", true, false),
        ("getUnconfirmedTransactions", false, true),
    ] {
        let replay = Replay::start(&[(request, 5)]).await;
        let target = target(&replay, &[1, 2], Passphrase).await;
        let wanted = |fails: bool| fails.then(|| "nxt.error_1".to_owned());
        let code = target.status().await.err().map(|fault| fault.code);
        assert_eq!(code, wanted(status_fails), "{request}");
        let code = target.waiting().await.err().map(|fault| fault.code);
        assert_eq!(code, wanted(waiting_fails), "{request}");
    }
}
