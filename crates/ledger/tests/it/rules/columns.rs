//! Columns that contracts declare, and the treatment of their values.

use std::sync::Arc;

use ledger::{
    ColumnKind, ColumnSpec, ColumnValue, Contract, ContractExecutor, ContractName,
    ContractRegistry, ContractRejection, LedgerTransaction, StateFacts, TransactionState,
};
use primitives::{Coded, DecodeError};

use crate::rules::fixtures::notary;

/// Gives the same values with every state.
struct Tabled {
    version: u32,
    columns: Vec<ColumnSpec>,
    values: Vec<(&'static str, ColumnValue)>,
}

impl Contract for Tabled {
    fn name(&self) -> &str {
        "test.tabled"
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn verify(&self, _: &LedgerTransaction) -> Result<(), ContractRejection> {
        Ok(())
    }

    fn describe(&self, _: &[u8]) -> Result<StateFacts, DecodeError> {
        Ok(StateFacts {
            columns: self.values.clone(),
            ..StateFacts::default()
        })
    }

    fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }
}

fn column(name: &'static str, kind: ColumnKind) -> ColumnSpec {
    ColumnSpec { name, kind }
}

#[test]
fn only_declared_values_are_kept_whoever_asks_the_contract() {
    let text = |text: &str| ColumnValue::Text(text.into());
    let declared = vec![
        column("number", ColumnKind::Number),
        column("text", ColumnKind::Text),
        column("bytes", ColumnKind::Bytes),
    ];
    // Values that a contract gives, and the number that is kept.
    for (given, kept) in [
        (vec![("number", ColumnValue::Number(7))], 1),
        (vec![("number", text("7"))], 0),
        (vec![("text", text(&"x".repeat(256)))], 1),
        (vec![("text", text(&"x".repeat(257)))], 0),
        (vec![("bytes", ColumnValue::Bytes(vec![1; 257]))], 0),
        (vec![("text", text("first")), ("text", text("second"))], 1),
        (vec![("other", text("x"))], 0),
        (
            vec![("other", text("x")), ("number", ColumnValue::Number(1))],
            1,
        ),
    ] {
        let mut registry = ContractRegistry::new();
        let contract = Tabled {
            version: 1,
            columns: declared.clone(),
            values: given.clone(),
        };
        let hash = registry.register(Arc::new(contract)).expect("registered");
        let name = ContractName::new("test.tabled").expect("a name");
        let (_, constraint) = registry.current(&name).expect("registered");
        let state = TransactionState {
            data: Vec::new(),
            contract: name,
            constraint,
            notary: notary(),
            encumbrance: None,
        };
        let to_the_vault = registry.describe(&state).expect("facts").columns;
        let executor: &dyn ContractExecutor = &registry;
        let to_the_ledger = executor.describe(&hash, &[]).expect("facts").columns;
        assert_eq!(to_the_vault.len(), kept, "{given:?}");
        assert_eq!(to_the_vault, to_the_ledger, "{given:?}");
    }
}

#[test]
fn versions_of_a_contract_agree_on_the_kinds_of_their_columns() {
    let contract = |version, columns: &[ColumnSpec]| {
        Arc::new(Tabled {
            version,
            columns: columns.to_vec(),
            values: Vec::new(),
        })
    };
    let number = column("a", ColumnKind::Number);
    let text = column("a", ColumnKind::Text);
    let names = [
        "c00", "c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08", "c09", "c10", "c11", "c12",
        "c13", "c14", "c15", "c16",
    ];
    let many = names.map(|name| column(name, ColumnKind::Text));
    for (second, accepted) in [
        (&[number][..], true),
        (&[], true),
        (&[number, column("b", ColumnKind::Bytes)], true),
        (&[text], false),
        (&[number, number], false),
        (&[column("A", ColumnKind::Text)], false),
        (&[column("", ColumnKind::Text)], false),
        (&[column("1a", ColumnKind::Text)], false),
        (&many[..16], true),
        (&many, false),
    ] {
        let mut registry = ContractRegistry::new();
        registry
            .register(contract(1, &[number]))
            .expect("the first");
        let outcome = registry.register(contract(2, second));
        match outcome {
            Ok(_) => assert!(accepted, "{second:?}"),
            Err(error) => {
                assert!(!accepted, "{second:?}: {error}");
                assert_eq!(error.code(), "contract.columns_invalid");
            }
        }
    }
}
