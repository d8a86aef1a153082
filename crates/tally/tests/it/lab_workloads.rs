//! Every kind of work that the laboratory ships, end to end against real processes: prepared, run and audited. Also the audit's
//! findings if the books differ from the results that the work was told.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{StartFlow, Wait};
use client::Client;
use perf::plan::Work;
use perf::topology::{Network, Who};
use perf::workload::{Mix, Site, SiteBooks, SiteNode, Token, Workloads};
use serde_json::json;
use tokio::task::JoinSet;

use crate::stage::{self, A, B, client, completes};

/// Transactions that an audit reads in full.
const READ_MAX: u32 = 10_000;

fn site(network: &Network) -> Arc<Site> {
    let node = |who| SiteNode::new(network.name(who), client(network, who));
    let banks = (0..network.banks()).map(|bank| node(Who::Bank(bank)));
    Arc::new(Site::new(banks.collect(), Some(node(Who::Notary)), 7))
}

/// `kind` and its knobs as a scenario writes them.
fn mix(works: &[(&str, u32, &str)]) -> Mix {
    let works: Vec<Work> = works
        .iter()
        .map(|(kind, weight, knobs)| Work {
            kind: (*kind).to_owned(),
            label: (*kind).to_owned(),
            weight: *weight,
            knobs: toml::from_str(knobs).expect("TOML"),
        })
        .collect();
    Mix::new(&Workloads::shipped(), &works, 7).expect("known knobs")
}

/// Prepares and runs this number of units, a few at a time. Returns the number that succeeded, and the codes of the others.
async fn run(site: &Arc<Site>, mix: Mix, units: u64) -> (u64, BTreeMap<String, u64>) {
    let mix = Arc::new(mix);
    mix.prepare(site, units).await.expect("prepared");
    let done = drive(site, &mix, 0..units).await;
    site.caught_up().await.expect("caught up");
    done
}

async fn drive(
    site: &Arc<Site>,
    mix: &Arc<Mix>,
    units: std::ops::Range<u64>,
) -> (u64, BTreeMap<String, u64>) {
    const WORKERS: u32 = 4;
    mix.set_up(site, WORKERS).await.expect("set up");
    let mut workers = JoinSet::new();
    for slot in 0..WORKERS {
        let (mix, units) = (Arc::clone(mix), units.clone());
        workers.spawn(async move {
            let mut ended = Vec::new();
            for unit in units.skip(slot as usize).step_by(WORKERS as usize) {
                let (_, outcome) = mix.invoke(slot, unit).await;
                ended.push(outcome.map_err(|failed| failed.to_string()));
            }
            ended
        });
    }
    let (mut done, mut failed) = (0, BTreeMap::new());
    for ended in workers.join_all().await.into_iter().flatten() {
        match ended {
            Ok(_) => done += 1,
            Err(said) => *failed.entry(said).or_default() += 1,
        }
    }
    mix.tear_down().await.expect("torn down");
    (done, failed)
}

async fn clean(site: &Site, what: &str) {
    let verdict = site.audit(READ_MAX).await.expect("readable");
    assert!(verdict.is_clean(), "{what}: {verdict}");
    println!("{what}: {verdict}");
}

