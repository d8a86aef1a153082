//! One node's deciding core: wires the flow engine, messaging, resolution, coin selection and the notary into a single
//! pure state machine that the node's shell and the simulator drive alike.
//!
//! It opens no socket, reads no clock and writes no disk. Events come in, and one commit goes out with the actions that wait for
//! it (see [`event`]). It reads the disk through [`port::Reads`].

#![warn(missing_docs)]

// The boundary
pub mod errors;
pub mod event;
mod figures;
pub mod files;
pub mod folder;
mod identity;
pub mod jobs;
mod open_error;
mod options;
pub mod port;
pub mod rows;
mod sizes;
// Messages between nodes
pub mod message;
// The parts
mod back_chains;
mod clock;
mod consents;
mod flows;
mod intake;
pub mod integrity;
mod keys;
mod notarisation;
mod notes;
mod peers;
mod schedule;
mod selection;
// Shared by the parts
mod cache;
mod command;
mod context;
#[cfg(test)]
mod fake_store;
mod kernel;
mod ledger_book;
mod ledger_view;
mod message_limits;
mod pages;
mod part;
mod parts;
mod round;
mod stored;
mod writes;

pub use clock::{ClockFigures, ClockJump};
pub use consents::{ConsentChange, ConsentOptions, ConsentRow, Consents, NotaryConsentRow};
pub use errors::ERRORS;
pub use event::{
    Action, Event, Found, LINEAR_LOOKED_AT_MAX, LookUp, Priority, Reply, SignatureBatch, Start,
    Token, Wait,
};
pub use figures::{CACHES, CacheFigures, Figures};
pub use flows::admission::{FLOW_BYTES, StartCapacity, WAITING_MIN, WAITING_PART, WEIGHT_PER_BYTE};
pub use flows::filter::{FlowFilter, Standing, standing, user_of};
pub use flows::history::look_up::{
    FoundEnd, HISTORY_LOOKED_UP_MAX, HistoryLookUp, look_up_history,
};
pub use flows::history::page::{
    HISTORY_SCANNED_MAX, HistoryFilter, HistoryPage, HistoryPlace, HistoryStatus,
    ParseHistoryPlaceError, ended_flow, history_page,
};
pub use flows::history::prune::HISTORY_AGE_CHECK_MS;
pub use flows::history::row::{
    HISTORY_PEERS_MAX, HISTORY_RESULT_BYTES_MAX, HistoryEnd, HistoryKind, HistoryRow, HistoryStart,
};
pub use flows::orders::{ORDERED_FLOWS_MAX, Order, Ordered};
pub use identity::{Identity, NotaryService};
pub use kernel::Kernel;
pub use keys::{OWNED_KEYS_MAX, UNUSED_KEYS_MAX, is_own_key, key_owner};
pub use ledger_book::{LedgerRows, decode_row, ledger_page};
pub use notarisation::requests::check_uniqueness;
pub use notes::{NOTE_BYTES_MAX, NOTES_MAX, NoteId, NoteRow};
pub use open_error::OpenError;
pub use options::{HistoryOptions, KernelOptions};
pub use peers::budget::{
    BACKLOG_BYTES_MAX, CUT_MS_MAX, CUT_MS_MIN, CUT_POINTS, PeerWork, ROUND_WORK_MAX, SLOW_POINTS,
};
pub use peers::figures::PeerFigures;
pub use peers::pending::{UnansweredDelivery, UnansweredPage, unanswered_page};
pub use peers::refusals::{DeliveryRefusal, REFUSALS_KEPT_MAX, RefusalRow};
pub use peers::waiting::{WaitReason, WaitReasons};
pub use schedule::starts::{SCHEDULE_USER, schedule_client_id};
pub use schedule::table::{SCHEDULE_REFUSED, SCHEDULE_WAITING, ScheduleRow};
pub use selection::quarantine::quarantined_states;
pub use sizes::{SIZE_BUCKETS, Sizes};
