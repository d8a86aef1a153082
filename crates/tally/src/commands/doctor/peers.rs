//! A running node's report on its peers and itself: connections, versions, clocks, and the vault's view.

use api::{Balances, Health, NetworkView, NodeState, PeerView, PeersView};
use ledger::NetworkMap;

use super::finding::Finding;
use super::{health, quarantine};
use crate::output::grouped;

/// Offset between maintained clocks, including the network's delay.
const OFFSET_LOW_MS: u64 = 1_000;
/// At this offset time windows are missed, and new certificates may seem to be from the future.
const OFFSET_MAX_MS: u64 = 30_000;
/// Lag of the vault's view, in transactions, that is normal on a busy node.
const VIEW_LAG_LOW: u64 = 10_000;
/// Maximum number of peers that are named.
const NAMED_MAX: usize = 5;

/// The clocks that an offset from the median is compared with.
const OTHERS: &str = "the others";
const NTP: &str = "Let the machine keep its clock with NTP (chrony or systemd-timesyncd).";

/// The node's answers.
pub struct Answers {
    pub health: Health,
    pub network: NetworkView,
    pub peers: PeersView,
    /// Present if states are in quarantine and the vault's view answers.
    pub balances: Option<Balances>,
}

/// Checks the answers of a node. `map` is the network map in its folder, and `known` the findings on the folder.
pub fn check(answers: &Answers, map: Option<&NetworkMap>, known: &[Finding]) -> Vec<Finding> {
    let Answers {
        health,
        network,
        peers,
        balances,
    } = answers;
    let mut findings = vec![
        state(health),
        view(health),
        quarantine::check(health, balances.as_ref()),
        connections(peers, network),
        garbage(peers),
        deliveries(peers),
        versions(peers),
        clocks(peers),
    ];
    findings.extend(map.map(|map| super::map::check(network, map)));
    findings.extend(health::check(
        health,
        &[known, findings.as_slice()].concat(),
    ));
    findings
}

fn state(health: &Health) -> Finding {
    const CHECK: &str = "state";
    let Some((_, found)) = health::not_ready(health) else {
        return Finding::ok(CHECK, health.state.as_str());
    };
    match health.state {
        NodeState::Degraded => Finding::problem(
            CHECK,
            found,
            "Free disk space or repair the disk: the node then repairs it by itself. docs/errors explains the code.",
        ),
        NodeState::Failed => Finding::problem(
            CHECK,
            found,
            "Read the node's log, check the disk, and start the node again.",
        ),
        _ => Finding::warning(
            CHECK,
            found,
            "It takes no new starts: wait, or start it again.",
        ),
    }
}

fn view(health: &Health) -> Finding {
    const CHECK: &str = "vault's view";
    let found = format!("{} transactions behind", grouped(health.view_lag));
    if health.state == NodeState::Degraded {
        // The check of the state names the failure.
        return Finding::ok(CHECK, found);
    }
    if health.view_lag < VIEW_LAG_LOW {
        return Finding::ok(CHECK, found);
    }
    Finding::warning(
        CHECK,
        found,
        "It catches up by itself; if it does not, the disk is too slow, or cache.view_bytes too small.",
    )
}

fn connections(peers: &PeersView, network: &NetworkView) -> Finding {
    const CHECK: &str = "peers";
    let all = peers.peers.len();
    let away = peers.peers.iter().filter(|peer| !peer.connected);
    let away: Vec<&str> = away.map(|peer| peer.name.as_str()).collect();
    if away.is_empty() {
        return Finding::ok(CHECK, format!("connected with all {all}"));
    }
    let named = named(&away);
    let found = format!(
        "connected with {} of {all}, not with {named}",
        all - away.len()
    );
    let action = "Check that they run, and that this machine reaches their addresses: 'tally network map'. A node that was started before this one joined the network refuses it: restart that node.";
    if away
        .iter()
        .any(|name| network.notaries.iter().any(|n| n == name))
    {
        return Finding::problem(CHECK, found, action);
    }
    Finding::warning(CHECK, found, action)
}

