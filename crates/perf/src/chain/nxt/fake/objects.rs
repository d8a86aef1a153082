//! Transactions and blocks as objects, with the fields of a recorded real node.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::names::{Forger, address, hash, number};
use super::paid::Paid;
use super::world::{FakeLedger, Made};
use crate::chain::{ChainId, TxKey};

/// The height of a transaction that is in no block.
const NOWHERE: i64 = i32::MAX as i64;

/// A child block: the payments of one child chain, in a block or on offer.
struct ChildBlock {
    chain: ChainId,
    hashes: Vec<String>,
    key: TxKey,
}

/// The place of a transaction in a block.
struct Place<'a> {
    block: &'a Made,
    height: usize,
    confirmations: usize,
    index: usize,
}

/// Returns a payment that was not signed yet.
pub fn unsigned(paid: &Paid) -> Value {
    let mut value = json!({
        "amountNQT": paid.amount.to_string(),
        "attachment": { (kind(paid.chain).1): 0 },
        "chain": paid.chain.0,
        "deadline": paid.deadline,
        "ecBlockHeight": 0,
        "ecBlockId": "1",
        "feeNQT": paid.fee.to_string(),
        "height": NOWHERE,
        "phased": false,
        "recipient": paid.to,
        "recipientRS": address(&paid.to),
        "sender": paid.from,
        "senderPublicKey": paid.from_key,
        "senderRS": address(&paid.from),
        "subtype": 0,
        "timestamp": paid.timestamp,
        "type": kind(paid.chain).0,
        "version": 1,
    });
    if paid.chain != ChainId::PARENT {
        value["fxtTransaction"] = json!("0");
    }
    value
}

/// Returns a signed payment that is in no block.
pub fn signed(paid: &Paid) -> Value {
    let mut value = unsigned(paid);
    let key = paid.key();
    value["fullHash"] = json!(key.to_string());
    value["signature"] = json!(paid.signature());
    value["signatureHash"] = json!(hash(&paid.signature()));
    if paid.chain == ChainId::PARENT {
        value["transaction"] = json!(short(key));
    }
    value
}

/// Returns the type and the attachment's version of a payment on a chain.
fn kind(chain: ChainId) -> (i64, &'static str) {
    match chain {
        ChainId::PARENT => (-2, "version.FxtPayment"),
        _ => (0, "version.OrdinaryPayment"),
    }
}

/// Returns the transactions that wait on a chain, at most `most` after the first `skipped`. Those of the parent chain
/// include the child blocks on offer.
pub fn waiting(
    pool: &[Paid],
    chain: ChainId,
    forger: &Forger,
    (skipped, most): (usize, usize),
) -> Vec<Value> {
    let payments = pool.iter().filter(|paid| paid.chain == chain);
    if chain == ChainId::PARENT {
        let offers = child_blocks(pool, "on offer");
        let offers = offers.iter().map(|offer| child_block(offer, forger));
        let list = payments.map(signed).chain(offers);
        return list.skip(skipped).take(most).collect();
    }
    let bundled = |paid| {
        let mut payment = signed(paid);
        payment["isBundled"] = json!(true);
        payment
    };
    payments.skip(skipped).take(most).map(bundled).collect()
}

/// Returns the payment with this key in a block, if there is one on the chain.
pub fn in_block(ledger: &FakeLedger, key: TxKey, chain: ChainId) -> Option<Value> {
    let is = |paid: &Paid| paid.chain == chain && paid.key() == key;
    let found = |block: &Made| block.paid.iter().find(|paid| is(paid)).cloned();
    let (height, paid) = ledger
        .blocks
        .iter()
        .enumerate()
        .find_map(|(height, block)| Some((height, found(block)?)))?;
    let block = &ledger.blocks[height];
    let index = block.paid.iter().position(is)?;
    let mut value = signed(&paid);
    if chain != ChainId::PARENT {
        let carrier = child_blocks(&block.paid, &block.id);
        let carrier = carrier.iter().find(|one| one.chain == chain)?;
        value["fxtTransaction"] = json!(short(carrier.key));
    }
    let confirmations = ledger.blocks.len() - 1 - height;
    Some(placed(
        value,
        &Place {
            block,
            height,
            confirmations,
            index,
        },
    ))
}

