//! The setting of clocks, and the check that notaries judge time windows correctly in spite of it.

use kernel::port::{Table, WriteBatch};
use kernel::{Event, Token};
use ledger::TxId;

use crate::adversary::Notarisation;
use crate::epilogue::EPILOGUE_TOKEN;
use crate::membership::{BEGINNING_MS, NODES, SHORT, is_notary};
use crate::world::{What, World};
use crate::{Adversary, Bug};

/// A notary may accept a transaction this long before its window opens: clocks may differ by 2 s, and clocks that agree by 5 s
/// more.
const EARLY_MS: u64 = 7_000;
/// A notary may sign this long after a window has ended: the same allowance, plus the time that a request waits.
const LATE_MS: u64 = flow::library::NOTARY_ALLOWANCE_MS + EARLY_MS;

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
            // A window without an end stays open.
            let within = right_ms + EARLY_MS >= opens && right_ms <= ends.saturating_add(LATE_MS);
            self.auditor.expect(within, || {
                let short = SHORT[node];
                format!("{short} accepts {id} at {right_ms}, outside its window [{opens}, {ends})")
            });
        }
    }
}
