//! Bad input at the HTTP API of a chain node, and on the command line: refused with codes, and the node goes on.

use api::chain::{StartForging, codes};
use chain::{
    AccountId, Anchor, BlockTimestamp, Body, ChainId, Height, MinorUnits, Minutes, Seconds,
    Transaction, key_of_passphrase,
};
use primitives::{Hash, PublicKey, hex};

use crate::chain_stage::{Chain, code, reaches};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_is_refused_with_a_code() {
    let chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    reaches(&client, 1).await;
    let constants = client.constants().await.expect("an answer");
    let genesis: Hash = constants.genesis.parse().expect("a hash");
    let now = client.status().await.expect("an answer").now;
    let key = key_of_passphrase("0");
    let PublicKey::Ed25519(sender) = *key.public() else {
        panic!("an Ed25519 key")
    };
    let good = Transaction {
        chain: ChainId::PARENT,
        time: BlockTimestamp::new(now),
        deadline_minutes: Minutes::new(30),
        sender,
        fee: MinorUnits::new(100_000_000),
        anchor: Anchor::at(Height::GENESIS, &genesis),
        body: Body::Payment {
            to: AccountId([7; 16]),
            amount: MinorUnits::new(1),
            message: Vec::new(),
        },
        signature: [0; 64],
    };
    type Change = fn(&mut Transaction);
    let changes: &[(&str, Change)] = &[
        ("chain_tx.from_future", |t| {
            t.time = t.time.plus_or_last(Seconds::new(10_000));
        }),
        ("chain_tx.anchor_unknown", |t| t.anchor.id = [9; 8]),
        ("chain_tx.fee", |t| t.fee = MinorUnits::new(1)),
        ("chain_tx.deadline", |t| t.deadline_minutes = Minutes::ZERO),
        ("chain_tx.unknown_chain", |t| t.chain = ChainId(77)),
        ("chain_pool.insufficient_balance", |t| {
            if let Body::Payment { amount, .. } = &mut t.body {
                *amount = MinorUnits::new(u64::MAX / 4);
            }
        }),
    ];
    for (named, change) in changes {
        let mut transaction = good.clone();
        change(&mut transaction);
        transaction.sign(&genesis, &key);
        let found = code(client.submit(hex::encode(&transaction.to_bytes())).await);
        assert_eq!(&found, named);
    }
    let unsigned = hex::encode(&good.to_bytes());
    assert_eq!(code(client.submit(unsigned).await), "chain_tx.signature");
    for (bytes, expected) in [
        ("", "chain_tx.malformed"),
        ("zz", "chain_tx.malformed"),
        ("0101", "chain_tx.malformed"),
    ] {
        assert_eq!(code(client.submit(bytes.into()).await), expected, "{bytes}");
    }
    let mut signed = good.clone();
    signed.sign(&genesis, &key);
    let bytes = hex::encode(&signed.to_bytes());
    // Good and bad in one batch: each is answered by itself; the same again is the same transaction.
    let batch = vec!["00".into(), bytes.clone(), bytes.clone()];
    let answers = client.submit_batch(batch).await.expect("an answer");
    assert!(answers[0].error.is_some());
    let id = signed.id(&genesis).to_string();
    assert_eq!(answers[1].id.as_ref(), Some(&id));
    assert_eq!(answers[2].id.as_ref(), Some(&id));

    let long = vec![bytes; api::chain::SUBMIT_BATCH_MAX + 1];
    assert_eq!(code(client.submit_batch(long).await), codes::BAD_BATCH.code);
    assert_eq!(
        code(client.submit_batch(Vec::new()).await),
        codes::BAD_BATCH.code
    );
    assert_eq!(
        code(client.block("4000000", "none").await),
        codes::UNKNOWN_BLOCK.code
    );
    assert_eq!(
        code(client.block("0", "none").await),
        codes::UNKNOWN_BLOCK.code
    );
    assert_eq!(code(client.block("x", "none").await), "api.bad_parameter");
    assert_eq!(code(client.block("1", "some").await), "api.bad_parameter");
    let unknown = client.transaction(&"00".repeat(32)).await;
    assert_eq!(code(unknown), codes::UNKNOWN_TRANSACTION.code);
    assert_eq!(code(client.transaction("00").await), "api.bad_parameter");
    assert_eq!(code(client.account("TLY-0").await), "api.bad_parameter");
    let many = vec![AccountId([1; 16]).to_string(); 101];
    assert_eq!(
        code(client.balances(&many).await),
        codes::TOO_MANY_ACCOUNTS.code
    );
    let neither = StartForging {
        seed: None,
        passphrase: None,
    };
    assert_eq!(
        code(client.start_forging(&neither).await),
        codes::BAD_KEY.code
    );
    let stranger = AccountId([3; 16]).to_string();
    assert_eq!(
        code(client.stop_forging(&stranger).await),
        codes::NOT_RUNNING.code
    );
    assert_eq!(
        code(client.pop_off(1_000_000).await),
        "chain_order.no_such_block"
    );

    for (line, expected) in [
        (
            "send --node % --passphrase 0 --to nobody --amount 1",
            "tally.bad_value",
        ),
        (
            "send --node % --passphrase 0 --to passphrase:1 --amount 1e9",
            "tally.bad_value",
        ),
        (
            "send --node % --passphrase 0 --to passphrase:1 --amount 1 --chain NO",
            "tally.bad_value",
        ),
        (
            "send --node % --to passphrase:1 --amount 1",
            "tally.bad_value",
        ),
        ("run %/nowhere", "tally.file"),
    ] {
        let ran = chain.tally(0, line);
        assert!(
            ran.code != 0 && ran.err.contains(expected),
            "{line}: {}",
            ran.err
        );
    }
    assert!(client.status().await.is_ok(), "the node goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_whose_wait_ends_is_shown_and_named_in_its_unit() {
    let chain = Chain::bring_up(1, 1);
    let send = "send --node % --passphrase 0 --to passphrase:1 --amount 1.5";
    let ran = chain.tally(0, &format!("{send} --wait 100000 --timeout 0 --json"));
    assert_eq!(ran.code, 4, "{} {}", ran.out, ran.err);
    let sent = ran.json();
    let id = sent["id"].as_str().expect("an id");
    assert!(sent["state"].is_string(), "{sent}");
    for part in ["tally.not_confirmed", "tally chain tx", id] {
        assert!(ran.err.contains(part), "{}", ran.err);
    }
    assert!(!ran.err.contains("--timeout"), "{}", ran.err);
    for (line, parts) in [
        (
            format!("{send} --fee 0.0001"),
            ["chain_tx.fee", "a fee of 0.0001 TLY, the minimum is 1 TLY"],
        ),
        (
            "send --node % --passphrase nobody --to passphrase:1 --amount 1".to_owned(),
            ["chain_pool.insufficient_balance", "the debit is 2 TLY"],
        ),
        (
            "blocks --node % d8d2a826e09e17b6".to_owned(),
            ["api.bad_parameter", "neither a height nor a hash of 64"],
        ),
    ] {
        let ran = chain.tally(0, &line);
        assert_eq!(ran.code, 1, "{line}: {} {}", ran.out, ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "{line}: {}", ran.err);
        }
    }
    reaches(&chain.client(0), 1).await;
    let hash = chain
        .client(0)
        .block("1", "none")
        .await
        .expect("a block")
        .hash;
    let ran = chain.tally(0, "blocks --node %");
    assert!(ran.out.contains(&hash), "{}", ran.out);
    let ran = chain.tally(0, &format!("blocks --node % {hash}"));
    assert_eq!(ran.code, 0, "{}", ran.err);
}
