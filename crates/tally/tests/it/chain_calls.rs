//! The calls of a chain node's API that programs use: prepared payments, payments that the node signs, batches as bytes, events,
//! and bundlers with rules. Each test includes the refusals of its call.

use api::chain::{Prepare, SignAndSend, StartBundler, codes, events};
use chain::{AccountId, key_of_passphrase};
use primitives::{PublicKey, Signature, SignatureContext, hex};

use crate::chain_stage::{Chain, code, confirmed, eventually, reaches};

fn public(passphrase: &str) -> [u8; 32] {
    match key_of_passphrase(passphrase).public() {
        PublicKey::Ed25519(key) => *key,
        _ => panic!("an Ed25519 key"),
    }
}

fn account(passphrase: &str) -> String {
    AccountId::of_key(&public(passphrase)).to_string()
}

fn payment(from: &str, to: &str, amount: u64) -> Prepare {
    Prepare {
        chain: None,
        sender: hex::encode(&public(from)),
        recipient: account(to),
        amount: Some(amount),
        lease_blocks: None,
        message: None,
        fee: None,
        deadline_minutes: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_prepared_is_signed_by_the_client_and_paid() {
    let chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    reaches(&client, 1).await;
    let mut child = payment("1", "2", 77);
    child.chain = Some(2);
    child.message = Some("for the coffee".to_owned());
    let lease = Prepare {
        amount: None,
        lease_blocks: Some(2_000),
        ..payment("3", "4", 0)
    };
    let mut ids = Vec::new();
    let mut bytes = Vec::new();
    for (from, wish) in [("1", payment("1", "2", 50)), ("1", child), ("3", lease)] {
        let prepared = client.prepare(&wish).await.expect("prepared");
        let hash = prepared.to_sign.parse().expect("a hash");
        let unsigned = hex::decode(&prepared.unsigned).expect("hexadecimal");
        // The hash to sign already includes its context.
        let signature = raw_signature(from, &unsigned, &prepared.id, hash, &client).await;
        let signed = [unsigned, signature].concat();
        bytes.extend_from_slice(&signed);
        ids.push(prepared.id);
    }
    // All three in one batch, as bytes; then garbage, after which nothing is answered.
    bytes.extend_from_slice(&[9; 40]);
    let answers = client.submit_bytes(bytes).await.expect("answers");
    assert_eq!(answers.len(), 4);
    for (answer, id) in answers.iter().zip(&ids) {
        assert_eq!(answer.id.as_ref(), Some(id), "{answer:?}");
    }
    let refused = answers[3].error.as_ref().expect("garbage is refused");
    assert_eq!(refused.code, "chain_tx.unknown_kind");
    for id in &ids {
        confirmed(std::slice::from_ref(&client), id, 0).await;
    }
    let found = client.transaction(&ids[1]).await.expect("an answer");
    let shown = found.transaction.expect("it is kept");
    assert_eq!(
        (shown.amount, shown.message.as_deref()),
        (Some(77), Some("for the coffee"))
    );
    let lessor = client.account(&account("3")).await.expect("an answer");
    assert_eq!(lessor.leases[0].lessee, account("4"));
}

/// The signature of a prepared transaction, made as any Ed25519 library would over `to_sign`: checked against our own.
async fn raw_signature(
    from: &str,
    unsigned: &[u8],
    id: &str,
    to_sign: primitives::Hash,
    client: &client::ChainClient,
) -> Vec<u8> {
    let constants = client.constants().await.expect("an answer");
    let genesis = constants.genesis.parse().expect("a hash");
    let whole = [unsigned, &[0; 64]].concat();
    let mut transaction = chain::transaction::read_exact(&whole).expect("a transaction");
    let hash = transaction.hash(&genesis);
    let context = SignatureContext::ChainTransaction;
    let scheme = primitives::Scheme::Ed25519;
    assert_eq!(Signature::signed_hash(scheme, context, &hash), to_sign);
    assert_eq!(transaction.id(&genesis).to_string(), id);
    transaction.sign(&genesis, &key_of_passphrase(from));
    transaction.signature.to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_prepared_is_refused_with_a_code() {
    let chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    type Change = fn(&mut Prepare);
    let changes: &[(&str, Change)] = &[
        (codes::BAD_KEY.code, |p| p.sender = "00".into()),
        (codes::BAD_KEY.code, |p| p.recipient = "TLY-1".into()),
        (codes::UNKNOWN_CHAIN.code, |p| p.chain = Some(77)),
        (codes::BAD_PREPARE.code, |p| p.amount = None),
        (codes::BAD_PREPARE.code, |p| p.lease_blocks = Some(2_000)),
        (codes::BAD_PREPARE.code, |p| {
            p.message = Some("x".repeat(100_000));
        }),
        (codes::BAD_PREPARE.code, |p| {
            (p.amount, p.lease_blocks, p.chain) = (None, Some(2_000), Some(2));
        }),
    ];
    for (expected, change) in changes {
        let mut wish = payment("1", "2", 1);
        change(&mut wish);
        assert_eq!(&code(client.prepare(&wish).await), expected, "{wish:?}");
    }
    assert_eq!(
        code(client.submit_bytes(Vec::new()).await),
        codes::BAD_BATCH.code
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_signs_for_its_clients_only_where_it_is_told_to() {
    let mut chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    let send = SignAndSend {
        passphrase: "5".into(),
        chain: Some(3),
        recipient: account("6"),
        amount: Some(12),
        lease_blocks: None,
        message: None,
        fee: None,
        deadline_minutes: None,
    };
    let status = client.status().await.expect("an answer");
    assert!(status.server_signing, "a test network's nodes sign");
    let sent = client.sign_and_send(&send).await.expect("signed and sent");
    confirmed(std::slice::from_ref(&client), &sent.id, 0).await;
    let poor = SignAndSend {
        passphrase: "nobody has this one".into(),
        ..send.clone()
    };
    assert_eq!(
        code(client.sign_and_send(&poor).await),
        "chain_pool.insufficient_balance"
    );
    chain.kill(0);
    chain.edit(
        0,
        "allow_server_signing = true",
        "allow_server_signing = false",
    );
    chain.start(0);
    let client = chain.client(0);
    assert_eq!(
        code(client.sign_and_send(&send).await),
        codes::SIGNING_OFF.code
    );
    assert!(!client.status().await.expect("an answer").server_signing);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_tell_of_blocks_and_of_what_leaves_the_pool() {
    let chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    let mut events = client.follow().await.expect("followed");
    let first = events.next().await.expect("an event").expect("one");
    assert_eq!(first.kind, events::STATUS);
    let status: api::chain::ChainStatus = first.read().expect("a status");
    let mut last = status.height;
    let mut blocks = 0;
    while blocks < 3 {
        let event = events.next().await.expect("an event").expect("one");
        if event.kind == events::ADDED {
            let added: events::BlockAdded = event.read().expect("a block");
            assert!(added.height <= last + 1, "no block is left out");
            assert!(added.own);
            (last, blocks) = (added.height.max(last), blocks + 1);
        }
    }
    // A child's payment that no bundler carries: its pool is emptied, and it leaves.
    let stopped = client.bundlers().await.expect("an answer").bundlers;
    for bundler in &stopped {
        client
            .stop_bundler(&bundler.account, bundler.chain)
            .await
            .expect("stopped");
    }
    let id = chain.pay(0, "7", "8", "1", "COB");
    let ran = chain.tally(0, "clear-pool --node % --json");
    assert_eq!(ran.code, 0, "{}", ran.err);
    loop {
        let event = events.next().await.expect("an event").expect("one");
        if event.kind == events::LEFT {
            let left: events::TransactionLeft = event.read().expect("a transaction");
            assert_eq!(
                (left.id, left.reason.as_str()),
                (id.clone(), "chain_pool.cleared")
            );
            break;
        }
    }
    let found = client.transaction(&id).await.expect("an answer");
    assert_eq!(found.reason.as_deref(), Some("chain_pool.cleared"));
    // A block that is popped off is reported as an event.
    client.pop_off(last - 1).await.expect("rolled back");
    loop {
        let event = events.next().await.expect("an event").expect("one");
        if event.kind == events::POPPED {
            let popped: events::BlockPopped = event.read().expect("a block");
            assert!(popped.height >= last);
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bundlers_start_and_stop_and_carry_what_their_rules_let() {
    let chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    reaches(&client, 1).await;
    for bundler in client.bundlers().await.expect("an answer").bundlers {
        client
            .stop_bundler(&bundler.account, bundler.chain)
            .await
            .expect("stopped");
    }
    assert!(
        client
            .bundlers()
            .await
            .expect("an answer")
            .bundlers
            .is_empty()
    );
    let start = StartBundler {
        chain: 2,
        passphrase: Some("1".into()),
        rate_min: 1,
        purpose: "rent".into(),
        ..StartBundler::default()
    };
    type Change = fn(&mut StartBundler);
    let changes: &[(&str, Change)] = &[
        (codes::UNKNOWN_CHAIN.code, |s| s.chain = 1),
        (codes::UNKNOWN_CHAIN.code, |s| s.chain = 99),
        (codes::BAD_KEY.code, |s| s.passphrase = None),
        (codes::BAD_KEY.code, |s| s.seed = Some("00".into())),
        (codes::BAD_KEY.code, |s| s.senders = vec!["x".into()]),
    ];
    for (expected, change) in changes {
        let mut bad = start.clone();
        change(&mut bad);
        assert_eq!(&code(client.start_bundler(&bad).await), expected);
    }
    // A rate is announced without filters only, and counts for its bundler's stake.
    let open = StartBundler {
        purpose: String::new(),
        ..start.clone()
    };
    let view = client.start_bundler(&open).await.expect("started");
    assert_eq!((view.chain, view.rate_min), (2, 1));
    let said = eventually("the bundler says its rate", async || {
        let rates = client.rates().await.ok()?.rates;
        let mut of_chain = rates.into_iter().filter(|rate| rate.chain == 2);
        of_chain.find(|rate| rate.account == account("1"))
    })
    .await;
    assert_eq!((said.rate, said.usable), (1, true));
    client.start_bundler(&start).await.expect("replaced");
    // The bundler carries only transactions that match its rule.
    let other = chain.pay(0, "2", "3", "1", "AMB");
    let ran = chain.tally(
        0,
        "send --node % --passphrase 2 --to passphrase:3 --amount 1 --chain AMB --message rent --wait 1 --json",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found = client.transaction(&other).await.expect("an answer");
    assert_eq!(found.state, api::chain::TransactionState::Unconfirmed);
    client
        .stop_bundler(&account("1"), 2)
        .await
        .expect("stopped");
    assert_eq!(
        code(client.stop_bundler(&account("1"), 2).await),
        codes::NOT_RUNNING.code
    );
    // A client without a token can neither start nor stop a bundler.
    let stranger = chain.stranger(0);
    assert_eq!(
        code(stranger.start_bundler(&start).await),
        "api.unauthorised"
    );
    assert_eq!(code(stranger.clear_pool().await), "api.unauthorised");
    assert!(stranger.status().await.is_ok(), "everybody may read");
}
