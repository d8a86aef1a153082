//! `tally tx show`

use std::collections::BTreeMap;

use api::{CommandView, NamedKey, StateView, TimeWindowView, TransactionView};
use primitives::Timestamp;

use crate::failure::Failure;
use crate::output::{Output, grouped, pairs};
use crate::target::Target;

/// Arguments of `tally tx show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// The transaction
    id: String,
    #[command(flatten)]
    pub output: Output,
}

impl Args {
    pub fn run(self) -> Result<(), Failure> {
        self.target.with_client(async |client| {
            let transaction = client.transaction(&self.id).await?;
            self.output.show(&transaction, people)
        })
    }
}

fn people(tx: &TransactionView) -> String {
    let mut lines = vec![
        ("transaction", tx.id.clone()),
        ("position", tx.seq.to_string()),
        ("recorded", time(tx.recorded_at_ms)),
    ];
    let mut add = |name, values: Vec<String>| {
        if !values.is_empty() {
            lines.push((name, values.join("\n")));
        }
    };
    add("inputs", tx.inputs.clone());
    add("references", tx.references.clone());
    add("outputs", tx.outputs.iter().map(output).collect());
    let tokens = tokens(tx);
    let commands = tx.commands.iter();
    add(
        "commands",
        commands.map(|one| command(one, &tokens)).collect(),
    );
    add("notary", tx.notary.iter().cloned().collect());
    add(
        "time window",
        tx.time_window.iter().map(time_window).collect(),
    );
    add("attachments", tx.attachments.clone());
    let signature = |s: &api::SignatureView| {
        let who = s.by.name().to_owned();
        s.batch.map_or(who.clone(), |count| {
            format!("{who} (over a batch of {count})")
        })
    };
    add("signatures", tx.signatures.iter().map(signature).collect());
    add(
        "size",
        vec![format!("{} bytes", grouped(tx.bytes.len() / 2))],
    );
    pairs(&lines)
}

fn time(ms: u64) -> String {
    Timestamp::from_ms(ms).to_string()
}

fn time_window(window: &TimeWindowView) -> String {
    let end = |ms: Option<u64>| ms.map_or("..".to_owned(), time);
    format!("[{}, {})", end(window.from_ms), end(window.until_ms))
}

/// Returns the readable names of the tokens of a transaction's outputs, by the tokens' ids.
fn tokens(tx: &TransactionView) -> BTreeMap<&str, String> {
    let values = tx
        .outputs
        .iter()
        .filter_map(|output| output.fungible.as_ref());
    values
        .map(|value| {
            let name = format!("{} of {}", value.symbol, value.issuer);
            (value.token.as_str(), name)
        })
        .collect()
}

/// Returns a command: its contract, its name and its fields, and who signed for it. A command that no contract of the node describes
/// is shown as bytes.
fn command(command: &CommandView, tokens: &BTreeMap<&str, String>) -> String {
    let mut text = format!(
        "{} {}",
        command.contract,
        command.name.as_ref().unwrap_or(&command.value)
    );
    for (name, value) in &command.fields {
        // Escaped, so that a value of another party cannot move the cursor.
        let value = match tokens.get(value.as_str()) {
            Some(token) => token.clone(),
            None => value.escape_debug().to_string(),
        };
        text.push_str(&format!(", {name} {value}"));
    }
    if !command.signers.is_empty() {
        text.push_str(&format!(", signed by {}", names(&command.signers)));
    }
    text
}

/// Returns the owners of keys by name, and the keys of unknown owners.
fn names(keys: &[NamedKey]) -> String {
    let names: Vec<&str> = keys.iter().map(NamedKey::name).collect();
    names.join(" and ")
}

fn output(state: &StateView) -> String {
    let mut text = format!("{}: {}", state.index, state.contract);
    if let Some(fungible) = &state.fungible {
        text.push_str(&format!(
            " {} {} of {}",
            grouped(fungible.quantity),
            fungible.symbol,
            fungible.issuer
        ));
    }
    match &state.owner {
        Some(owner) => text.push_str(&format!(", owned by {}", owner.name())),
        None if !state.participants.is_empty() => {
            text.push_str(&format!(", between {}", names(&state.participants)));
        }
        None => {}
    }
    if let Some(encumbrance) = state.encumbrance {
        text.push_str(&format!(", only with output {encumbrance}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use api::Fungible;

    use super::*;

    fn key(key: &str, party: Option<&str>) -> NamedKey {
        NamedKey {
            key: key.to_owned(),
            party: party.map(str::to_owned),
        }
    }

    fn state() -> StateView {
        StateView {
            index: 0,
            contract: "demo.cash".to_owned(),
            constraint: String::new(),
            notary: "O=Notary, L=London, C=GB".to_owned(),
            encumbrance: None,
            participants: Vec::new(),
            owner: None,
            fungible: None,
            linear_id: None,
            data: String::new(),
        }
    }

    #[test]
    fn outputs_name_the_parties_of_keys() {
        let cash = Fungible {
            token: "aa".to_owned(),
            symbol: "GBP".to_owned(),
            issuer: "O=Bank A".to_owned(),
            quantity: 10_000,
        };
        let owned = |owner| StateView {
            fungible: Some(cash.clone()),
            owner: Some(owner),
            ..state()
        };
        let shared = StateView {
            participants: vec![key("ed25519:01", Some("O=Bank A")), key("ed25519:02", None)],
            ..state()
        };
        for (state, expected) in [
            (
                owned(key("ed25519:01", Some("O=Bank B"))),
                "0: demo.cash 10,000 GBP of O=Bank A, owned by O=Bank B",
            ),
            (
                owned(key("ed25519:01", None)),
                "0: demo.cash 10,000 GBP of O=Bank A, owned by ed25519:01",
            ),
            (shared, "0: demo.cash, between O=Bank A and ed25519:02"),
            (state(), "0: demo.cash"),
        ] {
            assert_eq!(output(&state), expected);
        }
    }

    #[test]
    fn commands_show_their_names_and_fields() {
        let tokens = BTreeMap::from([("aa", "GBP of O=Bank A".to_owned())]);
        let issue = CommandView {
            contract: "demo.cash".to_owned(),
            name: Some("issue".to_owned()),
            fields: [("quantity", "7"), ("token", "aa"), ("note", "a\nb")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            value: "8100".to_owned(),
            signers: vec![key("ed25519:01", Some("O=Bank A"))],
        };
        let unknown = CommandView {
            name: None,
            fields: BTreeMap::new(),
            signers: Vec::new(),
            ..issue.clone()
        };
        let shown =
            "demo.cash issue, note a\\nb, quantity 7, token GBP of O=Bank A, signed by O=Bank A";
        assert_eq!(command(&issue, &tokens), shown);
        assert_eq!(command(&unknown, &tokens), "demo.cash 8100");
    }
}
