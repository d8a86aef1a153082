//! The links between peers, with partitions, bans and dismissals.

use std::collections::BTreeSet;

use chain::core::PeerId;

use super::plan::Plan;
use crate::chance::Chance;

/// Returns the id of a peer. Honest peers have the first numbers.
pub(super) fn peer(n: usize) -> PeerId {
    let mut id = [0; 32];
    id[0] = n as u8;
    id[31] = 1;
    PeerId(id)
}

/// Returns the number of a peer.
pub(super) fn number(peer: PeerId) -> usize {
    usize::from(peer.0[0])
}

/// Links between peers.
#[derive(Debug)]
pub(super) struct Network {
    /// Pairs of linked peers, the smaller number first.
    links: BTreeSet<(usize, usize)>,
    /// Links closed by a ban.
    banned: BTreeSet<(usize, usize)>,
    /// Links that one side has ended, until one side dials again.
    dismissed: BTreeSet<(usize, usize)>,
    /// The part of each node during a partition.
    parts: Option<Vec<usize>>,
    nodes: usize,
}

fn link(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

impl Network {
    /// Draws a ring, so that every node is reached, and more links up to the number of neighbours. Adversaries have a link to
    /// every node.
    pub(super) fn draw(plan: &Plan, chance: &mut Chance) -> Self {
        let nodes = plan.nodes;
        let mut links = BTreeSet::new();
        for n in 0..nodes {
            if nodes > 1 {
                links.insert(link(n, (n + 1) % nodes));
            }
            for other in n + 1..nodes {
                if plan.neighbours >= nodes || chance.below(nodes) < plan.neighbours {
                    links.insert((n, other));
                }
            }
            for adversary in 0..plan.adversaries {
                links.insert((n, nodes + adversary));
            }
        }
        Self {
            links,
            banned: BTreeSet::new(),
            dismissed: BTreeSet::new(),
            parts: None,
            nodes,
        }
    }

    /// Returns whether a link exists, regardless of the current partition.
    pub(super) fn linked(&self, a: usize, b: usize) -> bool {
        let pair = link(a, b);
        self.links.contains(&pair)
            && !self.banned.contains(&pair)
            && !self.dismissed.contains(&pair)
    }

    /// Returns whether messages from one peer arrive at the other.
    pub(super) fn reaches(&self, a: usize, b: usize) -> bool {
        let part = |n: usize| self.parts.as_ref().and_then(|parts| parts.get(n)).copied();
        let apart = a < self.nodes && b < self.nodes && part(a) != part(b);
        self.linked(a, b) && !apart
    }

    /// Returns the peers that this peer has links to.
    pub(super) fn neighbours(&self, n: usize) -> Vec<usize> {
        self.links
            .iter()
            .filter_map(|(a, b)| match (*a == n, *b == n) {
                (true, _) => Some(*b),
                (_, true) => Some(*a),
                _ => None,
            })
            .filter(|other| self.linked(n, *other))
            .collect()
    }

    pub(super) fn split(&mut self, parts: Option<Vec<usize>>) {
        self.parts = parts;
    }

    /// Returns the links that a partition cuts.
    pub(super) fn cut_by(&self, parts: &[usize]) -> Vec<(usize, usize)> {
        self.links
            .iter()
            .copied()
            .filter(|(a, b)| *b < self.nodes && parts[*a] != parts[*b])
            .collect()
    }

    pub(super) fn dismiss(&mut self, a: usize, b: usize) {
        self.dismissed.insert(link(a, b));
    }

    pub(super) fn redial(&mut self, a: usize, b: usize) {
        self.dismissed.remove(&link(a, b));
    }

    pub(super) fn ban(&mut self, a: usize, b: usize) {
        self.banned.insert(link(a, b));
    }
}
