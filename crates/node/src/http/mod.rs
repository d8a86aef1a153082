//! The HTTP API's server: HTTP/1.1 and HTTP/2 over TLS, bearer tokens, and the stream form.
//!
//! It knows HTTP and JSON and nothing of how a node works: everything it serves comes through [`Services`].
//!
//! ```text
//! listener ─► connection (TLS, limits) ─► router ─► tokens, shares ─► routes ─► Services
//!                                                      └────► stream ─►     │
//!                                                               ▲           ▼
//!                                                          Answers ◄──── Ticket::answer
//! ```
//! A start hands a [`Ticket`] to the service. The service ends it with exactly one [`Answer`], from any thread, without blocking.
//! A ticket that is dropped answers by itself, so no client waits forever.
//!
//! Modules in reading order: `services`, `ticket`, `options`, `share`, `claim`, `connections`, `server`, `connection`, `http2`,
//! `state`, `router`, `routes`, `stream`, `events` (server-sent), `followers`, `vault_tail` and `vault_pages` (the sources of events).

mod allowance;
mod answer;
pub(crate) mod claim;
pub(crate) mod connection;
pub(crate) mod connections;
mod contain;
mod cut;
mod download_watch;
pub(crate) mod events;
mod file_body;
mod flow_action;
mod followers;
pub(crate) mod front;
mod http2;
mod input;
mod line;
mod line_place;
mod network_view;
mod options;
mod output;
mod patient;
mod pending;
mod permits;
pub(crate) mod place;
pub(crate) mod problem;
mod query_check;
mod query_permits;
mod quotas;
pub(crate) mod randomness;
mod range;
pub(crate) mod refusal;
pub(crate) mod route;
pub(crate) mod router;
pub(crate) mod routes;
pub(crate) mod server;
mod services;
pub(crate) mod share;
mod start_capacity;
mod start_request;
mod state;
mod stream;
mod ticket;
mod tls;
mod tokens;
mod transaction_view;
mod turned_away;
pub(crate) mod unread;
mod user_shares;
mod vault_changes;
mod vault_pages;
mod vault_tail;
mod waiting;
mod windows;

pub use answer::{Answer, Ended, Output};
pub use flow_action::FlowAction;
pub use followers::Followers;
pub use network_view::network_view;
pub(crate) use network_view::notary_view;
pub use options::{AnonymousLimits, HttpOptions};
pub use pending::Pending;
pub use refusal::Refusal;
pub use server::{HttpHandle, HttpServer, ListenError};
pub use services::{
    AttachmentService, ContractService, EndedRow, FlowService, HospitalService, IntegrityService,
    LedgerService, NotaryService, Sees, Services, StatusService, VaultService,
};
pub use start_capacity::StartCapacity;
pub use start_request::StartRequest;
pub use ticket::Ticket;
pub use tls::{TlsError, server_config};
pub use tokens::{ApiToken, Tokens};
pub use transaction_view::{RecordedTransaction, TransactionReader, transaction_view};
pub use vault_changes::{SeenChange, VaultChanges};

/// Every code of the server itself; those that it answers with are [`api::ERRORS`].
pub const ERRORS: &[primitives::ErrorInfo] = &[server::CANNOT_LISTEN, tls::BAD_CERTIFICATE];
