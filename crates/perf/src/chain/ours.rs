//! Driver of our own nodes. Payments are made and signed here, so that no node needs a secret.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ::chain as ledger;
use api::chain::{BlockView, StartBundler, StartForging, TransactionKind, TransactionState};
use client::{ChainClient, ClientError, Endpoint};
use ledger::transaction::{Anchor, Body, Transaction};
use ledger::{BlockTimestamp, Height, MinorUnits, Minutes};
use primitives::{Hash, KeyPair, SecretText, hex, whole_ms};

use super::codes::MALFORMED;
use super::{
    BlockSeen, Boxed, Chain, ChainId, ChainStatus, ChainTarget, ChildCount, Detail, Fate, Moved,
    Payment, TxKey,
};
use crate::load::Fault;

/// Blocks per page, with or without transactions. A node ends a page with transactions early if there are many.
const PAGE: u32 = 100;
/// The code for a transaction that a node does not know.
const UNKNOWN: &str = "chain_api.unknown_transaction";
/// The code for stopping a forger that does not forge.
const NOT_RUNNING: &str = "chain_api.not_running";
/// How long an anchor block is used before a new one is chosen.
const ANCHOR_EVERY: Duration = Duration::from_secs(10);
/// How many blocks deeper than required the anchor block is. Nodes may be on different forks.
const ANCHOR_MARGIN: u32 = 30;
/// Payments are dated back by this many seconds. Clocks may differ, and the current second has not ended yet.
const EARLIER_S: u64 = 1;

/// Options of the driver.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address of its API.
    pub endpoint: Endpoint,
    /// Its name in results.
    pub name: String,
    /// Fees by chain.
    pub chains: Vec<Chain>,
    /// Passphrases of the test accounts.
    pub passphrases: Vec<SecretText>,
    /// Indices into the test accounts of those that forge and bundle on this node.
    pub forgers: Vec<usize>,
    /// Validity of payments, in minutes.
    pub deadline_minutes: u16,
}

/// One of our own nodes.
pub struct TallyTarget {
    client: ChainClient,
    options: Options,
    keys: Vec<KeyPair>,
    accounts: Vec<ledger::AccountId>,
    genesis: Hash,
    genesis_time_ms: u64,
    anchor_depth: u32,
    anchor: Mutex<(Instant, Anchor)>,
}

