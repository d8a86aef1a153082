//! Durable multi-party flows: ordinary async functions whose progress survives a crash.
//!
//! The [`FlowEngine`] polls flows by hand and journals the results of their effects; after a restart it replays the
//! journal. Pure machines carry messages between nodes: the outbox of session messages, the deliveries of final
//! transactions, and outstanding requests. The crate uses no I/O, no clock and no random source.
//!
//! Reading order: start with `flow`, the traits that an application implements. Then read `context`, `effect`, `journal`,
//! `engine`, `library`, `transitions` and `messaging`.

mod arguments;
mod cell;
mod context;
mod deadline;
mod digest;
mod effect;
pub mod empty;
mod engine;
mod error;
mod flow;
mod flow_state;
mod hospital;
mod id;
pub mod identities;
mod journal;
pub mod library;
mod message;
pub mod messaging;
mod options;
mod pending_effect;
mod registry;
mod session;
mod session_state;
mod start;
pub mod transitions;

pub use arguments::ArgumentField;
pub use context::FlowContext;
pub use deadline::Deadline;
pub use effect::{
    CLAIM_BYTES_MAX, EffectKind, EffectRequest, EffectResult, Fetching, Rehydrate, Service,
    SleepClocks,
};
pub use engine::{
    EngineAction, FlowEngine, FlowStatus, FlowStep, FlowStepped, Kill, Loaded, MissingVersion,
    Pause, PeerUsage, RESPONDER_BYTES, Stage,
};
pub use error::{COUNTERPARTY_SILENT_CODE, ERRORS, FlowError, KILLED_CODE, SHARE_EXCEEDED_CODE};
pub use flow::{Flow, Responder};
pub use hospital::{
    CAUSES_MAX, CHART_STEP, Cause, Chart, Condition, KEPT_CODES, RETRY_KINDS, RetryKind,
    RetryLimit, TRANSIENT_CODES,
};
pub use id::{FlowId, ParseFlowIdError, SessionId};
pub use journal::{JournalItem, ROW_VERSION, describe_row, journal_items};
pub use message::{SessionBody, SessionMessage, VERSIONS_OFFERED_MAX};
pub use options::{EFFECTS_OF_A_SCOPE_MAX, FlowLimits, SUB_FLOWS_MAX};
pub use pending_effect::{PendingEffect, WaitsFor};
pub use registry::{FlowDescription, FlowRegistry, FlowSchemas};
pub use session::Session;
pub use start::{Origin, StartRecord};
