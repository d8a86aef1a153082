//! The other parts as the checks of this node's data see them.

use crate::integrity::contradictions::Contradictions;
use crate::keys::KeyBook;
use crate::ledger_book::Book;
use crate::notarisation::requests::Notarisation;
use crate::peers::links::Links;
use crate::port::Reads;

/// Read-only views of the parts that know this node's data.
#[derive(Clone, Copy)]
pub(crate) struct IntegrityViews<'a> {
    pub(crate) book: &'a Book,
    pub(crate) contradictions: &'a Contradictions,
    pub(crate) keys: &'a KeyBook,
    pub(crate) links: &'a Links,
    /// The notary that this node is, if it is one.
    pub(crate) notarisation: Option<&'a Notarisation>,
    pub(crate) reads: &'a dyn Reads,
}
