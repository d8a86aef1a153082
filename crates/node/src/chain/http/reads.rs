//! Blocks, accounts and their histories.

use std::sync::Arc;

use api::chain::operations;
use api::chain::{AccountView, BodyDetail, ForgingBalance, LeaseView, codes};
use api::codes::BAD_PARAMETER;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use chain::state::{Fault, leases, read};
use chain::{AccountId, Height};

use super::parameters::{
    AccountTransactionsQuery, AccountsQuery, BlockQuery, BlockTransactionsQuery, BlocksQuery,
    HeightQuery, account as account_of, block_name, chain, place,
};
use super::{Answered, Api, Route, json, route};
use crate::chain::queries::ChainQuery;
use crate::chain::reads::Range;
use crate::http::Refusal;
use crate::http::routes::parameters::{query, segment};

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::BLOCKS, blocks),
        route(&operations::BLOCK, block),
        route(&operations::BLOCK_TRANSACTIONS, block_transactions),
        route(&operations::BALANCES, balances),
        route(&operations::ACCOUNT, account),
        route(&operations::ACCOUNT_TRANSACTIONS, account_transactions),
        route(&operations::STATE_HASH, state_hash),
    ]
    .into_iter()
}

/// Maximum number of accounts in one request for balances (`chain_api.too_many_accounts`).
const ACCOUNTS_MAX: usize = 100;

type Segment = Result<Path<String>, PathRejection>;

/// `GET /v1/chain/blocks`
pub(super) async fn blocks(
    State(api): State<Arc<Api>>,
    asked: Result<Query<BlocksQuery>, QueryRejection>,
) -> Answered {
    let asked = query(asked)?;
    let range = match (asked.before, asked.from) {
        (before, None) => Range::Before(before.map(Height::new)),
        (None, Some(from)) => Range::From(Height::new(from)),
        (Some(_), Some(_)) => {
            let text = "give before or from, not both";
            return Err(Refusal::listed(&BAD_PARAMETER, text));
        }
    };
    let (limit, detail) = (api.limit(asked.limit), asked.transactions);
    let reader = api.shared.reader();
    json(&reader.ask(move |r| r.blocks(range, limit, detail)).await?)
}

/// `GET /v1/chain/blocks/{block}`
pub(super) async fn block(
    State(api): State<Arc<Api>>,
    name: Segment,
    asked: Result<Query<BlockQuery>, QueryRejection>,
) -> Answered {
    let name = block_name(&segment(name)?)?;
    let detail = query(asked)?.transactions.unwrap_or(BodyDetail::None);
    let reader = api.shared.reader();
    json(&reader.ask(move |r| r.block(name, detail)).await?)
}

/// `GET /v1/chain/blocks/{block}/transactions`
pub(super) async fn block_transactions(
    State(api): State<Arc<Api>>,
    name: Segment,
    asked: Result<Query<BlockTransactionsQuery>, QueryRejection>,
) -> Answered {
    let name = block_name(&segment(name)?)?;
    let asked = query(asked)?;
    let (limit, chain) = (api.limit(asked.limit), chain(asked.chain));
    let reader = api.shared.reader();
    json(
        &reader
            .ask(move |r| r.block_transactions(name, chain, asked.after, limit))
            .await?,
    )
}

/// `GET /v1/chain/accounts/{account}/transactions`
pub(super) async fn account_transactions(
    State(api): State<Arc<Api>>,
    name: Segment,
    asked: Result<Query<AccountTransactionsQuery>, QueryRejection>,
) -> Answered {
    let account = account_of(&segment(name)?)?;
    let asked = query(asked)?;
    let before = asked.before.as_deref().map(place).transpose()?;
    let (limit, chain) = (api.limit(asked.limit), chain(asked.chain));
    let reader = api.shared.reader();
    json(
        &reader
            .ask(move |r| r.account_transactions(&account, chain, before, limit))
            .await?,
    )
}

/// `GET /v1/chain/balances`
pub(super) async fn balances(
    State(api): State<Arc<Api>>,
    asked: Result<Query<AccountsQuery>, QueryRejection>,
) -> Answered {
    let asked = query(asked)?.accounts;
    let named = asked.split(',').filter(|text| !text.is_empty());
    let accounts: Vec<AccountId> = named
        .take(ACCOUNTS_MAX + 1)
        .map(account_of)
        .collect::<Result<_, _>>()?;
    if accounts.len() > ACCOUNTS_MAX {
        let text = format!("at most {ACCOUNTS_MAX} accounts in a call");
        return Err(Refusal::listed(&codes::TOO_MANY_ACCOUNTS, text));
    }
    let reader = api.shared.reader();
    json(&reader.ask(move |r| r.balances(&accounts)).await?)
}

/// `GET /v1/chain/accounts/{account}`
pub(super) async fn account(State(api): State<Arc<Api>>, name: Segment) -> Answered {
    let account = account_of(&segment(name)?)?;
    let query = |to| ChainQuery::Stake(account, to);
    let effective = api.shared.query(query).await?;
    let effective_tokens = effective
        .map_err(|failure| failed(Fault::Store(failure)))?
        .get();
    let reader = api.shared.reader();
    let view = reader.ask(move |reader| {
        let (height, _) = read::tip(&reader.store)?;
        let row = leases::leases_of(&reader.store, &account)?;
        let leases = row.iter().flat_map(|row| row.leases());
        Ok(AccountView {
            account: account.to_string(),
            height: height.get(),
            balances: reader.balances_of(&account)?,
            forging: ForgingBalance { effective_tokens },
            leases: leases
                .map(|lease| LeaseView {
                    lessee: lease.to.to_string(),
                    from: lease.from.get(),
                    to: lease.until.get(),
                })
                .collect(),
            lessors: leases::lessors(&reader.store, &account)?
                .iter()
                .map(ToString::to_string)
                .collect(),
        })
    });
    json(&view.await?)
}

/// `GET /v1/chain/state-hash`
pub(super) async fn state_hash(
    State(api): State<Arc<Api>>,
    asked: Result<Query<HeightQuery>, QueryRejection>,
) -> Answered {
    let height = query(asked)?.height.map(Height::new);
    let reader = api.shared.reader();
    json(&api.state_hashes.ask(&reader, height).await?)
}

/// Returns the refusal for a failed query of the core.
pub(super) fn failed(fault: Fault) -> Refusal {
    match fault.rejection() {
        Ok(rejection) => crate::chain::submit::refused(rejection),
        Err(failure) => Refusal::listed(
            &api::codes::STORE_FAILED,
            format!("{} ({})", failure.message, failure.code),
        ),
    }
}
