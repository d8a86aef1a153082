//! The encoding of transactions.

use primitives::Hash;

use super::{Anchor, Body, Transaction};
use crate::{AccountId, BlockTimestamp, ChainId, Height, MinorUnits, Minutes, Rejection};

/// Length of an ordinary payment on any chain, with its signature.
pub const PAYMENT_BYTES: usize = 149;
/// Maximum length of an extension in any network, in bytes.
pub const EXTENSION_BYTES_MAX: usize = 4096;

const VERSION: u8 = 1;
const PAYMENT: u8 = 0x01;
const PAYMENT_WITH_MESSAGE: u8 = 0x81;
const LEASE: u8 = 0x02;
const CHILD_BLOCK: u8 = 0x83;
/// Kinds with this bit have an extension.
const EXTENDED: u8 = 0x80;

impl Transaction {
    /// Encodes the transaction, with the signature last.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(PAYMENT_BYTES);
        self.write(&mut bytes);
        bytes
    }

    /// Appends the encoded transaction.
    pub fn write(&self, out: &mut Vec<u8>) {
        let child_root: [u8; 33];
        // A lease and a child block have a number of blocks or transactions in place of the amount.
        let (kind, to, number, extension): (u8, AccountId, u64, &[u8]) = match &self.body {
            Body::Payment {
                to,
                amount,
                message,
            } if message.is_empty() => (PAYMENT, *to, amount.get(), &[]),
            Body::Payment {
                to,
                amount,
                message,
            } => (PAYMENT_WITH_MESSAGE, *to, amount.get(), message),
            Body::Lease { to, blocks } => (LEASE, *to, u64::from(*blocks), &[]),
            Body::ChildBlock { child, count, root } => {
                let mut extension = [child.0; 33];
                extension[1..].copy_from_slice(root.as_bytes());
                child_root = extension;
                (
                    CHILD_BLOCK,
                    AccountId::default(),
                    u64::from(*count),
                    &child_root,
                )
            }
        };
        out.extend_from_slice(&[VERSION, kind, self.chain.0]);
        out.extend_from_slice(&self.time.to_be_bytes());
        out.extend_from_slice(&self.deadline_minutes.to_be_bytes());
        out.extend_from_slice(&self.sender);
        out.extend_from_slice(&to.0);
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&self.fee.to_be_bytes());
        out.extend_from_slice(&self.anchor.height.to_be_bytes());
        out.extend_from_slice(&self.anchor.id);
        if kind & EXTENDED != 0 {
            // A message longer than the format's limit is refused earlier.
            let length = extension.len().min(EXTENSION_BYTES_MAX);
            out.extend_from_slice(&(length as u16).to_be_bytes());
            out.extend_from_slice(&extension[..length]);
        }
        out.extend_from_slice(&self.signature);
    }
}

/// Decodes exactly one transaction.
pub fn read_exact(bytes: &[u8]) -> Result<Transaction, Rejection> {
    let (transaction, used) = read(bytes)?;
    if used == bytes.len() {
        Ok(transaction)
    } else {
        Err(malformed(format!(
            "{} bytes follow the transaction",
            bytes.len() - used
        )))
    }
}

/// Decodes the transaction at the beginning of `bytes`, and returns its length.
pub fn read(bytes: &[u8]) -> Result<(Transaction, usize), Rejection> {
    let mut reader = Reader { bytes, at: 0 };
    let [version, kind, chain] = reader.take()?;
    if version != VERSION {
        return Err(unknown(format!("version {version}")));
    }
    let time = BlockTimestamp::from_be_bytes(reader.take()?);
    let deadline_minutes = Minutes::from_be_bytes(reader.take()?);
    let sender = reader.take()?;
    let to = AccountId(reader.take()?);
    let number = u64::from_be_bytes(reader.take()?);
    let fee = MinorUnits::from_be_bytes(reader.take()?);
    let anchor = Anchor {
        height: Height::from_be_bytes(reader.take()?),
        id: reader.take()?,
    };
    let extension = if kind & EXTENDED != 0 {
        let length = usize::from(u16::from_be_bytes(reader.take()?));
        if length > EXTENSION_BYTES_MAX {
            return Err(malformed(format!(
                "an extension of {length} bytes, at most {EXTENSION_BYTES_MAX}"
            )));
        }
        reader.slice(length)?
    } else {
        &[]
    };
    let body = match kind {
        PAYMENT | PAYMENT_WITH_MESSAGE => Body::Payment {
            to,
            amount: MinorUnits::new(number),
            message: extension.to_vec(),
        },
        LEASE => Body::Lease {
            to,
            blocks: small(number)?,
        },
        CHILD_BLOCK => {
            let [child, root @ ..]: [u8; 33] = extension
                .try_into()
                .map_err(|_| malformed("a child block's extension must have 33 bytes"))?;
            if to != AccountId::default() {
                return Err(malformed("a child block must not have a recipient"));
            }
            Body::ChildBlock {
                child: ChainId(child),
                count: small(number)?,
                root: Hash::from_bytes(root),
            }
        }
        kind => return Err(unknown(format!("kind {kind:#04x}"))),
    };
    if kind == PAYMENT_WITH_MESSAGE && extension.is_empty() {
        return Err(malformed("an empty message must be encoded as no message"));
    }
    let signature = reader.take()?;
    let transaction = Transaction {
        chain: ChainId(chain),
        time,
        deadline_minutes,
        sender,
        fee,
        anchor,
        body,
        signature,
    };
    Ok((transaction, reader.at))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn slice(&mut self, length: usize) -> Result<&'a [u8], Rejection> {
        let slice = self.bytes.get(self.at..self.at + length);
        self.at += length;
        slice.ok_or_else(|| {
            malformed(format!(
                "the transaction is cut off after {} bytes",
                self.bytes.len()
            ))
        })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Rejection> {
        let mut array = [0; N];
        array.copy_from_slice(self.slice(N)?);
        Ok(array)
    }
}

