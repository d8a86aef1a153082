//! The queries of a stocked vault: five typical ones, and some that an index alone cannot answer.

use api::VaultQuery;
use api::query::{Between, Criterion, Datum, Is, SortBy, Status};
use client::{Client, ClientError};

/// States on a page.
const PAGE: u32 = 100;
/// Upper limit on pages of 1,000 states before the late page.
const LATE_PAGES: u32 = 100;

/// The names of the queries. The first five are typical.
pub(super) const NAMES: &[&str] = &[
    "coins_of_a_token_by_quantity",
    "sums_by_token_and_issuer",
    "by_linear_id",
    "of_a_participant_since",
    "and_or_not_by_time",
    "all_by_quantity",
    "of_a_rare_participant",
    "not_cash_by_time",
    "column_by_column",
    "count_of_large_coins",
    LATE_PAGE,
];
/// The query whose page follows many others.
const LATE_PAGE: &str = "late_page_of_coins";

/// Returns the query of a name, built from the contents of the vault of the first of `banks`.
pub(super) async fn query(
    client: &Client,
    banks: &[String],
    name: &str,
) -> Result<VaultQuery, ClientError> {
    let obligations = VaultQuery {
        criterion: Some(is("contract", "tally.obligation")),
        limit: Some(1_000),
        ..VaultQuery::default()
    };
    let some = client.query_vault(&obligations).await?;
    let middle = some.states.get(some.states.len() / 2);
    let linear_id = middle.and_then(|state| state.linear_id.clone());
    let middle_ms = middle.map_or(0, |state| state.recorded_at_ms);
    let mut query = named(name, banks, &linear_id.unwrap_or_default(), middle_ms);
    if name == LATE_PAGE {
        query.after = mark_of_late_page(client, &query).await?;
    }
    Ok(query)
}

/// Returns the query of a name, with the id of an obligation and the time at which it was recorded.
fn named(name: &str, banks: &[String], linear_id: &str, middle_ms: u64) -> VaultQuery {
    let pounds = Criterion::And(vec![is("symbol", "GBP"), is("issuer", &banks[0])]);
    let mut query = match name {
        "coins_of_a_token_by_quantity" | LATE_PAGE => sorted(Some(pounds), "quantity", true),
        "sums_by_token_and_issuer" => VaultQuery {
            group_by: Some(vec!["symbol".into(), "issuer".into()]),
            ..VaultQuery::default()
        },
        "by_linear_id" => page(Some(is("linear_id", linear_id))),
        "of_a_participant_since" => by_time(Criterion::And(vec![
            is("participant", &banks[1]),
            since(middle_ms),
        ])),
        "and_or_not_by_time" => by_time(Criterion::And(vec![
            Criterion::Or(vec![
                is("symbol", "USD"),
                is("contract", "tally.obligation"),
            ]),
            Criterion::Not(Box::new(is("issuer", &banks[2]))),
            since(middle_ms),
        ])),
        "all_by_quantity" => sorted(None, "quantity", true),
        "of_a_rare_participant" => by_time(is("participant", &banks[3])),
        "not_cash_by_time" => by_time(Criterion::Not(Box::new(is("contract", "tally.cash")))),
        "column_by_column" => sorted(
            Some(Criterion::And(vec![
                is("tally.paper.issuer", &banks[1]),
                greater("tally.paper.face", 500_000),
            ])),
            "tally.paper.maturity",
            false,
        ),
        _ => page(Some(greater("quantity", 600_000))),
    };
    match name {
        "by_linear_id" | "of_a_rare_participant" => query.status = Status::All,
        "count_of_large_coins" => query.count = true,
        _ => {}
    }
    query
}

/// Returns the mark at the end of the last but one of many pages.
async fn mark_of_late_page(
    client: &Client,
    query: &VaultQuery,
) -> Result<Option<String>, ClientError> {
    let mut query = VaultQuery {
        limit: Some(1_000),
        ..query.clone()
    };
    for _ in 0..LATE_PAGES {
        match client.query_vault(&query).await?.next {
            None => break,
            next => query.after = next,
        }
    }
    Ok(query.after)
}

fn page(criterion: Option<Criterion>) -> VaultQuery {
    VaultQuery {
        criterion,
        limit: Some(PAGE),
        ..VaultQuery::default()
    }
}

fn sorted(criterion: Option<Criterion>, field: &str, descending: bool) -> VaultQuery {
    let mut query = page(criterion);
    query.sort.push(SortBy {
        field: field.to_owned(),
        descending,
    });
    query
}

fn by_time(criterion: Criterion) -> VaultQuery {
    sorted(Some(criterion), "recorded_at_ms", true)
}

fn is(field: &str, value: &str) -> Criterion {
    Criterion::Is(Is {
        field: field.to_owned(),
        value: Datum::Text(value.to_owned()),
    })
}

fn since(ms: u64) -> Criterion {
    Criterion::Between(Between {
        field: "recorded_at_ms".to_owned(),
        from: Some(Datum::Number(ms)),
        to: None,
    })
}

fn greater(field: &str, than: u64) -> Criterion {
    Criterion::Greater(Is {
        field: field.to_owned(),
        value: Datum::Number(than),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_query_of_its_own() {
        let banks = ["A", "B", "C", "D"].map(String::from);
        let text = |name: &str| {
            let query = named(name, &banks, "id-7", 1_234);
            assert!(
                query.group_by.is_some() || query.limit == Some(PAGE),
                "{name}"
            );
            serde_json::to_string(&query).expect("JSON")
        };
        let mut seen: Vec<String> = Vec::new();
        for name in NAMES.iter().filter(|name| **name != LATE_PAGE) {
            let text = text(name);
            assert!(!seen.contains(&text), "{name}: {text}");
            seen.push(text);
        }
        // Its first pages are those of another one.
        assert!(seen.contains(&text(LATE_PAGE)));
        assert!(text("by_linear_id").contains("id-7"));
        for name in ["of_a_participant_since", "and_or_not_by_time"] {
            assert!(text(name).contains("1234"), "{name}");
        }
    }
}
