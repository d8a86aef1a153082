//! `tally vault query`

use api::query::{Between, Criterion, Datum, Is, SortBy, Status};
use api::{VaultAnswer, VaultQuery};

use crate::failure::Failure;
use crate::output::{Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally vault query`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The whole query as JSON, or @FILE; instead of the other flags
    #[arg(long, value_name = "JSON|@FILE", conflicts_with_all = ["status", "contract", "owner", "participant", "symbol", "issuer", "linear_id", "min", "max", "sort", "group_by", "limit", "after"])]
    query: Option<String>,
    /// unconsumed, consumed or all
    #[arg(long, default_value = "unconsumed", value_name = "STATUS")]
    status: String,
    /// Of this contract
    #[arg(long, value_name = "NAME")]
    contract: Option<String>,
    /// Owned by this party or key
    #[arg(long, value_name = "PARTY|KEY")]
    owner: Option<String>,
    /// With this participant
    #[arg(long, value_name = "PARTY|KEY")]
    participant: Option<String>,
    /// Amounts of tokens with this symbol
    #[arg(long, value_name = "SYMBOL")]
    symbol: Option<String>,
    /// Amounts of tokens of this issuer
    #[arg(long, value_name = "PARTY")]
    issuer: Option<String>,
    /// Versions of this thing
    #[arg(long, value_name = "HEX")]
    linear_id: Option<String>,
    /// Of at least this quantity, in minor units
    #[arg(long, value_name = "N")]
    min: Option<u64>,
    /// Of at most this quantity, in minor units
    #[arg(long, value_name = "N")]
    max: Option<u64>,
    /// Sort by these fields; a minus before one turns it round
    #[arg(
        long,
        value_name = "FIELD",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    sort: Vec<String>,
    /// Count and sum by these fields
    #[arg(long, value_name = "FIELD", value_delimiter = ',')]
    group_by: Vec<String>,
    /// So many at most
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// The mark at the end of the page before
    #[arg(long, value_name = "MARK")]
    after: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

fn wrong(message: String) -> Failure {
    Failure::local(
        "tally.query",
        message,
        "See the reference of vault queries for the fields and forms there are.",
    )
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        let query = self.asked()?;
        self.target.with_client(async |client| {
            self.output.show(&client.query_vault(&query).await?, people)
        })
    }

    fn asked(&self) -> Result<VaultQuery, Failure> {
        if let Some(given) = &self.query {
            let text = match given.strip_prefix('@') {
                Some(path) => std::fs::read_to_string(path)
                    .map_err(|error| wrong(format!("{path}: {error}")))?,
                None => given.clone(),
            };
            return serde_json::from_str(&text)
                .map_err(|error| wrong(format!("the query does not parse: {error}")));
        }
        let status = match self.status.as_str() {
            "unconsumed" => Status::Unconsumed,
            "consumed" => Status::Consumed,
            "all" => Status::All,
            other => {
                return Err(wrong(format!(
                    "'{other}' is not unconsumed, consumed or all"
                )));
            }
        };
        let mut parts = Vec::new();
        for (field, value) in [
            ("contract", &self.contract),
            ("owner", &self.owner),
            ("participant", &self.participant),
            ("symbol", &self.symbol),
            ("issuer", &self.issuer),
            ("linear_id", &self.linear_id),
        ] {
            let Some(value) = value else { continue };
            parts.push(Criterion::Is(Is {
                field: field.to_owned(),
                value: Datum::Text(value.clone()),
            }));
        }
        if self.min.is_some() || self.max.is_some() {
            parts.push(Criterion::Between(Between {
                field: "quantity".to_owned(),
                from: self.min,
                to: self.max,
            }));
        }
        let sort = self.sort.iter().map(|text| {
            let turned = text.strip_prefix('-');
            SortBy {
                field: turned.unwrap_or(text).to_owned(),
                descending: turned.is_some(),
            }
        });
        Ok(VaultQuery {
            status,
            criterion: (!parts.is_empty()).then_some(Criterion::And(parts)),
            sort: sort.collect(),
            after: self.after.clone(),
            limit: self.limit,
            group_by: (!self.group_by.is_empty()).then(|| self.group_by.clone()),
            timeout_ms: None,
        })
    }
}

fn people(answer: &VaultAnswer) -> String {
    if !answer.groups.is_empty() {
        let mut table = Table::new(&["group", ">states", ">quantity (minor units)"]);
        for group in &answer.groups {
            let key = group.key.iter().map(|value| match value {
                Some(Datum::Text(text)) => text.clone(),
                Some(Datum::Number(number)) => number.to_string(),
                None => "-".to_owned(),
            });
            table.row([
                key.collect::<Vec<_>>().join(" | "),
                grouped(group.states),
                grouped(&group.quantity),
            ]);
        }
        return table.render(stdout_ink());
    }
    if answer.states.is_empty() {
        return "nothing".to_owned();
    }
    let mut table = Table::new(&["state", "contract", "token", ">quantity", "status"]);
    for state in &answer.states {
        let (token, quantity) = match &state.fungible {
            Some(fungible) => (fungible.symbol.clone(), grouped(fungible.quantity)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let status = match state.consumed_at_ms {
            Some(_) => "consumed",
            None => "unconsumed",
        };
        table.row([
            state.state_ref.clone(),
            state.contract.clone(),
            token,
            quantity,
            status.to_owned(),
        ]);
    }
    let mut text = table.render(stdout_ink());
    if let Some(next) = &answer.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
