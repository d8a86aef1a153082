//! The adversarial peers of a run.

use chain::core::Event;

use super::Scenario;
use super::adversary::Adversary;
use super::equivocator::Equivocator;
use super::plan::Plan;
use super::siege::Siege;
use super::world::World;
use crate::chance::Chance;

/// An adversarial peer.
pub(super) enum Foe {
    Liar(Adversary),
    Besieger(Box<Siege>),
    Equivocator(Equivocator),
}

impl Foe {
    pub(super) fn new(plan: &Plan, n: usize, chance: &mut Chance) -> Self {
        let number = plan.nodes + n;
        match plan.scenario {
            Scenario::Siege { .. } => Self::Besieger(Box::new(Siege::new(number, chance))),
            Scenario::Equivocation { .. } => Self::Equivocator(Equivocator::new(number, chance)),
            _ => Self::Liar(Adversary::new(number, chance)),
        }
    }

    pub(super) fn hear(&mut self, world: &mut World, event: Event) {
        match self {
            Self::Liar(liar) => liar.hear(world, event),
            Self::Besieger(besieger) => besieger.hear(world, event),
            Self::Equivocator(forger) => forger.hear(world, event),
        }
    }

    pub(super) fn attack(&mut self, world: &mut World, at: usize) {
        match self {
            Self::Liar(liar) => liar.attack(world, at),
            Self::Besieger(besieger) => besieger.attack(world, at),
            Self::Equivocator(forger) => forger.attack(world, at),
        }
    }
}
