//! `cash.lock` and `cash.unlock`: cash that cannot be spent before a time.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, StateAndRef, StateRef, TimeWindow};
use primitives::{Decode, Encode, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::anonymous::{change_key, receiving_key};
use super::arguments::{SELECTION_DEADLINE_MS, notary, party, select_cash};
use super::{CashResult, TokenChoice};
use crate::lock::{LockCommand, LockError, LockState, lock_code, lock_name, unlock};
use crate::{CashError, CashState, Currency, Portion, Reference, cash_builder, cash_name};

/// Number of retries after a refused time window, because the notary's clock may be behind this node's.
const ATTEMPTS_MAX: u32 = 8;
/// Delay before the first retry, in milliseconds; it doubles with each retry.
const AGAIN_MS: u64 = 1_000;
/// The notary's refusal of a transaction before its time.
const TOO_EARLY: &str = "notary.time_window_invalid";

/// The end of the year 9999, in milliseconds since the Unix epoch: the last time that RFC 3339 can write.
const LAST_MS: u64 = 253_402_300_799_999;

/// Arguments of `cash.lock`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockArgs {
    /// The currency.
    pub currency: Currency,
    /// The quantity, in minor units.
    #[serde(with = "primitives::QuantityInput")]
    pub quantity: u64,
    /// The end of the lock, in milliseconds since the Unix epoch.
    pub until: Timestamp,
    /// The recipient, which can spend the cash after the lock; this node, if left out.
    #[serde(default)]
    pub to: Option<LegalName>,
    /// The issuer of the cash; this node, if left out.
    #[serde(default)]
    pub issuer: Option<LegalName>,
    /// The issuer's reference in hexadecimal; empty if left out.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// The notary whose states to lock; the network's default, if left out.
    #[serde(default)]
    pub notary: Option<LegalName>,
    /// Whether fresh keys are used: the locked cash goes to one that its owner proves only to this node, and the change to one of
    /// this node. If left out, both go to the keys that the network map lists.
    #[serde(default)]
    pub anonymous: Option<bool>,
}

primitives::record!(LockArgs {
    currency,
    quantity,
    until,
    to,
    issuer,
    reference,
    notary,
    anonymous
});

/// Locks cash until a given time, for this node or another party.
#[derive(Debug)]
pub struct LockCash;

impl Flow for LockCash {
    const NAME: &'static str = "cash.lock";
    const VERSION: u32 = 1;
    type Args = LockArgs;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "asking for a fresh key",
        "receiving a fresh key",
        "selecting cash",
        "building",
        "verifying",
        "notarising",
        "recording",
    ];

    async fn run(ctx: FlowContext, args: LockArgs) -> Result<CashResult, FlowError> {
        if args.quantity == 0 {
            return Err(CashError::ZeroAmount.into());
        }
        if args.until.as_ms() > LAST_MS {
            return Err(LockError::TooFar(args.until.as_ms()).into());
        }
        let to = match &args.to {
            Some(name) => party(&ctx, name)?.clone(),
            None => ctx.me().clone(),
        };
        let choice = TokenChoice {
            token: None,
            currency: Some(args.currency),
            issuer: args.issuer,
            reference: args.reference,
        };
        let notary = notary(&ctx, args.notary.as_ref())?.clone();
        let owner = receiving_key(&ctx, &to, args.anonymous).await?;
        let change_to = change_key(&ctx, args.anonymous).await?;

        ctx.progress("selecting cash");
        let token = choice.resolve(&ctx)?;
        let deadline_ms = SELECTION_DEADLINE_MS;
        let inputs = select_cash(&ctx, &token, args.quantity, &notary, deadline_ms).await?;

        ctx.progress("building");
        let locked = Portion {
            owner: owner.clone(),
            quantity: args.quantity,
            states: 1,
        };
        let spending = cash_builder::pay(notary, &inputs, &[locked], &change_to)?;
        let (code, constraint) = lock_code();
        let lock = LockState {
            owner,
            until: args.until,
        };
        // The locked coin is the first output. The change, if there is any, comes between it and the lock.
        let place = 1 + u32::from(spending.change > 0);
        let builder = spending
            .builder
            .attachment(*code)
            .output_data(lock_name().clone(), constraint.clone(), lock.to_bytes())
            .bind(&[0, place])
            .command(
                lock_name().clone(),
                LockCommand::Lock.to_bytes(),
                spending.owners.clone(),
            );
        let signed = build_and_sign(&ctx, builder, &spending.owners).await?;
        let transaction = signed.id();
        finality(&ctx, signed, &[to.id()]).await?;
        Ok(CashResult { transaction })
    }
}

