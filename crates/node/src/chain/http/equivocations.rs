//! Evidence against forgers that signed two blocks on one parent.

use std::sync::Arc;

use api::chain::operations;
use api::chain::{EquivocationPage, EquivocationView, SignedHeader};
use api::codes::BAD_PARAMETER;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use chain::core::{EVIDENCE_CURSOR_BYTES, Equivocation, equivocations};
use chain::port::damaged;
use chain::{Genesis, Header};
use primitives::hex;

use super::parameters::EvidenceQuery;
use super::{Answered, Api, Route, json, route};
use crate::chain::reads::{Fault, Reader};
use crate::http::Refusal;
use crate::http::routes::parameters::query;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [route(&operations::EQUIVOCATIONS, list)].into_iter()
}

/// `GET /v1/chain/equivocations`
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    asked: Result<Query<EvidenceQuery>, QueryRejection>,
) -> Answered {
    let asked = query(asked)?;
    let after = asked.after.as_deref().map(cursor).transpose()?;
    let limit = api.limit(asked.limit);
    let reader = api.shared.reader();
    json(&reader.ask(move |r| page(r, after.as_ref(), limit)).await?)
}

fn page(
    reader: &Reader,
    after: Option<&[u8; EVIDENCE_CURSOR_BYTES]>,
    limit: usize,
) -> Result<EquivocationPage, Fault> {
    let mut found = equivocations(&reader.store, after, limit + 1)?;
    let is_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| is_more);
    Ok(EquivocationPage {
        next: next.map(|last| hex::encode(&last.cursor())),
        equivocations: found
            .iter()
            .map(|one| view(one, &reader.genesis))
            .collect::<Result<_, _>>()?,
    })
}

fn view(evidence: &Equivocation, genesis: &Genesis) -> Result<EquivocationView, Fault> {
    evidence
        .verify(&genesis.hash)
        .map_err(|rejection| damaged(rejection.to_string()))?;
    let header = &evidence.first;
    let signed = |header: &Header| SignedHeader {
        hash: header.hash(&genesis.hash).to_string(),
        time: header.time.get(),
        bytes: hex::encode(&header.to_bytes()),
    };
    Ok(EquivocationView {
        forger: header.forger_account().to_string(),
        key: hex::encode(&header.forger),
        height: header.height.get(),
        previous: header.previous.to_string(),
        noticed: evidence.noticed.get(),
        first: signed(&evidence.first),
        second: signed(&evidence.second),
    })
}

fn cursor(text: &str) -> Result<[u8; EVIDENCE_CURSOR_BYTES], Refusal> {
    let bytes = hex::decode(text);
    let cursor = bytes.and_then(|bytes| bytes.try_into().ok());
    cursor.ok_or_else(|| {
        let text = format!("after: '{text}' is not the `next` of a page");
        Refusal::listed(&BAD_PARAMETER, text)
    })
}
