//! Tests of the driver of the Ardor/Nxt family's API against a small fake of it, over real HTTP.

use std::time::Duration;

use perf::chain::nxt::fake::{Behaviour, Fake};
use perf::chain::nxt::{NxtTarget, Options, Signing};
use perf::chain::{ChainId, ChainTarget, Detail, Fate, Payment, TxKey};

async fn target(fake: &Fake, behaviour: &Behaviour, signing: Signing) -> NxtTarget {
    let options = Options {
        url: fake.urls()[0].clone(),
        name: "server-1".to_owned(),
        chains: behaviour.chains.clone(),
        passphrases: behaviour.passphrases.clone(),
        forgers: vec![0],
        signing,
        deadline_minutes: 60,
        patience: Duration::from_secs(10),
    };
    NxtTarget::connect(options).await.expect("the fake answers")
}

fn payment(chain: u8, amount: u64) -> Payment {
    Payment {
        chain: ChainId(chain),
        from: 1,
        to: 2,
        amount,
    }
}

#[tokio::test]
async fn payments_come_into_blocks_whoever_prepares_them() {
    for signing in [Signing::Passphrase, Signing::Prepared] {
        let behaviour = Behaviour::default();
        let fake = Fake::start(1, behaviour.clone()).await.expect("a port");
        let target = target(&fake, &behaviour, signing).await;
        target.bundle().await.expect("it bundles");
        target.forge(true).await.expect("it forges");
        let payments: Vec<Payment> = (1..=3)
            .map(|chain| payment(chain, 100 + u64::from(chain)))
            .collect();
        let keys = target.submit(&payments).await;
        let keys: Vec<TxKey> = keys.into_iter().map(|key| key.expect("accepted")).collect();
        let status = target.status().await.expect("a status");
        assert_eq!((status.height, target.waiting().await), (0, Ok(3)));
        assert_eq!(target.fate(keys[0]).await, Ok(Fate::Waiting));
        fake.forge();
        let status = target.status().await.expect("a status");
        assert_eq!((status.height, target.waiting().await), (1, Ok(0)));
        let blocks = target.blocks(1, 10, Detail::Keys).await.expect("blocks");
        assert_eq!(blocks.len(), 1, "nothing above the tip");
        assert_eq!(
            (
                blocks[0].transactions(),
                blocks[0].parent_count,
                blocks[0].children.len()
            ),
            (3, 1, 2)
        );
        assert_eq!(blocks[0].id, status.tip);
        let mut found = blocks[0].keys.clone();
        let mut sent = keys.clone();
        found.sort_unstable();
        sent.sort_unstable();
        assert_eq!(found, sent);
        assert_eq!(target.fate(keys[2]).await, Ok(Fate::InBlock(1)));
        assert_eq!(target.fate(TxKey([7; 32])).await, Ok(Fate::Unknown));
        let start = behaviour.balance;
        let fees = behaviour.chains.iter().map(|chain| chain.fee);
        let of = |chains: Vec<(ChainId, u64)>| {
            chains
                .into_iter()
                .map(|(_, balance)| balance)
                .collect::<Vec<_>>()
        };
        let payer = of(target.balances(1).await.expect("balances"));
        let left: Vec<u64> = [101, 102, 103]
            .into_iter()
            .zip(fees)
            .map(|(amount, fee)| start - amount - fee)
            .collect();
        assert_eq!(payer, left);
        let payee = of(target.balances(2).await.expect("balances"));
        assert_eq!(payee, [101, 102, 103].map(|amount| start + amount));
    }
}

#[tokio::test]
async fn waiting_payments_are_counted_across_pages_without_child_blocks() {
    for records_max in [1, 2, 4, 100] {
        let behaviour = Behaviour {
            records_max,
            ..Behaviour::default()
        };
        let fake = Fake::start(1, behaviour.clone()).await.expect("a port");
        let target = target(&fake, &behaviour, Signing::Passphrase).await;
        let payments: Vec<Payment> = [1, 2, 2, 2, 2, 3]
            .into_iter()
            .zip(1..)
            .map(|(chain, amount)| payment(chain, amount))
            .collect();
        assert!(target.submit(&payments).await.iter().all(Result::is_ok));
        assert_eq!(target.waiting().await, Ok(6), "{records_max} a page");
    }
}

#[tokio::test]
async fn one_balance_at_a_time_where_there_is_no_other_way() {
    let behaviour = Behaviour {
        has_get_balances: false,
        ..Behaviour::default()
    };
    let fake = Fake::start(1, behaviour.clone()).await.expect("a port");
    let target = target(&fake, &behaviour, Signing::Passphrase).await;
    let balances = target.balances(3).await.expect("balances");
    assert_eq!(balances.len(), 3);
    assert!(
        balances
            .iter()
            .all(|(_, balance)| *balance == behaviour.balance)
    );
}

#[tokio::test]
async fn what_goes_wrong_has_a_code_and_the_next_one_goes_well() {
    let behaviour = Behaviour {
        refuse_every: 2,
        malformed_every: 3,
        pool_max: 2,
        ..Behaviour::default()
    };
    let fake = Fake::start(1, behaviour.clone()).await.expect("a port");
    let target = target(&fake, &behaviour, Signing::Passphrase).await;
    let payments: Vec<Payment> = (1..=5)
        .map(|amount| payment(2, amount))
        .chain([payment(2, u64::MAX)])
        .collect();
    let codes: Vec<String> = target
        .submit(&payments)
        .await
        .into_iter()
        .map(|answer| answer.map_or_else(|fault| fault.code, |_| "ok".to_owned()))
        .collect();
    // The second and fourth are refused, the third and sixth answered with a page.
    assert_eq!(
        codes,
        [
            "ok",
            "nxt.error_6",
            "lab.target_malformed",
            "nxt.error_6",
            "ok",
            "lab.target_malformed"
        ]
    );
    let full = target.submit(&[payment(2, 6)]).await;
    assert_eq!(
        full[0].as_ref().map_err(|fault| fault.code.as_str()),
        Err("nxt.error_4"),
        "its pool is full"
    );
    let stranger = Payment {
        from: 99,
        ..payment(1, 1)
    };
    assert!(target.submit(&[stranger]).await[0].is_err());
}

#[tokio::test]
async fn slow_and_absent_servers_are_told_apart() {
    let behaviour = Behaviour {
        slow: Duration::from_secs(600),
        ..Behaviour::default()
    };
    let fake = Fake::start(1, behaviour.clone()).await.expect("a port");
    let mut options = Options {
        url: fake.urls()[0].clone(),
        name: "server-1".to_owned(),
        chains: behaviour.chains.clone(),
        passphrases: behaviour.passphrases.clone(),
        forgers: Vec::new(),
        signing: Signing::Passphrase,
        deadline_minutes: 60,
        patience: Duration::from_millis(200),
    };
    let target = NxtTarget::connect(options.clone())
        .await
        .expect("only submissions are slow");
    let answer = target.submit(&[payment(1, 5)]).await;
    assert_eq!(
        answer[0].as_ref().map_err(|fault| fault.code.as_str()),
        Err("lab.target_slow")
    );
    drop(fake);
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    options.url = format!("http://{}", nobody.local_addr().expect("bound"));
    drop(nobody);
    let error = NxtTarget::connect(options.clone())
        .await
        .err()
        .expect("nobody listens");
    assert_eq!(error.code, "lab.target_unreachable");
    options.url = "https://127.0.0.1:1".to_owned();
    let error = NxtTarget::connect(options)
        .await
        .err()
        .expect("no such scheme");
    assert_eq!(error.code, "lab.target_malformed");
}