/// Opens a lock after its time, so that its cash can be spent. Locks schedule this flow themselves; its argument is the lock.
#[derive(Debug)]
pub struct UnlockCash;

impl Flow for UnlockCash {
    const NAME: &'static str = unlock::NAME;
    /// Version 1 made another transaction for each attempt. If the notary accepted a late copy of an earlier one, the cash was lost.
    const VERSION: u32 = 2;
    type Args = StateRef;
    type Output = CashResult;
    const STEPS: &'static [&'static str] = &[
        "building",
        "verifying",
        "notarising",
        "recording",
        "waiting for the notary's clock",
    ];

    async fn run(ctx: FlowContext, lock: StateRef) -> Result<CashResult, FlowError> {
        let made = ctx.transaction(&lock.tx).await?;
        let ring = made.map_or_else(Vec::new, |made| made.wire().ring(lock.index));
        let is_cash = |state: &StateAndRef| state.state.contract == *cash_name();
        let (coins, others): (Vec<_>, Vec<_>) = ring.into_iter().partition(is_cash);
        // The ring must hold one lock and cash, nothing else. A different ring belongs to another flow.
        let [lock] = others.as_slice() else {
            return Err(LockError::NotALock.into());
        };
        let terms = LockState::from_bytes(&lock.state.data);
        let terms = terms.map_err(|_| LockError::NotALock)?;
        if coins.is_empty() || lock.state.contract != *lock_name() {
            return Err(LockError::NotALock.into());
        }
        // The cash stays with the key that it was locked for, which must be one of this node's.
        let owner = terms.owner;
        if !ctx.is_mine(&owner).await? {
            return Err(LockError::NotALock.into());
        }
        let all = coins.iter().chain([lock]).map(|state| state.reference);
        ctx.lock_states(all.collect()).await?;
        let mut sum = 0u64;
        for coin in &coins {
            let coin = CashState::from_bytes(&coin.state.data).map_err(CashError::State)?;
            sum = sum.checked_add(coin.quantity).ok_or(CashError::Overflow)?;
        }
        let free = Portion {
            owner: owner.clone(),
            quantity: sum,
            states: 1,
        };
        ctx.progress("building");
        let notary = lock.state.notary.clone();
        let spending = cash_builder::pay(notary, &coins, std::slice::from_ref(&free), &owner)?;
        let code = match &lock.state.constraint {
            ledger::Constraint::Descriptor(hash) => *hash,
            _ => lock_code().0,
        };
        let builder = spending
            .builder
            .attachment(code)
            .input(lock)
            .time_window(TimeWindow::from(terms.until))
            .command(
                lock_name().clone(),
                LockCommand::Open.to_bytes(),
                vec![owner.clone()],
            );
        let signed = build_and_sign(&ctx, builder, &spending.owners).await?;
        let transaction = signed.id();
        let mut attempt = 0;
        loop {
            match finality(&ctx, signed.clone(), &[]).await {
                Ok(_) => return Ok(CashResult { transaction }),
                // The same transaction again: a copy of the first request may reach the notary after the window has opened.
                Err(error) if error.code == TOO_EARLY && attempt < ATTEMPTS_MAX => {
                    ctx.progress("waiting for the notary's clock");
                    ctx.sleep_ms(AGAIN_MS << attempt).await?;
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
