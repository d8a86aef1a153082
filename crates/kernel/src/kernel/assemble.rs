//! The making of a kernel from its context and the parts that were read from the store.

use std::sync::Arc;

use flow::FlowEngine;
use primitives::Hash;

use crate::back_chains::BackChains;
use crate::clock::ClockWatch;
use crate::consents::Consents;
use crate::context::Context;
use crate::files::Files;
use crate::flows::Flows;
use crate::flows::history::part::History;
use crate::flows::runner::Runner;
use crate::flows::start_gate::StartGate;
use crate::folder::FolderRecord;
use crate::intake::contract_checks::ContractChecks;
use crate::intake::items::Intake;
use crate::integrity::Integrity;
use crate::integrity::contradictions::Contradictions;
use crate::jobs::Inline;
use crate::keys::KeyBook;
use crate::ledger_book::Book;
use crate::notarisation::requests::Notarisation;
use crate::notes::Notes;
use crate::peers::links::Links;
use crate::schedule::table::Schedule;
use crate::selection::CoinSelection;

use crate::kernel::Kernel;

/// The parts of a kernel that are read from the store before the rest is made.
pub(super) struct OpenedParts {
    pub(super) folder: FolderRecord,
    pub(super) book: Book,
    pub(super) keys: KeyBook,
    pub(super) links: Links,
    pub(super) notarisation: Option<Notarisation>,
    pub(super) integrity: Integrity,
    pub(super) contradictions: Contradictions,
    pub(super) history: History,
    /// The wall clock was in doubt before the start.
    pub(super) clock_in_doubt: bool,
}

impl Kernel {
    pub(super) fn assemble(context: Context, opened: OpenedParts) -> Self {
        let (options, identity, now) = (&context.options, &context.identity, context.now);
        let my_id = context.my_id;
        let OpenedParts {
            folder,
            book,
            keys,
            links,
            notarisation,
            integrity,
            contradictions,
            history,
            clock_in_doubt,
        } = opened;
        let witnesses = integrity
            .marked_by()
            .filter(|peer| *peer != my_id && identity.network.node(peer).is_some())
            .collect();
        let others = identity.network.nodes().map(|(peer, _)| *peer);
        let others = others.filter(|peer| *peer != my_id).collect();
        let gate = StartGate::new(
            witnesses,
            others,
            options.meet_peers_ms,
            options.hold_unmet,
            now.monotonic,
        );
        let engine = FlowEngine::new(
            Arc::clone(&identity.flows),
            identity.me.clone(),
            Arc::clone(&identity.network),
            options.entropy.clone(),
            options.flow,
        );
        // Clipped at 0: the network map of a new network may be empty.
        let others = identity.network.nodes().count().saturating_sub(1);
        let clock = ClockWatch::new(now, others, options.entropy.clone(), clock_in_doubt);
        let selection = CoinSelection::new(options.selection, book.last_seq());
        let first_resolution = Hash::plain(options.entropy.expose());
        let first_resolution = first_resolution.as_bytes().first_chunk::<8>().copied();
        let first_resolution = u64::from_be_bytes(first_resolution.unwrap_or_default());
        Self {
            folder,
            keys,
            clock,
            flows: Flows::new(
                Runner::new(engine, now),
                gate,
                history,
                integrity.is_rolled_back(),
                options,
                now,
            ),
            links,
            intake: Intake::new(),
            back_chains: BackChains::new(first_resolution),
            book,
            selection,
            contradictions,
            integrity,
            notarisation,
            schedule: Schedule::default(),
            notes: Notes::default(),
            files: Files::new(options.file_rows_bytes),
            consents: Consents::default(),
            contract_checks: ContractChecks::new(options.known_signatures_bytes),
            workers: Box::new(Inline),
            context,
        }
    }
}
