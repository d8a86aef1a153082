//! Recovery, first phase: reads a flow's journal and reports the states it holds locked, before any flow runs.

use std::collections::BTreeSet;

use ledger::StateRef;
use primitives::Decode;

use super::flow_engine::{FlowEngine, Live};
use super::loaded::{Loaded, LoadedFlow};
use super::sessions::MESSAGE_BYTES;
use crate::error::JOURNAL_UNREADABLE;
use crate::hospital::{CHART_STEP, Chart};
use crate::journal::{Entry, Outcome, decode_row};
use crate::{EffectKind, FlowError, FlowId};

impl FlowEngine {
    /// Reads a flow's journal: its rows in the order of their steps, then its chart if it has one. Nothing runs before
    /// [`resume`](FlowEngine::resume). A flow that takes no step is loaded again in the same way before a
    /// [retry](FlowEngine::retry), once all its rows are [written](FlowEngine::is_written). For a running flow the call does
    /// nothing.
    pub fn load(&mut self, flow: FlowId, rows: &[(u32, Vec<u8>)]) -> Loaded {
        if let Some(Live::Running(running)) = self.flows.get(&flow) {
            // The flow runs, so its locked states are known already.
            let start = Some(running.start.clone());
            return Loaded {
                start,
                locked: Vec::new(),
                unreadable: None,
            };
        }
        let (rows, chart) = match rows.split_last() {
            // A chart that cannot be read is ignored, and the flow is tried.
            Some(((CHART_STEP, row), rows)) => (rows, Chart::from_bytes(row).ok().map(Box::new)),
            _ => (rows, None),
        };
        let mut loaded = LoadedFlow {
            start: None,
            rows: Vec::with_capacity(rows.len()),
            deferred: Vec::new(),
            // Only a chart has the last number, so a journal row is below it.
            row_count: rows.last().map_or(0, |(step, _)| step + 1),
            sessions: Vec::new(),
            unreadable: None,
            chart,
        };
        for (expected, (step, row)) in (0u32..).zip(rows) {
            let entries = if *step == expected {
                decode_row(row).map_err(|error| format!("row {step} does not decode: {error}"))
            } else {
                Err(format!("row {expected} is missing"))
            };
            match entries {
                Ok(mut entries) if entries.first() == Some(&Entry::Deferred) => {
                    loaded.deferred.append(&mut entries);
                }
                Ok(entries) => loaded.rows.push(entries),
                Err(text) => {
                    loaded.unreadable = Some(FlowError::listed(&JOURNAL_UNREADABLE, text));
                    break;
                }
            }
        }
        loaded.take_start(flow);
        loaded.find_sessions(flow);
        let report = Loaded {
            start: loaded.start.clone(),
            locked: locked(&loaded.rows),
            unreadable: loaded.unreadable.clone(),
        };
        self.take_aside(&flow);
        let bytes = rows.iter().map(|(_, row)| row.len()).sum();
        self.charge(flow, &loaded, bytes);
        self.flows.insert(flow, Live::Loaded(Box::new(loaded)));
        report
    }

    /// Charges the peers for their data in a journal.
    fn charge(&mut self, flow: FlowId, loaded: &LoadedFlow, journal_bytes: usize) {
        self.shares.release(&flow);
        let origin = loaded.start.as_ref().and_then(|start| start.origin);
        if let Some(origin) = origin {
            self.shares.open(flow, origin.peer);
        }
        for entry in loaded.rows.iter().flatten().chain(&loaded.deferred) {
            if let Entry::Received {
                session, payload, ..
            } = entry
                && let Some(known) = loaded.sessions.iter().find(|k| k.number == *session)
            {
                let bytes = payload.len() + MESSAGE_BYTES;
                self.shares.receive(flow, known.peer, bytes);
            }
        }
        // The rows contain all bytes received so far.
        self.shares.journal(&flow, journal_bytes);
    }
}

/// Returns the states selected or locked and not yet consumed by a recorded transaction, including those of ended sub-flows.
fn locked(rows: &[Vec<Entry>]) -> Vec<StateRef> {
    let mut locked = BTreeSet::new();
    for entry in rows.iter().flatten() {
        if let Entry::Result { kind, result, .. } = entry {
            match (kind, result) {
                (EffectKind::SelectStates | EffectKind::LockStates, Outcome::States(refs)) => {
                    locked.extend(refs.iter().copied())
                }
                (_, Outcome::Recorded(consumed)) => consumed.iter().for_each(|r| {
                    locked.remove(r);
                }),
                _ => {}
            }
        }
    }
    locked.into_iter().collect()
}