/// Checks for peers that sent too many invalid messages.
fn garbage(peers: &PeersView) -> Finding {
    const CHECK: &str = "peers' messages";
    let is_bad =
        |peer: &&PeerView| peer.cut_off_ms.is_some() || peer.load.is_some_and(|load| load.slowed);
    let bad = peers.peers.iter().filter(is_bad);
    let bad: Vec<&str> = bad.map(|peer| peer.name.as_str()).collect();
    if bad.is_empty() {
        return Finding::ok(CHECK, "none is slowed down or cut off");
    }
    Finding::warning(
        CHECK,
        format!("slowed down or cut off for garbage: {}", named(&bad)),
        "Ask their operators to check their versions and logs; 'tally node peers' shows the counts.",
    )
}

/// Checks for transactions that peers cannot record at present, and for transactions that wait for peers which are away.
fn deliveries(peers: &PeersView) -> Finding {
    const CHECK: &str = "deliveries";
    let waiting: Vec<String> = peers
        .peers
        .iter()
        .filter(|peer| peer.waiting_deliveries > 0)
        .map(|peer| format!("{} of {}", grouped(peer.waiting_deliveries), peer.name))
        .collect();
    if waiting.is_empty() {
        return undelivered(CHECK, peers);
    }
    let shown: Vec<&str> = waiting.iter().map(String::as_str).collect();
    Finding::warning(
        CHECK,
        format!("peers cannot record {}", named(&shown)),
        "'tally node deliveries' shows the reasons; they are delivered again until the peers record them.",
    )
}

/// Checks for deliveries to peers that are away. Those to connected peers are on their way.
fn undelivered(check: &'static str, peers: &PeersView) -> Finding {
    let away = |peer: &&PeerView| peer.pending_deliveries > 0 && !peer.connected;
    let away: Vec<String> = peers
        .peers
        .iter()
        .filter(away)
        .map(|peer| format!("{} to {}", grouped(peer.pending_deliveries), peer.name))
        .collect();
    if away.is_empty() {
        let pending: u64 = peers.peers.iter().map(|peer| peer.pending_deliveries).sum();
        let text = format!("{} on their way to connected peers", grouped(pending));
        return Finding::ok(check, text);
    }
    let shown: Vec<&str> = away.iter().map(String::as_str).collect();
    Finding::warning(
        check,
        format!(
            "not delivered, because the peers are away: {}",
            named(&shown)
        ),
        "They are delivered once the peers are connected; 'tally node peers --history' shows when they were lost.",
    )
}

fn versions(peers: &PeersView) -> Finding {
    const CHECK: &str = "peers' versions";
    let others = peers.peers.iter().filter_map(|peer| {
        let software = peer.software.as_deref()?;
        (software != peers.software).then(|| format!("{} runs {software}", peer.name))
    });
    let others: Vec<String> = others.collect();
    if others.is_empty() {
        return Finding::ok(CHECK, format!("none other than {}", peers.software));
    }
    let shown: Vec<&str> = others.iter().map(String::as_str).collect();
    Finding::warning(
        CHECK,
        format!("this node runs {}, {}", peers.software, named(&shown)),
        "Versions that speak the same protocol work together; bring them in step when you can.",
    )
}

/// Compares this node's clock and the peers' clocks with the median of them all, and names each one that is off.
fn clocks(peers: &PeersView) -> Finding {
    const CHECK: &str = "clock and peers";
    // The offset of a peer that is away may be old.
    let reached = peers.peers.iter().filter(|peer| peer.connected);
    let met: Vec<(&str, i64)> = reached
        .filter_map(|peer| Some((peer.name.as_str(), peer.clock_offset_ms?)))
        .collect();
    if let [(name, offset)] = met[..] {
        return two_clocks(CHECK, name, offset);
    }
    if met.is_empty() {
        return Finding::ok(CHECK, "no peer is connected");
    }
    let median = median_with_own(met.iter().map(|(_, offset)| *offset));
    let off: Vec<String> = met
        .iter()
        .map(|(name, offset)| (name, offset - median))
        .filter(|(_, offset)| offset.unsigned_abs() >= OFFSET_LOW_MS)
        .map(|(name, offset)| format!("the clock of {name} is {} {OTHERS}", apart(offset)))
        .collect();
    let own = -median;
    let by = format!("by the median of {} clocks", met.len() + 1);
    let mut found = match own.unsigned_abs() {
        ..OFFSET_LOW_MS => format!(
            "this machine's clock is right within {} ms {by}",
            own.unsigned_abs()
        ),
        _ => format!("this machine's clock is {} {OTHERS} {by}", apart(own)),
    };
    let off: Vec<&str> = off.iter().map(String::as_str).collect();
    if !off.is_empty() {
        found = format!("{found}; {}", named(&off));
    }
    match own.unsigned_abs() {
        OFFSET_MAX_MS.. => Finding::problem(CHECK, found, NTP),
        OFFSET_LOW_MS..OFFSET_MAX_MS => Finding::warning(CHECK, found, NTP),
        _ if !off.is_empty() => Finding::warning(
            CHECK,
            found,
            "Ask the operators of these peers to keep their clocks with NTP.",
        ),
        _ => Finding::ok(CHECK, found),
    }
}

