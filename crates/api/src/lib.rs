//! The HTTP API's requests, answers and error codes, as types. The crate has no domain logic and no transport. Both sides of the
//! wire import it, and it imports nothing else of this project.
//!
//! Everything is JSON. Quantities are decimal text, because they can exceed 2^53. Sequence numbers and counts are integers. Ids,
//! hashes and keys are text (lower-case hexadecimal unless a type says otherwise). Times are milliseconds since the Unix epoch, with
//! `_ms` in the name.
//!
//! Modules in reading order. Start with [`operations`] (a row for each), [`flows`] (starts and outcomes of flows) and [`stream`] (the same
//! for busy clients). The reads are in [`ledger`], [`vault`], [`notary`], [`network`] and [`node`]. Then read [`attachments`]
//! (files that transactions refer to), [`consents`] (proposals of others that the node signs) and [`chain`] (a chain node's API).
//! Access is in [`login`] and [`users`], secrets are a [`SecretText`], errors are in [`problem`] and [`codes`].

pub mod attachments;
mod batch;
pub mod chain;
pub mod codes;
pub mod consents;
mod deliveries;
mod error_info;
pub mod events;
pub mod flow_history;
pub mod flows;
pub mod hospital;
pub mod integrity;
pub mod ledger;
pub mod login;
pub mod network;
pub mod node;
pub mod notary;
pub mod notes;
pub mod openapi;
pub mod operations;
pub mod problem;
mod quantity;
pub mod query;
pub mod schedule;
mod secret;
pub mod stream;
pub mod users;
pub mod vault;

pub use attachments::{
    AttachmentChange, AttachmentPage, AttachmentQuery, AttachmentView, NewUpload, UploadView,
};
pub use batch::{BATCH_STARTS_MAX, BatchAnswer, BatchAnswers, StartBatch};
pub use codes::{ERRORS, ErrorInfo};
pub use consents::{
    ConsentChange, ConsentList, ConstraintView, ContractList, ContractView, NewUpgrade,
    NotaryChanges, NotaryConsent, UpgradeConsent,
};
pub use deliveries::{DeliveryPage, DeliveryReason, DeliveryStatus, DeliveryView};
pub use events::{FlowStep, ProducedState, VaultChange, VaultStart};
pub use flow_history::{EndedFlow, FlowHistory, FlowHistoryQuery};
pub use flows::{
    DeliveryRefusal, FlowCause, FlowFailure, FlowList, FlowRecord, FlowStatus, FlowSummary,
    FlowWait, Outcome, RawJson, StartFlow, Wait,
};
pub use hospital::{FlowJournal, FlowOrder, FlowOrdered, FlowQuery, JournalEntry};
pub use integrity::{
    EquivocationEntry, EquivocationPage, FinishRecovery, LinkView, RecoveryPeer, RecoveryProgress,
    RecoveryView, RollbackView,
};
pub use ledger::{
    ChainEntry, ChainPage, CommandView, LedgerEntry, LedgerPage, NamedKey, SignatureView,
    StateView, TimeWindowView, TransactionView,
};
pub use login::{LoggedIn, Login};
pub use network::{
    NetworkView, NotaryView, PartyView, PeerEventKind, PeerEventView, PeerHistory, PeerLoad,
    PeerView, PeersView,
};
pub use node::{ClockView, Drain, FlowInfo, Health, HealthWarning, NodeState, NodeView};
pub use notary::{ConsumedEntry, ConsumedPage, RequestEntry, RequestPage};
pub use notes::{NewNote, NoteList, NoteView};
pub use problem::Problem;
pub use quantity::{OptionalQuantityInput, OptionalQuantityText, QuantityInput, QuantityText};
pub use query::{Quarantined, VaultAnswer, VaultQuery};
pub use schedule::{ScheduleEntry, SchedulePage, ScheduleStatus};
pub use secret::SecretText;
pub use stream::{StreamAnswer, StreamStart};
pub use users::{NewToken, NewUser, UserChange, UserPage, UserView};
pub use vault::{Balance, Balances, Fungible, StateEntry, StatesPage};