impl TallyTarget {
    /// Connects, and reads the network's constants.
    ///
    /// # Errors
    /// Fails with the error of a call, or if the network lacks one of the chains.
    pub async fn connect(options: Options) -> Result<Self, Fault> {
        let client = ChainClient::new(options.endpoint.clone()).map_err(|error| said(&error))?;
        let constants = client.constants().await.map_err(|error| said(&error))?;
        for chain in &options.chains {
            if !constants.chains.iter().any(|there| there.id == chain.id.0) {
                return Err(malformed(format!(
                    "{}: its network has no chain {}",
                    options.name, chain.id.0
                )));
            }
        }
        let genesis: Hash = constants
            .genesis
            .parse()
            .map_err(|_| malformed("the genesis is no hash".to_owned()))?;
        let depth = constants
            .parameters
            .get("anchor_depth_min")
            .and_then(serde_json::Value::as_u64);
        // A network without this parameter accepts any depth.
        let depth = u32::try_from(depth.unwrap_or(0))
            .map_err(|_| malformed("anchor_depth_min is no height".to_owned()))?;
        let keys: Vec<KeyPair> = options
            .passphrases
            .iter()
            .map(|text| ledger::key_of_passphrase(text.expose()))
            .collect();
        let accounts = keys.iter().map(account).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            client,
            accounts,
            keys,
            anchor: Mutex::new((Instant::now(), Anchor::at(Height::GENESIS, &genesis))),
            genesis,
            genesis_time_ms: constants.genesis_time_ms,
            anchor_depth: depth,
            options,
        })
    }

    /// Returns the client, for calls that are not part of driving a node.
    #[must_use]
    pub fn client(&self) -> &ChainClient {
        &self.client
    }

    /// Seconds since genesis, by this machine's clock. A clock that shows a time before genesis gives 0, and one that shows a time
    /// beyond the chain's last second gives that second. The nodes refuse payments of both.
    fn now(&self) -> u32 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let seconds = whole_ms(now).saturating_sub(self.genesis_time_ms) / 1000;
        u32::try_from(seconds.saturating_sub(EARLIER_S)).unwrap_or(u32::MAX)
    }

    /// Returns the anchor block of payments: deep enough, and replaced every [`ANCHOR_EVERY`].
    async fn anchor(&self) -> Anchor {
        let (since, anchor) = *self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        if since.elapsed() < ANCHOR_EVERY {
            return anchor;
        }
        // Concurrent callers use the previous anchor meanwhile.
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), anchor);
        let deep = async {
            let height = self.client.status().await.ok()?.height;
            let depth = self.anchor_depth.saturating_add(ANCHOR_MARGIN);
            let height = Height::new(height).minus(depth)?;
            if height.is_genesis() {
                return None;
            }
            let block = self.client.block(&height.to_string(), "none").await.ok()?;
            let hash: Hash = block.hash.parse().ok()?;
            Some(Anchor::at(height, &hash))
        };
        let anchor = deep.await.unwrap_or(anchor);
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner) = (Instant::now(), anchor);
        anchor
    }

    /// Returns the bytes of a signed payment as hexadecimal text.
    fn signed(&self, payment: &Payment, anchor: Anchor) -> Result<String, Fault> {
        let no_account =
            |number: usize| malformed(format!("there is no test account number {number}"));
        let key = self
            .keys
            .get(payment.from)
            .ok_or_else(|| no_account(payment.from))?;
        let to = self
            .accounts
            .get(payment.to)
            .ok_or_else(|| no_account(payment.to))?;
        let chain = self
            .options
            .chains
            .iter()
            .find(|chain| chain.id == payment.chain);
        let mut transaction = Transaction {
            chain: ledger::ChainId(payment.chain.0),
            time: BlockTimestamp::new(self.now()),
            deadline_minutes: Minutes::new(self.options.deadline_minutes),
            sender: public(key)?,
            fee: MinorUnits::new(chain.map_or(0, |chain| chain.fee)),
            anchor,
            body: Body::Payment {
                to: *to,
                amount: MinorUnits::new(payment.amount),
                message: Vec::new(),
            },
            signature: [0; 64],
        };
        transaction.sign(&self.genesis, key);
        Ok(hex::encode(&transaction.to_bytes()))
    }

    async fn send(&self, payments: &[Payment]) -> Vec<Result<TxKey, Fault>> {
        let anchor = self.anchor().await;
        let made: Vec<Result<String, Fault>> = payments
            .iter()
            .map(|payment| self.signed(payment, anchor))
            .collect();
        if let [Ok(transaction)] = made.as_slice() {
            let answer = self.client.submit(transaction.clone()).await;
            return vec![
                answer
                    .map_err(|error| said(&error))
                    .and_then(|submitted| key(&submitted.id)),
            ];
        }
        let sent: Vec<String> = made.iter().filter_map(|made| made.clone().ok()).collect();
        let mut answers = match self.client.submit_batch(sent).await {
            Ok(answers) => answers.into_iter(),
            Err(error) => {
                let fault = said(&error);
                return made
                    .into_iter()
                    .map(|made| made.and(Err(fault.clone())))
                    .collect();
            }
        };
        let answered = |made: Result<String, Fault>| {
            made?;
            let answer = answers
                .next()
                .ok_or_else(|| malformed("fewer answers than transactions".to_owned()))?;
            match (answer.id, answer.error) {
                (Some(id), _) => key(&id),
                (None, Some(refusal)) => Err(Fault {
                    code: refusal.code,
                    message: refusal.detail,
                }),
                (None, None) => Err(malformed("an answer with neither id nor error".to_owned())),
            }
        };
        made.into_iter().map(answered).collect()
    }

    async fn blocks_from(
        &self,
        from: u64,
        most: u32,
        detail: Detail,
    ) -> Result<Vec<BlockSeen>, Fault> {
        // No block is higher, so that the page ends there.
        let from = u32::try_from(from).unwrap_or(u32::MAX);
        let how = match detail {
            Detail::Counts => "none",
            Detail::Keys | Detail::Moves => "full",
        };
        let page = self.client.blocks_from(from, most.min(PAGE), how).await;
        let page = page.map_err(|error| said(&error))?;
        page.blocks
            .iter()
            .map(|block| seen(block, detail))
            .collect()
    }

    async fn fate_of(&self, id: TxKey) -> Result<Fate, Fault> {
        let answer = match self.client.transaction(&id.to_string()).await {
            Ok(answer) => answer,
            Err(error) if error.code() == UNKNOWN => return Ok(Fate::Unknown),
            Err(error) => return Err(said(&error)),
        };
        Ok(match answer.state {
            TransactionState::Confirmed => Fate::InBlock(answer.height.map_or(0, u64::from)),
            TransactionState::Unconfirmed => Fate::Waiting,
            TransactionState::Left => Fate::Left(answer.reason.unwrap_or_default()),
        })
    }

    async fn set_forging(&self, on: bool) -> Result<(), Fault> {
        for forger in &self.options.forgers {
            let (Some(passphrase), Some(account)) = (
                self.options.passphrases.get(*forger),
                self.accounts.get(*forger),
            ) else {
                continue;
            };
            if on {
                let start = StartForging {
                    seed: None,
                    passphrase: Some(passphrase.expose().as_str().into()),
                };
                self.client
                    .start_forging(&start)
                    .await
                    .map_err(|error| said(&error))?;
                continue;
            }
            match self.client.stop_forging(&account.to_string()).await {
                Ok(()) => {}
                Err(error) if error.code() == NOT_RUNNING => {}
                Err(error) => return Err(said(&error)),
            }
        }
        Ok(())
    }

    /// Starts a bundler on every child chain for each account that forges here.
    ///
    /// # Errors
    /// Fails with the error of a call.
    pub async fn bundle(&self) -> Result<(), Fault> {
        for forger in &self.options.forgers {
            for chain in self
                .options
                .chains
                .iter()
                .filter(|chain| chain.id != ChainId::PARENT)
            {
                let passphrase = self.options.passphrases.get(*forger);
                let start = StartBundler {
                    chain: chain.id.0,
                    passphrase: passphrase.map(|text| text.expose().as_str().into()),
                    rate_min: 1,
                    ..StartBundler::default()
                };
                self.client
                    .start_bundler(&start)
                    .await
                    .map_err(|error| said(&error))?;
            }
        }
        Ok(())
    }
}

