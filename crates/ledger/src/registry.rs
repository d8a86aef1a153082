//! The registry of native contracts.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use primitives::{Coded, Decode, DecodeError, Hash, KeyPair, Scheme};
use thiserror::Error;

use crate::contract::ProgramFailure;
use crate::limits::{COLUMN_NAME_BYTES_MAX, COLUMNS_MAX};
use crate::{
    CodeKind, ColumnKind, ColumnSpec, Command, CommandFacts, Constraint, Contract,
    ContractDescriptor, ContractExecutor, ContractName, ContractNameError, ContractRef,
    ContractRejection, LedgerTransaction, StateFacts, TransactionState, Transition, errors,
    transition_name,
};

/// The seed of the key that signs the descriptors of built-in contracts. It is published. To be safe against any code that
/// nodes may run in future, constrain a state to the descriptor's hash, not to this key.
const DEVELOPMENT_SEED: [u8; 32] = *b"tallystick built-in contracts v1";

/// Reasons why a contract cannot be registered, or a state not described.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// The contract's name is not one.
    #[error(transparent)]
    Name(#[from] ContractNameError),
    /// The name is the ledger's own.
    #[error("the name {0} is reserved for the ledger's own rules")]
    Reserved(ContractName),
    /// This version is registered already.
    #[error("version {1} of the contract {0} is registered already")]
    Registered(ContractName, u32),
    /// The columns that it declares break a rule.
    #[error("the contract {0} can't have its column '{1}'")]
    Columns(ContractName, &'static str),
    /// No version of the contract is registered.
    #[error("no version of the contract {0} is registered")]
    Unknown(ContractName),
    /// A state is not its contract's.
    #[error("a state of {0} does not decode: {1}")]
    StateMalformed(ContractName, DecodeError),
    /// The contract panicked over a state.
    #[error("the contract {0} panicked over a state")]
    Panicked(ContractName),
}

impl Coded for RegistryError {
    fn code(&self) -> &'static str {
        match self {
            RegistryError::Name(error) => error.code(),
            RegistryError::Reserved(_) => "contract.name_reserved",
            RegistryError::Registered(..) => "contract.registered_twice",
            RegistryError::Columns(..) => "contract.columns_invalid",
            RegistryError::Unknown(_) => ProgramFailure::Unknown.code(),
            RegistryError::StateMalformed(..) => "contract.state_malformed",
            RegistryError::Panicked(_) => ProgramFailure::Panicked.code(),
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

struct Registered {
    contract: Arc<dyn Contract>,
    descriptor: Arc<ContractDescriptor>,
}

impl Registered {
    /// Describes a state with the contract, keeping only declared columns.
    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let mut facts = self.contract.describe(data)?;
        facts.keep_declared(self.contract.columns());
        Ok(facts)
    }
}

/// Native contracts by name and version, old versions together with new ones.
#[derive(Default)]
pub struct ContractRegistry {
    by_hash: HashMap<Hash, Registered>,
    /// Versions of each contract: the descriptor's hash and the constraint for new states.
    versions: BTreeMap<ContractName, BTreeMap<u32, (Hash, Constraint)>>,
    /// The columns that the versions of each contract declare.
    columns: BTreeMap<(ContractName, &'static str), ColumnKind>,
}

impl ContractRegistry {
    /// Makes an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a built-in contract: its descriptor is the same on every node, signed with a published key, and new states
    /// are constrained to exactly this version. Returns the descriptor's hash.
    pub fn register(&mut self, contract: Arc<dyn Contract>) -> Result<Hash, RegistryError> {
        let key = KeyPair::from_seed(Scheme::Ed25519, DEVELOPMENT_SEED);
        self.add(contract, &key, |hash, _| Constraint::Descriptor(hash))
    }

    /// Registers a contract under its author's key. New states are constrained to any version of the contract that this key has
    /// signed.
    pub fn register_signed(
        &mut self,
        contract: Arc<dyn Contract>,
        author: &KeyPair,
    ) -> Result<Hash, RegistryError> {
        self.add(contract, author, |_, key| {
            Constraint::SignedBy(key.public().clone())
        })
    }

    fn add(
        &mut self,
        contract: Arc<dyn Contract>,
        key: &KeyPair,
        constraint: impl FnOnce(Hash, &KeyPair) -> Constraint,
    ) -> Result<Hash, RegistryError> {
        let name = ContractName::new(contract.name())?;
        if name.is_reserved() {
            return Err(RegistryError::Reserved(name));
        }
        let version = contract.version();
        let known = self.versions.get(&name);
        if known.is_some_and(|versions| versions.contains_key(&version)) {
            return Err(RegistryError::Registered(name, version));
        }
        for (at, column) in contract.columns().iter().enumerate() {
            let known = self.columns.get(&(name.clone(), column.name));
            let again = contract.columns()[..at]
                .iter()
                .any(|earlier| earlier.name == column.name);
            if at >= COLUMNS_MAX
                || again
                || !is_column_name(column.name)
                || known.is_some_and(|kind| *kind != column.kind)
            {
                return Err(RegistryError::Columns(name, column.name));
            }
        }
        for column in contract.columns() {
            self.columns
                .insert((name.clone(), column.name), column.kind);
        }
        let descriptor = ContractDescriptor::sign(name.clone(), version, CodeKind::Native, key);
        let hash = descriptor.hash();
        let versions = self.versions.entry(name).or_default();
        versions.insert(version, (hash, constraint(hash, key)));
        self.by_hash.insert(
            hash,
            Registered {
                contract,
                descriptor: Arc::new(descriptor),
            },
        );
        Ok(hash)
    }

    /// Returns the hash of the descriptor and the constraint for new states of a contract, both of its newest version.
    pub fn current(&self, name: &ContractName) -> Option<(Hash, Constraint)> {
        self.versions
            .get(name)?
            .last_key_value()
            .map(|(_, current)| current.clone())
    }

    /// Returns the descriptors in order of contract and version. Every node has them as attachments.
    pub fn descriptors(&self) -> impl Iterator<Item = &Arc<ContractDescriptor>> {
        let hashes = self.versions.values().flat_map(BTreeMap::values);
        hashes
            .filter_map(|(hash, _)| self.by_hash.get(hash))
            .map(|r| &r.descriptor)
    }

    /// Returns the columns that contracts declare, in order of contract and name.
    pub fn columns(&self) -> impl Iterator<Item = (&ContractName, ColumnSpec)> {
        self.columns.iter().map(|((contract, name), kind)| {
            let (name, kind) = (*name, *kind);
            (contract, ColumnSpec { name, kind })
        })
    }

    /// Describes a state with the version that the state is constrained to, or else with the newest.
    pub fn describe(&self, state: &TransactionState) -> Result<StateFacts, RegistryError> {
        let name = &state.contract;
        let exact = match &state.constraint {
            Constraint::Descriptor(hash) => self
                .by_hash
                .get(hash)
                .filter(|r| r.descriptor.name() == name),
            _ => None,
        };
        let newest = || {
            self.current(name)
                .and_then(|(hash, _)| self.by_hash.get(&hash))
        };
        let registered = exact
            .or_else(newest)
            .ok_or_else(|| RegistryError::Unknown(name.clone()))?;
        catch_unwind(AssertUnwindSafe(|| registered.describe(&state.data)))
            .map_err(|_| RegistryError::Panicked(name.clone()))?
            .map_err(|error: DecodeError| RegistryError::StateMalformed(name.clone(), error))
    }

    /// Describes states, in order. A state that its contract does not describe has no description.
    pub fn facts<'a>(
        &'a self,
        states: &'a [TransactionState],
    ) -> impl Iterator<Item = Option<StateFacts>> + 'a {
        states.iter().map(|state| self.describe(state).ok())
    }

    /// Describes a command for people, with the version whose descriptor is among the transaction's attachments, or else with the
    /// newest. Returns none if no contract here describes it, if it does not decode, or if the contract panics.
    pub fn describe_command(
        &self,
        command: &Command,
        attachments: &[Hash],
    ) -> Option<CommandFacts> {
        let name = &command.contract;
        if name == transition_name() {
            return Transition::from_bytes(&command.value)
                .ok()
                .map(|transition| transition.facts());
        }
        let mut listed = attachments.iter().filter_map(|hash| self.by_hash.get(hash));
        let exact = listed.find(|registered| registered.descriptor.name() == name);
        let newest = || {
            self.current(name)
                .and_then(|(hash, _)| self.by_hash.get(&hash))
        };
        let registered = exact.or_else(newest)?;
        let describe = || registered.contract.describe_command(&command.value);
        let described = catch_unwind(AssertUnwindSafe(describe)).ok()?;
        described.ok().flatten()
    }
}

impl ContractExecutor for ContractRegistry {
    fn execute(
        &self,
        contract: &ContractName,
        descriptor: &Hash,
        tx: &LedgerTransaction,
    ) -> Result<(), ContractRejection> {
        let registered = self
            .by_hash
            .get(descriptor)
            .filter(|registered| registered.descriptor.name() == contract)
            .ok_or_else(|| unknown(contract))?;
        contained(contract, || registered.contract.verify(tx))
    }

    fn descriptor(&self, hash: &Hash) -> Option<Arc<ContractDescriptor>> {
        self.by_hash
            .get(hash)
            .map(|registered| registered.descriptor.clone())
    }

    fn describe(&self, descriptor: &Hash, data: &[u8]) -> Result<StateFacts, ContractRejection> {
        let registered = self.by_hash.get(descriptor);
        let registered = registered.ok_or_else(|| unknown(descriptor))?;
        contained(registered.descriptor.name(), || {
            registered.describe(data).map_err(|error| {
                let name = registered.descriptor.name().clone();
                let error = RegistryError::StateMalformed(name, error);
                ContractRejection::new(error.code(), error.to_string())
            })
        })
    }

    fn upgrade(
        &self,
        descriptor: &Hash,
        from: &ContractRef,
        data: &[u8],
    ) -> Result<Vec<u8>, ContractRejection> {
        let registered = self.by_hash.get(descriptor);
        let registered = registered.ok_or_else(|| unknown(descriptor))?;
        contained(registered.descriptor.name(), || {
            registered.contract.upgrade(from, data)
        })
    }
}

fn unknown(code: &impl std::fmt::Display) -> ContractRejection {
    let text = format!("{code} is not registered here");
    ContractRejection::by_program(ProgramFailure::Unknown, text)
}

/// Runs contract code; its panic becomes a rejection.
fn contained<T>(
    contract: &ContractName,
    run: impl FnOnce() -> Result<T, ContractRejection>,
) -> Result<T, ContractRejection> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let text = format!("the code of {contract} panicked");
        Err(ContractRejection::by_program(
            ProgramFailure::Panicked,
            text,
        ))
    })
}

fn is_column_name(name: &str) -> bool {
    name.len() <= COLUMN_NAME_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && (name.chars()).all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

impl std::fmt::Debug for ContractRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map()
            .entries(self.versions.iter().map(|(n, v)| (n, v.keys())))
            .finish()
    }
}
