//! Reads of the store for the API. They do not involve the core, and see durable rows only.

use std::sync::{Arc, Mutex, PoisonError};

use api::chain::{
    AccountBalances, BalancesView, BlockPage, BlockView, BodyDetail, ChainBalance,
    PlacedTransaction, StateHash, TransactionAnswer, TransactionPage, TransactionState, codes,
};
use chain::block::{CarriedBlock, read_carried_body};
use chain::port::StoreFailure;
use chain::state::rows::{HeaderRow, Place};
use chain::state::{carried_block, read, state_hash};
use chain::{AccountId, Carried, ChainId, Genesis, Height, TxId};
use primitives::{Hash, hex};
use tokio::sync::Semaphore;

use super::shared::ChainNodeState;
use super::store::Store;
use super::views::{block_view, child_blocks, confirmations, ids_by_chain, transaction_view};
use crate::http::Refusal;
use crate::http::place;

/// Bytes of bodies that one page of blocks reads at most; one block is always read.
const PAGE_BODY_BYTES: usize = 4 << 20;
/// Maximum number of retries of a query that the chain changed under.
const ATTEMPTS: usize = 8;

/// Reads of one node's store; cheap to clone.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) store: Store,
    pub(super) genesis: Arc<Genesis>,
}

/// Which blocks of a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Range {
    /// Blocks below a height, downwards; from the tip if no height is given.
    Before(Option<Height>),
    /// Those from a height on, upwards.
    From(Height),
}

/// A height, or a hash.
#[derive(Clone, Copy, Debug)]
pub(super) enum BlockName {
    Height(Height),
    Hash(Hash),
}

/// The store failed under a reader.
pub(super) fn failed(failure: StoreFailure) -> Refusal {
    Refusal::listed(
        &api::codes::STORE_FAILED,
        format!("{} ({})", failure.message, failure.code),
    )
}

/// The store failed, or a "no".
#[derive(Debug)]
pub(super) enum Fault {
    Store(StoreFailure),
    Refused(Refusal),
}

