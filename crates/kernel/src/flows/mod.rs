//! Flows and their clients: starts, effects, waits, outcomes, and flows that take no step.

pub(crate) mod admission;
pub(crate) mod caller;
mod calls;
pub(crate) mod claims;
pub(crate) mod clients;
pub(crate) mod copied;
mod effects;
pub(crate) mod filter;
pub(crate) mod history;
pub(crate) mod hospital;
mod loading;
pub(crate) mod look_ups;
mod meeting;
mod on_command;
mod ordering;
pub(crate) mod orders;
mod outcomes;
pub(crate) mod queue;
mod revive;
pub(crate) mod runner;
pub(crate) mod start_gate;
mod starting;
pub(crate) mod starts;
pub(crate) mod steps;
mod transitions;
mod view_questions;
pub(crate) mod views;
pub(crate) mod waits;
mod wake;
pub(crate) mod waking;

use primitives::{Moment, Monotonic};

use crate::flows::claims::Claims;
use crate::flows::clients::Clients;
use crate::flows::copied::CopiedFlows;
use crate::flows::history::part::History;
use crate::flows::hospital::Hospital;
use crate::flows::look_ups::LookUps;
use crate::flows::runner::Runner;
use crate::flows::start_gate::StartGate;
use crate::flows::starts::Starts;
use crate::flows::waits::Waits;
use crate::flows::waking::Waking;
use crate::options::KernelOptions;
use crate::part::Part;
use crate::writes::Batch;

/// The flows of this node and their clients. Only this folder changes its fields.
pub(crate) struct Flows {
    runner: Runner,
    clients: Clients,
    starts: Starts,
    claims: Claims,
    copied: CopiedFlows,
    waits: Waits,
    look_ups: LookUps,
    hospital: Hospital,
    history: History,
    waking: Waking,
    /// Holds flows back after the node has started, until peers have vouched for its data.
    gate: StartGate,
}

impl Part for Flows {
    fn committed(&mut self, upto: u64, now: Monotonic) {
        self.parts_mut().for_each(|part| part.committed(upto, now));
    }

    fn next_time(&self, now: Monotonic) -> Option<Monotonic> {
        let parts: [&dyn Part; 7] = [
            &self.runner,
            &self.clients,
            &self.starts,
            &self.claims,
            &self.waits,
            &self.hospital,
            &self.history,
        ];
        let times = parts.into_iter().filter_map(|part| part.next_time(now));
        times.min()
    }

    fn end_round(&mut self, batch: &mut Batch) {
        self.parts_mut().for_each(|part| part.end_round(batch));
    }
}

impl Flows {
    fn parts_mut(&mut self) -> impl Iterator<Item = &mut dyn Part> {
        let parts: [&mut dyn Part; 7] = [
            &mut self.runner,
            &mut self.clients,
            &mut self.starts,
            &mut self.claims,
            &mut self.waits,
            &mut self.hospital,
            &mut self.history,
        ];
        parts.into_iter()
    }

    /// Creates the part without flows, which [`Flows::load_journals`] adds. No flow is started on an older copy.
    pub(crate) fn new(
        runner: Runner,
        gate: StartGate,
        history: History,
        is_older_copy: bool,
        options: &KernelOptions,
        now: Moment,
    ) -> Self {
        let mut starts = Starts::default();
        let is_unproved = is_older_copy || !gate.allows_starts();
        starts.admission.note_unproved(is_unproved);
        Self {
            runner,
            clients: Clients::new(options.outcomes_bytes),
            starts,
            claims: Claims::default(),
            copied: CopiedFlows::default(),
            waits: Waits::new(now),
            look_ups: LookUps::default(),
            hospital: Hospital::default(),
            history,
            waking: Waking::new(options.journals_bytes_max, options.hold_flows),
            gate,
        }
    }
}