fn small(number: u64) -> Result<u32, Rejection> {
    u32::try_from(number).map_err(|_| malformed(format!("{number} exceeds 32 bits")))
}

fn malformed(detail: impl Into<String>) -> Rejection {
    Rejection::new("chain_tx.malformed", detail)
}

fn unknown(detail: impl Into<String>) -> Rejection {
    Rejection::new("chain_tx.unknown_kind", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn body() -> impl Strategy<Value = Body> {
        let account = any::<[u8; 16]>().prop_map(AccountId);
        let message = proptest::collection::vec(any::<u8>(), 0..200);
        prop_oneof![
            (account.clone(), any::<u64>(), message).prop_map(|(to, amount, message)| {
                Body::Payment {
                    to,
                    amount: MinorUnits::new(amount),
                    message,
                }
            }),
            (account, any::<u32>()).prop_map(|(to, blocks)| Body::Lease { to, blocks }),
            (any::<u8>(), any::<u32>(), any::<[u8; 32]>()).prop_map(|(child, count, root)| {
                Body::ChildBlock {
                    child: ChainId(child),
                    count,
                    root: Hash::from_bytes(root),
                }
            }),
        ]
    }

    prop_compose! {
        fn transaction()(
            chain: u8, time: u32, deadline_minutes: u16, sender: [u8; 32], fee: u64,
            height: u32, id: [u8; 8], body in body(), signature: [u8; 64],
        ) -> Transaction {
            Transaction {
                chain: ChainId(chain), time: BlockTimestamp::new(time),
                deadline_minutes: Minutes::new(deadline_minutes), sender, fee: MinorUnits::new(fee),
                anchor: Anchor { height: Height::new(height), id }, body, signature,
            }
        }
    }

    proptest! {
        #![proptest_config(properties::config!(256))]

        #[test]
        fn bytes_lead_back(transaction in transaction(), more in proptest::collection::vec(any::<u8>(), 0..4)) {
            let mut bytes = transaction.to_bytes();
            let length = bytes.len();
            prop_assert_eq!(read_exact(&bytes), Ok(transaction.clone()));
            for cut in 0..length {
                prop_assert!(read(&bytes[..cut]).is_err());
            }
            bytes.extend(&more);
            prop_assert_eq!(read(&bytes), Ok((transaction, length)));
        }

        #[test]
        fn what_is_read_is_written_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() { *first = VERSION; }
            if let Some(kind) = bytes.get_mut(1) { *kind = [PAYMENT, LEASE, PAYMENT_WITH_MESSAGE, CHILD_BLOCK][*kind as usize % 4]; }
            if let Ok((transaction, used)) = read(&bytes) {
                prop_assert_eq!(&transaction.to_bytes(), &bytes[..used]);
            }
        }
    }

    #[test]
    fn an_ordinary_payment_has_149_bytes_whatever_the_amounts() {
        let payment = Transaction {
            chain: ChainId(255),
            time: BlockTimestamp::LAST,
            deadline_minutes: Minutes::MAX,
            sender: [255; 32],
            fee: MinorUnits::MAX,
            anchor: Anchor {
                height: Height::LAST,
                id: [255; 8],
            },
            body: Body::Payment {
                to: AccountId([255; 16]),
                amount: MinorUnits::MAX,
                message: Vec::new(),
            },
            signature: [255; 64],
        };
        assert_eq!(payment.to_bytes().len(), PAYMENT_BYTES);
    }
}
