//! Forgers and bundlers.

use std::num::NonZeroUsize;
use std::sync::Arc;

use api::chain::operations;
use api::chain::{
    BundlerList, ForgersView, ForgingView, RatesView, StartBundler, StartForging, codes,
};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use chain::bundle::{Bundler, BundlerRate, BundlerRules};
use chain::core::Event;
use chain::{AccountId, ChainId, MinorUnits, Percent};

use super::parameters::{LimitQuery, account as account_of_text, key};
use super::reads::failed;
use super::{Answered, Api, Route, json, route};
use crate::chain::account_of;
use crate::chain::core_views::bundler_view;
use crate::chain::queries::ChainQuery;
use crate::http::Refusal;
use crate::http::claim::ClaimedBody;
use crate::http::routes::parameters::{parsed, query, segment};

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::FORGING, list),
        route(&operations::START_FORGING, start),
        route(&operations::STOP_FORGING, stop),
        route(&operations::FORGERS, forgers),
        route(&operations::BUNDLERS, bundlers),
        route(&operations::START_BUNDLER, start_bundler),
        route(&operations::STOP_BUNDLER, stop_bundler),
        route(&operations::RATES, rates),
    ]
    .into_iter()
}

/// Forgers that are shown when the request does not say how many.
const FORGERS_SHOWN: usize = 20;

/// `GET /v1/chain/forging`
pub(super) async fn list(State(api): State<Arc<Api>>) -> Answered {
    let (height, accounts) = api.shared.query(ChainQuery::Forging).await?;
    json(&ForgingView {
        height: height.plus_or_last(1).get(),
        now: api.shared.clock.now().get(),
        forging_delay_ms: api.config.forging.delay_ms,
        accounts: accounts.map_err(failed)?,
    })
}

/// `POST /v1/chain/forging`
pub(super) async fn start(State(api): State<Arc<Api>>, body: ClaimedBody) -> Answered {
    let start: StartForging = api.body(body).await?;
    let (seed, passphrase) = (start.seed.as_ref(), start.passphrase.as_ref());
    let key = key(&api.shared.genesis, seed, passphrase)?;
    let account = account_of(&key).to_string();
    api.shared.tell(Event::StartForging(key));
    let (_, forging) = api.shared.query(ChainQuery::Forging).await?;
    let mut started = forging.map_err(failed)?.into_iter();
    let started = started.find(|forger| forger.account == account);
    json(&started.ok_or_else(|| Refusal::busy(0))?)
}

/// `DELETE /v1/chain/forging/{account}`
pub(super) async fn stop(
    State(api): State<Arc<Api>>,
    name: Result<Path<String>, PathRejection>,
) -> Answered {
    let account = account_of_text(&segment(name)?)?;
    let forging = api.shared.query(ChainQuery::ForgerFigures).await?;
    let mut found = forging.into_iter();
    let found = found.find(|forger| forger.account == account);
    let found = found.ok_or_else(|| {
        let text = format!("{account} does not forge here");
        Refusal::listed(&codes::NOT_RUNNING, text)
    })?;
    api.shared.tell(Event::StopForging(found.key));
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /v1/chain/forgers`
pub(super) async fn forgers(
    State(api): State<Arc<Api>>,
    asked: Result<Query<LimitQuery>, QueryRejection>,
) -> Answered {
    let asked = query(asked)?.limit;
    let limit = api.limit(asked.or(NonZeroUsize::new(FORGERS_SHOWN)));
    let query = api.shared.query(|to| ChainQuery::Forgers(limit, to));
    let (height, forgers) = query.await?;
    json(&ForgersView {
        height: height.plus_or_last(1).get(),
        now: api.shared.clock.now().get(),
        forgers: forgers.map_err(failed)?,
    })
}

/// `GET /v1/chain/bundlers`
pub(super) async fn bundlers(State(api): State<Arc<Api>>) -> Answered {
    let bundlers = api.shared.query(ChainQuery::Bundlers).await?;
    json(&BundlerList {
        bundlers: bundlers.iter().map(bundler_view).collect(),
    })
}

/// `POST /v1/chain/bundlers`
pub(super) async fn start_bundler(State(api): State<Arc<Api>>, body: ClaimedBody) -> Answered {
    let start: StartBundler = api.body(body).await?;
    let (seed, passphrase) = (start.seed.as_ref(), start.passphrase.as_ref());
    let key = key(&api.shared.genesis, seed, passphrase)?;
    let child = ChainId(start.chain);
    if !child.is_child() || api.shared.genesis.chain(child).is_none() {
        let text = format!("the network has no child chain {child}");
        return Err(Refusal::listed(&codes::UNKNOWN_CHAIN, text));
    }
    let accounts = |texts: &[String]| {
        let parsed = texts.iter().map(|text| {
            let error = |error| Refusal::listed(&codes::BAD_KEY, format!("'{text}': {error}"));
            text.parse::<AccountId>().map_err(error)
        });
        parsed.collect::<Result<Vec<_>, _>>()
    };
    let rules = BundlerRules {
        child,
        rate_min: BundlerRate::new(start.rate_min),
        overpay_percent: Percent::new(start.overpay_percent),
        total_fee_max: start.total_fee_max.map(MinorUnits::new),
        senders: accounts(&start.senders)?,
        recipients: accounts(&start.recipients)?,
        purpose: start.purpose,
    };
    let account = account_of(&key);
    api.shared
        .tell(Event::StartBundling(Bundler { key, rules }));
    let bundlers = api.shared.query(ChainQuery::Bundlers).await?;
    let mut started = bundlers.iter();
    let started = started.find(|bundler| bundler.account == account && bundler.child == child);
    json(&bundler_view(started.ok_or_else(|| Refusal::busy(0))?))
}

/// `DELETE /v1/chain/bundlers/{account}/{chain}`
pub(super) async fn stop_bundler(
    State(api): State<Arc<Api>>,
    names: Result<Path<(String, String)>, PathRejection>,
) -> Answered {
    let Path((account, child)) =
        names.map_err(|error| Refusal::listed(&api::codes::BAD_PARAMETER, error.body_text()))?;
    let account = account_of_text(&account)?;
    let child = ChainId(parsed("chain", &child)?);
    let bundlers = api.shared.query(ChainQuery::Bundlers).await?;
    let mut found = bundlers.iter();
    let found = found.find(|bundler| bundler.account == account && bundler.child == child);
    let key = found.map(|bundler| bundler.key).ok_or_else(|| {
        let text = format!("{account} does not bundle chain {child} here");
        Refusal::listed(&codes::NOT_RUNNING, text)
    })?;
    api.shared.tell(Event::StopBundling { key, child });
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// `GET /v1/chain/rates`
pub(super) async fn rates(State(api): State<Arc<Api>>) -> Answered {
    let rates = api.shared.query(ChainQuery::Rates).await?;
    json(&RatesView {
        rates: rates.map_err(failed)?,
    })
}
