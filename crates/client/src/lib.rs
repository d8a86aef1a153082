//! A typed, asynchronous client of a node's HTTP API: one HTTP/2 connection over TLS, opened when needed and again when lost.
//!
//! It knows the API's types and nothing of the node behind them. For a few calls use [`Client`]. To keep many flows outstanding
//! use [`Stream`], which sends starts and receives answers as lines of one long request and costs a fraction of single calls.
//!
//! ```no_run
//! # async fn example() -> Result<(), client::ClientError> {
//! use api::{StartFlow, Wait};
//! let client = client::Client::new(client::Endpoint {
//!     address: "127.0.0.1:10443".into(),
//!     server_name: "localhost".into(),
//!     root_pem: std::fs::read_to_string("root.pem").unwrap_or_default(),
//!     token: "secret".into(),
//! })?;
//! let stream = client.stream();
//! let args = serde_json::json!({ "quantity": 100 });
//! let start = StartFlow::new("cash.issue", &args).map_err(client::ClientError::arguments)?;
//! let outcome = stream.start(&start.wait(Wait::Delivered)).await?;
//! println!("{} {}", outcome.flow_id, outcome.status.as_str());
//! # Ok(()) }
//! ```
//!
//! Modules in reading order: `endpoint`, `client`, `arguments` (of a call), `stream`, `events`, `attachments` (files) and `chain` (a chain node's API).
//! Below them are `connection`, `body`, `channel` and `lines`. `error` serves all of them.

mod answer;
mod arguments;
mod attachments;
mod body;
mod chain;
mod channel;
#[allow(clippy::module_inception)]
mod client;
mod connection;
mod endpoint;
mod error;
mod events;
mod lines;
mod progress;
mod stream;
mod traffic;
mod users;

pub use arguments::Arguments;
pub use attachments::Download;
pub use chain::ChainClient;
pub use client::{Client, FlowAction};
pub use endpoint::{Endpoint, Limits};
pub use error::{ClientError, ERRORS};
pub use events::{Event, Events};
pub use progress::Progress;
pub use stream::Stream;
pub use traffic::{Traffic, traffic};
