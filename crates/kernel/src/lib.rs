//! One node's deciding core: wires the flow engine, messaging, resolution, coin selection and the notary into a single
//! pure state machine that the node's shell and the simulator drive alike.
//!
//! It opens no socket, reads no clock, writes no disk: events come in, one commit and what waits for it go out
//! (see [`event`]). What it reads of the disk it reads through [`port::Reads`].

#![warn(missing_docs)]

// The boundary
pub mod errors;
pub mod event;
mod figures;
pub mod files;
mod options;
pub mod port;
pub mod rows;
mod sizes;
// What nodes say to each other
pub mod message;
// The parts
mod admission;
mod ahead;
mod book;
mod cache;
mod claims;
mod clients;
mod clock_watch;
mod complaints;
mod consents;
mod delivery_waits;
mod desk;
mod intake;
mod lacking;
mod links;
mod look_ups;
mod owed;
mod own_keys;
mod pages;
mod part;
mod parts;
mod peer_budget;
mod peer_figures;
mod queue;
mod refusals;
mod resolution;
mod resolutions;
mod schedule;
mod served;
mod validating;
mod waits;
mod waking;
mod writes;
// The kernel: what it does with events
mod chains;
mod checks;
mod clocks;
mod effects;
mod ends;
#[cfg(test)]
mod fake_store;
mod fault;
mod fetch;
mod filter;
mod hospital;
pub mod integrity;
mod kernel;
mod key_effects;
mod notes;
mod peers;
mod pump;
mod quarantine;
mod recover;
mod room;
mod round;
mod scheduled;
mod settle;
mod starts;
mod steps;
mod transitions;

pub use admission::{FLOW_BYTES, Room, WAITING_MIN, WAITING_PART, WEIGHT_PER_BYTE};
pub use book::{LedgerRows, decode_row, ledger_page};
pub use clock_watch::{ClockFigures, ClockJump};
pub use consents::{ConsentChange, ConsentRow, Consents, NotaryConsentRow};
pub use delivery_waits::{WAITING_SHOWN_MAX, WaitingDelivery};
pub use errors::ERRORS;
pub use event::{
    Action, Event, Found, LINEAR_LOOKED_AT_MAX, LookUp, Priority, Reply, Start, Token, Wait,
};
pub use figures::{CACHES, CacheFigures, Figures};
pub use filter::{FlowFilter, Standing, standing, user_of};
pub use hospital::{ORDERED_FLOWS_MAX, Order, Ordered};
pub use kernel::{Identity, Kernel};
pub use notes::{NOTE_BYTES_MAX, NOTES_MAX, NoteId, NoteRow};
pub use options::KernelOptions;
pub use own_keys::{OWNED_KEYS_MAX, UNUSED_KEYS_MAX, is_own_key, key_owner};
pub use peer_budget::{
    BACKLOG_BYTES_MAX, CUT_MS_MAX, CUT_MS_MIN, CUT_POINTS, PeerWork, ROUND_WORK_MAX, SLOW_POINTS,
};
pub use peer_figures::PeerFigures;
pub use quarantine::quarantined_states;
pub use recover::OpenError;
pub use refusals::{DeliveryRefusal, REFUSALS_KEPT_MAX, RefusalRow};
pub use schedule::{SCHEDULE_REFUSED, SCHEDULE_WAITING, ScheduleRow};
pub use scheduled::{SCHEDULE_USER, schedule_client_id};
pub use sizes::{SIZE_BUCKETS, Sizes};
pub use transitions::ConsentOptions;