/// Converts a block of the API.
fn seen(block: &BlockView, detail: Detail) -> Result<BlockSeen, Fault> {
    let child_blocks = block.child_blocks.as_deref().unwrap_or_default();
    // The node counts child blocks as transactions of the parent chain.
    let parent_count = u32::try_from(child_blocks.len()).ok();
    let parent_count = parent_count.and_then(|count| block.parent_count.checked_sub(count));
    let parent_count = parent_count.ok_or_else(|| {
        malformed(format!(
            "block {} has more child blocks than transactions",
            block.height
        ))
    })?;
    let mut found = BlockSeen {
        height: u64::from(block.height),
        id: block.hash.clone(),
        previous: block.previous.clone(),
        time_s: u64::from(block.time),
        bytes: Some(u64::from(block.body_bytes)),
        parent_count,
        ..BlockSeen::default()
    };
    // Without a body, only the total count is known.
    if block.transactions.is_none() {
        if detail != Detail::Counts {
            return Err(malformed(format!(
                "block {} came without its body",
                block.height
            )));
        }
        found.children = vec![ChildCount {
            chain: ChainId(0),
            count: block.child_count,
        }];
        return Ok(found);
    }
    found.children = child_blocks
        .iter()
        .map(|child| ChildCount {
            chain: ChainId(child.chain),
            count: child.count,
        })
        .collect();
    let bundlers: BTreeMap<u8, &str> = child_blocks
        .iter()
        .map(|child| (child.chain, child.bundler.as_str()))
        .collect();
    for transaction in block.transactions.iter().flatten() {
        let chain = ChainId(transaction.chain);
        let fee = i128::from(transaction.fee);
        let mut changes = Vec::with_capacity(3);
        if transaction.kind != TransactionKind::ChildBlock {
            found.keys.push(key(&transaction.id)?);
        }
        if detail != Detail::Moves {
            continue;
        }
        // A transaction without an amount costs its fee only.
        let amount = i128::from(transaction.amount.unwrap_or(0));
        changes.push((transaction.sender.clone(), -amount - fee));
        if let (TransactionKind::Payment, Some(recipient)) =
            (transaction.kind, &transaction.recipient)
        {
            changes.push((recipient.clone(), amount));
        }
        let earner = match chain {
            ChainId::PARENT => Some(block.forger.as_str()),
            ChainId(child) => bundlers.get(&child).copied(),
        };
        changes.extend(earner.map(|earner| (earner.to_owned(), fee)));
        found.moves.push(Moved { chain, changes });
    }
    Ok(found)
}

