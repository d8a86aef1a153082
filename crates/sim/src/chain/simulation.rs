//! One run: the world, its clients and its adversaries, from the first event to the audit.

use super::audit::audit;
use super::foe::Foe;
use super::traffic::Traffic;
use super::world::{Coming, World};
use super::{ChainOptions, ChainReport};

/// Runs one simulation.
#[must_use]
pub fn run_chain(options: &ChainOptions) -> ChainReport {
    let mut world = World::new(options);
    world.begin();
    run(&mut world);
    audit(&mut world);
    world.report(options)
}

/// Lets all events happen in the order of their times.
fn run(world: &mut World) {
    let mut traffic = Traffic::default();
    let mut adversaries: Vec<Foe> = (0..world.plan.adversaries)
        .map(|n| Foe::new(&world.plan, n, &mut world.chance))
        .collect();
    while let Some(coming) = world.next_event() {
        match coming {
            Coming::Event(to, _, event) if to >= world.nodes.len() => {
                let place = to - world.nodes.len();
                if let Some(adversary) = adversaries.get_mut(place) {
                    adversary.hear(world, event);
                }
            }
            Coming::Client => traffic.step(world),
            Coming::Attack(at) => {
                if let Some(adversary) = adversaries.get_mut(at) {
                    adversary.attack(world, at);
                }
            }
            coming => world.happen(coming),
        }
    }
}
