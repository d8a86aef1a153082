//! Transactions as people read them.

use api::{CommandView, Fungible, SignatureView, StateView, TimeWindowView, TransactionView};
use ledger::{
    Command, Constraint, NetworkMap, SignedTransaction, StateFacts, TransactionSignature,
    TransactionState,
};
use primitives::{Encode, PublicKey, Scheme, hex};

/// Returns the decoded form of a recorded transaction. Outputs have the fields that their contracts describe, and keys have the
/// names of their owners if this node knows them.
pub fn transaction_view(
    seq: u64,
    transaction: &SignedTransaction,
    map: &NetworkMap,
    party_of: impl Fn(&PublicKey) -> Option<String>,
    describe: impl Fn(&TransactionState) -> Option<StateFacts>,
) -> TransactionView {
    let wire = transaction.wire();
    let outputs = wire
        .outputs()
        .iter()
        .zip(0..)
        .map(|(state, index)| output(index, state, describe(state), map, &party_of));
    TransactionView {
        id: transaction.id().to_string(),
        seq,
        inputs: wire.inputs().iter().map(ToString::to_string).collect(),
        references: wire.references().iter().map(ToString::to_string).collect(),
        outputs: outputs.collect(),
        commands: wire.commands().iter().map(command).collect(),
        attachments: wire.attachments().iter().map(ToString::to_string).collect(),
        notary: wire.notary().map(ToString::to_string),
        time_window: wire.time_window().map(|window| TimeWindowView {
            from_ms: window.start().map(|at| at.as_ms()),
            until_ms: window.end().map(|at| at.as_ms()),
        }),
        parameters: wire.parameters().map(ToString::to_string),
        required_signers: texts(&wire.required_signers()),
        signatures: transaction
            .signatures()
            .iter()
            .map(|signature| signed(signature, &party_of))
            .collect(),
        bytes: hex::encode(&transaction.to_bytes()),
    }
}

fn output(
    index: u32,
    state: &TransactionState,
    facts: Option<StateFacts>,
    map: &NetworkMap,
    party_of: &dyn Fn(&PublicKey) -> Option<String>,
) -> StateView {
    // A state that no contract of this node describes has no facts.
    let facts = facts.unwrap_or_default();
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
        participants: texts(&facts.participants),
        owner: facts.owner.as_ref().map(PublicKey::to_text),
        owner_party: facts.owner.as_ref().and_then(party_of),
        fungible: facts.fungible.map(|fungible| Fungible {
            token: fungible.token.to_string(),
            symbol: fungible.symbol,
            issuer: map.title(&fungible.issuer),
            quantity: fungible.quantity,
        }),
        linear_id: facts.linear_id.map(|id| id.to_string()),
        data: hex::encode(&state.data),
    }
}

fn command(command: &Command) -> CommandView {
    CommandView {
        contract: command.contract.as_str().to_owned(),
        value: hex::encode(&command.value),
        signers: texts(&command.signers),
    }
}

fn signed(
    signature: &TransactionSignature,
    party_of: &dyn Fn(&PublicKey) -> Option<String>,
) -> SignatureView {
    SignatureView {
        by: signature.by.to_text(),
        party: party_of(&signature.by),
        scheme: match signature.signature.scheme() {
            Scheme::Ed25519 => "ed25519".to_owned(),
            Scheme::EcdsaP256 => "ecdsa-p256".to_owned(),
        },
        batch: signature.batch.as_ref().map(|proof| proof.count),
        bytes: hex::encode(signature.signature.bytes()),
    }
}

fn texts(keys: &[PublicKey]) -> Vec<String> {
    keys.iter().map(PublicKey::to_text).collect()
}
