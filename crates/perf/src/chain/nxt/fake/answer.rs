//! The fake's answers to each request.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::world::{Made, Paid, World, account, account_of_key, public_key};
use crate::chain::{ChainId, TxKey};

/// A parsed form: the last value of each name.
pub type Form = BTreeMap<String, String>;

/// The answer to a request: an object, or `errorCode` and a description.
type Answer = Result<Value, (i64, &'static str)>;

const INCORRECT: (i64, &str) = (4, "Incorrect or missing parameter");

/// Returns the object that answers a request.
pub fn answer(world: &World, request: &str, form: &Form) -> Value {
    let given = match request {
        "getAccountId" => account_id(form),
        "sendMoney" => send_money(world, form),
        "signTransaction" => sign(form),
        "broadcastTransaction" => broadcast(world, form),
        "getBlockchainStatus" => Ok(status(world)),
        "getBlock" => get_block(world, form),
        "getTransaction" => get_transaction(world, form),
        "getBalances" if world.behaviour.has_get_balances => balances(world, form),
        "getBalance" => balance(world, form),
        "getUnconfirmedTransactions" => Ok(unconfirmed(world)),
        "getPeers" => Ok(json!({ "peers": [] })),
        "startForging" | "stopForging" => {
            world.lock().forging = request == "startForging";
            Ok(json!({ "forging": true }))
        }
        "startBundler" => Ok(json!({ "totalFeesLimitFQT": "0" })),
        _ => Err((1, "Incorrect request")),
    };
    given.unwrap_or_else(|(code, words)| refusal(code, words))
}

/// Returns a refusal as the family writes it: with status 200.
pub fn refusal(code: i64, words: &str) -> Value {
    json!({ "errorCode": code, "errorDescription": words })
}

fn field<'f>(form: &'f Form, name: &str) -> Result<&'f str, (i64, &'static str)> {
    form.get(name).map(String::as_str).ok_or(INCORRECT)
}

fn whole(form: &Form, name: &str) -> Result<u64, (i64, &'static str)> {
    field(form, name)?.parse().map_err(|_| INCORRECT)
}

fn chain(form: &Form) -> Result<ChainId, (i64, &'static str)> {
    match form.get("chain") {
        None => Ok(ChainId::PARENT),
        Some(text) => text.parse().map(ChainId).map_err(|_| INCORRECT),
    }
}

fn account_id(form: &Form) -> Answer {
    let secret = field(form, "secretPhrase")?;
    Ok(json!({ "account": account(secret), "publicKey": public_key(secret) }))
}

fn send_money(world: &World, form: &Form) -> Answer {
    let from = match form.get("secretPhrase") {
        Some(secret) => account(secret),
        None => account_of_key(field(form, "publicKey")?).ok_or(INCORRECT)?,
    };
    let paid = Paid {
        key: TxKey::default(),
        chain: chain(form)?,
        from,
        to: field(form, "recipient")?.to_owned(),
        amount: whole(form, "amountNQT")?,
        fee: whole(form, "feeNQT")?,
    };
    field(form, "deadline")?;
    if form.contains_key("secretPhrase") {
        let key = world.accept(paid)?;
        return Ok(json!({ "fullHash": key.to_string(), "broadcasted": true }));
    }
    let bytes = json!([paid.chain.0, paid.from, paid.to, paid.amount, paid.fee]).to_string();
    Ok(json!({ "unsignedTransactionBytes": primitives::hex::encode(bytes.as_bytes()) }))
}

fn sign(form: &Form) -> Answer {
    let unsigned = field(form, "unsignedTransactionBytes")?;
    let signer = account(field(form, "secretPhrase")?);
    let paid = paid(unsigned).ok_or(INCORRECT)?;
    match paid.from == signer {
        true => Ok(json!({ "transactionBytes": unsigned, "verify": true })),
        false => Err((
            4,
            "Secret phrase doesn't match transaction sender public key",
        )),
    }
}

