//! The questions that only the core can answer, from its memory: its pool, its forgers and bundlers, and the current stake.

use api::chain::{ForgerView, ForgingAccount, RateView, TransactionAnswer, UnconfirmedPage};
use chain::core::{BundlerFigures, Core, ForgerFigures, UsableRate};
use chain::port::StoreFailure;
use chain::state::{Fault, effective_tokens};
use chain::{AccountId, ChainId, Height, TxId, WholeTokens};
use tokio::sync::oneshot::Sender;

use super::core_views::{PoolRange, forgers, forging, rates, unconfirmed, unconfirmed_one};
use super::store::Store;

/// A function that a test runs on the core.
#[cfg(test)]
type TestFunction = Box<dyn FnOnce(&Core<Store>) + Send>;

/// A question to the core. It is answered between two rounds, so each answer must be quick.
pub(super) enum ChainQuery {
    /// A transaction of the pool.
    Unconfirmed(TxId, Sender<Option<TransactionAnswer>>),
    /// A page of the pool.
    Pool(PoolRange, Sender<UnconfirmedPage>),
    /// The height of the tip, and the local forgers, the next one first.
    Forging(Sender<(Height, Result<Vec<ForgingAccount>, Fault>)>),
    /// The height of the tip, and at most this number of the next expected forgers.
    Forgers(usize, Sender<(Height, Result<Vec<ForgerView>, Fault>)>),
    /// The keys of the local forgers.
    ForgerFigures(Sender<Vec<ForgerFigures>>),
    /// The local bundlers.
    Bundlers(Sender<Vec<BundlerFigures>>),
    /// The rates of all bundlers of the network.
    Rates(Sender<Result<Vec<RateView>, Fault>>),
    /// The usable rates of a child chain, the cheapest first.
    UsableRates(ChainId, Sender<Result<Vec<UsableRate>, StoreFailure>>),
    /// The effective stake of an account.
    Stake(AccountId, Sender<Result<WholeTokens, StoreFailure>>),
    /// The numbers of local forgers and of local bundlers.
    OwnAccounts(Sender<(usize, usize)>),
    /// A function on the core's thread.
    #[cfg(test)]
    Run(TestFunction),
}

impl ChainQuery {
    /// Answers the query. The answer is dropped if the caller is gone.
    pub(super) fn answer(self, core: &Core<Store>) {
        let height = || core.overlay().tip().height;
        let tokens = |account| effective_tokens(core.overlay(), core.genesis(), account);
        match self {
            ChainQuery::Unconfirmed(id, to) => send(to, unconfirmed_one(core, &id)),
            ChainQuery::Pool(range, to) => send(to, unconfirmed(core, &range)),
            ChainQuery::Forging(to) => send(to, (height(), forging(core))),
            ChainQuery::Forgers(limit, to) => send(to, (height(), forgers(core, limit))),
            ChainQuery::ForgerFigures(to) => send(to, core.forging()),
            ChainQuery::Bundlers(to) => send(to, core.bundlers()),
            ChainQuery::Rates(to) => send(to, rates(core)),
            ChainQuery::UsableRates(child, to) => send(to, core.usable_rates(child)),
            ChainQuery::Stake(account, to) => send(to, tokens(&account)),
            ChainQuery::OwnAccounts(to) => {
                send(to, (core.forging().len(), core.bundlers().len()));
            }
            #[cfg(test)]
            ChainQuery::Run(function) => function(core),
        }
    }
}

fn send<T>(to: Sender<T>, answer: T) {
    // An error means that the caller is gone.
    let _ = to.send(answer);
}