/// Returns the block of a height with its transactions.
pub fn block(ledger: &FakeLedger, height: usize, forger: &Forger) -> Option<Value> {
    let block = ledger.blocks.get(height)?;
    let carriers = child_blocks(&block.paid, &block.id);
    let parents = block
        .paid
        .iter()
        .filter(|paid| paid.chain == ChainId::PARENT);
    let transactions = parents
        .map(signed)
        .chain(carriers.iter().map(|carrier| child_block(carrier, forger)));
    let confirmations = ledger.blocks.len() - 1 - height;
    let transactions = transactions.enumerate().map(|(index, transaction)| {
        let place = Place {
            block,
            height,
            confirmations,
            index,
        };
        placed(transaction, &place)
    });
    let transactions: Vec<Value> = transactions.collect();
    let mut value = json!({
        "baseTarget": "1",
        "block": block.id,
        "blockSignature": hash(&block.id) + &hash(&block.previous),
        "cumulativeDifficulty": height.to_string(),
        "generationSignature": hash(&block.id),
        "generator": forger.id,
        "generatorPublicKey": forger.public_key,
        "generatorRS": address(&forger.id),
        "height": height,
        "numberOfTransactions": transactions.len(),
        "payloadHash": hash(&block.id),
        "timestamp": block.time_s,
        "totalFeeFQT": "0",
        "transactions": transactions,
        "version": 3,
    });
    if height > 0 {
        value["previousBlock"] = json!(block.previous);
        value["previousBlockHash"] = json!(hash(&block.previous));
    }
    if let Some(next) = ledger.blocks.get(height + 1) {
        value["nextBlock"] = json!(next.id);
    }
    Some(value)
}

/// Returns the child blocks that carry payments, in the order of their chains.
fn child_blocks(paid: &[Paid], of: &str) -> Vec<ChildBlock> {
    let mut hashes: BTreeMap<ChainId, Vec<String>> = BTreeMap::new();
    for paid in paid.iter().filter(|paid| paid.chain != ChainId::PARENT) {
        let key = paid.key().to_string();
        hashes.entry(paid.chain).or_default().push(key);
    }
    let child_block = |(chain, hashes): (ChainId, Vec<String>)| {
        let text = format!("child block {} {of} {}", chain.0, hashes.concat());
        ChildBlock {
            chain,
            key: TxKey(*primitives::Hash::plain(text.as_bytes()).as_bytes()),
            hashes,
        }
    };
    hashes.into_iter().map(child_block).collect()
}

/// Returns a child block as a transaction of the parent chain that is in no block.
fn child_block(one: &ChildBlock, forger: &Forger) -> Value {
    let key = one.key.to_string();
    json!({
        "amountNQT": "0",
        "attachment": {
            "chain": one.chain.0,
            "childTransactionFullHashes": one.hashes,
            "hash": hash(&one.hashes.concat()),
            "version.ChildChainBlock": 1,
        },
        "chain": ChainId::PARENT.0,
        "deadline": 10,
        "ecBlockHeight": 0,
        "ecBlockId": "1",
        "feeNQT": "0",
        "fullHash": key,
        "height": NOWHERE,
        "phased": false,
        "sender": forger.id,
        "senderPublicKey": forger.public_key,
        "senderRS": address(&forger.id),
        "signature": hash(&key) + &hash(&forger.id),
        "signatureHash": hash(&key),
        "subtype": 0,
        "timestamp": 0,
        "transaction": short(one.key),
        "type": -1,
        "version": 1,
    })
}

/// Adds the place in a block to a transaction.
fn placed(mut transaction: Value, place: &Place<'_>) -> Value {
    transaction["block"] = json!(place.block.id);
    transaction["blockTimestamp"] = json!(place.block.time_s);
    transaction["confirmations"] = json!(place.confirmations);
    transaction["height"] = json!(place.height);
    transaction["transactionIndex"] = json!(place.index);
    transaction
}

fn short(key: TxKey) -> String {
    number(&primitives::Hash::from_bytes(key.0)).to_string()
}