/// How many transactions each bank has recorded.
async fn recorded(site: &Site) -> Vec<u64> {
    let mut all = Vec::new();
    for bank in 0..site.banks() {
        let client = site.bank(bank).expect("it is there").client();
        all.push(client.health().await.expect("it answers").ledger_seq);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_cash_workload_runs_and_its_audit_is_clean() {
    let network = stage::network(&["A", "B"]);
    let site = site(&network);
    // The number of transactions that each bank records: for the preparation, and for each unit. A payee also records the
    // payment's back chain.
    for (kind, knobs, prepared, unit) in [
        ("empty", "", 0, [0, 0]),
        ("issue", "states = 5\nretry = true", 0, [1, 0]),
        ("issue_and_pay", "", 0, [2, 2]),
        (
            "issue_and_pay",
            "currency = 'SEK'\nselection = true",
            0,
            [2, 2],
        ),
        ("issue_and_pay", "anonymous = true", 0, [2, 2]),
        ("pay", "states = 3\ncoins = 150", 2, [1, 1]),
        (
            "pay",
            "coins = 8\nanonymous = true\nquantity = 5",
            1,
            [1, 1],
        ),
    ] {
        const UNITS: u64 = 24;
        let before = recorded(&site).await;
        let ended = run(&site, mix(&[(kind, 1, knobs)]), UNITS).await;
        assert_eq!(ended, (UNITS, BTreeMap::new()), "{kind} {knobs}");
        let after = recorded(&site).await;
        let grew = |bank: usize| after[bank] - before[bank];
        assert_eq!(grew(0), prepared + UNITS * unit[0], "{kind} {knobs}");
        let paid = UNITS * unit[1];
        let origins = if paid > 0 { prepared } else { 0 };
        assert!((paid..=paid + origins).contains(&grew(1)), "{kind} {knobs}");
        clean(&site, kind).await;
    }

    // A mix, on the same network, and books that were saved meanwhile and restored.
    let works = [("issue", 1, ""), ("pay", 2, "coins = 8"), ("empty", 1, "")];
    let ended = run(&site, mix(&works), 60).await;
    assert_eq!(ended, (60, BTreeMap::new()));
    let saved = serde_json::to_string(&site.books()).expect("JSON");
    let again = self::site(&network);
    again.restore(serde_json::from_str::<SiteBooks>(&saved).expect("books"));
    clean(&again, "restored").await;

    planted_damage_is_found(&network, &again).await;
    strangers_are_no_finding_among_others(&network).await;
}

/// Plants differences between the ledgers and the results that the work was told, and checks that the audit finds each one.
async fn planted_damage_is_found(network: &Network, site: &Site) {
    let good = site.books();
    let token = |issuer: &str| Token {
        symbol: "GBP".into(),
        issuer: issuer.into(),
    };
    let own = token(network.name(A));
    let lost = [primitives::Hash::plain(b"nobody recorded this")];
    type Plant<'a> = Box<dyn Fn() + 'a>;
    let cases: [(&str, Plant<'_>); 4] = [
        ("is held", Box::new(|| site.issued(&own, 1))),
        ("is held", Box::new(|| site.redeemed(&own, 1))),
        (
            "5 was issued, 0 is held",
            Box::new(|| site.issued(&token("O=Nobody"), 5)),
        ),
        (
            "has not recorded it",
            Box::new(|| site.acknowledge(&lost, &[1])),
        ),
    ];
    for (expected, plant) in cases {
        plant();
        let verdict = site.audit(READ_MAX).await.expect("readable");
        assert!(verdict.to_string().contains(expected), "{verdict}");
        site.restore(good.clone());
    }
    clean(site, "as it was").await;
    // A payment that the work did not start.
    let arguments =
        json!({ "currency": "CHF", "payments": [{ "to": network.name(B), "quantity": 1 }] });
    let start = StartFlow::new("cash.pay", &arguments).expect("arguments");
    completes(&client(network, A), start, Wait::Delivered).await;
    site.caught_up().await.expect("caught up");
    let verdict = site.audit(READ_MAX).await.expect("readable");
    assert_eq!(verdict.wrong, 2, "{verdict}");
    assert!(
        verdict.to_string().contains("belongs to no accepted flow"),
        "{verdict}"
    );
}

/// Checks the same network as an external target, whose other activity is no finding.
async fn strangers_are_no_finding_among_others(network: &Network) {
    let site = site(network);
    site.begin_among_others().await.expect("readable");
    for (kind, knobs) in [
        ("issue", ""),
        ("pay", "coins = 8"),
        ("transfer", "depth = 2"),
    ] {
        let ended = run(&site, mix(&[(kind, 1, knobs)]), 12).await;
        assert_eq!(ended, (12, BTreeMap::new()), "{kind}");
    }
    let arguments = json!({ "currency": "NOK", "quantity": 7 });
    let start = StartFlow::new("cash.issue", &arguments).expect("arguments");
    completes(&client(network, B), start, Wait::Delivered).await;
    site.caught_up().await.expect("caught up");
    clean(&site, "among others").await;
    site.issued(&site.token("GBP", 0).expect("a bank"), 1);
    let verdict = site.audit(READ_MAX).await.expect("readable");
    assert_eq!(verdict.wrong, 1, "{verdict}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn coins_are_transferred_with_exactly_the_past_that_was_asked_for() {
    let network = stage::network(&["A", "B"]);
    let site = site(&network);
    const UNITS: u64 = 30;
    for depth in [0, 1, 7] {
        let knobs = format!("depth = {depth}");
        let before = recorded(&site).await[1];
        let ended = run(&site, mix(&[("transfer", 1, &knobs)]), UNITS).await;
        assert_eq!(ended, (UNITS, BTreeMap::new()), "depth {depth}");
        clean(&site, &knobs).await;
        // Two issues of 20 and of 10 coins, and for each coin its own payments and the last one.
        let payee = client(&network, B);
        assert_eq!(recorded(&site).await[1] - before, 2 + UNITS * (depth + 1));
        for id in ledger(&payee).await.split_off(before as usize) {
            let chain = payee.chain(&id, None, 1_000).await.expect("known").entries;
            assert!(
                chain.len() as u64 <= depth + 2,
                "{} of {depth}",
                chain.len()
            );
        }
    }
    // One more than was prepared.
    let used_up = Arc::new(mix(&[("transfer", 1, "depth = 7")]));
    let (done, failed) = drive(&site, &used_up, 0..1).await;
    let said = failed.into_keys().next().unwrap_or_default();
    assert!(
        done == 0 && said.starts_with("lab.prepared_used_up"),
        "{said}"
    );
    clean(&site, "used up").await;
}

async fn ledger(client: &Client) -> Vec<String> {
    let page = client.ledger(None, 5_000).await.expect("readable");
    assert!(page.next.is_none());
    page.entries.into_iter().map(|entry| entry.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swaps_among_two_and_four_parties_in_every_variant() {
    // With four parties on four banks the coordinator is one of the parties. With two, it is a further bank.
    let network = stage::network(&["A", "B", "C", "D"]);
    let site = site(&network);
    const UNITS: u64 = 10;
    for knobs in [
        "parties = 2",
        "parties = 2\nselection = 'tracked'",
        "parties = 4",
        "parties = 4\ndepth = 3\nselection = 'tracked'",
        "parties = 4\ndepth = 2\nsessions = 'sequential'\nresolution = 'single'",
        "parties = 4\ndepth = 1\nsessions = 'sequential'",
        "parties = 2\nanonymous = true",
    ] {
        let ended = run(&site, mix(&[("swap", 1, knobs)]), UNITS).await;
        assert_eq!(ended, (UNITS, BTreeMap::new()), "{knobs}");
        clean(&site, knobs).await;
    }
    // Of the prepared states, keep those of eight units. As states are used in turns, these are enough for many more units.
    let store = "swap 2 0 JPY TLY tracked";
    while site.stored(store) > 8 {
        assert!(site.take(store).is_some());
    }
    let turns = Arc::new(mix(&[("swap", 1, "parties = 2\nselection = 'tracked'")]));
    let ended = drive(&site, &turns, 0..5 * UNITS).await;
    assert_eq!(ended, (5 * UNITS, BTreeMap::new()));
    assert_eq!(site.stored(store), 8);
    site.caught_up().await.expect("caught up");
    clean(&site, "by turns").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_node_refuses_or_is_asked_again_and_nothing_counts_twice() {
    let mut options = stage::options(&["A", "B"]);
    options.settings.push("limits.live_flows = 1".into());
    options.settings.push("limits.start_queue = 1".into());
    let network = Network::bring_up(&options).expect("it comes up");
    let site = site(&network);
    const UNITS: u64 = 40;
    let refused = run(&site, mix(&[("issue_and_pay", 1, "")]), UNITS).await;
    let busy: u64 = refused.1.values().sum();
    assert_eq!(refused.0 + busy, UNITS);
    assert!(
        refused.1.keys().all(|said| said.starts_with("node.busy")),
        "{refused:?}"
    );
    let done = run(&site, mix(&[("issue_and_pay", 1, "retry = true")]), UNITS).await;
    assert_eq!(done, (UNITS, BTreeMap::new()));
    assert_eq!(site.books().unknown_units(), 0);
    clean(&site, "busy").await;
    assert_eq!(recorded(&site).await, [2 * (refused.0 + UNITS); 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_sent_to_the_third_bank_before_the_first_unit() {
    const FILES: u64 = 6;
    let network = stage::network(&["A", "B", "C"]);
    let node = |who| {
        let endpoint = network.endpoint(who).expect("made by the bootstrap");
        SiteNode::new(network.name(who), client(&network, who)).with_endpoint(endpoint)
    };
    let banks = (0..network.banks()).map(|bank| node(Who::Bank(bank)));
    let site = Arc::new(Site::new(banks.collect(), Some(node(Who::Notary)), 7));
    let knobs = "temperature = 'sent'\nsize = 20000";
    let mix = Arc::new(mix(&[("transfer-attachment", 1, knobs)]));
    mix.prepare(&site, FILES).await.expect("prepared");
    assert_eq!(
        recorded(&site).await,
        [0, 0, 0],
        "only stored at the sender"
    );
    // The load begins after this: until then, the payee has none of the files.
    mix.set_up(&site, 4).await.expect("set up");
    mix.tear_down().await.expect("torn down");
    assert_eq!(recorded(&site).await, [FILES, 0, FILES]);
    let done = drive(&site, &mix, 0..FILES).await;
    assert_eq!(done, (FILES, BTreeMap::new()));
    assert_eq!(recorded(&site).await, [2 * FILES, FILES, FILES]);
    clean(&site, "files that were sent before").await;
}
