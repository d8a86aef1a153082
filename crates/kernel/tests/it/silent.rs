//! A party goes silent at every step of every flow with a counterparty. The others end with a code and nothing stays locked. No
//! transaction that was final before, or becomes final later, moves value wrongly.

use flow::library::{ANSWER_MS_MAX, NOTARY_ALLOWANCE_MS};
use kernel::port::Table;
use kernel::{Event, KernelOptions, Reply, Token, Wait};
use ledger::{SignedTransaction, StateRef, TxId};
use primitives::{Encode, Encoder, PublicKey};

use crate::forged::offer;
use crate::pay::{issue, pay};
use crate::references::refer;
use crate::settlement;
use crate::testnet::{Crash, Last, SWAPS_OF_VERSION_1, Testnet};
use crate::trades::{self, MATURITY_MS, all, at_rest, bid, done, json, market, only, sell};

const SILENT: &str = "flow.counterparty_silent";

/// A flow and its parties. One of them goes silent.
struct Scene {
    flow: &'static str,
    /// The test network before the flow starts, with the flow's arguments.
    set: fn() -> (Testnet, String),
    initiator: usize,
    parties: &'static [usize],
    /// Tokens and contracts whose states are counted: none may come of nothing or be lost.
    conserved: &'static [&'static str],
}

