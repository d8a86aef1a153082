//! The workers of a simulated node: the jobs of a batch are done one after another, in an order of the seed's.

use std::sync::Mutex;

use kernel::jobs::{Done, Job, Workers};

use crate::chance::Chance;

/// Number of threads that a kernel is told of, so that it splits a batch of two signatures into two portions.
const THREADS: usize = 4;

/// Does the jobs of a kernel in a random order.
pub struct ShuffledWorkers {
    chance: Mutex<Chance>,
    /// The planted bug is active: the results of signatures come in the order of their completion.
    misorders: bool,
}

impl ShuffledWorkers {
    pub fn new(chance: Chance, misorders: bool) -> Self {
        Self {
            chance: Mutex::new(chance),
            misorders,
        }
    }

    /// Draws the order of `count` jobs, by their places.
    fn order(&self, count: usize) -> Vec<usize> {
        let mut chance = self.chance.lock().expect("one thread simulates");
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, chance.below(last + 1));
        }
        order
    }
}

impl Workers for ShuffledWorkers {
    fn threads(&self) -> usize {
        THREADS
    }

    fn portion_min(&self) -> usize {
        1
    }

    fn run(&self, jobs: Vec<Job>) -> Vec<Done> {
        let order = self.order(jobs.len());
        let signatures: Vec<bool> = jobs.iter().map(Job::is_signature).collect();
        let mut jobs: Vec<Option<Job>> = jobs.into_iter().map(Some).collect();
        let mut done = Vec::with_capacity(jobs.len());
        for place in order {
            let job = jobs[place].take().expect("each place comes once");
            done.push((place, job.run()));
        }
        if self.misorders {
            let ended = done.iter_mut().map(|(place, _)| place);
            let mut places: Vec<&mut usize> = ended.filter(|place| signatures[**place]).collect();
            let mut sorted: Vec<usize> = places.iter().map(|place| **place).collect();
            sorted.sort_unstable();
            for (place, other) in places.iter_mut().zip(sorted) {
                **place = other;
            }
        }
        done.sort_by_key(|(place, _)| *place);
        done.into_iter().map(|(_, done)| done).collect()
    }
}
