//! The ledger's model: parties, states, contracts, transactions, tear-offs, and messages to notaries and networks.
//!
//! Types carry the stage: `TransactionBuilder -> WireTransaction` (well formed, hashed) `-> SignedTransaction ->
//! CheckedSignatures` and `LedgerTransaction -> VerifiedTransaction`. Pure: it knows nothing of databases, sockets, clocks
//! or randomness, and decides everything from its arguments.

pub mod limits;

// Names and identities.
mod contract_name;
mod id;
mod name;
mod party;
// Contracts and states.
mod command;
mod constraint;
mod contract;
mod descriptor;
mod facts;
mod registry;
mod selection;
mod state;
mod time_window;
// Transactions, by stage.
mod builder;
mod encumbrance;
pub mod group;
mod rings;
mod structure;
mod wire;
mod wire_codec;
// Signatures.
mod signature;
mod signatures;
mod signed;
// Verification.
mod contextual;
mod transaction;
mod transition;
mod transition_error;
mod transition_plan;
mod transition_rules;
// Tear-offs and notaries.
mod checked_tear_off;
mod equivocation;
mod notary_request;
mod notary_response;
mod tear_off;
mod tear_off_codec;
// The network.
mod document;
mod mark;
mod network_map;
mod node_info;
mod ownership;
mod parameters;
// Errors.
mod errors;
mod rejection;

pub use builder::{BuildError, TransactionBuilder};
pub use checked_tear_off::{CheckedTearOff, OpenedTearOff};
pub use command::Command;
pub use constraint::Constraint;
pub use contextual::{ContextualError, NetworkRules, VerifiedTransaction};
pub use contract::{Contract, ContractExecutor, ContractRejection};
pub use contract_name::{ContractName, ContractNameError, ContractRef};
pub use descriptor::{CodeKind, ContractDescriptor, DescriptorError, attachment_hash};
pub use document::{Document, DocumentError, SignedDocument};
pub use equivocation::{Equivocation, EquivocationError, EquivocationProof, NotarisedTearOff};
pub use errors::ERRORS;
pub use facts::{
    ColumnKind, ColumnSpec, ColumnValue, CommandFacts, Fungible, Scheduled, StateFacts,
};
pub use group::Group;
pub use id::{ParseStateRefError, PartyId, StateRef, TokenId, TxId};
pub use mark::DataMark;
pub use name::{LegalName, NameError};
pub use network_map::NetworkMap;
pub use node_info::{NodeInfo, NotaryInfo, is_address};
pub use notary_request::{NotaryRequest, NotarySubject, consuming_hash};
pub use notary_response::{NotaryError, NotaryResponse, StateConflict};
pub use ownership::{OwnershipError, OwnershipProof};
pub use parameters::NetworkParameters;
pub use party::Party;
pub use registry::{ContractRegistry, RegistryError};
pub use rejection::Rejection;
pub use selection::SelectionRequest;
pub use signature::{BatchProofError, TransactionSignature, batch_leaf};
pub use signatures::{CheckedSignatures, PendingSignatures, SignatureError};
pub use signed::SignedTransaction;
pub use state::{StateAndRef, TransactionState};
pub use structure::StructureError;
pub use tear_off::{Component, FilteredGroup, FilteredTransaction, TearOffError};
pub use time_window::{TimeWindow, TimeWindowError};
pub use transaction::{LedgerTransaction, ResolveError};
pub use transition::{TRANSITION_NAME, Transition, transition_name};
pub use transition_error::TransitionError;
pub use transition_plan::{PlanError, TransitionGoal, TransitionPlan};
pub use wire::WireTransaction;
