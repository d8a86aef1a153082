//! A member of a network that speaks the nodes' protocol without a node: for the laboratory, which loads a notary directly, and for
//! tests, whose clients try to spend states twice.
//!
//! [`Identity`] reads the folder that `tally network bootstrap` made for the member; no node may run on it. [`Member`] connects to the
//! network's notary, or to the workers of a replicated one, and asks it. Requests move between workers by the same rule as those of a
//! node (`flow::messaging::Requests`).

mod error;
mod identity;
mod member;
mod post;

pub use error::MemberError;
pub use identity::Identity;
pub use member::Member;