/// Returns the offset of the other clocks from this node's: the median of all clocks, this node's included. With only one other
/// clock it is that clock's offset, and the other clock may be the wrong one. Returns `None` if the offset of no connected peer is
/// known.
pub fn offset_of_others_ms(peers: &PeersView) -> Option<i64> {
    let reached = peers.peers.iter().filter(|peer| peer.connected);
    let offsets: Vec<i64> = reached.filter_map(|peer| peer.clock_offset_ms).collect();
    match offsets[..] {
        [] => None,
        [offset] => Some(offset),
        _ => Some(median_with_own(offsets.iter().copied())),
    }
}

/// Compares two clocks. Nothing shows which one is off.
fn two_clocks(check: &'static str, name: &str, offset: i64) -> Finding {
    let found = format!("the clock of {name} is {} this machine's", apart(offset));
    let action = "Compare both machines with a time server, and let NTP keep their clocks; with a third node, doctor names the clock that is off.";
    match offset.unsigned_abs() {
        ..OFFSET_LOW_MS => Finding::ok(check, found),
        OFFSET_LOW_MS..OFFSET_MAX_MS => Finding::warning(check, found, action),
        _ => Finding::problem(check, found, action),
    }
}

/// Returns the median of the peers' offsets and this clock's own, which is 0. Of two middle ones, the nearer to this clock.
fn median_with_own(offsets: impl Iterator<Item = i64>) -> i64 {
    let mut all: Vec<i64> = offsets.chain([0]).collect();
    all.sort_unstable();
    let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
    if low.unsigned_abs() < high.unsigned_abs() {
        low
    } else {
        high
    }
}

/// Returns an offset in words, such as "62.0 s ahead of".
fn apart(offset_ms: i64) -> String {
    let side = if offset_ms < 0 { "behind" } else { "ahead of" };
    match offset_ms.unsigned_abs() {
        ms @ ..OFFSET_LOW_MS => format!("{ms} ms {side}"),
        ms => format!("{}.{} s {side}", grouped(ms / 1_000), ms % 1_000 / 100),
    }
}

