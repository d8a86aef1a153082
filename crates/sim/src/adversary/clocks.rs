//! Adversary that sets clocks while nodes run: one clock at a time, forward or back, and right again after a while. Flows with
//! time windows run in the meantime.

use kernel::port::{Table, WriteBatch};
use kernel::{Event, Token};
use ledger::TxId;

use super::asked::Notarisation;
use crate::chance::Chance;
use crate::epilogue::EPILOGUE_TOKEN;
use crate::plan::WORK_US;
use crate::town::{BEGINNING_MS, EXCHANGE, NODES, NOTARY, OTHER_NOTARY, SHORT, is_notary};
use crate::world::{What, World};
use crate::{Adversary, Bug};

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// Offsets set on a notary's clock.
const OF_NOTARIES: [i64; 8] = [
    10 * SECOND_MS,
    -10 * SECOND_MS,
    10 * MINUTE_MS,
    -10 * MINUTE_MS,
    2 * DAY_MS,
    2 * DAY_MS,
    -2 * DAY_MS,
    -2 * DAY_MS,
];
/// Offsets set on the exchange's clock. They are small because a bank rightly refuses a swap that can be notarised for longer
/// than the bank allows.
const OF_EXCHANGE: [i64; 2] = [5 * SECOND_MS, -5 * SECOND_MS];
/// Offsets set on a bank's clock. The backward offset is shorter than a bank's time windows, because the notary rightly refuses a
/// window that has already ended when a slow clock creates it.
const OF_BANKS: [i64; 6] = [
    5 * SECOND_MS,
    -5 * SECOND_MS,
    -10 * SECOND_MS,
    10 * MINUTE_MS,
    60 * MINUTE_MS,
    2 * DAY_MS,
];

/// A notary may accept a transaction this long before its window opens: clocks may differ by 2 s, and clocks that agree by 5 s
/// more.
const EARLY_MS: u64 = 7_000;
/// A notary may sign this long after a window has ended: the same allowance, plus the time that a request waits.
const LATE_MS: u64 = flow::library::NOTARY_ALLOWANCE_MS + EARLY_MS;

/// A wrong clock setting that is corrected after some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockFault {
    pub(crate) at_us: u64,
    pub(crate) node: usize,
    pub(crate) off_ms: i64,
    pub(crate) for_us: u64,
}

/// Draws the clock faults of a run, one after the other.
pub(crate) fn clock_faults(chance: &mut Chance) -> Vec<ClockFault> {
    let mut faults = Vec::new();
    let mut at_us = chance.between(0, 200_000);
    while at_us < WORK_US {
        let node = match chance.per_mille(500) {
            true => chance.one_of(&[NOTARY, NOTARY, OTHER_NOTARY]),
            false => chance.below(NODES),
        };
        let off_ms = match node {
            EXCHANGE => chance.one_of(&OF_EXCHANGE),
            _ if is_notary(node) => chance.one_of(&OF_NOTARIES),
            _ => chance.one_of(&OF_BANKS),
        };
        let for_us = chance.between(1_000, 900_000);
        faults.push(ClockFault {
            at_us,
            node,
            off_ms,
            for_us,
        });
        at_us += for_us + chance.between(1, 400_000);
    }
    faults
}

impl World {
    /// Sets a machine's clock to this offset from the right time, whether its node runs or not.
    pub(crate) fn set_clock(&mut self, node: usize, off_ms: i64) {
        if self.nodes[node].off_ms == off_ms {
            return;
        }
        self.nodes[node].off_ms = off_ms;
        if !self.nodes[node].is_up() {
            self.note(
                node,
                format_args!("is down; its clock is set to {off_ms} ms"),
            );
            return;
        }
        self.tally.clock_jumps += 1;
        self.note(node, format_args!("has a clock that is off by {off_ms} ms"));
        self.mail(node, Event::Tick);
        if self.options.bug == Some(Bug::ClockTrusted) && is_notary(node) {
            let (user, token) = ("careless".to_owned(), Token(EPILOGUE_TOKEN));
            self.mail(node, Event::ConfirmClock { user, token });
        }
    }

    /// Sets all clocks right.
    pub(crate) fn set_clocks_right(&mut self) {
        for node in 0..NODES {
            self.set_clock(node, 0);
        }
    }

    /// Schedules the planned clock faults.
    pub(crate) fn plan_clocks(&mut self) {
        for fault in std::mem::take(&mut self.plan.clock_faults) {
            let (node, off_ms) = (fault.node, fault.off_ms);
            self.at(fault.at_us, What::SetClock { node, off_ms });
            let right = What::SetClock { node, off_ms: 0 };
            self.at(fault.at_us + fault.for_us, right);
        }
    }

    /// Records the time window of a transaction that a notary is asked to sign.
    pub(crate) fn note_window(&mut self, bytes: &[u8]) {
        if self.plan.adversary != Adversary::Clocks {
            return;
        }
        if let Some(asked) = Notarisation::read(bytes)
            && let Some(window) = asked.window
        {
            self.windows.insert(asked.id, window);
        }
    }

    /// Checks that a notary accepts no transaction outside its window, judged by the right time.
    pub(crate) fn check_windows(&mut self, node: usize, batch: &WriteBatch) {
        let right_ms = BEGINNING_MS + self.now_us / 1_000;
        for write in &batch.writes {
            let accepted = write.table == Table::NotaryTxs && write.value.is_some();
            let id: Option<[u8; 32]> = write.key.as_slice().try_into().ok();
            let id = id.filter(|_| accepted).map(TxId::from_array);
            let Some((id, window)) = id.and_then(|id| Some((id, self.windows.get(&id)?))) else {
                continue;
            };
            let opens = window.start().map_or(0, |start| start.as_ms());
            let ends = window.end().map_or(u64::MAX, |end| end.as_ms());
            let within = right_ms + EARLY_MS >= opens && right_ms <= ends.saturating_add(LATE_MS);
            self.auditor.expect(within, || {
                let short = SHORT[node];
                format!("{short} accepts {id} at {right_ms}, outside its window [{opens}, {ends})")
            });
        }
    }
}
