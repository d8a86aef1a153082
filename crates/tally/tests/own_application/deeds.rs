//! A contract between two parties in two versions, and the flow that makes its states.

use std::sync::Arc;

use flow::library::{
    build_and_sign, collect_signatures, finality, receive_finality, sign_transaction,
};
use flow::{Flow, FlowContext, FlowError, FlowRegistry, Responder, Session};
use ledger::{
    Constraint, Contract, ContractName, ContractRef, ContractRegistry, ContractRejection,
    LedgerTransaction, LegalName, Party, RegistryError, SignedTransaction, StateFacts,
    TransactionBuilder, TxId,
};
use primitives::{Decode, DecodeError, Encode, Hash, PublicKey};

const NAME: &str = "trial.deed";

/// A deed.
struct Deed {
    /// The version of the code that wrote it.
    version: u32,
    /// The parties that the deed concerns.
    parties: Vec<PublicKey>,
}

primitives::record!(Deed { version, parties });

/// The contract in one of its versions.
struct DeedContract(u32);

impl Contract for DeedContract {
    fn name(&self) -> &str {
        NAME
    }

    fn version(&self) -> u32 {
        self.0
    }

    fn verify(&self, tx: &LedgerTransaction) -> Result<(), ContractRejection> {
        let name = ContractName::new(NAME).expect("a name");
        for state in tx.outputs_of(&name) {
            let deed = Deed::from_bytes(&state.data);
            if !deed.is_ok_and(|deed| deed.version == self.0) {
                return Err(ContractRejection::new(
                    "trial.version",
                    "of another version",
                ));
            }
        }
        Ok(())
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        Ok(StateFacts {
            participants: Deed::from_bytes(data)?.parties,
            ..StateFacts::default()
        })
    }

    fn upgrade(&self, _: &ContractRef, data: &[u8]) -> Result<Vec<u8>, ContractRejection> {
        let deed = Deed::from_bytes(data);
        let deed = deed.map_err(|e| ContractRejection::new("trial.malformed", e.to_string()))?;
        let version = self.0;
        Ok(Deed { version, ..deed }.to_bytes())
    }
}

/// Returns the hash of the first version's code.
fn first() -> Hash {
    let mut registry = ContractRegistry::new();
    let contract = Arc::new(DeedContract(1));
    registry.register(contract).expect("the only one")
}

fn party(ctx: &FlowContext, name: &LegalName) -> Result<Party, FlowError> {
    let other = ctx.network().by_name(name).cloned();
    other.ok_or_else(|| FlowError::new("trial.party", "unknown", "name another"))
}

/// A deed of the first version between this node and another, signed by this one.
async fn proposed(
    ctx: &FlowContext,
    other: &Party,
    signers: Vec<PublicKey>,
) -> Result<SignedTransaction, FlowError> {
    let deed = Deed {
        version: 1,
        parties: vec![ctx.me().key.clone(), other.key.clone()],
    };
    let name = ContractName::new(NAME).expect("a name");
    let code = first();
    let builder = TransactionBuilder::new(ctx.notary()?.clone())
        .attachment(code)
        .output_data(name.clone(), Constraint::Descriptor(code), deed.to_bytes())
        .command(name, Vec::new(), signers);
    build_and_sign(ctx, builder, &[ctx.me().key.clone()]).await
}

/// Makes a deed of the first version between this node and another, without asking the other.
struct GiveDeed;

impl Flow for GiveDeed {
    const NAME: &'static str = "trial.give_deed";
    const VERSION: u32 = 1;
    type Args = LegalName;
    type Output = TxId;

    async fn run(ctx: FlowContext, other: LegalName) -> Result<TxId, FlowError> {
        let other = party(&ctx, &other)?;
        let signed = proposed(&ctx, &other, vec![ctx.me().key.clone()]).await?;
        let id = signed.id();
        finality(&ctx, signed, &[other.id()]).await?;
        Ok(id)
    }
}

/// Makes a deed of this node with itself, and delivers it to another that has no part in it.
struct ShowDeed;

impl Flow for ShowDeed {
    const NAME: &'static str = "trial.show_deed";
    const VERSION: u32 = 1;
    type Args = LegalName;
    type Output = TxId;

    async fn run(ctx: FlowContext, other: LegalName) -> Result<TxId, FlowError> {
        let other = party(&ctx, &other)?;
        let signed = proposed(&ctx, &ctx.me().clone(), vec![ctx.me().key.clone()]).await?;
        let id = signed.id();
        finality(&ctx, signed, &[other.id()]).await?;
        Ok(id)
    }
}

/// Makes a deed of the first version between this node and another.
struct MakeDeed;

impl Flow for MakeDeed {
    const NAME: &'static str = "trial.make_deed";
    const VERSION: u32 = 1;
    type Args = LegalName;
    type Output = TxId;

    async fn run(ctx: FlowContext, other: LegalName) -> Result<TxId, FlowError> {
        let other = party(&ctx, &other)?;
        let signers = vec![ctx.me().key.clone(), other.key.clone()];
        let proposal = proposed(&ctx, &other, signers).await?;
        let session = ctx.open_session(&other.id())?;
        let signed = collect_signatures(&ctx, proposal, &[session]).await?;
        let id = signed.id();
        finality(&ctx, signed, &[other.id()]).await?;
        Ok(id)
    }
}

/// The other's side.
struct SignDeed;

impl Responder for SignDeed {
    const NAME: &'static str = MakeDeed::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let id = sign_transaction(&ctx, &session, |_, _| Ok(())).await?;
        receive_finality(&ctx, &id).await?;
        Ok(())
    }
}

pub fn register(
    contracts: &mut ContractRegistry,
    flows: &mut FlowRegistry,
) -> Result<(), RegistryError> {
    for version in [1, 2] {
        contracts.register(Arc::new(DeedContract(version)))?;
    }
    flows
        .register::<GiveDeed>()
        .register::<ShowDeed>()
        .register::<MakeDeed>()
        .register_responder::<SignDeed>();
    Ok(())
}