impl From<StoreFailure> for Fault {
    fn from(failure: StoreFailure) -> Self {
        Self::Store(failure)
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Reader {
    /// Answers on a thread that may wait for the disk. If the core changes rows at the same time, the rows may contradict each
    /// other. Then the question is asked again.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl Fn(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Refusal> {
        let reader = self.clone();
        let answered = place::blocking(move || {
            let mut attempt = 0;
            loop {
                attempt += 1;
                let before = read::tip(&reader.store).map_err(failed)?;
                let failure = match question(&reader) {
                    Ok(answer) => return Ok(answer),
                    Err(Fault::Refused(refusal)) => return Err(refusal),
                    Err(Fault::Store(failure)) => failure,
                };
                let moved = read::tip(&reader.store).map_err(failed)? != before;
                if !moved || attempt >= ATTEMPTS {
                    return Err(failed(failure));
                }
            }
        });
        answered.await.unwrap_or_else(|_| {
            Err(Refusal::listed(
                &api::codes::INTERNAL,
                "a read of the store met a bug",
            ))
        })
    }

    fn row(&self, name: BlockName) -> Result<HeaderRow, Fault> {
        let height = match name {
            BlockName::Height(height) => Some(height),
            BlockName::Hash(hash) => read::height_of(&self.store, &hash)?,
        };
        let row = match height {
            Some(height) => read::header(&self.store, height)?,
            None => None,
        };
        let text = match name {
            BlockName::Height(Height::GENESIS) => "genesis is no block".to_owned(),
            BlockName::Height(height) => format!("no block has height {height}"),
            BlockName::Hash(hash) => format!("the main chain has no block {hash}"),
        };
        row.ok_or_else(|| Refusal::listed(&codes::UNKNOWN_BLOCK, text).into())
    }

    fn tip(&self) -> Result<Height, StoreFailure> {
        read::tip(&self.store).map(|(height, _)| height)
    }

    fn body(&self, row: &HeaderRow) -> Result<Option<CarriedBlock>, StoreFailure> {
        carried_block(&self.store, &self.genesis, row.header.height)
    }

    fn view(&self, row: &HeaderRow, tip: Height, detail: BodyDetail) -> Result<BlockView, Fault> {
        let mut view = block_view(row, &self.genesis, tip);
        if detail == BodyDetail::None {
            return Ok(view);
        }
        if let Some(block) = self.body(row)? {
            view.child_blocks = Some(child_blocks(&block));
            view.transaction_ids = Some(ids_by_chain(&block));
            if detail == BodyDetail::Full {
                let transactions = block.transactions();
                view.transactions = Some(transactions.map(|c| transaction_view(c)).collect());
            }
        }
        Ok(view)
    }

    /// One block.
    pub(super) fn block(&self, name: BlockName, detail: BodyDetail) -> Result<BlockView, Fault> {
        let row = self.row(name)?;
        self.view(&row, self.tip()?, detail)
    }

    /// A page of blocks.
    pub(super) fn blocks(
        &self,
        range: Range,
        limit: usize,
        detail: BodyDetail,
    ) -> Result<BlockPage, Fault> {
        let tip = self.tip()?;
        let (mut next, up) = match range {
            Range::Before(None) => (Some(tip), false),
            Range::Before(Some(before)) => (before.previous().map(|last| last.min(tip)), false),
            Range::From(from) => (Some(from.max(Height::FIRST)), true),
        };
        let mut page = BlockPage {
            blocks: Vec::new(),
            next: None,
        };
        let mut bytes = 0;
        while let Some(height) = next.filter(|next| (Height::FIRST..=tip).contains(next)) {
            let Some(row) = read::header(&self.store, height)? else {
                break;
            };
            if detail != BodyDetail::None {
                bytes += row.header.body_bytes as usize;
            }
            let full = page.blocks.len() >= limit || bytes > PAGE_BODY_BYTES;
            if full && !page.blocks.is_empty() {
                let next = if up { height } else { height.plus_or_last(1) };
                page.next = Some(next.get());
                break;
            }
            page.blocks.push(self.view(&row, tip, detail)?);
            next = if up { height.next() } else { height.previous() };
        }
        Ok(page)
    }

    /// A block's transactions from an offset on.
    pub(super) fn block_transactions(
        &self,
        name: BlockName,
        chain: Option<ChainId>,
        after: Option<u32>,
        limit: usize,
    ) -> Result<TransactionPage, Fault> {
        let row = self.row(name)?;
        let tip = self.tip()?;
        let bytes = read::body_bytes(&self.store, &row.header)?.ok_or_else(|| {
            let text = format!("the body of block {} is pruned", row.header.height);
            Refusal::listed(&codes::PRUNED, text)
        })?;
        let body = read_carried_body(&self.genesis.hash, &bytes, self.genesis.transactions_max())
            .map_err(|rejection| chain::port::damaged(rejection.to_string()))?;
        let all = body
            .iter()
            .flat_map(|entry| std::iter::once(&entry.transaction).chain(&entry.children));
        let mut offset = 0;
        let mut page = TransactionPage {
            transactions: Vec::new(),
            next: None,
        };
        for carried in all {
            let at = offset;
            offset += carried.bytes;
            let passed = after.is_some_and(|after| at <= after);
            if passed || chain.is_some_and(|chain| chain != carried.transaction.chain) {
                continue;
            }
            if page.transactions.len() >= limit {
                let last = page.transactions.last();
                page.next = last.map(|last: &PlacedTransaction| last.offset.to_string());
                break;
            }
            page.transactions.push(PlacedTransaction {
                height: row.header.height.get(),
                offset: at,
                confirmations: confirmations(tip, row.header.height),
                transaction: transaction_view(carried),
            });
        }
        Ok(page)
    }

    /// A transaction in a block, or why it left; nothing if the store knows nothing of it.
    pub(super) fn transaction(&self, id: &TxId) -> Result<Option<TransactionAnswer>, Fault> {
        let mut answer = TransactionAnswer {
            id: id.to_string(),
            state: TransactionState::Confirmed,
            transaction: None,
            bytes: None,
            height: None,
            block: None,
            offset: None,
            confirmations: None,
            reason: None,
            left_at: None,
        };
        if let Some(place) = read::place_of(&self.store, id)? {
            let row = self.row(BlockName::Height(place.height))?;
            answer.height = Some(place.height.get());
            answer.offset = Some(place.offset);
            answer.block = Some(row.hash.to_string());
            answer.confirmations = Some(confirmations(self.tip()?, place.height));
            if let Some(transaction) = read::transaction_at(&self.store, place)? {
                let carried = Carried::new(&self.genesis.hash, transaction);
                if carried.id != *id {
                    return Err(chain::port::damaged("another transaction stands there").into());
                }
                answer.bytes = Some(hex::encode(&carried.transaction.to_bytes()));
                answer.transaction = Some(transaction_view(&carried));
            }
            return Ok(Some(answer));
        }
        if let Some((time, code)) = chain::core::removal_reason(&self.store, id)? {
            answer.state = TransactionState::Left;
            answer.left_at = Some(time.get());
            answer.reason = Some(code);
            return Ok(Some(answer));
        }
        Ok(None)
    }

    /// An account's transactions in blocks.
    pub(super) fn account_transactions(
        &self,
        account: &AccountId,
        chain: Option<ChainId>,
        before: Option<Place>,
        limit: usize,
    ) -> Result<TransactionPage, Fault> {
        let tip = self.tip()?;
        let places = read::account_transactions(&self.store, account, chain, before, limit + 1)?;
        let mut page = TransactionPage {
            transactions: Vec::with_capacity(places.len().min(limit)),
            next: None,
        };
        for (at, place) in places.iter().enumerate() {
            if at == limit {
                let last = places[at - 1];
                page.next = Some(format!("{}-{}", last.height, last.offset));
                break;
            }
            let Some(transaction) = read::transaction_at(&self.store, *place)? else {
                break;
            };
            page.transactions.push(PlacedTransaction {
                height: place.height.get(),
                offset: place.offset,
                confirmations: confirmations(tip, place.height),
                transaction: transaction_view(&Carried::new(&self.genesis.hash, transaction)),
            });
        }
        Ok(page)
    }

    /// Balances of accounts, all at one height.
    pub(super) fn balances(&self, accounts: &[AccountId]) -> Result<BalancesView, Fault> {
        for _ in 0..ATTEMPTS {
            let before = read::tip(&self.store)?;
            let accounts = accounts
                .iter()
                .map(|account| {
                    Ok(AccountBalances {
                        account: account.to_string(),
                        balances: self.balances_of(account)?,
                    })
                })
                .collect::<Result<_, StoreFailure>>()?;
            if read::tip(&self.store)? == before {
                return Ok(BalancesView {
                    height: before.0.get(),
                    accounts,
                });
            }
        }
        Err(Refusal::busy(1_000).into())
    }

    /// Returns the balances of an account on all chains.
    pub(super) fn balances_of(
        &self,
        account: &AccountId,
    ) -> Result<Vec<ChainBalance>, StoreFailure> {
        let found = read::balances(&self.store, account)?;
        let of = |id: ChainId| found.iter().find(|(chain, _)| *chain == id);
        let all = self.genesis.chains.keys();
        Ok(all
            .map(|id| ChainBalance {
                chain: id.0,
                balance: of(*id).map_or(0, |(_, balance)| balance.get()),
            })
            .collect())
    }

    /// Returns the hash of the state at the tip. Computing it reads every balance, so the last result is returned again while the
    /// tip is the same.
    pub(super) fn state_hash(
        &self,
        height: Option<Height>,
        last: &Mutex<Option<StateHash>>,
    ) -> Result<StateHash, Fault> {
        let last = || last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_asked_for = |tip: Height| match height.filter(|height| *height != tip) {
            Some(height) => {
                let text = format!("the tip has height {tip}, not {height}");
                Err(Fault::from(Refusal::listed(&codes::NOT_THE_TIP, text)))
            }
            None => Ok(()),
        };
        let (tip, block) = read::tip(&self.store)?;
        is_asked_for(tip)?;
        let known = last().clone();
        if let Some(known) = known.filter(|known| known.tip == block.to_string()) {
            return Ok(known);
        }
        for _ in 0..ATTEMPTS {
            let Some(found) = state_hash(&self.store, &self.genesis)? else {
                continue;
            };
            let computed_at = found.height;
            let found = StateHash {
                height: found.height.get(),
                tip: found.block.to_string(),
                state_hash: found.state.to_string(),
            };
            *last() = Some(found.clone());
            is_asked_for(computed_at)?;
            return Ok(found);
        }
        Err(Refusal::busy(1_000).into())
    }
}

/// The last hash of the state, and a permit to compute it. Other callers wait for the permit, and then use the new result.
#[derive(Clone)]
pub(super) struct StateHashes {
    place: Arc<Semaphore>,
    last: Arc<Mutex<Option<StateHash>>>,
}

impl StateHashes {
    pub(super) fn new() -> Self {
        Self {
            place: Arc::new(Semaphore::new(1)),
            last: Arc::default(),
        }
    }

    /// The hash of the state at the tip, which has this height.
    pub(super) async fn ask(
        &self,
        reader: &Reader,
        height: Option<Height>,
    ) -> Result<StateHash, Refusal> {
        let place = Arc::clone(&self.place).acquire_owned().await;
        // The places are never closed.
        let place = place.map_err(|_| Refusal::busy(1_000))?;
        let last = Arc::clone(&self.last);
        let question = move |reader: &Reader| {
            // The permit is held until the computation ends, even if the caller is gone.
            let _place = &place;
            reader.state_hash(height, &last)
        };
        reader.ask(question).await
    }
}

impl ChainNodeState {
    pub(super) fn reader(&self) -> Reader {
        Reader {
            store: self.store.clone(),
            genesis: Arc::clone(&self.genesis),
        }
    }
}
