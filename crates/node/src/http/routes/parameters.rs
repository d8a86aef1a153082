//! Parameters and bodies of requests. Errors name the fault.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use api::codes::{BAD_CLIENT_ID, BAD_JSON, BAD_PARAMETER, BAD_REQUEST};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query};
use serde::Deserialize;
use serde_json::error::Category;

pub(crate) use crate::http::claim::{ClaimedBody, whole, whole_of_any_kind};
use crate::http::options::HttpOptions;
use crate::http::refusal::Refusal;

/// Longest client id, in characters (`api.bad_client_id`).
const CLIENT_ID_CHARS_MAX: usize = 128;

/// `?wait=&timeout_ms=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct WaitQuery {
    pub(super) wait: Option<api::Wait>,
    pub(super) timeout_ms: Option<u64>,
}

/// `?timeout_ms=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct TimeoutQuery {
    pub(super) timeout_ms: Option<u64>,
}

/// `?wait=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct FollowQuery {
    pub(super) wait: Option<api::Wait>,
}

/// `?after=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct AfterQuery {
    pub(super) after: Option<u64>,
}

/// `?after=&limit=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct PageQuery {
    pub(super) after: Option<String>,
    pub(super) limit: Option<usize>,
    pub(super) timeout_ms: Option<u64>,
}

/// `?peer=&limit=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct HistoryQuery {
    pub(super) peer: Option<String>,
    pub(super) limit: Option<usize>,
}

/// `?after=&limit=&quarantined=`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct StatesQuery {
    after: Option<String>,
    limit: Option<usize>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    quarantined: api::Quarantined,
}

impl StatesQuery {
    /// The page, and which states are listed.
    pub(super) fn parts(self) -> (PageQuery, api::Quarantined) {
        let page = PageQuery {
            after: self.after,
            limit: self.limit,
            timeout_ms: self.timeout_ms,
        };
        (page, self.quarantined)
    }
}

/// `?after=&limit=` of a journal
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct JournalQuery {
    pub(super) after: Option<u32>,
    pub(super) limit: Option<usize>,
}

/// The list of flows: a page of those that meet a query.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct FlowsQuery {
    status: Option<api::FlowStatus>,
    flow: Option<String>,
    code: Option<String>,
    user: Option<String>,
    peer: Option<String>,
    older_than_ms: Option<u64>,
    stuck_ms: Option<u64>,
    after: Option<String>,
    limit: Option<usize>,
    timeout_ms: Option<u64>,
}

impl FlowsQuery {
    /// The query and the page.
    pub(super) fn parts(self) -> (api::FlowQuery, PageQuery) {
        let wanted = api::FlowQuery {
            status: self.status,
            flow: self.flow,
            code: self.code,
            user: self.user,
            peer: self.peer,
            older_than_ms: self.older_than_ms,
            stuck_ms: self.stuck_ms,
        };
        let page = PageQuery {
            after: self.after,
            limit: self.limit,
            timeout_ms: self.timeout_ms,
        };
        (wanted, page)
    }
}

/// The history of flows: a page of those that meet a query.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct FlowHistoryParameters {
    status: Option<api::FlowStatus>,
    #[serde(default)]
    failed: bool,
    flow: Option<String>,
    code: Option<String>,
    user: Option<String>,
    peer: Option<String>,
    since_ms: Option<u64>,
    until_ms: Option<u64>,
    after: Option<String>,
    limit: Option<usize>,
}

impl FlowHistoryParameters {
    /// The query and the page.
    pub(super) fn parts(self) -> (api::FlowHistoryQuery, PageQuery) {
        let wanted = api::FlowHistoryQuery {
            status: self.status,
            failed: self.failed,
            flow: self.flow,
            code: self.code,
            user: self.user,
            peer: self.peer,
            since_ms: self.since_ms,
            until_ms: self.until_ms,
        };
        let page = PageQuery {
            after: self.after,
            limit: self.limit,
            timeout_ms: None,
        };
        (wanted, page)
    }
}

impl PageQuery {
    /// The cursor at which the page starts.
    pub(super) fn after<T: FromStr<Err: Display>>(&self) -> Result<Option<T>, Refusal> {
        self.after
            .as_deref()
            .map(|text| parsed("after", text))
            .transpose()
    }

    /// Maximum number of entries.
    pub(super) fn limit(&self, options: &HttpOptions) -> usize {
        options.page(self.limit)
    }
}

/// Returns the path segment of a name. An invalid one is refused.
pub(crate) fn segment(path: Result<Path<String>, PathRejection>) -> Result<String, Refusal> {
    path.map(|Path(segment)| segment)
        .map_err(|rejection| Refusal::listed(&BAD_PARAMETER, rejection.body_text()))
}

/// Returns the parameters of the query. Invalid ones are refused.
pub(crate) fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    query
        .map(|Query(query)| query)
        .map_err(|rejection| Refusal::listed(&BAD_PARAMETER, rejection.body_text()))
}

/// Returns the value of a parameter. An invalid one is refused.
pub(crate) fn parsed<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|error: T::Err| {
        Refusal::listed(&BAD_PARAMETER, format!("'{text}' is no {name}: {error}"))
    })
}

/// Returns the wait, capped at the node's limit.
pub(super) fn patience(options: &HttpOptions, timeout_ms: Option<u64>) -> Duration {
    let asked = timeout_ms.map_or(options.wait_default, Duration::from_millis);
    asked.min(options.wait_max)
}

/// A body or line as JSON of a certain shape: broken JSON and a wrong shape are different errors.
pub(crate) fn from_json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| {
        let info = match error.classify() {
            Category::Data => &BAD_REQUEST,
            Category::Syntax | Category::Eof | Category::Io => &BAD_JSON,
        };
        Refusal::listed(info, error.to_string())
    })
}

/// Refuses a client id that is empty or too long. JSON Schema counts characters, so the check does too.
pub(in crate::http) fn checked_client_id(client_id: Option<&str>) -> Result<(), Refusal> {
    let characters = client_id.map(|id| id.chars().count());
    match characters {
        Some(characters) if !(1..=CLIENT_ID_CHARS_MAX).contains(&characters) => {
            let text = format!(
                "a client id has 1 to {CLIENT_ID_CHARS_MAX} characters, this one {characters}"
            );
            Err(Refusal::listed(&BAD_CLIENT_ID, text))
        }
        _ => Ok(()),
    }
}
