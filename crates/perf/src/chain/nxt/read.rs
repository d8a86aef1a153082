//! Reads answers of the Ardor/Nxt family. Numbers are often strings, and members of the family lack different fields.

use serde_json::Value;

use super::http::fault;
use crate::chain::codes::MALFORMED;
use crate::chain::{BlockSeen, ChainId, ChildCount, TxKey};
use crate::load::Fault;

/// Upper limit on the transactions of one block.
const TRANSACTIONS_MAX: usize = 1_000_000;
/// Upper limit on heights and times of blocks. The family keeps both as signed numbers of 32 bits.
const HEIGHT_MAX: u64 = i32::MAX as u64;
/// Upper limit on the characters of an id. Those of the family have at most 20 digits.
const ID_CHARS_MAX: usize = 100;
/// Upper limit on the bytes that a server may name as the size of a block, so that their sum is a number.
const PAYLOAD_BYTES_MAX: u64 = u32::MAX as u64;
/// Type of a parent transaction that is a child block.
const CHILD_BLOCK: i64 = -1;

/// Reads a whole number, written as a number or as a string.
pub fn whole(value: &Value, field: &str) -> Result<u64, Fault> {
    let found = &value[field];
    found
        .as_u64()
        .or_else(|| found.as_str()?.parse().ok())
        .ok_or_else(|| missing(field))
}

/// Reads a height, a number of blocks or a time in seconds.
pub fn height(value: &Value, field: &str) -> Result<u64, Fault> {
    match whole(value, field)? {
        height if height <= HEIGHT_MAX => Ok(height),
        height => Err(fault(
            MALFORMED,
            format!("`{field}` is {height}, which is above {HEIGHT_MAX}"),
        )),
    }
}

/// Reads the id of a block or an account.
pub fn id(value: &Value, field: &str) -> Result<String, Fault> {
    match text(value, field)? {
        id if id.len() <= ID_CHARS_MAX => Ok(id.to_owned()),
        _ => Err(missing(field)),
    }
}

/// Reads a string.
pub fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str, Fault> {
    value[field].as_str().ok_or_else(|| missing(field))
}

/// Reads a transaction's full hash.
pub fn key(value: &Value, field: &str) -> Result<TxKey, Fault> {
    TxKey::parse(text(value, field)?).ok_or_else(|| missing(field))
}

/// Reads a list.
pub fn list<'v>(value: &'v Value, field: &str) -> Result<&'v [Value], Fault> {
    match value[field].as_array() {
        Some(values) if values.len() <= TRANSACTIONS_MAX => Ok(values),
        Some(values) => Err(fault(
            MALFORMED,
            format!("`{field}` has {} entries", values.len()),
        )),
        None => Err(missing(field)),
    }
}

/// Returns the fault of a missing or malformed field.
pub fn missing(field: &str) -> Fault {
    fault(
        MALFORMED,
        format!("the answer has no `{field}` of the form that it should have"),
    )
}

/// Reads a block with its transactions.
pub fn block(value: &Value) -> Result<BlockSeen, Fault> {
    let mut block = BlockSeen {
        height: height(value, "height")?,
        id: id(value, "block")?,
        // The first block has no predecessor.
        previous: match &value["previousBlock"] {
            Value::Null => String::new(),
            _ => id(value, "previousBlock")?,
        },
        time_s: height(value, "timestamp")?,
        // Ardor does not name the size of a block, Nxt does.
        bytes: whole(value, "payloadLength")
            .ok()
            .filter(|bytes| *bytes <= PAYLOAD_BYTES_MAX),
        ..BlockSeen::default()
    };
    for transaction in list(value, "transactions")? {
        let attachment = &transaction["attachment"];
        if !is_child_block(transaction) {
            block.parent_count += 1;
            block.keys.push(key(transaction, "fullHash")?);
            continue;
        }
        let chain = chain(attachment)?;
        let hashes = list(attachment, "childTransactionFullHashes")?;
        for hash in hashes {
            let hash = hash.as_str().and_then(TxKey::parse);
            block
                .keys
                .push(hash.ok_or_else(|| missing("childTransactionFullHashes"))?);
        }
        block.children.push(ChildCount {
            chain,
            count: u32::try_from(hashes.len()).expect("at most TRANSACTIONS_MAX"),
        });
    }
    Ok(block)
}