fn named(names: &[&str]) -> String {
    let mut shown = names[..names.len().min(NAMED_MAX)].join("; ");
    if names.len() > NAMED_MAX {
        shown.push_str(&format!("; and {} more", names.len() - NAMED_MAX));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict;
    use super::*;

    fn peer(name: &str, connected: bool, software: &str, offset: Option<i64>) -> PeerView {
        PeerView {
            name: name.to_owned(),
            party_id: String::new(),
            connected,
            address: None,
            software: Some(software.to_owned()),
            clock_offset_ms: offset,
            queued_bytes: 0,
            load: None,
            cut_off_ms: None,
            pending_deliveries: 0,
            waiting_deliveries: 0,
        }
    }

    fn peers(peers: Vec<PeerView>) -> PeersView {
        PeersView {
            software: "tally/1".to_owned(),
            peers,
        }
    }

    #[test]
    fn each_clock_that_is_off_is_named() {
        let cases: &[(&[i64], Verdict, &str)] = &[
            (&[], Verdict::Ok, "no peer is connected"),
            // Two clocks: nothing shows which one is off.
            (
                &[-999],
                Verdict::Ok,
                "the clock of P0 is 999 ms behind this machine's",
            ),
            (
                &[29_999],
                Verdict::Warning,
                "the clock of P0 is 29.9 s ahead of this machine's",
            ),
            (
                &[-30_000],
                Verdict::Problem,
                "the clock of P0 is 30.0 s behind this machine's",
            ),
            // Three and more: the median decides.
            (
                &[3, -5],
                Verdict::Ok,
                "this machine's clock is right within 0 ms by the median of 3 clocks",
            ),
            (
                &[5, 62_000],
                Verdict::Warning,
                "this machine's clock is right within 5 ms by the median of 3 clocks; the clock of P1 is 61.9 s ahead of the others",
            ),
            (
                &[-5_000, -4_000, 0],
                Verdict::Warning,
                "this machine's clock is right within 0 ms by the median of 4 clocks; the clock of P0 is 5.0 s behind the others; the clock of P1 is 4.0 s behind the others",
            ),
            (
                &[-5_000, -5_100],
                Verdict::Warning,
                "this machine's clock is 5.0 s ahead of the others by the median of 3 clocks",
            ),
            (
                &[40_000, 41_000],
                Verdict::Problem,
                "this machine's clock is 40.0 s behind the others by the median of 3 clocks; the clock of P1 is 1.0 s ahead of the others",
            ),
        ];
        for (offsets, verdict, found) in cases {
            let met = offsets.iter().enumerate();
            let met = met.map(|(at, o)| peer(&format!("P{at}"), true, "tally/1", Some(*o)));
            let finding = clocks(&peers(met.collect()));
            assert_eq!(
                (finding.verdict, finding.found.as_str()),
                (*verdict, *found)
            );
        }
    }

    #[test]
    fn one_clock_that_is_off_does_not_move_the_others() {
        for (offsets, expected) in [
            (&[][..], None),
            (&[40_000], Some(40_000)),
            (&[0, 40_000], Some(0)),
            (&[-40_000, 5, -3], Some(0)),
            (&[40_000, 41_000], Some(40_000)),
        ] {
            let met = offsets.iter().map(|o| peer("P", true, "tally/1", Some(*o)));
            let found = offset_of_others_ms(&peers(met.collect()));
            assert_eq!(found, expected, "{offsets:?}");
        }
    }

    #[test]
    fn the_clock_of_a_peer_that_is_away_is_not_compared() {
        let near = |name| peer(name, true, "tally/1", Some(3));
        let away = peer("C", false, "tally/1", Some(90_000));
        let finding = clocks(&peers(vec![near("A"), near("B"), away]));
        assert_eq!(finding.verdict, Verdict::Ok, "{}", finding.found);
    }

    #[test]
    fn deliveries_that_wait_are_named() {
        for (pending, waiting, connected, verdict, found) in [
            (0, 0, true, Verdict::Ok, "0 on their way to connected peers"),
            (
                0,
                0,
                false,
                Verdict::Ok,
                "0 on their way to connected peers",
            ),
            (7, 0, true, Verdict::Ok, "7 on their way to connected peers"),
            (
                7,
                0,
                false,
                Verdict::Warning,
                "not delivered, because the peers are away: 7 to B",
            ),
            (7, 3, true, Verdict::Warning, "peers cannot record 3 of B"),
            (7, 3, false, Verdict::Warning, "peers cannot record 3 of B"),
        ] {
            let owing = PeerView {
                pending_deliveries: pending,
                waiting_deliveries: waiting,
                ..peer("B", connected, "tally/1", None)
            };
            let finding = deliveries(&peers(vec![owing]));
            assert_eq!(
                (finding.verdict, finding.found.as_str()),
                (verdict, found),
                "{pending} {waiting} {connected}"
            );
        }
    }

    #[test]
    fn peers_that_are_away_or_run_another_version() {
        let network = NetworkView {
            notaries: vec!["N".to_owned()],
            ..NetworkView::default()
        };
        for (away, verdict) in [
            ("", Verdict::Ok),
            ("B", Verdict::Warning),
            ("N", Verdict::Problem),
        ] {
            let met = ["B", "N"].map(|name| peer(name, name != away, "tally/1", None));
            let finding = connections(&peers(met.to_vec()), &network);
            assert_eq!(finding.verdict, verdict, "{away} {}", finding.found);
        }
        for (software, verdict) in [("tally/1", Verdict::Ok), ("tally/2", Verdict::Warning)] {
            let finding = versions(&peers(vec![peer("B", true, software, None)]));
            assert_eq!(finding.verdict, verdict, "{}", finding.found);
        }
    }
}
