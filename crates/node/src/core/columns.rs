//! The columns that contracts declare: their places in the view, and their values in answers.

use std::collections::BTreeMap;

use ledger::{ColumnKind, ColumnValue, ContractRegistry};
use primitives::hex;
use vaultview::{Datum, ViewColumn};

/// All columns of this node's contracts.
pub(super) struct Columns {
    list: Vec<ViewColumn>,
    /// Contract and name.
    places: BTreeMap<(String, String), u32>,
}

impl Columns {
    pub(super) fn of(contracts: &ContractRegistry) -> Self {
        let list: Vec<ViewColumn> = (contracts.columns())
            .map(|(contract, column)| ViewColumn {
                contract: contract.as_str().to_owned(),
                name: column.name.to_owned(),
                kind: match column.kind {
                    ColumnKind::Number => vaultview::ColumnKind::Number,
                    ColumnKind::Text => vaultview::ColumnKind::Text,
                    ColumnKind::Bytes => vaultview::ColumnKind::Bytes,
                },
            })
            .collect();
        let places = (0..).zip(&list);
        let places = places.map(|(i, column)| ((column.contract.clone(), column.name.clone()), i));
        Self {
            places: places.collect(),
            list,
        }
    }

    /// Returns the columns in the form in which the view is created.
    pub(super) fn list(&self) -> &[ViewColumn] {
        &self.list
    }

    /// The column that a query names: the contract, a dot, the name.
    pub(super) fn find(&self, field: &str) -> Option<u32> {
        let (contract, name) = field.rsplit_once('.')?;
        let key = (contract.to_owned(), name.to_owned());
        self.places.get(&key).copied()
    }

    /// Returns the column at a place that this list has assigned.
    pub(super) fn get(&self, place: u32) -> Option<&ViewColumn> {
        self.list.get(usize::try_from(place).ok()?)
    }

    /// Returns the field names to suggest instead of `field`: the columns of its contract, or all columns if the contract has
    /// none.
    pub(super) fn instead_of(&self, field: &str) -> Vec<String> {
        let contract = field.rsplit_once('.').map_or("", |(contract, _)| contract);
        let of_contract = self.list.iter().any(|column| column.contract == contract);
        let columns = self.list.iter();
        let columns = columns.filter(|column| !of_contract || column.contract == contract);
        columns
            .map(|column| format!("{}.{}", column.contract, column.name))
            .collect()
    }

    /// A state's values, for the view.
    pub(super) fn row(
        &self,
        contract: &str,
        values: Vec<(&'static str, ColumnValue)>,
    ) -> Vec<(u32, Datum)> {
        let mut row: Vec<(u32, Datum)> = values
            .into_iter()
            .filter_map(|(name, value)| {
                let key = (contract.to_owned(), name.to_owned());
                Some((*self.places.get(&key)?, datum(value)))
            })
            .collect();
        row.sort_unstable_by_key(|(place, _)| *place);
        row
    }

    /// A state's values as an answer shows them.
    pub(super) fn shown(&self, values: Vec<(u32, Datum)>) -> BTreeMap<String, String> {
        let values = values.into_iter();
        values
            .filter_map(|(place, value)| Some((self.get(place)?.name.clone(), shown(value))))
            .collect()
    }
}

fn datum(value: ColumnValue) -> Datum {
    match value {
        ColumnValue::Number(number) => Datum::Number(number),
        ColumnValue::Text(text) => Datum::Text(text),
        ColumnValue::Bytes(bytes) => Datum::Bytes(bytes),
    }
}

/// Values that a contract gave, as an event shows them.
pub(super) fn shown_values(values: Vec<(&'static str, ColumnValue)>) -> BTreeMap<String, String> {
    let values = values.into_iter();
    values
        .map(|(name, value)| (name.to_owned(), shown(datum(value))))
        .collect()
}

/// Returns a value as answers show it. All are text, because a number may exceed 2^53.
pub(super) fn shown(value: Datum) -> String {
    match value {
        Datum::Number(number) => number.to_string(),
        Datum::Text(text) => text,
        Datum::Bytes(bytes) => hex::encode(&bytes),
    }
}