const SCENES: [Scene; 9] = [
    Scene {
        flow: "trade.sell",
        set: || {
            let mut net = market();
            let papers = only(&net, 2, "tally.paper");
            done(&mut net, 3, "trade.bid", &bid(2, 95));
            let placed = only(&net, 3, "tally.bid");
            (net, sell(papers, placed, 90))
        },
        initiator: 2,
        parties: &[2, 3],
        conserved: &["GBP", "tally.paper"],
    },
    Scene {
        flow: "paper.redeem",
        set: || {
            let mut net = market();
            let papers = only(&net, 2, "tally.paper");
            net.now = MATURITY_MS;
            (net, format!(r#"{{"paper":{}}}"#, json(papers)))
        },
        initiator: 1,
        parties: &[1, 2],
        conserved: &["GBP"],
    },
    Scene {
        flow: "obligation.net",
        set: || {
            let (net, states) = trades::ring();
            (net, trades::netting(&states, &[2]))
        },
        initiator: 1,
        parties: &[1, 2, 3],
        conserved: &["GBP"],
    },
    // The transaction that the silent party shares has ancestors that only that party can show.
    Scene {
        flow: "obligation.net",
        set: || {
            let (mut net, _) = trades::ring();
            let owed_to_1 = all(&net, 1, trades::DEBT);
            let mut paid = all(&net, 3, trades::DEBT);
            paid.retain(|state| owed_to_1.contains(state));
            let settle = format!(r#"{{"obligation":{},"quantity":1}}"#, json(paid[0]));
            done(&mut net, 3, "obligation.settle", &settle);
            let mut states = all(&net, 2, trades::DEBT);
            states.extend(all(&net, 3, trades::DEBT));
            states.sort_unstable();
            states.dedup();
            (net, trades::netting(&states, &[3]))
        },
        initiator: 2,
        parties: &[1, 2, 3],
        conserved: &["GBP"],
    },
    // The state that the silent party shows has ancestors that only that party can show.
    Scene {
        flow: "test.refer",
        set: || {
            let mut net = Testnet::new(3);
            let alarm = r#"{"in_ms":1000,"flow":"test.ring","again":1,"count":1}"#;
            done(&mut net, 1, "test.set", alarm);
            for _ in 0..2 {
                net.now += 1_000;
                net.settle();
            }
            let alarm = net.nodes[1].view.values().next().expect("an alarm");
            let id = alarm.facts.linear_id.expect("a linear state");
            (net, refer(&id, None))
        },
        initiator: 2,
        parties: &[1, 2],
        conserved: &[],
    },
    Scene {
        flow: "swap.run",
        set: || {
            let net = settlement::market(1);
            (net, settlement::swap(&[(4, 5)], 10, 100, ""))
        },
        initiator: 3,
        parties: &[3, 4, 5],
        conserved: &["GBP", "TLY"],
    },
    Scene {
        flow: "swap.run",
        set: || {
            let net = settlement::market(1);
            let more = r#","anonymous":true,"sessions":"sequential","resolution":"single""#;
            (net, settlement::swap(&[(4, 5)], 10, 100, more))
        },
        initiator: 3,
        parties: &[3, 4, 5],
        conserved: &["GBP", "TLY"],
    },
    Scene {
        flow: "cash.reissue",
        set: || {
            let mut net = Testnet::new(2);
            done(&mut net, 1, "cash.issue", &issue(100));
            let hidden = pay(60, 2).replacen('{', r#"{"anonymous":true,"#, 1);
            done(&mut net, 1, "cash.pay", &hidden);
            let args = r#"{"currency":"GBP","quantity":25,"issuer":"O=Node 1, L=London, C=GB","anonymous":true}"#;
            (net, args.to_owned())
        },
        initiator: 2,
        parties: &[1, 2],
        conserved: &["GBP"],
    },
    Scene {
        flow: "ledger.change_notary",
        set: || {
            let mut net = Testnet::with_two_notaries(2, false, KernelOptions::default());
            let owe = format!(
                r#"{{"to":"O=Node 2, L=London, C=GB","quantity":5,"tokens":[{}],"due":{MATURITY_MS}}}"#,
                trades::token(1)
            );
            done(&mut net, 1, "obligation.issue", &owe);
            let debt = only(&net, 2, trades::DEBT);
            let to = r#""to":"O=Node 3, L=London, C=GB""#;
            (net, format!(r#"{{"states":[{}],{to}}}"#, json(debt)))
        },
        initiator: 2,
        parties: &[1, 2],
        conserved: &["tally.obligation"],
    },
];

/// Returns the total of each token, or the number of states of each contract.
fn wealth(net: &Testnet, scene: &Scene) -> Vec<u64> {
    let of = |what: &&str| -> u64 {
        let mut states = std::collections::BTreeMap::new();
        for node in &net.nodes {
            for (reference, produced) in &node.view {
                let counts = match &produced.facts.fungible {
                    Some(held) if held.symbol == **what => held.quantity,
                    _ if produced.state.state.contract.as_str() == *what => 1,
                    _ => continue,
                };
                states.insert(*reference, counts);
            }
        }
        states.values().sum()
    };
    scene.conserved.iter().map(of).collect()
}

/// Checks that these nodes have no locked state and no live flow.
#[track_caller]
fn check_free(net: &mut Testnet, nodes: &[usize], what: &str) {
    for node in nodes {
        let flows = net.nodes[*node].kernel.as_ref().expect("up").flows();
        let ids = flows.flow_ids();
        let live: Vec<_> = ids.iter().map(|id| flows.status(id)).collect();
        assert!(live.is_empty(), "{what}: node {node} runs {live:#?}");
        let token = net.token();
        let event = Event::Locks {
            of: Vec::new(),
            limit: 10,
            token: Token(token),
        };
        net.tell(*node, event);
        net.settle();
        match net.replies.remove(&token) {
            Some(Reply::Locks { locks, .. }) => {
                assert!(locks.is_empty(), "{what}: node {node} has locked {locks:?}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// Runs a scene in which one party goes silent at a commit. Returns how the flow ended.
fn silence(scene: &Scene, silent: usize, after: u64, last: Last) -> Option<Result<bool, String>> {
    let what = format!("{}: node {silent} after {after} {last:?}", scene.flow);
    let (mut net, args) = (scene.set)();
    let before = wealth(&net, scene);
    net.crashes.push(Crash {
        node: silent,
        at: net.nodes[silent].commits + after,
        last,
    });
    let started = net.start(scene.initiator, scene.flow, &args, Some("once"));
    net.settle();
    if !net.crashes.is_empty() {
        return None;
    }
    // Long enough for every wait, one after the other.
    for _ in 0..8 {
        net.now += ANSWER_MS_MAX + NOTARY_ALLOWANCE_MS;
        net.settle();
    }
    let others = scene.parties.iter().copied();
    let others: Vec<usize> = others.filter(|node| *node != silent).collect();
    check_free(&mut net, &others, &what);
    net.up(silent);
    net.settle();
    net.quiet();
    check_free(&mut net, scene.parties, &what);
    at_rest(&mut net);
    let now = wealth(&net, scene);
    assert_eq!(now, before, "{what}: {:#?}", net.logs);
    if silent == scene.initiator {
        return Some(Ok(true));
    }
    Some(net.ended(started))
}

#[test]
fn a_party_silent_at_any_step_keeps_nothing_locked() {
    for scene in &SCENES {
        let (mut silences, mut codes) = (0, std::collections::BTreeSet::new());
        for silent in scene.parties {
            for after in 1..=12 {
                for last in [Last::Lost, Last::Durable, Last::Performed] {
                    let Some(ended) = silence(scene, *silent, after, last) else {
                        continue;
                    };
                    silences += 1;
                    if let Err(code) = ended {
                        codes.insert(code);
                    }
                }
            }
        }
        assert!(silences >= 12, "{}: {silences} silences", scene.flow);
        let expected = [SILENT.to_owned()].into();
        assert_eq!(codes, expected, "{}", scene.flow);
    }
}

#[test]
fn a_sale_that_was_withheld_reaches_a_buyer_that_has_gone_on() {
    for after in 1.. {
        let mut net = market();
        let papers = only(&net, 2, "tally.paper");
        done(&mut net, 3, "trade.bid", &bid(2, 95));
        let placed = only(&net, 3, "tally.bid");
        let notarised = net.nodes[0].disk.count(Table::NotaryTxs);
        net.crashes.push(Crash {
            node: 2,
            at: net.nodes[2].commits + after,
            last: Last::Durable,
        });
        net.start(2, "trade.sell", &sell(papers, placed, 90), None);
        net.settle();
        assert!(net.crashes.is_empty(), "the sale was notarised before");
        if net.nodes[0].disk.count(Table::NotaryTxs) == notarised {
            continue;
        }
        net.now += ANSWER_MS_MAX + NOTARY_ALLOWANCE_MS;
        net.settle();
        check_free(&mut net, &[3], "withheld");
        assert_eq!(net.balance(3), 120, "the buyer does not know yet");
        net.up(2);
        net.quiet();
        at_rest(&mut net);
        assert_eq!([2, 3].map(|node| net.balance(node)), [90, 30]);
        assert_eq!(all(&net, 3, "tally.paper").len(), 1);
        assert!(all(&net, 3, "tally.bid").is_empty());
        return;
    }
}

#[test]
fn a_buyer_waits_until_its_payment_is_void_and_no_longer() {
    let mut net = market();
    let papers = only(&net, 2, "tally.paper");
    done(&mut net, 3, "trade.bid", &bid(2, 95));
    let placed = only(&net, 3, "tally.bid");
    let state = net.nodes[2].view[&papers].state.state.clone();
    net.forger(2, vec![offer(placed, papers, &state, 90)], 2);
    let started = net.forge_unsettled(2, "trade.sell", 3);
    net.settle();
    // The window is open for 30 s.
    for (passed_ms, live) in [(0, 1), (30_000, 1), (NOTARY_ALLOWANCE_MS - 1, 1), (1, 0)] {
        net.now += passed_ms;
        net.settle();
        let flows = net.nodes[3].kernel.as_ref().expect("up").flows();
        assert_eq!(flows.live(), live, "after {passed_ms} ms more");
    }
    assert_eq!(net.ended(started), Err(SILENT.to_owned()));
    check_free(&mut net, &[3], "the window has passed");
}

#[test]
fn a_restart_of_the_waiting_buyer_keeps_its_deadline() {
    let mut net = market();
    let papers = only(&net, 2, "tally.paper");
    done(&mut net, 3, "trade.bid", &bid(2, 95));
    let placed = only(&net, 3, "tally.bid");
    let state = net.nodes[2].view[&papers].state.state.clone();
    net.forger(2, vec![offer(placed, papers, &state, 90)], 2);
    net.forge_unsettled(2, "trade.sell", 3);
    net.settle();
    net.now += 30_000 + NOTARY_ALLOWANCE_MS - 1;
    net.down(3);
    net.up(3);
    net.settle();
    let live = |net: &Testnet| net.nodes[3].kernel.as_ref().expect("up").flows().live();
    assert_eq!(live(&net), 1);
    net.now += 1;
    net.settle();
    assert_eq!(live(&net), 0);
}

/// Time that a swap's coordinator gives each party, if the party may wait 30 s for its own states.
const PARTY_MS: u64 = 30_000 + ANSWER_MS_MAX;

/// A swap of the coordinator's own stock for the cash of a party that names states of four unknown transactions, and shows them one
/// by one, each shortly before a deadline that began with the question would pass.
fn swap_with_a_slow_party() -> (Testnet, u64) {
    let (coordinator, slow) = (3, 4);
    let mut net = settlement::market(1);
    let to = trades::name(coordinator as u64);
    let stock = format!(r#"{{"symbol":"TLY","quantity":100,"recipient":"{to}"}}"#);
    done(&mut net, 2, "stock.issue", &stock);
    let unknown: Vec<SignedTransaction> = (0..4).map(|_| net.issued(1, slow, 25)).collect();
    let mut stake = Encoder::new();
    stake.array(4);
    let states = unknown.iter().map(|made| StateRef::new(made.id(), 0));
    states.collect::<Vec<_>>().encode(&mut stake);
    Vec::<SignedTransaction>::new().encode(&mut stake);
    None::<TxId>.encode(&mut stake);
    None::<PublicKey>.encode(&mut stake);
    let mut said = vec![stake.into_bytes()];
    said.extend(unknown.into_iter().map(|made| vec![made].to_bytes()));
    net.slow_party(slow, said, PARTY_MS - 1_000);
    let swap = settlement::swap(&[(slow, coordinator)], 10, 100, "");
    let started = net.start(coordinator, "swap.run", &swap, None);
    net.settle();
    (net, started)
}

#[test]
fn a_party_that_answers_slowly_gets_no_more_time() {
    let (mut net, started) = swap_with_a_slow_party();
    let live = |net: &Testnet| net.nodes[3].kernel.as_ref().expect("up").flows().live();
    net.quiet_for(PARTY_MS - 1);
    assert_eq!(live(&net), 1);
    net.quiet_for(1);
    check_free(&mut net, &[3], "a slow party");
    assert_eq!(net.ended(started), Err(SILENT.to_owned()));
}

#[test]
fn a_restart_gives_a_slow_party_no_more_time() {
    let (mut net, _) = swap_with_a_slow_party();
    let live = |net: &Testnet| net.nodes[3].kernel.as_ref().expect("up").flows().live();
    net.quiet_for(PARTY_MS / 2);
    net.down(3);
    net.up(3);
    net.quiet_for(PARTY_MS / 2 - 1);
    assert_eq!(live(&net), 1);
    net.quiet_for(1);
    check_free(&mut net, &[3], "a slow party and a restart");
}

#[test]
fn a_swap_of_the_first_version_replays() {
    let mut crashes = 0;
    for after in 1..=12 {
        // The earlier release starts it, and the present one continues it.
        SWAPS_OF_VERSION_1.set(true);
        let mut net = settlement::market(1);
        net.crashes.push(Crash {
            node: 3,
            at: net.nodes[3].commits + after,
            last: Last::Durable,
        });
        let swap = settlement::swap(&[(4, 5)], 10, 100, r#","sessions":"sequential""#);
        let once = Some("once");
        let started = net.start_version(3, "swap.run", Some(1), &swap, once, Wait::Delivered);
        net.settle();
        SWAPS_OF_VERSION_1.set(false);
        if net.crashes.is_empty() {
            crashes += 1;
            net.up(3);
            net.settle();
        } else {
            assert_eq!(net.ended(started), Ok(true));
        }
        net.quiet();
        at_rest(&mut net);
        assert_eq!(settlement::holds(&net, 4, "TLY"), [10], "after {after}");
    }
    assert!(crashes >= 4, "{crashes} crashes");
}

#[test]
fn no_swap_of_the_first_version_starts() {
    let mut net = settlement::market(1);
    let swap = settlement::swap(&[(4, 5)], 10, 100, "");
    let started = net.start_version(3, "swap.run", Some(1), &swap, None, Wait::Delivered);
    net.settle();
    let code = "flow.version_unsupported".to_owned();
    assert_eq!(net.ended(started), Err(code));
    check_free(&mut net, &[3, 4, 5], "a retired version");
}
