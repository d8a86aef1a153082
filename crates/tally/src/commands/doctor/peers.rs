//! A running node's report on its peers and itself: connections, versions, clocks, and the vault's view.

use api::{Health, NetworkView, NodeState, PeerView, PeersView};

use super::finding::Finding;
use crate::output::grouped;

/// Offset between maintained clocks, including the network's delay.
const OFFSET_LOW_MS: u64 = 1_000;
/// At this offset time windows are missed, and new certificates may seem to be from the future.
const OFFSET_MAX_MS: u64 = 30_000;
/// Lag of the vault's view, in transactions, that is normal on a busy node.
const VIEW_LAG_LOW: u64 = 10_000;
/// Maximum number of peers that are named.
const NAMED_MAX: usize = 5;

const NTP: &str = "Let the machine keep its clock with NTP (chrony or systemd-timesyncd).";

/// The node's answers.
pub struct Answers {
    pub health: Health,
    pub network: NetworkView,
    pub peers: PeersView,
}

/// Checks the answers of a node.
pub fn check(answers: &Answers) -> Vec<Finding> {
    let Answers {
        health,
        network,
        peers,
    } = answers;
    let mut findings = vec![
        state(health),
        view(health),
        connections(peers, network),
        garbage(peers),
        deliveries(peers),
        versions(peers),
        clocks(peers),
    ];
    let warnings = health.warnings.iter();
    findings.extend(warnings.map(|warning| {
        let found = format!("{} ({})", warning.message, warning.code);
        Finding::problem("warning", found, warning.hint.clone())
    }));
    findings
}

fn state(health: &Health) -> Finding {
    const CHECK: &str = "state";
    let mut found = health.state.as_str().to_owned();
    for more in health.code.iter().chain(&health.message) {
        found.push_str(": ");
        found.push_str(more);
    }
    match health.state {
        NodeState::Ready => Finding::ok(CHECK, found),
        NodeState::Degraded => Finding::problem(
            CHECK,
            found,
            "The node repairs it by itself; docs/errors says what the code means and what helps.",
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
        // An older node does not tell the code.
        let code = health.code.as_deref().unwrap_or("failed");
        return Finding::problem(
            CHECK,
            format!("{code}, {found}"),
            "Free disk space or repair the disk; the node opens the view again by itself.",
        );
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
    let action =
        "Check that they run, and that this machine reaches their addresses: 'tally network map'.";
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

/// Checks for transactions that peers cannot record at present.
fn deliveries(peers: &PeersView) -> Finding {
    const CHECK: &str = "deliveries";
    let waiting: Vec<String> = peers
        .peers
        .iter()
        .filter(|peer| peer.waiting_deliveries > 0)
        .map(|peer| format!("{} of {}", grouped(peer.waiting_deliveries), peer.name))
        .collect();
    if waiting.is_empty() {
        return Finding::ok(CHECK, "no peer has answered that it cannot record one");
    }
    let shown: Vec<&str> = waiting.iter().map(String::as_str).collect();
    Finding::warning(
        CHECK,
        format!("peers cannot record {}", named(&shown)),
        "'tally node deliveries' shows the reasons; they are delivered again until the peers record them.",
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

/// Checks the clock against the median of the peers' clocks, so that a single wrong one among several does not count.
fn clocks(peers: &PeersView) -> Finding {
    const CHECK: &str = "clock and peers";
    let offsets = peers.peers.iter().filter_map(|peer| peer.clock_offset_ms);
    let mut offsets: Vec<i64> = offsets.collect();
    offsets.sort_unstable();
    let Some(middle) = offsets.get(offsets.len() / 2) else {
        return Finding::ok(CHECK, "no peer was met yet");
    };
    let found = format!(
        "peers' clocks are at {middle:+} ms, by {} of them",
        offsets.len()
    );
    match middle.unsigned_abs() {
        ..OFFSET_LOW_MS => Finding::ok(CHECK, found),
        OFFSET_LOW_MS..OFFSET_MAX_MS => Finding::warning(CHECK, found, NTP),
        _ => Finding::problem(CHECK, found, NTP),
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
    fn the_middle_clock_decides() {
        for (offsets, verdict) in [
            (&[][..], Verdict::Ok),
            (&[999], Verdict::Ok),
            (&[-1_000], Verdict::Warning),
            (&[29_999], Verdict::Warning),
            (&[-30_000], Verdict::Problem),
            (&[0, 5, 900_000], Verdict::Ok),
            (&[-5_000, -4_000, 0], Verdict::Warning),
        ] {
            let met = offsets.iter().map(|o| peer("x", true, "tally/1", Some(*o)));
            let finding = clocks(&peers(met.collect()));
            assert_eq!(finding.verdict, verdict, "{offsets:?} {}", finding.found);
        }
    }

    #[test]
    fn deliveries_that_wait_are_named() {
        for (count, verdict) in [(0, Verdict::Ok), (3, Verdict::Warning)] {
            let waiting = PeerView {
                waiting_deliveries: count,
                ..peer("B", true, "tally/1", None)
            };
            let finding = deliveries(&peers(vec![waiting]));
            assert_eq!(finding.verdict, verdict, "{}", finding.found);
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
