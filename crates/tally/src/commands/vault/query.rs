//! `tally vault query`

use api::query::{Between, Criterion, Datum, In, Is, SortBy, Status};
use api::{Quarantined, VaultAnswer, VaultQuery};

use crate::failure::{Failure, about_file};
use crate::output::{Output, Table, grouped, stdout_ink};
use crate::target::Target;

/// Arguments of `tally vault query`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The whole query as JSON, or @FILE; instead of the other flags
    #[arg(long, value_name = "JSON|@FILE", conflicts_with_all = ["status", "contract", "owner", "participant", "symbol", "issuer", "linear_id", "min", "max", "column", "locked", "unlocked", "locked_by", "locks", "count", "sort", "group_by", "limit", "after", "quarantined"])]
    query: Option<String>,
    /// unconsumed, consumed or all
    #[arg(long, default_value = "unconsumed", value_name = "STATUS")]
    status: String,
    /// States in quarantine: exclude, include or only
    #[arg(long, default_value = "exclude", value_name = "WHICH")]
    quarantined: Quarantined,
    /// States of this contract
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
    /// Versions of this linear state
    #[arg(long, value_name = "HEX")]
    linear_id: Option<String>,
    /// Minimum quantity, in minor units
    #[arg(long, value_name = "N")]
    min: Option<u64>,
    /// Maximum quantity, in minor units
    #[arg(long, value_name = "N")]
    max: Option<u64>,
    /// A condition on a contract's column: =, <, > or ^= (begins with), as in 'tally.paper.face>1000'
    #[arg(long, value_name = "COLUMN=VALUE")]
    column: Vec<String>,
    /// Locked by a running flow
    #[arg(long, conflicts_with = "unlocked")]
    locked: bool,
    /// Not locked by a flow
    #[arg(long)]
    unlocked: bool,
    /// Locked by this flow; may be repeated
    #[arg(long, value_name = "FLOW_ID")]
    locked_by: Vec<String>,
    /// Show the flow that locks each state
    #[arg(long)]
    locks: bool,
    /// Sort by these fields; a minus before a field reverses its order
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
    /// Count all matching states
    #[arg(long)]
    count: bool,
    /// Maximum number of states
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// The mark at the end of the previous page
    #[arg(long, value_name = "MARK")]
    after: Option<String>,
    #[command(flatten)]
    pub output: Output,
}

fn wrong(message: String) -> Failure {
    Failure::usage(
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
                    .map_err(|error| about_file(path.as_ref(), &error))?,
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
                from: self.min.map(Datum::Number),
                to: self.max.map(Datum::Number),
            }));
        }
        if self.locked || self.unlocked {
            parts.push(Criterion::Locked(self.locked));
        }
        if !self.locked_by.is_empty() {
            let flows = self.locked_by.iter();
            parts.push(Criterion::In(In {
                field: "locked_by".to_owned(),
                values: flows.map(|flow| Datum::Text(flow.clone())).collect(),
            }));
        }
        for text in &self.column {
            parts.push(column(text)?);
        }
        let sort = self.sort.iter().map(|text| {
            let turned = text.strip_prefix('-');
            SortBy {
                // Without a minus, the order ascends.
                field: turned.unwrap_or(text).to_owned(),
                descending: turned.is_some(),
            }
        });
        Ok(VaultQuery {
            status,
            quarantined: self.quarantined,
            criterion: (!parts.is_empty()).then_some(Criterion::And(parts)),
            sort: sort.collect(),
            after: self.after.clone(),
            limit: self.limit,
            group_by: (!self.group_by.is_empty()).then(|| self.group_by.clone()),
            count: self.count,
            locks: self.locks,
            timeout_ms: None,
        })
    }
}

/// Parses a test such as `tally.paper.face>1000`. Text that reads like a number is quoted: `"12"`.
fn column(text: &str) -> Result<Criterion, Failure> {
    let at = text.find(['=', '<', '>', '^']);
    let (field, test) = at.map_or((text, ""), |at| text.split_at(at));
    let (operator, value) = match test {
        _ if test.starts_with("^=") => test.split_at(2),
        "" => {
            return Err(wrong(format!(
                "'{text}' has no operator: write COLUMN=VALUE, or with <, > or ^="
            )));
        }
        _ => test.split_at(1),
    };
    let quoted = value
        .strip_prefix('"')
        .and_then(|value| value.strip_suffix('"'));
    let value = match (quoted, value.parse()) {
        (Some(quoted), _) => Datum::Text(quoted.to_owned()),
        (None, Ok(number)) if operator != "^=" => Datum::Number(number),
        _ => Datum::Text(value.to_owned()),
    };
    let test = Is {
        field: field.to_owned(),
        value,
    };
    Ok(match operator {
        "=" => Criterion::Is(test),
        "<" => Criterion::Less(test),
        ">" => Criterion::Greater(test),
        "^=" => Criterion::Prefix(test),
        other => return Err(wrong(format!("'{other}' is not one of =, <, > and ^="))),
    })
}

fn people(answer: &VaultAnswer) -> String {
    if !answer.groups.is_empty() {
        let mut table = Table::new(&["group", ">states", ">quantity (minor units)"]);
        for group in &answer.groups {
            let key = group.key.iter();
            let key = key.map(|value| value.as_deref().unwrap_or("-"));
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
    let columns = answer.states.iter().any(|state| !state.columns.is_empty());
    let mut heads = vec!["state", "contract", "token", ">quantity", "status"];
    let locks = (answer.states.iter()).any(|state| state.locked_by.is_some());
    heads.extend(locks.then_some("locked by"));
    heads.extend(columns.then_some("columns"));
    let mut table = Table::new(&heads);
    for state in &answer.states {
        let (token, quantity) = match &state.fungible {
            Some(fungible) => (fungible.symbol.clone(), grouped(fungible.quantity)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let status = match state.consumed_at_ms {
            Some(_) => "consumed",
            None if state.quarantined => "quarantined",
            None => "unconsumed",
        };
        let mut cells = vec![
            state.state_ref.clone(),
            state.contract.clone(),
            token,
            quantity,
            status.to_owned(),
        ];
        if locks {
            cells.push(state.locked_by.clone().unwrap_or_else(|| "-".to_owned()));
        }
        if columns {
            let values = state.columns.iter();
            let values = values.map(|(name, value)| format!("{name}={value}"));
            cells.push(values.collect::<Vec<_>>().join(" "));
        }
        table.row(cells);
    }
    let mut text = table.render(stdout_ink());
    if let Some(count) = &answer.count {
        let more = if count.more { " or more" } else { "" };
        text.push_str(&format!("\n{}{more} in all", grouped(count.states)));
    }
    if let Some(next) = &answer.next {
        text.push_str(&format!("\nmore: --after {next}"));
    }
    text
}
