//! The fake's answers to each request.

use serde_json::{Map, Value, json};

use super::form::{Form, chain_of};
use super::names::{account, account_of_key, address, hash, public_key};
use super::objects;
use super::paid::Paid;
use super::refusal::Refusal;
use super::world::World;
use crate::chain::{ChainId, TxKey};

/// The answer to a request.
type Answer = Result<Value, Refusal>;

/// A token of the parent chain, in minor units.
const TOKEN: u64 = 100_000_000;
/// The minimum fee of a payment, in minor units of the parent token: a whole one, or a hundredth for a child chain's.
const FEE_MIN_PARENT: u64 = TOKEN;
const FEE_MIN_CHILD: u64 = 1_000_000;

/// Requests with a secret or an effect. They are accepted as POST only.
const POSTED: [&str; 7] = [
    "getAccountId",
    "sendMoney",
    "signTransaction",
    "broadcastTransaction",
    "startForging",
    "stopForging",
    "startBundler",
];

/// Returns the object that answers a request.
pub fn answer(world: &World, request: &str, form: &Form, is_post: bool) -> Value {
    if POSTED.contains(&request) && !is_post {
        let words = "This request is only accepted using POST!".to_owned();
        return Refusal::Plain(1, words).json();
    }
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
        "getUnconfirmedTransactions" => unconfirmed(world, form),
        "getPeers" => Ok(json!({ "peers": [] })),
        "startForging" => start_forging(world, form),
        "stopForging" => stop_forging(world, form),
        "startBundler" => start_bundler(world, form),
        _ => Err(Refusal::no_such_request()),
    };
    match given {
        Ok(mut value) => {
            value["requestProcessingTime"] = json!(0);
            value
        }
        Err(refusal) => refusal.json(),
    }
}

/// Returns the refusal of a payment for lack of funds, without a look at the balance.
pub fn unfunded(form: &Form) -> Refusal {
    // A broadcast has no such fields: its amounts are in its bytes.
    Refusal::Funds {
        chain: ChainId::PARENT,
        amount: form.whole("amountNQT").unwrap_or(0),
        fee: form.whole("feeNQT").unwrap_or(0),
        balance: 0,
    }
}

fn account_id(form: &Form) -> Answer {
    let secret = form.field("secretPhrase")?;
    let id = account(secret);
    Ok(json!({ "account": id, "accountRS": address(&id), "publicKey": public_key(secret) }))
}

fn send_money(world: &World, form: &Form) -> Answer {
    let chains = &world.behaviour.chains;
    let chain = form.chain(chains)?;
    let from_key = match form.get("secretPhrase") {
        Some(secret) => public_key(secret),
        None => form.field("publicKey")?.to_owned(),
    };
    let paid = Paid {
        chain,
        from: account_of_key(&from_key).ok_or_else(|| Refusal::incorrect("publicKey"))?,
        from_key,
        to: form.field("recipient")?.to_owned(),
        amount: form.whole("amountNQT")?,
        fee: match form.field("feeNQT")? {
            // The node chooses the fee: with the rates of bundlers, of which this one knows none.
            "-1" => 0,
            _ => form.whole("feeNQT")?,
        },
        deadline: form.whole("deadline")?,
        timestamp: world.time_s(),
    };
    let found = chains.iter().find(|one| one.id == chain);
    // A token with more decimals than fit into a number has an unreachable minimum.
    let (name, whole) = found.map_or(("", 1), |one| {
        (one.name.as_str(), 10u64.saturating_pow(one.decimals.into()))
    });
    // The minimum in the parent's token, and the same share of a token of this chain.
    let least = match chain {
        ChainId::PARENT => FEE_MIN_PARENT,
        _ => FEE_MIN_CHILD,
    };
    if u128::from(paid.fee) * u128::from(TOKEN) < u128::from(least) * u128::from(whole) {
        let tokens = least as f64 / TOKEN as f64;
        return Err(Refusal::Fee(format!(
            "Please include fee in {name} equivalent to at least {tokens:.6}"
        )));
    }
    if form.get("secretPhrase").is_none() {
        return Ok(json!({
            "broadcasted": false,
            "minimumFeeFQT": least.to_string(),
            "transactionJSON": objects::unsigned(&paid),
            "unsignedTransactionBytes": paid.unsigned(),
        }));
    }
    let key = world.accept(&paid)?;
    Ok(json!({
        "broadcasted": true,
        "fullHash": key.to_string(),
        "minimumFeeFQT": least.to_string(),
        "signatureHash": hash(&paid.signature()),
        "transactionBytes": paid.signed(),
        "transactionJSON": objects::signed(&paid),
        "unsignedTransactionBytes": paid.unsigned(),
    }))
}

