//! A contract between two parties in two versions, and a flow that makes its states.

use std::sync::Arc;

use flow::{Flow, FlowContext, FlowError};
use ledger::{
    Constraint, Contract, ContractName, ContractRef, ContractRegistry, ContractRejection,
    LedgerTransaction, SignedTransaction, StateFacts, TransactionBuilder, TransactionSignature,
    TxId,
};
use primitives::{DecodeError, Hash, SignatureContext};

use super::{flows, key};

/// A deed: its data is the version that wrote it and the numbers of two nodes.
struct Deed(u32);

impl Contract for Deed {
    fn name(&self) -> &str {
        "test.deed"
    }

    fn version(&self) -> u32 {
        self.0
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
        contracts
            .register(Arc::new(Deed(version)))
            .expect("a new version");
    }
}

pub fn deed_name() -> ContractName {
    ContractName::new("test.deed").expect("a name")
}

/// The hash of a version's descriptor.
pub fn deed_code(version: u32) -> Hash {
    let contracts = super::contracts();
    let found = contracts.descriptors().find(|descriptor| {
        *descriptor.name() == deed_name() && descriptor.contract().version == version
    });
    found.expect("registered").hash()
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
        let data = vec![1, mine.expect("a small town") as u8, other as u8];
        let code = deed_code(1);
        let me = ctx.me().key.clone();
        let wire = TransactionBuilder::new(ctx.notary()?.clone())
            .attachment(code)
            .output_data(deed_name(), Constraint::Descriptor(code), data)
            .command(deed_name(), vec![], vec![me.clone()])
            .build(ctx.random32()?)?;
        let hash = wire.id().hash();
        let signature = ctx.sign(&me, SignatureContext::Transaction, hash).await?;
        let signature = TransactionSignature {
            by: me,
            signature,
            batch: None,
        };
        let signed = SignedTransaction::new(wire, [signature]);
        let id = signed.id();
        flow::library::finality(&ctx, signed, &[flows::name(other).party_id()]).await?;
        Ok(id)
    }
}
