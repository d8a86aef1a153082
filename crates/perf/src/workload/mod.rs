//! Workloads: the kinds of units of load. The shipped ones, and the trait for your own.
//!
//! A [`Workload`] is a kind of work with its knobs set. It prepares a network once and gives each [`Worker`] its set-up.
//! A worker runs unit after unit. At the end every worker is torn down, even after a failure. A workload reaches the
//! network through a [`Site`] alone. The site also keeps the books that the audit judges: issued amounts, and
//! acknowledged transactions with their participants. [`Workloads`] knows the kinds by name, and [`Mix`] drives several
//! of them by weight.
//!
//! ```no_run
//! use std::sync::Arc;
//! use perf::workload::{Boxed, Failed, Knobs, KnobError, Prepares, Site, Tried, Worker, Workload, Workloads, done};
//!
//! struct Ping { retry: bool }
//! impl Ping {
//!     fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
//!         Ok(Arc::new(Self { retry: knobs.flag("retry", false)? }))
//!     }
//! }
//! impl Workload for Ping {
//!     fn kind(&self) -> &str { "ping" }
//!     fn prepares(&self, _: u64) -> Prepares { Prepares::Nothing }
//!     fn worker<'a>(&'a self, site: &'a Arc<Site>, _: u32) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
//!         done(Ok(Box::new(Pinging { site: Arc::clone(site), retry: self.retry })))
//!     }
//! }
//! struct Pinging { site: Arc<Site>, retry: bool }
//! impl Worker for Pinging {
//!     fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
//!         Box::pin(async move {
//!             let start = self.site.start_of("my.ping", &serde_json::json!({}))?;
//!             let delivered = self.site.run(0, &start, self.retry).await?;
//!             self.site.acknowledge(&delivered.transactions, &[0]);
//!             Ok(delivered.tried())
//!         })
//!     }
//! }
//! let mut workloads = Workloads::shipped();
//! workloads.register("ping", "Starts my.ping on the first bank.", Ping::make);
//! ```
//!
//! `docs/guides/own-workload.md` walks through a complete one, with a preparation and books.
//!
//! Modules in reading order: `traits`, `ended`, `knobs` and `registry`. Then `site` with its `books`, `mix`, and the
//! `shipped` kinds.

mod attachments;
mod auditing;
mod books;
mod boxed;
mod cash;
mod chains;
mod codes;
mod command;
mod empty;
mod ended;
mod fake;
mod issue;
mod issue_and_pay;
mod knobs;
mod mix;
mod notarise;
mod pay;
mod payment;
mod progress;
mod registry;
mod shipped;
mod site;
mod starter;
mod swap;
mod traits;
mod transfer;
mod units;
mod vault_query;

pub use attachments::{MockFile, MockReader, MockSizes};
pub use books::{FileNote, SiteBooks, Token};
pub use boxed::{Boxed, LocalBoxed, done};
pub use codes::ERRORS;
pub use ended::{Failed, Tried};
pub use knobs::{KnobError, Knobs};
pub use mix::{Mix, MixError};
pub use payment::PAYMENT;
pub use progress::{Preparation, PreparationReading};
pub use registry::{Make, Workloads};
pub use site::{Delivered, PER_STREAM, Site, SiteError, SiteNode, Step};
pub use traits::{Prepares, Worker, Workload, is_used_up};
pub use units::UNITS_EACH;
