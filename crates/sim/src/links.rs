//! The connections among the nodes. A connection delivers messages in order within each priority. A crash or a partition breaks
//! it: messages in flight are lost, and each side learns of it at its own time. A few messages are lost or arrive twice without
//! any such cause.

use kernel::Priority;

use crate::chance::Chance;
use crate::membership::NODES;

/// Number of pairs of nodes.
const LINKS: usize = NODES * (NODES - 1) / 2;

/// The quality of the network until the faults end.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// Minimum and maximum delay, in microseconds.
    pub delay_us: (u64, u64),
    /// Messages that are lost, per mille.
    pub lost: u64,
    /// Messages that arrive twice, per mille.
    pub doubled: u64,
}

/// A pair of nodes, connected or not.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Counts the connections of this pair. Messages of an earlier connection are lost.
    generation: u64,
    open: bool,
    cut_until_us: u64,
    /// Whether each side knows that the connection is up.
    told_up: [bool; 2],
    /// Time before which no message arrives at a side.
    quiet_until_us: [u64; 2],
    /// Latest arrival at each side, by priority.
    last_us: [[u64; 2]; 2],
}

/// A notification to a node about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkNotice {
    pub at_us: u64,
    pub node: usize,
    pub peer: usize,
    pub generation: u64,
}

/// All connections.
pub struct Links {
    links: [Link; LINKS],
    pub weather: Weather,
}

/// Returns the index of a pair, and the side of `from` in it.
fn place(from: usize, to: usize) -> (usize, usize) {
    let (low, high) = (from.min(to), from.max(to));
    // (0,1) (0,2) (1,2) (0,3) ..
    (high * (high - 1) / 2 + low, usize::from(from > to))
}

impl Links {
    pub fn new(weather: Weather) -> Self {
        Self {
            links: [Link::default(); LINKS],
            weather,
        }
    }

    /// Connects two nodes, unless they are connected already or partitioned. Returns the notifications to both sides, which may
    /// arrive at different times.
    pub fn connect(
        &mut self,
        pair: (usize, usize),
        now_us: u64,
        chance: &mut Chance,
    ) -> Option<[LinkNotice; 2]> {
        let link = &mut self.links[place(pair.0, pair.1).0];
        if link.open || now_us < link.cut_until_us || link.told_up != [false; 2] {
            return None;
        }
        link.generation += 1;
        link.open = true;
        let generation = link.generation;
        let mut told = |node: usize, peer: usize| {
            let at_us = now_us + chance.between(100, 5_000);
            link.quiet_until_us[place(node, peer).1] = at_us;
            LinkNotice {
                at_us,
                node,
                peer,
                generation,
            }
        };
        Some([told(pair.0, pair.1), told(pair.1, pair.0)])
    }

    /// Tells a side that the connection is up. Returns false if that connection no longer exists.
    pub fn told_up(&mut self, told: &LinkNotice) -> bool {
        let (at, side) = place(told.node, told.peer);
        let link = &mut self.links[at];
        let current = link.open && link.generation == told.generation;
        if current {
            link.told_up[side] = true;
        }
        current
    }

    /// Breaks the connection. Returns the notifications to the sides that knew it.
    pub fn cut(
        &mut self,
        pair: (usize, usize),
        now_us: u64,
        until_us: u64,
        chance: &mut Chance,
    ) -> Vec<LinkNotice> {
        let link = &mut self.links[place(pair.0, pair.1).0];
        link.cut_until_us = link.cut_until_us.max(until_us);
        if !link.open {
            return Vec::new();
        }
        link.open = false;
        let generation = link.generation;
        let sides = [pair, (pair.1, pair.0)].into_iter();
        let knows = sides.filter(|(node, peer)| link.told_up[place(*node, *peer).1]);
        knows
            .map(|(node, peer)| LinkNotice {
                at_us: now_us + chance.between(50, 20_000),
                node,
                peer,
                generation,
            })
            .collect()
    }

    /// Tells a side that a connection is gone. Returns false if the side already knows or a newer connection exists.
    pub fn told_down(&mut self, told: &LinkNotice) -> bool {
        let (at, _) = place(told.node, told.peer);
        self.links[at].generation == told.generation && self.forget(told.node, told.peer)
    }

    /// Clears a side's knowledge of a connection, because the side crashed or learnt of the break. Returns false if it knew of
    /// none.
    pub fn forget(&mut self, node: usize, peer: usize) -> bool {
        let (at, side) = place(node, peer);
        std::mem::take(&mut self.links[at].told_up[side])
    }

    /// Sends a message. Returns its arrival times with the connection's generation: none, one or two.
    pub fn send(
        &mut self,
        from: usize,
        to: usize,
        priority: Priority,
        now_us: u64,
        chance: &mut Chance,
    ) -> Vec<(u64, u64)> {
        let (at, side) = place(from, to);
        let weather = self.weather;
        let link = &mut self.links[at];
        if !link.open || !link.told_up[side] || chance.per_mille(weather.lost) {
            return Vec::new();
        }
        let copies = 1 + usize::from(chance.per_mille(weather.doubled));
        let other = 1 - side;
        let lane = usize::from(priority == Priority::Bulk);
        let arrivals = (0..copies).map(|_| {
            let (least, most) = weather.delay_us;
            let arrival = (now_us + chance.between(least, most))
                .max(link.last_us[other][lane])
                .max(link.quiet_until_us[other]);
            link.last_us[other][lane] = arrival;
            (arrival, link.generation)
        });
        arrivals.collect()
    }

    /// Returns whether messages sent on this connection still arrive.
    pub fn carries(&self, from: usize, to: usize, generation: u64) -> bool {
        let (at, side) = place(to, from);
        let link = &self.links[at];
        link.open && link.generation == generation && link.told_up[side]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_place() {
        let table = [
            ((0, 1), (0, 0)),
            ((1, 0), (0, 1)),
            ((0, 2), (1, 0)),
            ((2, 0), (1, 1)),
            ((1, 2), (2, 0)),
            ((2, 1), (2, 1)),
        ];
        for ((from, to), expected) in table {
            assert_eq!(place(from, to), expected);
        }
    }
}
