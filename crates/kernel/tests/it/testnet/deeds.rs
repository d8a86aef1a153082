//! A contract between two parties in two versions, and flows that make and use its states: deeds, under exactly named code,
//! and bonds, under any code that their author signs.

use std::sync::Arc;

use flow::{Flow, FlowContext, FlowError};
use ledger::{
    Constraint, Contract, ContractName, ContractRef, ContractRegistry, ContractRejection,
    LedgerTransaction, PartyId, SignedTransaction, StateFacts, StateRef, TransactionBuilder,
    TransactionSignature, TxId,
};
use primitives::{DecodeError, Hash, KeyPair, PublicKey, Scheme, SignatureContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{flows, key};

/// A deed: its data is the version that wrote it and the numbers of two nodes.
struct Deed(&'static str, u32);

impl Contract for Deed {
    fn name(&self) -> &str {
        self.0
    }

    fn version(&self) -> u32 {
        self.1
    }

    fn verify(&self, _: &LedgerTransaction) -> Result<(), ContractRejection> {
        Ok(())
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let nodes = data.iter().skip(1);
        Ok(StateFacts {
            participants: nodes
                .map(|node| key(usize::from(*node)).public().clone())
                .collect(),
            ..StateFacts::default()
        })
    }

    fn upgrade(&self, _: &ContractRef, data: &[u8]) -> Result<Vec<u8>, ContractRejection> {
        let mut new = data.to_vec();
        new[0] = 2;
        Ok(new)
    }
}

pub fn register(contracts: &mut ContractRegistry) {
    for version in [1, 2] {
        let deed = Arc::new(Deed("test.deed", version));
        contracts.register(deed).expect("a new version");
        let bond = Arc::new(Deed("test.bond", version));
        let author = KeyPair::from_seed(Scheme::Ed25519, [99; 32]);
        contracts
            .register_signed(bond, &author)
            .expect("a new version");
    }
}

pub fn deed_name() -> ContractName {
    ContractName::new("test.deed").expect("a name")
}

/// Returns the hash of a version's descriptor.
pub fn deed_code(version: u32) -> Hash {
    code("test.deed", version).0
}

/// Returns the hash of a version's descriptor.
pub fn bond_code(version: u32) -> Hash {
    code("test.bond", version).0
}

fn code(name: &str, version: u32) -> (Hash, PublicKey) {
    let contracts = super::contracts();
    let found = contracts.descriptors().find(|descriptor| {
        descriptor.name().as_str() == name && descriptor.contract().version == version
    });
    let found = found.expect("registered");
    (found.hash(), found.signer().clone())
}

/// Makes a deed of version 1 between this node and another, whose number it is given.
pub struct MakeDeed;

impl Flow for MakeDeed {
    const NAME: &'static str = "test.make_deed";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = TxId;

    async fn run(ctx: FlowContext, other: u64) -> Result<TxId, FlowError> {
        let mine = (0..20).find(|node| key(*node).public() == &ctx.me().key);
        let data = vec![1, mine.expect("few nodes") as u8, other as u8];
        let code = deed_code(1);
        let builder = TransactionBuilder::new(ctx.notary()?.clone())
            .attachment(code)
            .output_data(deed_name(), Constraint::Descriptor(code), data);
        finish(&ctx, builder, deed_name(), &[flows::name(other).party_id()]).await
    }
}

/// Arguments of [`UseBond`].
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct UseBondArgs {
    /// The bond to be used up; a first one is made, if there is none.
    pub bond: Option<StateRef>,
    /// The version of the code that decides.
    pub version: u32,
}

primitives::record!(UseBondArgs { bond, version });

/// Makes a bond of this node alone, in place of an earlier one.
pub struct UseBond;

impl Flow for UseBond {
    const NAME: &'static str = "test.use_bond";
    const VERSION: u32 = 1;
    type Args = UseBondArgs;
    type Output = TxId;

    async fn run(ctx: FlowContext, args: UseBondArgs) -> Result<TxId, FlowError> {
        let name = ContractName::new("test.bond").expect("a name");
        let (hash, author) = code("test.bond", args.version);
        let inputs = match args.bond {
            Some(bond) => ctx.lock_states(vec![bond]).await?,
            None => Vec::new(),
        };
        let data = vec![args.version as u8, 1];
        let builder = TransactionBuilder::new(ctx.notary()?.clone())
            .inputs(&inputs)
            .attachment(hash)
            .output_data(name.clone(), Constraint::SignedBy(author), data);
        finish(&ctx, builder, name, &[]).await
    }
}

/// Signs the transaction and makes it final.
async fn finish(
    ctx: &FlowContext,
    builder: TransactionBuilder,
    contract: ContractName,
    receivers: &[PartyId],
) -> Result<TxId, FlowError> {
    let me = ctx.me().key.clone();
    let builder = builder.command(contract, vec![], vec![me.clone()]);
    let wire = builder.build(ctx.random32()?)?;
    let hash = wire.id().hash();
    let signature = ctx.sign(&me, SignatureContext::Transaction, hash).await?;
    let signature = TransactionSignature {
        by: me,
        signature,
        batch: None,
    };
    let signed = SignedTransaction::new(wire, [signature]);
    let id = signed.id();
    flow::library::finality(ctx, signed, receivers).await?;
    Ok(id)
}
