//! The journals of the store, read while the node opens. No flow runs yet.

use flow::FlowId;
use ledger::StateRef;

use crate::context::Context;
use crate::flows::Flows;
use crate::flows::copied::CopiedFlows;
use crate::pages::{WALK_PAGE, after, row_page};
use crate::port::{Reads, StoreFailure, Table, damaged};

impl Flows {
    /// Reads every journal, and locks the states that its flow holds. Returns the flows that stay as they are. The others are
    /// restored one by one.
    pub(crate) fn load_journals(
        &mut self,
        lock: &mut dyn FnMut(FlowId, &[StateRef]),
        context: &Context,
        reads: &dyn Reads,
    ) -> Result<Vec<FlowId>, StoreFailure> {
        self.copied = CopiedFlows::load(reads)?;
        let mut staying = Vec::new();
        let mut load = |flow, rows| {
            let (locked, stays) = self.load_journal(flow, rows, context);
            lock(flow, &locked);
            if stays {
                staying.push(flow);
            }
        };
        let mut rows: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut current: Option<FlowId> = None;
        let mut from = Vec::new();
        loop {
            let page = row_page(reads, Table::Journal, from, None, WALK_PAGE.0, WALK_PAGE.1)?;
            // Without a row there is no further page.
            let last = page.rows.last();
            from = last.map(|(last, _)| after(last)).unwrap_or_default();
            for (key, value) in page.rows {
                let (flow, step) =
                    journal_key_of(&key).ok_or_else(|| damaged("the key of a journal's row"))?;
                if current != Some(flow)
                    && let Some(done) = current.replace(flow)
                {
                    load(done, std::mem::take(&mut rows));
                }
                rows.push((step, value));
            }
            if !page.more {
                break;
            }
        }
        if let Some(done) = current {
            load(done, rows);
        }
        self.gate.show();
        Ok(staying)
    }
}

fn journal_key_of(key: &[u8]) -> Option<(FlowId, u32)> {
    let flow = key.first_chunk::<16>()?;
    let step = key.get(16..)?.try_into().ok()?;
    Some((FlowId(*flow), u32::from_be_bytes(step)))
}
