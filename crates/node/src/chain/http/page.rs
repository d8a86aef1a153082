//! The explorer, a page of blocks, transactions and accounts, and the API's description.

use std::sync::{Arc, LazyLock};

use api::chain::operations;
use api::codes::INTERNAL;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::response::IntoResponse;
use primitives::hex;

use super::{Answered, Api, Route, route};
use crate::http::Refusal;
use crate::http::place::SharedBytes;

/// The operations that this module answers.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    [
        route(&operations::OPENAPI, openapi),
        route(&operations::PAGE, page),
    ]
    .into_iter()
}

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("explorer/explorer.css");
/// The files of the script, which form one JavaScript module. The last file starts the explorer.
const SCRIPT: &str = concat!(
    include_str!("explorer/api.js"),
    include_str!("explorer/format.js"),
    include_str!("explorer/elements.js"),
    include_str!("explorer/live.js"),
    include_str!("explorer/page.js"),
    include_str!("explorer/transactions.js"),
    include_str!("explorer/overview.js"),
    include_str!("explorer/blocks.js"),
    include_str!("explorer/block.js"),
    include_str!("explorer/steps.js"),
    include_str!("explorer/transaction.js"),
    include_str!("explorer/account.js"),
    include_str!("explorer/pool.js"),
    include_str!("explorer/search.js"),
    include_str!("explorer/explorer.js"),
);
/// Stands in the page where the number used once goes.
const NONCE: &str = "{{nonce}}";
/// The page in one piece, except for the number used once.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    FRAME
        .replace("{{style}}", STYLE)
        .replace("{{script}}", SCRIPT)
});

/// `GET /v1/chain/openapi.json`
pub(super) async fn openapi(State(api): State<Arc<Api>>) -> Answered {
    let text = api.description.get_or_init(|| {
        let codes: Vec<(&str, &str)> = chain::ERRORS
            .iter()
            .map(|info| (info.code, info.cause))
            .collect();
        Bytes::from(api::chain::document(&codes).to_string())
    });
    let kind = HeaderValue::from_static("application/json");
    Ok((Extension(SharedBytes), [(CONTENT_TYPE, kind)], text.clone()).into_response())
}

/// `GET /chain`
pub(super) async fn page() -> Answered {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce)
        .map_err(|_| Refusal::listed(&INTERNAL, "the system gives no random bytes"))?;
    let nonce = hex::encode(&nonce);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let policy = HeaderValue::try_from(policy)
        .map_err(|_| Refusal::listed(&INTERNAL, "the page's policy is no header"))?;
    let headers = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        ),
        (CONTENT_SECURITY_POLICY, policy),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    ];
    Ok((headers, PAGE.replace(NONCE, &nonce)).into_response())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the pairs of id and path of the list `OPERATIONS` in `explorer/api.js`.
    fn listed() -> BTreeSet<(&'static str, &'static str)> {
        let list = SCRIPT
            .split("const OPERATIONS = {")
            .nth(1)
            .expect("the list is there");
        let list = list.split("};").next().expect("the list ends");
        let pairs = list
            .lines()
            .filter_map(|line| line.trim().split_once(": \""));
        pairs
            .map(|(id, path)| (id, path.trim_end_matches("\",")))
            .collect()
    }

    #[test]
    fn explorer_uses_operations_of_the_api_only() {
        let known: BTreeSet<_> = operations::operations()
            .map(|one| (one.id, one.path))
            .collect();
        assert!(!listed().is_empty());
        assert_eq!(
            listed().difference(&known).collect::<Vec<_>>(),
            Vec::<&_>::new()
        );
    }

    /// The script's own names are camelCase, so a name with an underscore is a field of the API or a parameter of the network.
    #[test]
    fn explorer_reads_fields_of_the_api_only() {
        let codes: Vec<_> = chain::ERRORS
            .iter()
            .map(|info| (info.code, info.cause))
            .collect();
        let description = api::chain::document(&codes).to_string();
        let parameters = include_str!("../../../../chain/src/params.rs");
        let words = SCRIPT.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let fields = words.filter(|word| {
            word.contains('_') && word.starts_with(|c: char| c.is_ascii_lowercase())
        });
        for field in fields {
            let is_field = description.contains(&format!("\"{field}\""));
            // The first part of an error's code.
            let is_code = description.contains(&format!("\"{field}."));
            let is_known = is_field || is_code || parameters.contains(field);
            assert!(is_known, "the script reads `{field}`");
        }
    }

    #[test]
    fn page_has_no_inline_handlers_and_no_markup_from_data() {
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "</script",
            "{{",
        ] {
            assert!(!SCRIPT.contains(forbidden), "{forbidden}");
        }
        assert_eq!(FRAME.matches(NONCE).count(), 2);
        assert!(!PAGE.contains("{{style}}") && !PAGE.contains("{{script}}"));
        assert!(!FRAME.contains(" style=") && !FRAME.contains(" onclick="));
    }
}
