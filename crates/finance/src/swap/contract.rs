//! The contract of mandates: only the owner makes and ends them.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use ledger::{
    ColumnKind, ColumnSpec, ColumnValue, CommandFacts, Constraint, Contract, ContractName,
    ContractRegistry, ContractRejection, LedgerTransaction, StateFacts,
};
use primitives::{Decode, DecodeError, Hash, PublicKey};

use super::{MANDATE_NAME, Mandate, MandateCommand, SwapError};

/// Returns the contract's checked name.
pub fn mandate_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| ContractName::new(MANDATE_NAME).expect("a constant that is a valid name"))
}

/// Returns the code of the newest version of the contract: its descriptor and the constraint of new states.
pub fn mandate_code() -> &'static (Hash, Constraint) {
    static CODE: OnceLock<(Hash, Constraint)> = OnceLock::new();
    CODE.get_or_init(|| {
        let mut registry = ContractRegistry::new();
        registry
            .register(Arc::new(MandateContract))
            .expect("the only contract of a new registry");
        registry
            .current(mandate_name())
            .expect("it was just registered")
    })
}

/// The contract of mandates, version 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct MandateContract;

impl Contract for MandateContract {
    fn name(&self) -> &str {
        MANDATE_NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        let consumed = tx.inputs_of(mandate_name()).map(|input| &input.state.data);
        let consumed = owners(consumed)?;
        let made = owners(tx.outputs_of(mandate_name()).map(|output| &output.data))?;
        let (mut give, mut revoke): (Option<&[PublicKey]>, Option<&[PublicKey]>) = (None, None);
        for command in tx.commands_of(mandate_name()) {
            let value = MandateCommand::from_bytes(&command.value).map_err(SwapError::Command)?;
            let order = match value {
                MandateCommand::Give => &mut give,
                MandateCommand::Revoke => &mut revoke,
            };
            if order.replace(&command.signers).is_some() {
                return Err(SwapError::CommandRepeated.into());
            }
        }
        for (signers, owners) in [(give, made), (revoke, consumed)] {
            if signers.is_some() && owners.is_empty() {
                return Err(SwapError::CommandWithoutMandate.into());
            }
            // Without the command, no owner has signed.
            let signers = signers.unwrap_or_default();
            if !owners.iter().all(|owner| signers.contains(owner)) {
                return Err(SwapError::OwnerMustSign.into());
            }
        }
        Ok(())
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let mandate = Mandate::from_bytes(data)?;
        let mut columns = vec![
            (
                "coordinator",
                ColumnValue::Text(mandate.coordinator.name.to_string()),
            ),
            (
                "side",
                ColumnValue::Text(mandate.market.side.name().to_owned()),
            ),
            (
                "stock",
                ColumnValue::Text(mandate.market.stock.symbol.to_string()),
            ),
            (
                "currency",
                ColumnValue::Text(mandate.market.cash.currency.to_string()),
            ),
            ("price", ColumnValue::Number(mandate.price)),
            ("quantity_max", ColumnValue::Number(mandate.quantity_max)),
        ];
        if let Some(until) = mandate.until {
            columns.push(("until", ColumnValue::Number(until.as_ms())));
        }
        Ok(StateFacts {
            participants: vec![mandate.owner.key.clone()],
            linear_id: Some(mandate.id()),
            owner: Some(mandate.owner.key),
            columns,
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        let name = match MandateCommand::from_bytes(value)? {
            MandateCommand::Give => "give",
            MandateCommand::Revoke => "revoke",
        };
        Ok(Some(CommandFacts::new(name)))
    }

    fn columns(&self) -> &[ColumnSpec] {
        const fn column(name: &'static str, kind: ColumnKind) -> ColumnSpec {
            ColumnSpec { name, kind }
        }
        const COLUMNS: &[ColumnSpec] = &[
            column("coordinator", ColumnKind::Text),
            column("side", ColumnKind::Text),
            column("stock", ColumnKind::Text),
            column("currency", ColumnKind::Text),
            column("price", ColumnKind::Number),
            column("quantity_max", ColumnKind::Number),
            column("until", ColumnKind::Number),
        ];
        COLUMNS
    }
}

fn owners<'a>(states: impl Iterator<Item = &'a Vec<u8>>) -> Result<BTreeSet<PublicKey>, SwapError> {
    states
        .map(|data| Mandate::from_bytes(data).map(|mandate| mandate.owner.key))
        .collect::<Result<_, _>>()
        .map_err(SwapError::Mandate)
}