fn account(key: &KeyPair) -> Result<ledger::AccountId, Fault> {
    public(key).map(|public| ledger::AccountId::of_key(&public))
}

fn public(key: &KeyPair) -> Result<[u8; 32], Fault> {
    match key.public() {
        primitives::PublicKey::Ed25519(bytes) => Ok(*bytes),
        _ => Err(malformed(
            "a test account's key is no Ed25519 key".to_owned(),
        )),
    }
}

fn key(text: &str) -> Result<TxKey, Fault> {
    TxKey::parse(text).ok_or_else(|| malformed(format!("`{text:.80}` is no id of a transaction")))
}

fn malformed(message: String) -> Fault {
    Fault {
        code: MALFORMED.to_owned(),
        message,
    }
}

fn said(error: &ClientError) -> Fault {
    Fault {
        code: error.code().to_owned(),
        message: error.to_string(),
    }
}

impl ChainTarget for TallyTarget {
    fn name(&self) -> &str {
        &self.options.name
    }

    fn submit<'a>(&'a self, payments: &'a [Payment]) -> Boxed<'a, Vec<Result<TxKey, Fault>>> {
        Box::pin(self.send(payments))
    }

    fn status(&self) -> Boxed<'_, Result<ChainStatus, Fault>> {
        Box::pin(async {
            let status = self.client.status().await.map_err(|error| said(&error))?;
            Ok(ChainStatus {
                height: u64::from(status.height),
                tip: status.tip,
                peers: u64::from(status.peers),
            })
        })
    }

    fn waiting(&self) -> Boxed<'_, Result<u64, Fault>> {
        Box::pin(async {
            let status = self.client.status().await.map_err(|error| said(&error))?;
            Ok(status.pool_count)
        })
    }

    fn blocks(
        &self,
        from: u64,
        most: u32,
        detail: Detail,
    ) -> Boxed<'_, Result<Vec<BlockSeen>, Fault>> {
        Box::pin(self.blocks_from(from, most, detail))
    }

    fn balances(&self, account: usize) -> Boxed<'_, Result<Vec<(ChainId, u64)>, Fault>> {
        Box::pin(async move {
            let account = [self.account_name(account)];
            let view = self
                .client
                .balances(&account)
                .await
                .map_err(|error| said(&error))?;
            let balances = view
                .accounts
                .into_iter()
                .flat_map(|account| account.balances);
            Ok(balances
                .map(|balance| (ChainId(balance.chain), balance.balance))
                .collect())
        })
    }

    fn account_name(&self, account: usize) -> String {
        let found = self.accounts.get(account);
        found.map_or_else(String::new, ToString::to_string)
    }

    fn fate(&self, key: TxKey) -> Boxed<'_, Result<Fate, Fault>> {
        Box::pin(self.fate_of(key))
    }

    fn forge(&self, on: bool) -> Boxed<'_, Result<(), Fault>> {
        Box::pin(self.set_forging(on))
    }

    fn state_hash(&self) -> Boxed<'_, Result<Option<(u64, String)>, Fault>> {
        Box::pin(async {
            let hash = self
                .client
                .state_hash()
                .await
                .map_err(|error| said(&error))?;
            Ok(Some((u64::from(hash.height), hash.state_hash)))
        })
    }
}
