//! Compares the parameters of a request's query with the operation's row, so that a refusal names the parameter and the accepted form.

use api::codes::BAD_PARAMETER;
use api::operations::{Operation, Parameter};
use axum::extract::{Query, Request};
use axum::http::Uri;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::refusal::Refusal;
use super::unread::discard;

/// Longest part of a value that a refusal quotes, in characters.
const QUOTED_MAX: usize = 64;

/// Refuses a request whose query does not fit the operation's row.
pub(super) async fn check_query(
    operation: &'static Operation,
    request: Request,
    next: Next,
) -> Response {
    match check(operation, request.uri()) {
        Ok(()) => next.run(request).await,
        Err(text) => {
            discard(request.into_body()).await;
            Refusal::listed(&BAD_PARAMETER, text).into_response()
        }
    }
}

fn check(operation: &Operation, uri: &Uri) -> Result<(), String> {
    if uri.query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let Query(given) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|rejection| rejection.body_text())?;
    let in_query = |parameter: &&Parameter| parameter.kind.is_in_query();
    for (at, (name, value)) in given.iter().enumerate() {
        let mut known = operation.query.iter().filter(in_query);
        let Some(parameter) = known.find(|parameter| parameter.name == *name) else {
            let known = operation.query.iter().filter(in_query);
            let known: Vec<&str> = known.map(|parameter| parameter.name).collect();
            let known = match known.as_slice() {
                [] => "it has none in the query".to_owned(),
                known => format!("its parameters are {}", known.join(", ")),
            };
            let method = operation.method.as_str().to_uppercase();
            let (name, path) = (quoted(name), operation.path);
            return Err(format!(
                "{name} is no parameter of {method} {path}; {known}"
            ));
        };
        if given[..at].iter().any(|(before, _)| before == name) {
            return Err(format!("{name} is given twice"));
        }
        if let Err(form) = parameter.kind.check(value) {
            return Err(format!("{name}: {} is not {form}", quoted(value)));
        }
    }
    Ok(())
}

/// Returns a text from a client in quotes, shortened.
fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("'{}'", shown.escape_debug())
}

#[cfg(test)]
mod tests {
    use api::operations::{LIST_FLOWS, PEER_HISTORY, START_FLOW, START_FLOW_AT_ENDPOINT};

    use super::*;

    #[test]
    fn every_legal_name_fits() {
        for operation in [&LIST_FLOWS, &PEER_HISTORY] as [&Operation; 2] {
            let mut parameters = operation.query.iter();
            let peer = parameters.find(|parameter| parameter.name == "peer");
            let longest = "n".repeat(ledger::limits::LEGAL_NAME_BYTES_MAX);
            let kind = peer.expect("a peer").kind;
            assert_eq!(kind.check(&longest), Ok(()), "{}", operation.id);
        }
    }

    #[test]
    fn a_refusal_names_the_parameter_and_the_accepted_form() {
        let id = "5f".repeat(16);
        let long = "x".repeat(300);
        for (operation, query, expected) in [
            (&LIST_FLOWS, "", Ok(())),
            (
                &LIST_FLOWS,
                &format!("after={id}&limit=5&status=parked"),
                Ok(()),
            ),
            (&LIST_FLOWS, "user=Ann%20B", Ok(())),
            (
                &LIST_FLOWS,
                "user=",
                Err("user: '' is not a text of 1 to 256 characters"),
            ),
            (
                &LIST_FLOWS,
                "limit=many",
                Err("limit: 'many' is not a whole number from 1 to 4294967295"),
            ),
            (
                &LIST_FLOWS,
                "limit=-1",
                Err("limit: '-1' is not a whole number from 1 to 4294967295"),
            ),
            (
                &LIST_FLOWS,
                "status=asleep",
                Err("status: 'asleep' is not one of running, retrying, parked, paused"),
            ),
            (
                &LIST_FLOWS,
                "after=5f",
                Err("after: '5f' is not a text of 32 hexadecimal digits"),
            ),
            (&LIST_FLOWS, "limit=1&limit=2", Err("limit is given twice")),
        ] {
            let uri: Uri = format!("/v1/x?{query}").parse().expect("a URI");
            let found = check(operation, &uri);
            assert_eq!(found, expected.map_err(str::to_owned), "{query}");
        }
        let texts: [(&Operation, String, &str); 4] = [
            (
                &START_FLOW,
                "wait=none".to_owned(),
                "'wait' is no parameter of POST /v1/flows; it has none in the query",
            ),
            (
                &LIST_FLOWS,
                "lmit=5".to_owned(),
                "'lmit' is no parameter of GET /v1/flows; its parameters are status, flow, code, user, peer, older_than_ms, stuck_ms, after, limit, timeout_ms",
            ),
            (
                &START_FLOW_AT_ENDPOINT,
                "Idempotency-Key=a".to_owned(),
                "'Idempotency-Key' is no parameter of POST /v1/flows/{flow_id}; its parameters are wait, timeout_ms, client_id, version",
            ),
            (
                &LIST_FLOWS,
                format!("user={long}"),
                &format!(
                    "user: '{}…' is not a text of 1 to 256 characters",
                    &long[..64]
                ),
            ),
        ];
        for (operation, query, expected) in texts {
            let uri: Uri = format!("/v1/x?{query}").parse().expect("a URI");
            assert_eq!(check(operation, &uri), Err(expected.to_owned()));
        }
    }
}
