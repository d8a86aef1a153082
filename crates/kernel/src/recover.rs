//! Opening a kernel on an existing store: first the locks, then every flow from its journal.

use flow::{FlowId, MissingVersion};
use primitives::{Decode, Moment, Timestamp};
use thiserror::Error;

use crate::assemble::OpenedParts;
use crate::back_chains::chain::Resolution;
use crate::consents::Consents;
use crate::context::Context;
use crate::event::Action;
use crate::identity::Identity;
use crate::integrity::Integrity;
use crate::integrity::contradictions::Contradictions;
use crate::kernel::Kernel;
use crate::keys::KeyBook;
use crate::ledger_book::Book;
use crate::notarisation::requests::Notarisation;
use crate::options::KernelOptions;
use crate::pages::{after, row_page};
use crate::peers::links::Links;
use crate::port::{Reads, StoreFailure, Table, damaged};
use crate::room::Room;
use crate::rows::{META_CLOCK_DOUBT, META_JUDGED};
use crate::schedule::table::Schedule;
use crate::turns::AT_ONCE_MAX;

/// Rows read at once.
const PAGE: usize = 10_000;
/// Bytes read at once.
const PAGE_BYTES: usize = 4 << 20;

/// Why a node does not start.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreFailure),
    /// Flows are in flight on versions that this binary does not have.
    #[error("{}", describe_missing(.0))]
    VersionsMissing(Vec<MissingVersion>),
}

impl OpenError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            OpenError::Store(failure) => failure.code,
            OpenError::VersionsMissing(_) => crate::errors::VERSIONS_MISSING.code,
        }
    }

    /// What to do.
    pub fn hint(&self) -> &'static str {
        match self {
            OpenError::Store(failure) => failure.hint,
            OpenError::VersionsMissing(_) => crate::errors::VERSIONS_MISSING.action,
        }
    }
}

fn describe_missing(missing: &[MissingVersion]) -> String {
    let each = missing.iter().map(|m| {
        let kind = if m.responder { "the responder to " } else { "" };
        let flows: Vec<String> = m.flows.iter().take(5).map(FlowId::to_string).collect();
        let more = m.flows.len().saturating_sub(flows.len());
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!(
            "{kind}{} version {} ({}{more})",
            m.name,
            m.version,
            flows.join(", ")
        )
    });
    let list: Vec<String> = each.collect();
    format!(
        "flows are in flight on versions this binary lacks: {}",
        list.join("; ")
    )
}

impl Kernel {
    /// Opens a kernel. `out` gets the first actions. Events report connected peers, as always.
    ///
    /// # Errors
    /// The store can't be read, or flows are in flight on versions that are not registered.
    pub fn open(
        mut options: KernelOptions,
        identity: Identity,
        reads: &dyn Reads,
        now: Moment,
        out: &mut Vec<Action>,
    ) -> Result<Self, OpenError> {
        Room::of(identity.network.parameters()).keep(&mut options);
        let book = Book::open(reads, options.transactions_bytes)?;
        let keys = KeyBook::open(&identity, options.fresh_keys_bytes, reads)?;
        let links = Links::open(&options, reads)?;
        let judged = match reads.get(Table::Meta, META_JUDGED)? {
            Some(row) => Timestamp::from_bytes(&row)
                .map_err(|_| damaged("the time of the latest judgement"))?,
            None => Timestamp::EPOCH,
        };
        let integrity = Integrity::open(reads, options.entropy.clone(), book.last_seq())?;
        let accepted = integrity.accepted();
        let notarisation = options
            .notary
            .map(|notary| Notarisation::new(notary, identity.me.clone(), judged, accepted));
        // A clock that was set while the node was down shows in earlier judgements only.
        let was_set = notarisation
            .as_ref()
            .is_some_and(|one| one.contradicts_judgements(now.wall));
        let was_in_doubt = reads.get(Table::Meta, META_CLOCK_DOUBT)?.is_some();
        let contradictions = Contradictions::open(reads, book.last_seq())?;
        let opened = OpenedParts {
            contradictions,
            book,
            keys,
            links,
            notarisation,
            integrity,
            clock_in_doubt: was_in_doubt || was_set,
        };
        let mut kernel = Kernel::assemble(Context::new(options, identity, now), opened);
        kernel.clock.begin(&mut kernel.context);
        kernel.links.serve_itself(&kernel.context);
        kernel.consents = Consents::open(kernel.context.options.consent.clone(), reads)?;
        let context = &kernel.context;
        kernel.selection.restore_quarantine(context, reads)?;
        kernel.wipe_staging(reads)?;
        kernel.schedule = Schedule::open(reads)?;
        kernel.schedule.retry_refused(&mut kernel.context, reads)?;
        let flows = kernel.load_journals(reads)?;
        kernel.flows.show_gate();
        let missing = kernel.flows.engine().versions_missing();
        if !missing.is_empty() {
            return Err(OpenError::VersionsMissing(missing));
        }
        for flow in flows {
            // Those that stay as they are.
            kernel.flows.resume(flow, reads, &mut kernel.context)?;
        }
        kernel.settle(reads)?;
        kernel.wake(AT_ONCE_MAX, reads)?;
        kernel
            .files
            .restore_proposals(kernel.flows.engine(), &mut kernel.context, reads)?;
        kernel.settle(reads)?;
        kernel.flush(now, reads, out)?;
        Ok(kernel)
    }

    fn wipe_staging(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let mut from = Vec::new();
        loop {
            let page = row_page(reads, Table::Staging, from, None, PAGE, PAGE_BYTES)?;
            let Some((last, _)) = page.rows.last() else {
                return Ok(());
            };
            from = after(last);
            for (key, _) in page.rows {
                self.context
                    .round
                    .batch
                    .of::<Resolution>()
                    .delete(Table::Staging, key);
            }
        }
    }

    /// Reads every journal and restores the locks it holds; no flow runs yet. Returns the flows that stay as they are.
    fn load_journals(&mut self, reads: &dyn Reads) -> Result<Vec<FlowId>, StoreFailure> {
        let mut flows = Vec::new();
        let mut rows: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut current: Option<FlowId> = None;
        let mut from = Vec::new();
        loop {
            let page = row_page(reads, Table::Journal, from, None, PAGE, PAGE_BYTES)?;
            from = page
                .rows
                .last()
                .map(|(last, _)| after(last))
                .unwrap_or_default();
            for (key, value) in page.rows {
                let (flow, step) =
                    journal_key_of(&key).ok_or_else(|| damaged("the key of a journal's row"))?;
                if current != Some(flow)
                    && let Some(done) = current.replace(flow)
                {
                    self.load_journal(done, std::mem::take(&mut rows), &mut flows);
                }
                rows.push((step, value));
            }
            if !page.more {
                break;
            }
        }
        if let Some(done) = current {
            self.load_journal(done, rows, &mut flows);
        }
        Ok(flows)
    }

    /// Reads one journal. The flow waits on the shelf, unless it stays as it is: then it is added to `staying`.
    fn load_journal(&mut self, flow: FlowId, rows: Vec<(u32, Vec<u8>)>, staying: &mut Vec<FlowId>) {
        let (locked, stays) = self.flows.load_journal(flow, rows, &self.context);
        self.selection.restore_locks(flow, &locked);
        if stays {
            staying.push(flow);
        }
    }
}

fn journal_key_of(key: &[u8]) -> Option<(FlowId, u32)> {
    let flow = key.first_chunk::<16>()?;
    let step = key.get(16..)?.try_into().ok()?;
    Some((FlowId(*flow), u32::from_be_bytes(step)))
}
