//! Every error code of this crate, with its cause and the advised action.

use primitives::ErrorInfo;

macro_rules! catalogue {
    ($($code:literal: $cause:literal => $action:literal;)*) => {
        &[$(ErrorInfo { code: $code, cause: $cause, action: $action }),*]
    };
}

/// The catalogue of this crate's codes.
pub const ERRORS: &[ErrorInfo] = catalogue! {
    "key.proof_wrong_owner": "A proof that a key is a party's own was brought by another party." => "let the owner of the key prove it itself; proofs are never passed on";
    "key.proof_wrong_audience": "A proof that a key is a party's own was made for another party." => "ask the owner for a proof made for this node";
    "key.owner_unknown": "The network map does not list the party that says a key is its own." => "update the network map, or ask whether the party has left the network";
    "key.not_fresh": "A key that is said to be fresh is composite, or one that the network map lists." => "offer a key that the node made for this purpose";
    "key.proof_bad_signature": "A signature of a proof that a key is a party's own is not valid." => "ask the owner to prove it again, and check that both have the same network map";
    "name.invalid": "A legal name breaks a rule." => "write it like 'O=Bank A, L=London, C=GB', with Latin letters and a country of two capitals";
    "contract.name_invalid": "A contract's name breaks a rule." => "write it like 'tally.cash': lower-case words joined by dots, at most 64 characters";
    "contract.name_reserved": "A contract has a name that the ledger keeps for its own rules." => "choose a name that is not 'ledger' and does not begin with 'ledger.'";
    "contract.no_upgrade": "The contract does not take over states of that code." => "upgrade to a version whose code defines the upgrade of such states";
    "contract.columns_invalid": "A contract declares columns that break a rule." => "name columns in lower-case letters, digits and '_', at most 16 of them, each once and of the same kind in every version";
    "contract.descriptor_malformed": "An attachment that should be a contract descriptor is too large or does not decode." => "attach the descriptor as its author published it";
    "contract.descriptor_bad_signature": "A contract descriptor is not signed by the key it names." => "attach the descriptor as its author signed it";
    "contract.registered_twice": "A version of a contract is registered twice." => "give new code a new version";
    "contract.unknown": "The contract's code is not registered on this node." => "install the application that brings the contract";
    "contract.state_malformed": "A state's data does not follow its contract's encoding." => "encode the state as the contract's format says";
    "contract.panicked": "A contract's code panicked; the panic was contained and the transaction is refused." => "report it to the contract's author with the transaction; the node is unharmed";
    "tx.malformed": "The bytes of a transaction do not decode." => "encode it as docs/formats describes, in deterministic CBOR";
    "tx.too_large": "A transaction or one of its components has too many bytes, or fits no message of the network with its signatures." => "split the transaction, or move data into attachments";
    "tx.too_many_components": "A transaction has more components of a kind than allowed." => "split it into several transactions";
    "tx.empty": "A transaction neither consumes nor makes a state." => "add an input or an output";
    "tx.no_command": "A transaction has no command." => "add a command that states the purpose and the signers";
    "tx.no_signers": "A command has no signers." => "name at least one key that has to sign for the command";
    "tx.duplicate_signer": "A command names a signer twice." => "name each signer of a command once";
    "tx.duplicate_input": "A transaction consumes a state twice." => "list each input once";
    "tx.duplicate_reference": "A transaction refers to a state twice." => "list each reference once";
    "tx.input_also_referenced": "A transaction consumes a state and also refers to it." => "leave the reference out: an input can be read too";
    "tx.duplicate_attachment": "A transaction lists an attachment twice." => "list each attachment once";
    "tx.notary_missing": "A transaction has states but names no notary." => "name the notary of its states";
    "tx.time_window_without_notary": "A transaction has a time window but no notary that could judge it." => "name a notary, or leave the time window out";
    "tx.time_window_invalid": "A time window has no end at all, or does not begin before it ends." => "give at least one end, and a beginning before the end";
    "tx.encumbrance_invalid": "Encumbered outputs do not form a ring." => "let each encumbered output name another encumbered output, so that following them leads back to the first";
    "tx.encumbrance_missing": "An encumbered state is consumed without the state that it is bound to." => "consume all states of the ring in the same transaction";
    "tx.signature_missing": "A required signature is missing." => "collect a signature of every signer of the commands, and the notary's";
    "tx.signature_superfluous": "A signature was made by a key that is not required." => "remove the signature, or name the key as a signer of a command";
    "tx.signature_bad": "A signature is not valid." => "sign the transaction's id again with the key that is named";
    "tx.batch_not_by_notary": "A signature over a batch of transactions was made by another key than the notary's." => "sign the transaction alone; only notaries sign batches";
    "tx.batch_proof_invalid": "The proof that a notary's batch signature covers the transaction leads nowhere." => "ask the notary again: it answers the same transaction with the same verdict";
    "tx.state_unknown": "A state that a transaction consumes or reads is not known here." => "get the back chain from the party that sent the transaction";
    "tx.notary_unknown": "A transaction's notary is none of the network's." => "use a notary that the network parameters name";
    "tx.notary_mismatch": "A state belongs to another notary than the transaction's." => "use states of one notary, or move a state to this notary first";
    "tx.contract_missing": "The code of a contract is not attached, or can't be run on this node." => "attach the contract's descriptor, and install its application on every node concerned";
    "tx.contract_ambiguous": "More than one version of a contract is attached." => "attach exactly one version of each contract";
    "tx.command_without_state": "A command names a contract, but the transaction has no state of that contract." => "remove the command, or add the state it is about";
    "tx.constraint_unsatisfied": "The attached code does not satisfy a state's constraint." => "attach the code that the state's constraint names";
    "tx.constraint_not_propagated": "A state is made under another constraint than the states of its contract that are consumed." => "copy the constraint of the inputs to the outputs";
    "tx.always_accept_refused": "A state accepts any code, which the network parameters do not allow." => "constrain the state to a descriptor or a signer; always-accept is for tests";
    "tx.contract_downgraded": "A transaction attaches older code than the code that made a state it consumes." => "attach the version that made the state, or a newer one of the same signer";
    "tx.origin_unknown": "The transaction that made a consumed state is not known here, so that the age of its code can't be judged." => "get the back chain from the party that sent the transaction";
    "tx.name_reserved": "A state names a contract of the ledger's own." => "give the state the contract that decides about it; names that begin with 'ledger.' are reserved";
    "tx.transition_malformed": "The command of a transition does not decode." => "encode it as docs/formats describes: a change of notary or an upgrade";
    "tx.transition_not_alone": "A transition has another command, or refers to states." => "do one thing in a transaction: move the states first, use them after";
    "tx.transition_output": "An output of a transition differs from the one that follows from its input." => "make one output for each input, in the same order, and change nothing else";
    "tx.transition_same_notary": "A change of notary leads to the notary that the states have." => "name another notary of the network";
    "tx.transition_signer_missing": "A party that a moved state concerns is not among the signers of a transition." => "name every participant and the owner of every input as signers";
    "tx.transition_unconcerned": "A state that concerns no party cannot be moved, because no party could agree." => "leave the state where it is; its contract names neither owner nor participants";
    "tx.upgrade_not_newer": "An upgrade leads to the same code, or to an older version of the same contract." => "name the descriptor of a newer version";
    "tx.upgrade_without_state": "An upgrade consumes no state under the code that it names." => "name the descriptor of the code that the states are under";
    "tx.contract_rejected": "A contract rejects the transaction." => "read the contract's own code and message: they name the rule that is broken";
    "tear_off.malformed": "A tear-off does not decode." => "encode it as docs/formats describes";
    "tear_off.incomplete": "A tear-off for a notary does not show all inputs, references, the time window, the notary and the parameters." => "make the tear-off for a notary from the whole transaction";
    "tear_off.bad_proof": "A proof in a tear-off leads to no root." => "make the tear-off again from the whole transaction";
    "tear_off.id_mismatch": "The revealed parts of a tear-off do not belong to the transaction it names." => "make the tear-off again from the whole transaction; nothing of it may be changed";
    "tear_off.signers_hidden": "A tear-off shows a command and hides its required signers." => "show the whole group of signers with any command";
    "notary.conflict": "Another transaction has consumed a state." => "select other states and try again; the hash is of the consuming transaction's id, and not the id itself";
    "notary.time_window_invalid": "The time window was not open when the request arrived." => "make the transaction again with a window that is open, and check the clocks";
    "notary.invalid_request": "The request itself is wrong." => "read the inner code: it names the fault of the tear-off or the signature";
    "notary.no_equivocation": "Two transactions do not prove that a notary signed two consumers of one state." => "export the proof again from the node that reported it, and check the file for damage";
    "notary.busy": "The notary's queue is long." => "ask again after the time given";
    "notary.too_many_states": "A transaction consumes and reads more states than the notary takes." => "split the transaction";
    "notary.wrong_notary": "The request went to another notary than the transaction's." => "send it to the notary that the transaction names";
    "notary.transaction_invalid": "A validating notary finds that the transaction, or its back chain, is not valid." => "read the inner code: it names the rule that is broken";
    "network.document_wrong_signer": "A network document is signed by another key than the network's root." => "check that the file belongs to this network";
    "network.document_bad_signature": "A network document's signature is not valid." => "get the document again from the network's operator";
    "network.document_malformed": "A network document does not decode." => "get the document again from the network's operator, and check that the versions fit";
};

/// Returns the advised action for one of this crate's codes, or one of the codec's.
pub(crate) fn action(code: &str) -> &'static str {
    ErrorInfo::action_of(ERRORS, code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_complete() {
        for (index, info) in ERRORS.iter().enumerate() {
            assert!(info.code.contains('.') && !info.cause.is_empty() && !info.action.is_empty());
            assert!(
                ERRORS[..index].iter().all(|other| other.code != info.code),
                "{}",
                info.code
            );
        }
    }
}
