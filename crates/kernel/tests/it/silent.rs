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
use crate::town::{Crash, Last, SWAPS_OF_VERSION_1, Town};
use crate::trades::{self, MATURITY_MS, all, at_rest, bid, done, json, market, only, sell};

const SILENT: &str = "flow.counterparty_silent";

/// A flow and its parties. One of them goes silent.
struct Scene {
    flow: &'static str,
    /// The town before the flow starts, with the flow's arguments.
    set: fn() -> (Town, String),
    initiator: usize,
    parties: &'static [usize],
    /// Tokens and contracts whose states are counted: none may come of nothing or be lost.
    conserved: &'static [&'static str],
}

const SCENES: [Scene; 9] = [
    Scene {
        flow: "trade.sell",
        set: || {
            let mut town = market();
            let papers = only(&town, 2, "tally.paper");
            done(&mut town, 3, "trade.bid", &bid(2, 95));
            let placed = only(&town, 3, "tally.bid");
            (town, sell(papers, placed, 90))
        },
        initiator: 2,
        parties: &[2, 3],
        conserved: &["GBP", "tally.paper"],
    },
    Scene {
        flow: "paper.redeem",
        set: || {
            let mut town = market();
            let papers = only(&town, 2, "tally.paper");
            town.now = MATURITY_MS;
            (town, format!(r#"{{"paper":{}}}"#, json(papers)))
        },
        initiator: 1,
        parties: &[1, 2],
        conserved: &["GBP"],
    },
    Scene {
        flow: "obligation.net",
        set: || {
            let (town, states) = trades::ring();
            (town, trades::net(&states, &[2]))
        },
        initiator: 1,
        parties: &[1, 2, 3],
        conserved: &["GBP"],
    },
    // The transaction that the silent party shares has ancestors that only that party can show.
    Scene {
        flow: "obligation.net",
        set: || {
            let (mut town, _) = trades::ring();
            let owed_to_1 = all(&town, 1, trades::DEBT);
            let mut paid = all(&town, 3, trades::DEBT);
            paid.retain(|state| owed_to_1.contains(state));
            let settle = format!(r#"{{"obligation":{},"quantity":1}}"#, json(paid[0]));
            done(&mut town, 3, "obligation.settle", &settle);
            let mut states = all(&town, 2, trades::DEBT);
            states.extend(all(&town, 3, trades::DEBT));
            states.sort_unstable();
            states.dedup();
            (town, trades::net(&states, &[3]))
        },
        initiator: 2,
        parties: &[1, 2, 3],
        conserved: &["GBP"],
    },
    // The state that the silent party shows has ancestors that only that party can show.
    Scene {
        flow: "test.refer",
        set: || {
            let mut town = Town::new(3);
            let alarm = r#"{"in_ms":1000,"flow":"test.ring","again":1,"count":1}"#;
            done(&mut town, 1, "test.set", alarm);
            for _ in 0..2 {
                town.now += 1_000;
                town.settle();
            }
            let alarm = town.nodes[1].view.values().next().expect("an alarm");
            let id = alarm.facts.linear_id.expect("a linear state");
            (town, refer(&id, None))
        },
        initiator: 2,
        parties: &[1, 2],
        conserved: &[],
    },
    Scene {
        flow: "swap.run",
        set: || {
            let town = settlement::market(1);
            (town, settlement::swap(&[(4, 5)], 10, 100, ""))
        },
        initiator: 3,
        parties: &[3, 4, 5],
        conserved: &["GBP", "TLY"],
    },
    Scene {
        flow: "swap.run",
        set: || {
            let town = settlement::market(1);
            let more = r#","anonymous":true,"sessions":"sequential","resolution":"single""#;
            (town, settlement::swap(&[(4, 5)], 10, 100, more))
        },
        initiator: 3,
        parties: &[3, 4, 5],
        conserved: &["GBP", "TLY"],
    },
    Scene {
        flow: "cash.reissue",
        set: || {
            let mut town = Town::new(2);
            done(&mut town, 1, "cash.issue", &issue(100));
            let hidden = pay(60, 2).replacen('{', r#"{"anonymous":true,"#, 1);
            done(&mut town, 1, "cash.pay", &hidden);
            let args = r#"{"currency":"GBP","quantity":25,"issuer":"O=Node 1, L=London, C=GB","anonymous":true}"#;
            (town, args.to_owned())
        },
        initiator: 2,
        parties: &[1, 2],
        conserved: &["GBP"],
    },
    Scene {
        flow: "ledger.change_notary",
        set: || {
            let mut town = Town::with_two_notaries(2, false, KernelOptions::default());
            let owe = format!(
                r#"{{"to":"O=Node 2, L=London, C=GB","quantity":5,"tokens":[{}],"due":{MATURITY_MS}}}"#,
                trades::token(1)
            );
            done(&mut town, 1, "obligation.issue", &owe);
            let debt = only(&town, 2, trades::DEBT);
            let to = r#""to":"O=Node 3, L=London, C=GB""#;
            (town, format!(r#"{{"states":[{}],{to}}}"#, json(debt)))
        },
        initiator: 2,
        parties: &[1, 2],
        conserved: &["tally.obligation"],
    },
];

/// Returns the total of each token, or the number of states of each contract.
fn wealth(town: &Town, scene: &Scene) -> Vec<u64> {
    let of = |what: &&str| -> u64 {
        let mut states = std::collections::BTreeMap::new();
        for node in &town.nodes {
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
fn check_free(town: &mut Town, nodes: &[usize], what: &str) {
    for node in nodes {
        let flows = town.nodes[*node].kernel.as_ref().expect("up").flows();
        let ids = flows.flow_ids();
        let live: Vec<_> = ids.iter().map(|id| flows.status(id)).collect();
        assert!(live.is_empty(), "{what}: node {node} runs {live:#?}");
        let token = town.token();
        let event = Event::Locks {
            of: Vec::new(),
            limit: 10,
            token: Token(token),
        };
        town.tell(*node, event);
        town.settle();
        match town.replies.remove(&token) {
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
    let (mut town, args) = (scene.set)();
    let before = wealth(&town, scene);
    town.crashes.push(Crash {
        node: silent,
        at: town.nodes[silent].commits + after,
        last,
    });
    let started = town.start(scene.initiator, scene.flow, &args, Some("once"));
    town.settle();
    if !town.crashes.is_empty() {
        return None;
    }
    // Long enough for every wait, one after the other.
    for _ in 0..8 {
        town.now += ANSWER_MS_MAX + NOTARY_ALLOWANCE_MS;
        town.settle();
    }
    let others = scene.parties.iter().copied();
    let others: Vec<usize> = others.filter(|node| *node != silent).collect();
    check_free(&mut town, &others, &what);
    town.up(silent);
    town.settle();
    town.quiet();
    check_free(&mut town, scene.parties, &what);
    at_rest(&mut town);
    let now = wealth(&town, scene);
    assert_eq!(now, before, "{what}: {:#?}", town.logs);
    if silent == scene.initiator {
        return Some(Ok(true));
    }
    Some(town.ended(started))
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
        let mut town = market();
        let papers = only(&town, 2, "tally.paper");
        done(&mut town, 3, "trade.bid", &bid(2, 95));
        let placed = only(&town, 3, "tally.bid");
        let notarised = town.nodes[0].disk.count(Table::NotaryTxs);
        town.crashes.push(Crash {
            node: 2,
            at: town.nodes[2].commits + after,
            last: Last::Durable,
        });
        town.start(2, "trade.sell", &sell(papers, placed, 90), None);
        town.settle();
        assert!(town.crashes.is_empty(), "the sale was notarised before");
        if town.nodes[0].disk.count(Table::NotaryTxs) == notarised {
            continue;
        }
        town.now += ANSWER_MS_MAX + NOTARY_ALLOWANCE_MS;
        town.settle();
        check_free(&mut town, &[3], "withheld");
        assert_eq!(town.balance(3), 120, "the buyer does not know yet");
        town.up(2);
        town.quiet();
        at_rest(&mut town);
        assert_eq!([2, 3].map(|node| town.balance(node)), [90, 30]);
        assert_eq!(all(&town, 3, "tally.paper").len(), 1);
        assert!(all(&town, 3, "tally.bid").is_empty());
        return;
    }
}

#[test]
fn a_buyer_waits_until_its_payment_is_void_and_no_longer() {
    let mut town = market();
    let papers = only(&town, 2, "tally.paper");
    done(&mut town, 3, "trade.bid", &bid(2, 95));
    let placed = only(&town, 3, "tally.bid");
    let state = town.nodes[2].view[&papers].state.state.clone();
    town.forger(2, vec![offer(placed, papers, &state, 90)], 2);
    let started = town.forge_unsettled(2, "trade.sell", 3);
    town.settle();
    // The window is open for 30 s.
    for (passed_ms, live) in [(0, 1), (30_000, 1), (NOTARY_ALLOWANCE_MS - 1, 1), (1, 0)] {
        town.now += passed_ms;
        town.settle();
        let flows = town.nodes[3].kernel.as_ref().expect("up").flows();
        assert_eq!(flows.live(), live, "after {passed_ms} ms more");
    }
    assert_eq!(town.ended(started), Err(SILENT.to_owned()));
    check_free(&mut town, &[3], "the window has passed");
}

#[test]
fn a_restart_of_the_waiting_buyer_keeps_its_deadline() {
    let mut town = market();
    let papers = only(&town, 2, "tally.paper");
    done(&mut town, 3, "trade.bid", &bid(2, 95));
    let placed = only(&town, 3, "tally.bid");
    let state = town.nodes[2].view[&papers].state.state.clone();
    town.forger(2, vec![offer(placed, papers, &state, 90)], 2);
    town.forge_unsettled(2, "trade.sell", 3);
    town.settle();
    town.now += 30_000 + NOTARY_ALLOWANCE_MS - 1;
    town.down(3);
    town.up(3);
    town.settle();
    let live = |town: &Town| town.nodes[3].kernel.as_ref().expect("up").flows().live();
    assert_eq!(live(&town), 1);
    town.now += 1;
    town.settle();
    assert_eq!(live(&town), 0);
}

/// Time that a swap's coordinator gives each party, if the party may wait 30 s for its own states.
const PARTY_MS: u64 = 30_000 + ANSWER_MS_MAX;

/// A swap of the coordinator's own stock for the cash of a party that names states of four unknown transactions, and shows them one
/// by one, each shortly before a deadline that began with the question would pass.
fn swap_with_a_slow_party() -> (Town, u64) {
    let (coordinator, slow) = (3, 4);
    let mut town = settlement::market(1);
    let to = trades::name(coordinator as u64);
    let stock = format!(r#"{{"symbol":"TLY","quantity":100,"recipient":"{to}"}}"#);
    done(&mut town, 2, "stock.issue", &stock);
    let unknown: Vec<SignedTransaction> = (0..4).map(|_| town.issued(1, slow, 25)).collect();
    let mut stake = Encoder::new();
    stake.array(4);
    let states = unknown.iter().map(|made| StateRef::new(made.id(), 0));
    states.collect::<Vec<_>>().encode(&mut stake);
    Vec::<SignedTransaction>::new().encode(&mut stake);
    None::<TxId>.encode(&mut stake);
    None::<PublicKey>.encode(&mut stake);
    let mut said = vec![stake.into_bytes()];
    said.extend(unknown.into_iter().map(|made| vec![made].to_bytes()));
    town.slow_party(slow, said, PARTY_MS - 1_000);
    let swap = settlement::swap(&[(slow, coordinator)], 10, 100, "");
    let started = town.start(coordinator, "swap.run", &swap, None);
    town.settle();
    (town, started)
}

#[test]
fn a_party_that_answers_slowly_gets_no_more_time() {
    let (mut town, started) = swap_with_a_slow_party();
    let live = |town: &Town| town.nodes[3].kernel.as_ref().expect("up").flows().live();
    town.quiet_for(PARTY_MS - 1);
    assert_eq!(live(&town), 1);
    town.quiet_for(1);
    check_free(&mut town, &[3], "a slow party");
    assert_eq!(town.ended(started), Err(SILENT.to_owned()));
}

#[test]
fn a_restart_gives_a_slow_party_no_more_time() {
    let (mut town, _) = swap_with_a_slow_party();
    let live = |town: &Town| town.nodes[3].kernel.as_ref().expect("up").flows().live();
    town.quiet_for(PARTY_MS / 2);
    town.down(3);
    town.up(3);
    town.quiet_for(PARTY_MS / 2 - 1);
    assert_eq!(live(&town), 1);
    town.quiet_for(1);
    check_free(&mut town, &[3], "a slow party and a restart");
}

#[test]
fn a_swap_of_the_first_version_replays() {
    let mut crashes = 0;
    for after in 1..=12 {
        // The earlier release starts it, and the present one continues it.
        SWAPS_OF_VERSION_1.set(true);
        let mut town = settlement::market(1);
        town.crashes.push(Crash {
            node: 3,
            at: town.nodes[3].commits + after,
            last: Last::Durable,
        });
        let swap = settlement::swap(&[(4, 5)], 10, 100, r#","sessions":"sequential""#);
        let once = Some("once");
        let started = town.start_version(3, "swap.run", Some(1), &swap, once, Wait::Delivered);
        town.settle();
        SWAPS_OF_VERSION_1.set(false);
        if town.crashes.is_empty() {
            crashes += 1;
            town.up(3);
            town.settle();
        } else {
            assert_eq!(town.ended(started), Ok(true));
        }
        town.quiet();
        at_rest(&mut town);
        assert_eq!(settlement::holds(&town, 4, "TLY"), [10], "after {after}");
    }
    assert!(crashes >= 4, "{crashes} crashes");
}

#[test]
fn no_swap_of_the_first_version_starts() {
    let mut town = settlement::market(1);
    let swap = settlement::swap(&[(4, 5)], 10, 100, "");
    let started = town.start_version(3, "swap.run", Some(1), &swap, None, Wait::Delivered);
    town.settle();
    let code = "flow.version_unsupported".to_owned();
    assert_eq!(town.ended(started), Err(code));
    check_free(&mut town, &[3, 4, 5], "a retired version");
}
