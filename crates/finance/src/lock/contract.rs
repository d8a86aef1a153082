//! The lock contract. `Lock` makes locks, each bound to another state. `Open` opens them: their owners sign, in a time window
//! that begins at the locks' times or later.

use std::sync::{Arc, OnceLock};

use ledger::{
    CommandFacts, Constraint, Contract, ContractName, ContractRegistry, ContractRejection,
    LedgerTransaction, Scheduled, StateFacts,
};
use primitives::{Decode, DecodeError, Hash, PublicKey};

use super::{LockCommand, LockError, LockState, unlock};

/// The name of the lock contract.
pub const LOCK_NAME: &str = "tally.lock";

/// Returns the contract's checked name.
pub fn lock_name() -> &'static ContractName {
    static NAME: OnceLock<ContractName> = OnceLock::new();
    NAME.get_or_init(|| ContractName::new(LOCK_NAME).expect("a constant that is a valid name"))
}

/// Returns the code of the newest version of the contract: its descriptor and the constraint of new states.
pub fn lock_code() -> &'static (Hash, Constraint) {
    static CODE: OnceLock<(Hash, Constraint)> = OnceLock::new();
    CODE.get_or_init(|| {
        let mut registry = ContractRegistry::new();
        registry
            .register(Arc::new(LockContract))
            .expect("the only contract of a new registry");
        registry
            .current(lock_name())
            .expect("it was just registered")
    })
}

/// The lock contract, version 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct LockContract;

impl Contract for LockContract {
    fn name(&self) -> &str {
        LOCK_NAME
    }

    fn version(&self) -> u32 {
        1
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        Ok(check(tx)?)
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let lock = LockState::from_bytes(data)?;
        Ok(StateFacts {
            participants: vec![lock.owner.clone()],
            owner: Some(lock.owner),
            scheduled: Some(Scheduled {
                at: lock.until,
                flow: unlock::NAME.to_owned(),
            }),
            ..StateFacts::default()
        })
    }

    fn describe_command(&self, value: &[u8]) -> Result<Option<CommandFacts>, DecodeError> {
        let name = match LockCommand::from_bytes(value)? {
            LockCommand::Lock => "lock",
            LockCommand::Open => "open",
        };
        Ok(Some(CommandFacts::new(name)))
    }
}

fn check(tx: &LedgerTransaction) -> Result<(), LockError> {
    let (mut locks, mut opens) = (false, None::<&[PublicKey]>);
    for command in tx.commands_of(lock_name()) {
        let value = LockCommand::from_bytes(&command.value).map_err(LockError::Command)?;
        let repeated = match value {
            LockCommand::Lock => std::mem::replace(&mut locks, true),
            LockCommand::Open => opens.replace(&command.signers).is_some(),
        };
        if repeated {
            return Err(LockError::Commands);
        }
    }
    let (mut made, mut opened) = (false, false);
    for output in tx.outputs_of(lock_name()) {
        LockState::from_bytes(&output.data).map_err(LockError::State)?;
        if output.encumbrance.is_none() {
            return Err(LockError::Unbound);
        }
        made = true;
    }
    for input in tx.inputs_of(lock_name()) {
        let lock = LockState::from_bytes(&input.state.data).map_err(LockError::State)?;
        let start = tx.time_window.and_then(|window| window.start());
        if start.is_none_or(|start| start < lock.until) {
            return Err(LockError::TooEarly);
        }
        // Without a command that opens, no owner has signed.
        if !opens.unwrap_or_default().contains(&lock.owner) {
            return Err(LockError::OwnerMustSign);
        }
        opened = true;
    }
    if (made, opened) == (locks, opens.is_some()) {
        Ok(())
    } else {
        Err(LockError::Commands)
    }
}
