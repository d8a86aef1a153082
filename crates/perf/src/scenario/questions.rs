//! Queries of a stocked vault: five typical ones, and some that an index alone cannot answer.

use std::time::Instant;

use api::VaultQuery;
use api::query::{Between, Criterion, Datum, Is, SortBy, Status};
use client::{Client, ClientError};

use crate::measure::Latencies;

/// States on a page.
const PAGE: u32 = 100;
/// Upper limit on pages of 1,000 states before the late page.
const LATE_PAGES: u32 = 100;

/// A query with a name.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its name in results.
    pub name: &'static str,
    /// Whether it is one of the five.
    pub typical: bool,
    /// The query.
    pub query: VaultQuery,
}

/// The result and duration of a query, from the request to the decoded answer.
#[derive(Debug)]
pub struct Asked {
    /// States or groups in the answer.
    pub rows: usize,
    /// All repeats, without the first, which fills caches.
    pub latencies: Latencies,
}

impl Question {
    /// Runs the query repeatedly, one request after the other.
    pub async fn ask(&self, client: &Client, repeats: u32) -> Result<Asked, ClientError> {
        let mut asked = Asked {
            rows: 0,
            latencies: Latencies::new(),
        };
        for repeat in 0..=repeats {
            let started = Instant::now();
            let answer = client.query_vault(&self.query).await?;
            if repeat > 0 {
                asked.latencies.record(started.elapsed());
            }
            asked.rows = answer.states.len() + answer.groups.len();
        }
        Ok(asked)
    }
}

/// Returns the queries, built from the contents of the vault of the first of `names`.
pub async fn questions(client: &Client, names: &[String]) -> Result<Vec<Question>, ClientError> {
    let page = |criterion, limit| VaultQuery {
        criterion: Some(criterion),
        limit: Some(limit),
        ..VaultQuery::default()
    };
    let some = client
        .query_vault(&page(is("contract", "tally.obligation"), 1_000))
        .await?;
    let middle = some.states.get(some.states.len() / 2);
    let linear_id = middle.and_then(|state| state.linear_id.clone());
    let middle_ms = middle.map_or(0, |state| state.recorded_at_ms);
    let pounds = || Criterion::And(vec![is("symbol", "GBP"), is("issuer", &names[0])]);
    let mut questions = vec![
        Question::typical("coins_of_a_token_by_quantity", pounds()).sorted("quantity", true),
        Question {
            name: "sums_by_token_and_issuer",
            typical: true,
            query: VaultQuery {
                group_by: Some(vec!["symbol".into(), "issuer".into()]),
                ..VaultQuery::default()
            },
        },
        Question::typical(
            "by_linear_id",
            is("linear_id", linear_id.as_deref().unwrap_or_default()),
        )
        .of(Status::All),
        Question::typical(
            "of_a_participant_since",
            Criterion::And(vec![is("participant", &names[1]), since(middle_ms)]),
        )
        .sorted("recorded_at_ms", true),
        Question::typical(
            "and_or_not_by_time",
            Criterion::And(vec![
                Criterion::Or(vec![
                    is("symbol", "USD"),
                    is("contract", "tally.obligation"),
                ]),
                Criterion::Not(Box::new(is("issuer", &names[2]))),
                since(middle_ms),
            ]),
        )
        .sorted("recorded_at_ms", true),
        Question::other("all_by_quantity", None).sorted("quantity", true),
        Question::other("of_a_rare_participant", Some(is("participant", &names[3])))
            .of(Status::All)
            .sorted("recorded_at_ms", true),
        Question::other(
            "not_cash_by_time",
            Some(Criterion::Not(Box::new(is("contract", "tally.cash")))),
        )
        .sorted("recorded_at_ms", true),
        Question::other(
            "column_by_column",
            Some(Criterion::And(vec![
                is("tally.paper.issuer", &names[1]),
                Criterion::Greater(Is {
                    field: "tally.paper.face".into(),
                    value: Datum::Number(500_000),
                }),
            ])),
        )
        .sorted("tally.paper.maturity", false),
        Question::other("count_of_large_coins", Some(large(600_000))).counted(),
    ];
    let mut late = Question::other("late_page_of_coins", Some(pounds())).sorted("quantity", true);
    late.query.after = mark_of_late_page(client, &late.query).await?;
    questions.push(late);
    Ok(questions)
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

impl Question {
    fn typical(name: &'static str, criterion: Criterion) -> Self {
        Self {
            typical: true,
            ..Self::other(name, Some(criterion))
        }
    }

    fn other(name: &'static str, criterion: Option<Criterion>) -> Self {
        Self {
            name,
            typical: false,
            query: VaultQuery {
                criterion,
                limit: Some(PAGE),
                ..VaultQuery::default()
            },
        }
    }

    fn sorted(mut self, field: &str, descending: bool) -> Self {
        self.query.sort.push(SortBy {
            field: field.to_owned(),
            descending,
        });
        self
    }

    fn of(mut self, status: Status) -> Self {
        self.query.status = status;
        self
    }

    fn counted(mut self) -> Self {
        self.query.count = true;
        self
    }
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

fn large(quantity: u64) -> Criterion {
    Criterion::Greater(Is {
        field: "quantity".to_owned(),
        value: Datum::Number(quantity),
    })
}
