//! Transactions as people read them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use api::{
    CommandView, Fungible, NamedKey, SignatureView, StateView, TimeWindowView, TransactionView,
};
use ledger::{
    Command, CommandFacts, Constraint, Party, SignedTransaction, StateFacts, TransactionSignature,
    TransactionState,
};
use primitives::{Encode, PublicKey, Scheme, Timestamp, hex};

/// A transaction as the ledger recorded it.
#[derive(Clone, Copy, Debug)]
pub struct RecordedTransaction<'a> {
    /// Its position.
    pub seq: u64,
    /// The time of the record.
    pub at: Timestamp,
    /// The transaction.
    pub transaction: &'a SignedTransaction,
}

/// A source of facts about the states, commands and keys of a transaction.
pub trait TransactionReader {
    /// Returns the name of a party that a state names, and its key if it is not that of the network map.
    fn title(&self, party: &Party) -> String;

    /// Returns the name of a key's owner, if it is known.
    fn party(&self, key: &PublicKey) -> Option<String>;

    /// Returns the facts about a state, if its contract is known here and describes it.
    fn state(&self, state: &TransactionState) -> Option<StateFacts>;

    /// Returns the facts about a command of a transaction, if its contract is known here and describes it.
    fn command(&self, command: &Command, transaction: &SignedTransaction) -> Option<CommandFacts>;
}

/// Returns the decoded form of a recorded transaction. Outputs and commands have the fields that their contracts describe, and keys
/// have the names of their owners if this node knows them.
pub fn transaction_view(
    recorded: RecordedTransaction<'_>,
    reader: &dyn TransactionReader,
) -> TransactionView {
    let transaction = recorded.transaction;
    let wire = transaction.wire();
    let names = KeyNames {
        reader,
        known: RefCell::default(),
    };
    let outputs = wire.outputs().iter().zip(0..);
    let commands = wire.commands().iter();
    TransactionView {
        id: transaction.id().to_string(),
        seq: recorded.seq,
        recorded_at_ms: recorded.at.as_ms(),
        inputs: wire.inputs().iter().map(ToString::to_string).collect(),
        references: wire.references().iter().map(ToString::to_string).collect(),
        outputs: outputs
            .map(|(state, index)| output(index, state, reader, &names))
            .collect(),
        commands: commands
            .map(|one| command(one, reader.command(one, transaction), &names))
            .collect(),
        attachments: wire.attachments().iter().map(ToString::to_string).collect(),
        notary: wire.notary().map(ToString::to_string),
        time_window: wire.time_window().map(|window| TimeWindowView {
            from_ms: window.start().map(|at| at.as_ms()),
            until_ms: window.end().map(|at| at.as_ms()),
        }),
        parameters: wire.parameters().map(ToString::to_string),
        required_signers: names.all(&wire.required_signers()),
        signatures: transaction
            .signatures()
            .iter()
            .map(|signature| signed(signature, &names))
            .collect(),
        bytes: hex::encode(&transaction.to_bytes()),
    }
}

/// The names of the keys of one transaction. A key occurs in several places, and its owner may have to be read from the store.
struct KeyNames<'a> {
    reader: &'a dyn TransactionReader,
    known: RefCell<BTreeMap<PublicKey, Option<String>>>,
}

impl KeyNames<'_> {
    fn named(&self, key: &PublicKey) -> NamedKey {
        let mut known = self.known.borrow_mut();
        let party = match known.get(key) {
            Some(party) => party.clone(),
            None => {
                let party = self.reader.party(key);
                known.insert(key.clone(), party.clone());
                party
            }
        };
        NamedKey {
            key: key.to_text(),
            party,
        }
    }

    fn all(&self, keys: &[PublicKey]) -> Vec<NamedKey> {
        keys.iter().map(|key| self.named(key)).collect()
    }
}

fn output(
    index: u32,
    state: &TransactionState,
    reader: &dyn TransactionReader,
    names: &KeyNames<'_>,
) -> StateView {
    // A state that no contract of this node describes has no facts.
    let facts = reader.state(state).unwrap_or_default();
    StateView {
        index,
        contract: state.contract.as_str().to_owned(),
        constraint: match &state.constraint {
            Constraint::Descriptor(hash) => format!("descriptor {hash}"),
            Constraint::SignedBy(key) => format!("signed by {}", key.to_text()),
            Constraint::AlwaysAccept => "always accept".to_owned(),
        },
        notary: state.notary.to_string(),
        encumbrance: state.encumbrance,
        participants: names.all(&facts.participants),
        owner: facts.owner.as_ref().map(|owner| names.named(owner)),
        fungible: facts.fungible.map(|fungible| Fungible {
            token: fungible.token.to_string(),
            symbol: fungible.symbol,
            issuer: reader.title(&fungible.issuer),
            quantity: fungible.quantity,
        }),
        linear_id: facts.linear_id.map(|id| id.to_string()),
        data: hex::encode(&state.data),
    }
}

