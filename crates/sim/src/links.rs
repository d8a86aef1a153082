//! The connections among the nodes. One carries messages in order, each priority by itself; it breaks with a crash or a
//! partition, what is on its way is lost then, and each side learns of it in its own time. Now and then a message is lost
//! or comes twice without any such reason.

use kernel::Priority;

use crate::chance::Chance;
use crate::town::NODES;

/// Connections among all nodes.
const LINKS: usize = NODES * (NODES - 1) / 2;

/// How bad the network is, until it calms down.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// Time on the way, in microseconds.
    pub delay_us: (u64, u64),
    /// Messages lost, per mille.
    pub lost: u64,
    /// Messages that come twice, per mille.
    pub doubled: u64,
}

/// One connection, or its absence.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Counts the connections between these two; what belongs to an earlier one is lost.
    generation: u64,
    open: bool,
    cut_until_us: u64,
    /// Whether each side has been told that it is up.
    told_up: [bool; 2],
    /// Nothing arrives at a side before this.
    quiet_until_us: [u64; 2],
    /// The last arrival at each side, by priority.
    last_us: [[u64; 2]; 2],
}

/// Something to tell a node, at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub at_us: u64,
    pub node: usize,
    pub peer: usize,
    pub generation: u64,
}

/// See the module.
pub struct Links {
    links: [Link; LINKS],
    pub weather: Weather,
}

/// The place of a pair, and which side of it `from` is.
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

    /// Connects two nodes, if nothing is in the way: both are told, one perhaps later than the other.
    pub fn connect(
        &mut self,
        pair: (usize, usize),
        now_us: u64,
        chance: &mut Chance,
    ) -> Option<[Told; 2]> {
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
            Told {
                at_us,
                node,
                peer,
                generation,
            }
        };
        Some([told(pair.0, pair.1), told(pair.1, pair.0)])
    }

    /// A side is told that the connection is up; false if that is news of yesterday.
    pub fn told_up(&mut self, told: &Told) -> bool {
        let (at, side) = place(told.node, told.peer);
        let link = &mut self.links[at];
        let current = link.open && link.generation == told.generation;
        if current {
            link.told_up[side] = true;
        }
        current
    }

    /// The connection breaks; says who is told of it, and when.
    pub fn cut(
        &mut self,
        pair: (usize, usize),
        now_us: u64,
        until_us: u64,
        chance: &mut Chance,
    ) -> Vec<Told> {
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
            .map(|(node, peer)| Told {
                at_us: now_us + chance.between(50, 20_000),
                node,
                peer,
                generation,
            })
            .collect()
    }

    /// A side learns that a connection is gone; false if that is news of yesterday.
    pub fn told_down(&mut self, told: &Told) -> bool {
        let (at, _) = place(told.node, told.peer);
        self.links[at].generation == told.generation && self.forget(told.node, told.peer)
    }

    /// A side is gone itself, or knows that the connection is; false if it knew of none.
    pub fn forget(&mut self, node: usize, peer: usize) -> bool {
        let (at, side) = place(node, peer);
        std::mem::take(&mut self.links[at].told_up[side])
    }

    /// When a message sent now arrives, on which connection: not at all, once or twice.
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

    /// Whether what was sent on this connection still arrives.
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
