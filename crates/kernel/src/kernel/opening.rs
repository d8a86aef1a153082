//! Opening a kernel on an existing store: first the locks, then every flow from its journal.

use ledger::StateRef;
use primitives::{Decode, Moment, Timestamp};

use super::assemble::OpenedParts;
use super::turns::AT_ONCE_MAX;
use crate::back_chains::wipe_staging;
use crate::consents::Consents;
use crate::context::Context;
use crate::event::Action;
use crate::flows::history::part::History;
use crate::folder::FolderRecord;
use crate::identity::Identity;
use crate::integrity::Integrity;
use crate::integrity::contradictions::Contradictions;
use crate::kernel::Kernel;
use crate::keys::KeyBook;
use crate::ledger_book::Book;
use crate::message_limits::MessageLimits;
use crate::notarisation::requests::Notarisation;
use crate::open_error::OpenError;
use crate::options::KernelOptions;
use crate::peers::links::Links;
use crate::port::{Reads, Table, damaged};
use crate::rows::{META_CLOCK_DOUBT, META_JUDGED};
use crate::schedule::table::Schedule;

impl Kernel {
    /// Opens a kernel with the record of the node's folder, whose rows must be durable. `out` gets the first actions. Events report
    /// connected peers, as always.
    ///
    /// # Errors
    /// The store can't be read, or flows are in flight on versions that are not registered.
    pub fn open(
        mut options: KernelOptions,
        identity: Identity,
        folder: FolderRecord,
        reads: &dyn Reads,
        now: Moment,
        out: &mut Vec<Action>,
    ) -> Result<Self, OpenError> {
        MessageLimits::of(identity.network.parameters()).keep(&mut options);
        let context = Context::new(options, identity, now);
        let (options, identity) = (&context.options, &context.identity);
        let book = Book::open(reads, options.transactions_bytes)?;
        let keys = KeyBook::open(identity, options.fresh_keys_bytes, reads)?;
        let links = Links::open(options, &identity.network, reads)?;
        let judged = match reads.get(Table::Meta, META_JUDGED)? {
            Some(row) => Timestamp::from_bytes(&row)
                .map_err(|_| damaged("the time of the latest judgement"))?,
            None => Timestamp::EPOCH,
        };
        let integrity = Integrity::open(reads, options.entropy.clone(), book.last_seq())?;
        let accepted = integrity.accepted();
        let notarisation = options
            .notary
            .map(|notary| Notarisation::new(notary, identity.notary().clone(), judged, accepted));
        // A clock that was set while the node was down shows in earlier judgements only.
        let was_set = notarisation
            .as_ref()
            .is_some_and(|one| one.contradicts_judgements(now.wall));
        let was_in_doubt = reads.get(Table::Meta, META_CLOCK_DOUBT)?.is_some();
        let contradictions = Contradictions::open(reads, book.last_seq())?;
        let history = History::open(options.history, now.monotonic, reads)?;
        let opened = OpenedParts {
            folder,
            contradictions,
            history,
            book,
            keys,
            links,
            notarisation,
            integrity,
            clock_in_doubt: was_in_doubt || was_set,
        };
        let mut kernel = Kernel::assemble(context, opened);
        kernel.clock.begin(&mut kernel.context);
        kernel.links.serve_itself(&kernel.context);
        kernel.consents = Consents::open(kernel.context.options.consent.clone(), reads)?;
        let context = &kernel.context;
        kernel.selection.restore_quarantine(context, reads)?;
        wipe_staging(&mut kernel.context, reads)?;
        kernel.schedule = Schedule::open(reads)?;
        kernel.schedule.retry_refused(&mut kernel.context, reads)?;
        let (selection, context) = (&mut kernel.selection, &kernel.context);
        let lock = &mut |flow, locked: &[StateRef]| selection.restore_locks(flow, locked);
        let staying = kernel.flows.load_journals(lock, context, reads)?;
        let missing = kernel.flows.engine().versions_missing();
        if !missing.is_empty() {
            return Err(OpenError::VersionsMissing(missing));
        }
        for flow in staying {
            kernel.flows.resume(flow, reads, &mut kernel.context)?;
        }
        kernel.do_queued_work(reads)?;
        kernel.wake(AT_ONCE_MAX, reads)?;
        kernel
            .files
            .restore_proposals(kernel.flows.engine(), &mut kernel.context, reads)?;
        kernel.do_queued_work(reads)?;
        kernel.flush(now, reads, out)?;
        Ok(kernel)
    }
}