fn sign(form: &Form) -> Answer {
    let (paid, _) = Paid::read(form.field("unsignedTransactionBytes")?)
        .ok_or_else(|| Refusal::incorrect("unsignedTransactionBytes"))?;
    if paid.from != account(form.field("secretPhrase")?) {
        let rule = "Secret phrase doesn't match transaction sender public key";
        return Err(Refusal::NotValid {
            rule: format!("nxt.NxtException$NotValidException: {rule}"),
            described: format!("Incorrect unsigned transaction json or bytes: {rule}"),
        });
    }
    Ok(json!({
        "fullHash": paid.key().to_string(),
        "signatureHash": hash(&paid.signature()),
        "transactionBytes": paid.signed(),
        "transactionJSON": objects::signed(&paid),
        "verify": true,
    }))
}

fn broadcast(world: &World, form: &Form) -> Answer {
    match Paid::read(form.field("transactionBytes")?) {
        Some((paid, true)) => {
            let key = world.accept(&paid)?;
            Ok(json!({ "fullHash": key.to_string() }))
        }
        _ => Err(Refusal::garbage()),
    }
}

fn status(world: &World) -> Value {
    let state = world.lock();
    let last = state.blocks.last().map_or("", |block| block.id.as_str());
    json!({
        "apiProxy": false,
        "application": "a fake of the Ardor/Nxt family",
        "blockchainState": "UP_TO_DATE",
        "correctInvalidFees": false,
        "cumulativeDifficulty": state.blocks.len().to_string(),
        "currentMinRollbackHeight": 0,
        "includeExpiredPrunable": true,
        "isDownloading": false,
        "isLightClient": false,
        "isScanning": false,
        "isTestnet": true,
        "lastBlock": last,
        "lastBlockchainFeeder": null,
        "lastBlockchainFeederHeight": 0,
        "ledgerTrimKeep": 0,
        "maxAPIRecords": world.behaviour.records_max,
        "maxPrunableLifetime": 0,
        "maxRollback": 800,
        "numberOfBlocks": state.blocks.len(),
        "services": ["CORS"],
        "time": world.time_s(),
        "version": "0",
    })
}

fn get_block(world: &World, form: &Form) -> Answer {
    let height = form.whole("height")?;
    let at = usize::try_from(height).map_err(|_| Refusal::incorrect("height"))?;
    objects::block(&world.lock(), at, &world.forger()).ok_or_else(|| Refusal::incorrect("height"))
}

fn get_transaction(world: &World, form: &Form) -> Answer {
    let key =
        TxKey::parse(form.field("fullHash")?).ok_or_else(|| Refusal::incorrect("fullHash"))?;
    let chain = form.chain(&world.behaviour.chains)?;
    let state = world.lock();
    let mut pool = state.pool.iter();
    if let Some(paid) = pool.find(|paid| paid.chain == chain && paid.key() == key) {
        return Ok(objects::signed(paid));
    }
    objects::in_block(&state, key, chain).ok_or_else(|| Refusal::unknown("transaction"))
}

fn balances(world: &World, form: &Form) -> Answer {
    let account = form.field("account")?;
    form.field("chain")?;
    let mut balances = Map::new();
    for name in form.all("chain") {
        let chain = chain_of(name, &world.behaviour.chains)?;
        balances.insert(chain.0.to_string(), world.balance_json(account, chain));
    }
    Ok(json!({ "balances": balances }))
}

/// Returns a balance. An unknown account has 0, as in the family.
fn balance(world: &World, form: &Form) -> Answer {
    let chain = form.chain(&world.behaviour.chains)?;
    Ok(world.balance_json(form.field("account")?, chain))
}

fn unconfirmed(world: &World, form: &Form) -> Answer {
    let chain = form.chain(&world.behaviour.chains)?;
    let first = match form.get("firstIndex") {
        Some(_) => form.whole("firstIndex")?,
        None => 0,
    };
    let first = usize::try_from(first).map_err(|_| Refusal::incorrect("firstIndex"))?;
    let window = (first, world.behaviour.records_max);
    let page = objects::waiting(&world.lock().pool, chain, &world.forger(), window);
    Ok(json!({ "unconfirmedTransactions": page }))
}

/// Starts forging. The fake names no time for the next block: it makes one at a set pace or on demand.
fn start_forging(world: &World, form: &Form) -> Answer {
    form.field("secretPhrase")?;
    world.lock().forging = true;
    Ok(json!({ "deadline": 0, "hitTime": 0 }))
}

fn stop_forging(world: &World, form: &Form) -> Answer {
    form.field("secretPhrase")?;
    let found = std::mem::replace(&mut world.lock().forging, false);
    Ok(json!({ "forgersCount": 0, "foundAndStopped": found }))
}

fn start_bundler(world: &World, form: &Form) -> Answer {
    let id = account(form.field("secretPhrase")?);
    let rate = form.whole("minRateNQTPerFXT")?.to_string();
    form.field("chain")?;
    Ok(json!({
        "announcedMinRateNQTPerFXT": rate,
        "bundler": id,
        "bundlerRS": address(&id),
        "bundlingRules": [{ "feeCalculatorName": "MIN_FEE", "minRateNQTPerFXT": rate }],
        "chain": form.chain(&world.behaviour.chains)?.0,
        "currentTotalFeesFQT": "0",
        "minRateNQTPerFXT": rate,
        "overpayFQTPerFXT": "0",
        "totalFeesLimitFQT": "0",
    }))
}
