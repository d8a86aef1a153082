//! A shared document, and the commands on it.

use ledger::Party;
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder, Hash};

/// Maximum length of a title, in bytes.
pub const TITLE_BYTES_MAX: usize = 256;

/// The data of a document. Encoded as `[from, to, title, attachment]`; the title has 1 to 256 bytes and no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentState {
    /// The sharing party.
    pub from: Party,
    /// The receiving party.
    pub to: Party,
    /// The title shown to people.
    pub title: String,
    /// The file, which is attached to the transaction.
    pub attachment: Hash,
}

impl DocumentState {
    /// Returns whether a text is a valid title.
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
    /// Shares documents; the sharing parties sign.
    Share,
}

primitives::variants!(DocumentCommand { 0 => Share });
