//! The document contract. A document is made with `Share`, signed by the sharing party, with the file attached. It is
//! never consumed.

use std::sync::{Arc, OnceLock};

use ledger::{
    ColumnKind, ColumnSpec, ColumnValue, CommandFacts, Constraint, Contract, ContractName,
    ContractRegistry, ContractRejection, LedgerTransaction, StateFacts,
};
use primitives::{Decode, DecodeError, Hash, PublicKey};

use super::{DocumentCommand, DocumentError, DocumentState};

/// The name of the contract of documents.
pub const DOCUMENT_NAME: &str = "tally.document";

/// Returns the contract's checked name.
pub fn document_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| ContractName::new(DOCUMENT_NAME).expect("a constant that is a valid name"))
}

/// Returns the code of the newest version of the contract: its descriptor and the constraint of new states.
pub fn document_code() -> &'static (Hash, Constraint) {
    static CODE: OnceLock<(Hash, Constraint)> = OnceLock::new();
    CODE.get_or_init(|| {
        let mut registry = ContractRegistry::new();
        registry
            .register(Arc::new(DocumentContract))
            .expect("the only contract of a new registry");
        registry
            .current(document_name())
            .expect("it was just registered")
    })
}

/// The contract of documents, version 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct DocumentContract;

impl Contract for DocumentContract {
    fn name(&self) -> &str {
        DOCUMENT_NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        Ok(check(tx)?)
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let document = DocumentState::from_bytes(data)?;
        Ok(StateFacts {
            participants: vec![document.from.key, document.to.key.clone()],
            owner: Some(document.to.key),
            columns: vec![
                (
                    "attachment",
                    ColumnValue::Text(document.attachment.to_string()),
                ),
                ("title", ColumnValue::Text(document.title)),
            ],
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        let name = match DocumentCommand::from_bytes(value)? {
            DocumentCommand::Share => "share",
        };
        Ok(Some(CommandFacts::new(name)))
    }

    fn columns(&self) -> &[ColumnSpec] {
        const fn column(name: &'static str) -> ColumnSpec {
            let kind = ColumnKind::Text;
            ColumnSpec { name, kind }
        }
        const COLUMNS: &[ColumnSpec] = &[column("attachment"), column("title")];
        COLUMNS
    }
}

fn check(tx: &LedgerTransaction) -> Result<(), DocumentError> {
    let mut signers = None::<&[PublicKey]>;
    for command in tx.commands_of(document_name()) {
        DocumentCommand::from_bytes(&command.value).map_err(DocumentError::Command)?;
        if signers.replace(&command.signers).is_some() {
            return Err(DocumentError::Commands);
        }
    }
    if tx.inputs_of(document_name()).next().is_some() {
        return Err(DocumentError::Kept);
    }
    let mut shares = false;
    for output in tx.outputs_of(document_name()) {
        let document = DocumentState::from_bytes(&output.data).map_err(DocumentError::State)?;
        if document.from.key == document.to.key {
            return Err(DocumentError::WithItself);
        }
        if !tx.attachments.contains(&document.attachment) {
            return Err(DocumentError::NotAttached(document.attachment));
        }
        let Some(signers) = signers else {
            return Err(DocumentError::Commands);
        };
        if !signers.contains(&document.from.key) {
            return Err(DocumentError::SharerMustSign);
        }
        shares = true;
    }
    match shares == signers.is_some() {
        true => Ok(()),
        false => Err(DocumentError::Commands),
    }
}
