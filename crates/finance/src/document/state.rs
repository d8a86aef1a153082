//! A shared document, and what a transaction may do with it.

use ledger::Party;
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash};

/// The longest title, in bytes.
pub const TITLE_BYTES_MAX: usize = 256;

/// The data of a document. Encoded as `[from, to, title, attachment]`; the title has 1 to 256 bytes and no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentState {
    /// Who shares it.
    pub from: Party,
    /// With whom.
    pub to: Party,
    /// What it is called, for people.
    pub title: String,
    /// The file, which is attached to the transaction.
    pub attachment: Hash,
}

impl DocumentState {
    /// Whether a title is one.
    pub fn is_title(title: &str) -> bool {
        (1..=TITLE_BYTES_MAX).contains(&title.len()) && !title.chars().any(char::is_control)
    }
}

impl Encode for DocumentState {
    fn encode(&self, e: &mut Encoder) {
        e.array(4);
        self.from.encode(e);
        self.to.encode(e);
        e.text(&self.title);
        self.attachment.encode(e);
    }
}

impl Decode for DocumentState {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(4)?;
        let (from, to) = (Party::decode(d)?, Party::decode(d)?);
        let title = d.text()?;
        if !Self::is_title(title) {
            return Err(d.invalid("a title has 1 to 256 bytes and no control characters"));
        }
        let title = title.to_owned();
        let attachment = Hash::decode(d)?;
        Ok(Self {
            from,
            to,
            title,
            attachment,
        })
    }
}

/// A command to the contract of documents. Encoded as `[0]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentCommand {
    /// Shares documents; those who share them sign.
    Share,
}

primitives::variants!(DocumentCommand { 0 => Share });