/// Returns whether a transaction of the parent chain is a child block.
pub fn is_child_block(transaction: &Value) -> bool {
    transaction["type"].as_i64() == Some(CHILD_BLOCK)
}

/// Reads the chain of an object; the parent chain if the family member has only one.
pub fn chain(value: &Value) -> Result<ChainId, Fault> {
    match &value["chain"] {
        Value::Null => Ok(ChainId::PARENT),
        _ => u8::try_from(whole(value, "chain")?)
            .map(ChainId)
            .map_err(|_| missing("chain")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hash(byte: u8) -> String {
        TxKey([byte; 32]).to_string()
    }

    #[test]
    fn the_size_of_a_block_is_known_if_it_can_be_one() {
        for (payload, expected) in [
            (json!(334), Some(334)),
            (json!("334"), Some(334)),
            (json!(u64::MAX), None),
            (Value::Null, None),
        ] {
            let found = block(&json!({
                "height": 7, "block": "12345678901234567890", "previousBlock": "9", "timestamp": "70",
                "payloadLength": payload, "transactions": [],
            }));
            assert_eq!(found.expect("it is one").bytes, expected, "{payload}");
        }
    }

    #[test]
    fn a_block_has_parent_transactions_and_what_child_blocks_carry() {
        let found = block(&json!({
            "height": 7, "block": "12345678901234567890", "previousBlock": "9", "timestamp": "70", "payloadLength": 334,
            "transactions": [
                { "type": -2, "fullHash": hash(1) },
                { "type": -1, "fullHash": hash(9), "attachment": { "chain": 3, "childTransactionFullHashes": [hash(2), hash(3)] } },
            ],
        }));
        let block = found.expect("it is one");
        assert_eq!(
            (
                block.height,
                block.time_s,
                block.bytes,
                block.transactions()
            ),
            (7, 70, Some(334), 3)
        );
        assert_eq!(
            (block.id.as_str(), block.previous.as_str()),
            ("12345678901234567890", "9")
        );
        assert_eq!(
            block.children,
            [ChildCount {
                chain: ChainId(3),
                count: 2
            }]
        );
        assert_eq!(block.keys, [1, 2, 3].map(|byte| TxKey([byte; 32])));
    }

    #[test]
    fn what_is_no_block_is_malformed_and_nothing_panics() {
        let good = json!({ "height": 1, "block": "1", "timestamp": 5, "transactions": [] });
        assert!(block(&good).is_ok());
        for (field, bad) in [
            ("height", json!(-1)),
            ("height", json!("x")),
            ("height", json!(u64::MAX)),
            ("height", json!(1u64 << 31)),
            ("block", json!(5)),
            ("block", json!("7".repeat(101))),
            ("previousBlock", json!(5)),
            ("timestamp", json!(u64::MAX)),
            ("timestamp", json!(null)),
            ("transactions", json!({})),
            ("transactions", json!([{ "type": -2 }])),
            ("transactions", json!([{ "type": -2, "fullHash": "abc" }])),
            // A child block that does not name what it carries, as after pruning, cannot be counted.
            (
                "transactions",
                json!([{ "type": -1, "fullHash": hash(9), "attachment": { "chain": 2 } }]),
            ),
            (
                "transactions",
                json!([{ "type": -1, "attachment": { "chain": 999, "childTransactionFullHashes": [] } }]),
            ),
            (
                "transactions",
                json!([{ "type": -1, "attachment": { "chain": 2, "childTransactionFullHashes": [5] } }]),
            ),
        ] {
            let mut value = good.clone();
            value[field] = bad.clone();
            assert_eq!(
                block(&value).map_err(|fault| fault.code),
                Err(MALFORMED.to_owned()),
                "{field} = {bad}"
            );
        }
        for value in [json!([]), json!(1), json!(null)] {
            assert!(block(&value).is_err());
        }
    }
}