fn broadcast(world: &World, form: &Form) -> Answer {
    let paid = paid(field(form, "transactionBytes")?).ok_or(INCORRECT)?;
    let key = world.accept(paid)?;
    Ok(json!({ "fullHash": key.to_string() }))
}

/// Parses the payment bytes that `sendMoney` returned.
fn paid(bytes: &str) -> Option<Paid> {
    let bytes = primitives::hex::decode(bytes)?;
    let (chain, from, to, amount, fee) = serde_json::from_slice(&bytes).ok()?;
    Some(Paid {
        key: TxKey::default(),
        chain: ChainId(chain),
        from,
        to,
        amount,
        fee,
    })
}

fn status(world: &World) -> Value {
    let state = world.lock();
    let last = state.blocks.last().map_or("", |block| block.id.as_str());
    json!({ "numberOfBlocks": state.blocks.len(), "lastBlock": last })
}

fn get_block(world: &World, form: &Form) -> Answer {
    let height = whole(form, "height")?;
    let state = world.lock();
    let at = usize::try_from(height).map_err(|_| INCORRECT)?;
    let block = state.blocks.get(at).ok_or((4, "Incorrect \"height\""))?;
    Ok(block_json(block, height))
}

fn block_json(block: &Made, height: u64) -> Value {
    let mut children: BTreeMap<ChainId, Vec<String>> = BTreeMap::new();
    let mut transactions = Vec::new();
    for paid in &block.paid {
        match paid.chain {
            ChainId::PARENT => {
                transactions.push(json!({ "type": -2, "fullHash": paid.key.to_string() }))
            }
            child => children
                .entry(child)
                .or_default()
                .push(paid.key.to_string()),
        }
    }
    for (chain, hashes) in children {
        let attachment = json!({ "chain": chain.0, "childTransactionFullHashes": hashes });
        transactions.push(json!({ "type": -1, "fullHash": TxKey::default().to_string(), "attachment": attachment }));
    }
    json!({
        "height": height,
        "block": block.id,
        "previousBlock": block.previous,
        "timestamp": block.time_s,
        "payloadLength": block.paid.len() * 149,
        "transactions": transactions,
    })
}

fn get_transaction(world: &World, form: &Form) -> Answer {
    let key = TxKey::parse(field(form, "fullHash")?).ok_or(INCORRECT)?;
    let chain = chain(form)?;
    let is = |paid: &Paid| paid.key == key && paid.chain == chain;
    let state = world.lock();
    if state.pool.iter().any(is) {
        return Ok(json!({ "height": i32::MAX }));
    }
    let found = state
        .blocks
        .iter()
        .position(|block| block.paid.iter().any(is));
    let height = found.ok_or((5, "Unknown transaction"))?;
    Ok(json!({ "height": height, "block": state.blocks[height].id }))
}

fn balances(world: &World, form: &Form) -> Answer {
    let account = field(form, "account")?;
    let state = world.lock();
    let chains = world.behaviour.chains.iter().map(|chain| {
        let balance = state
            .balances
            .get(&(account.to_owned(), chain.id))
            .copied()
            .unwrap_or(0);
        (
            chain.id.0.to_string(),
            json!({ "balanceNQT": balance.to_string() }),
        )
    });
    let balances: serde_json::Map<String, Value> = chains.collect();
    Ok(json!({ "balances": balances }))
}

/// Returns a balance. An unknown account has 0, as in the family.
fn balance(world: &World, form: &Form) -> Answer {
    let account = field(form, "account")?.to_owned();
    let balance = world.lock().balances.get(&(account, chain(form)?)).copied();
    Ok(json!({ "balanceNQT": balance.unwrap_or(0).to_string() }))
}

fn unconfirmed(world: &World) -> Value {
    let state = world.lock();
    let list: Vec<Value> = state
        .pool
        .iter()
        .map(|paid| json!({ "fullHash": paid.key.to_string() }))
        .collect();
    json!({ "unconfirmedTransactions": list })
}