fn command(command: &Command, facts: Option<CommandFacts>, names: &KeyNames<'_>) -> CommandView {
    let (name, fields) = match facts {
        Some(facts) => (Some(facts.name.to_owned()), facts.fields),
        None => (None, Vec::new()),
    };
    let fields = fields.into_iter();
    CommandView {
        contract: command.contract.as_str().to_owned(),
        name,
        fields: fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        value: hex::encode(&command.value),
        signers: names.all(&command.signers),
    }
}

fn signed(signature: &TransactionSignature, names: &KeyNames<'_>) -> SignatureView {
    SignatureView {
        by: names.named(&signature.by),
        scheme: match signature.signature.scheme() {
            Scheme::Ed25519 => "ed25519".to_owned(),
            Scheme::EcdsaP256 => "ecdsa-p256".to_owned(),
        },
        batch: signature.batch.as_ref().map(|proof| proof.count),
        bytes: hex::encode(signature.signature.bytes()),
    }
}

#[cfg(test)]
mod tests {
    use ledger::{ContractName, Fungible, LegalName, TokenId, TransactionBuilder};
    use primitives::{Hash, KeyPair};
    use serde_json::{Value, json};

    use super::*;

    fn pair(seed: u8) -> KeyPair {
        KeyPair::from_seed(Scheme::Ed25519, [seed; 32])
    }

    fn party(name: &str, seed: u8) -> Party {
        let name = LegalName::new(name, "London", "GB").expect("a name");
        Party::new(name, pair(seed).public().clone())
    }

    /// Knows the owner of key 1, and describes states and commands of `test.coin` with the value `known`.
    struct Reader;

    impl TransactionReader for Reader {
        fn title(&self, party: &Party) -> String {
            party.name.to_string()
        }

        fn party(&self, key: &PublicKey) -> Option<String> {
            (key == pair(1).public()).then(|| "O=Bank A, L=London, C=GB".to_owned())
        }

        fn state(&self, state: &TransactionState) -> Option<StateFacts> {
            (state.data == b"known").then(|| StateFacts {
                participants: vec![pair(1).public().clone(), pair(2).public().clone()],
                owner: Some(pair(2).public().clone()),
                fungible: Some(Fungible {
                    token: TokenId::from_hash(Hash::ZERO),
                    symbol: "GBP".to_owned(),
                    issuer: party("Bank A", 1),
                    quantity: u64::MAX,
                }),
                ..StateFacts::default()
            })
        }

        fn command(&self, command: &Command, _: &SignedTransaction) -> Option<CommandFacts> {
            let facts = CommandFacts::new("issue").field("quantity", u64::MAX);
            (command.value == b"known").then_some(facts)
        }
    }

    fn view() -> Value {
        let contract = ContractName::new("test.coin").expect("a name");
        let mut builder = TransactionBuilder::new(party("Notary", 9));
        for data in [b"known".to_vec(), b"\xff".to_vec()] {
            let signers = vec![pair(1).public().clone(), pair(2).public().clone()];
            builder = builder
                .output_data(contract.clone(), Constraint::AlwaysAccept, data.clone())
                .command(contract.clone(), data, signers);
        }
        let wire = builder.build([7; 32]).expect("a transaction");
        let transaction = SignedTransaction::new(wire, Vec::new());
        let transaction = transaction.signed_by(&pair(1)).signed_by(&pair(2));
        let recorded = RecordedTransaction {
            seq: 17,
            at: Timestamp::from_ms(1_765_432_100_000),
            transaction: &transaction,
        };
        serde_json::to_value(transaction_view(recorded, &Reader)).expect("JSON")
    }

    #[test]
    fn keys_have_names_and_commands_have_fields() {
        let view = view();
        let known = json!({
            "key": pair(1).public().to_text(), "party": "O=Bank A, L=London, C=GB",
        });
        let unknown = json!({ "key": pair(2).public().to_text() });
        let quantity = u64::MAX.to_string();
        for (place, expected) in [
            ("/recorded_at_ms", json!(1_765_432_100_000_u64)),
            ("/outputs/0/participants", json!([known, unknown])),
            ("/outputs/0/owner", unknown.clone()),
            ("/outputs/0/fungible/quantity", json!(quantity)),
            ("/outputs/1/participants", json!([])),
            ("/commands/0/name", json!("issue")),
            ("/commands/0/fields", json!({ "quantity": quantity })),
            ("/commands/0/value", json!(hex::encode(b"known"))),
            ("/commands/0/signers", json!([known, unknown])),
            ("/commands/1/value", json!("ff")),
            ("/signatures/0/by", known.clone()),
            ("/signatures/1/by", unknown.clone()),
        ] {
            assert_eq!(view.pointer(place), Some(&expected), "{place}");
        }
        let required = view["required_signers"].as_array().expect("a list");
        assert!(required.contains(&known) && required.contains(&unknown));
        for place in ["/outputs/1/owner", "/commands/1/name", "/commands/1/fields"] {
            assert_eq!(view.pointer(place), None, "{place}");
        }
    }
}
