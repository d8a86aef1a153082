//! A document that both sides sign: proposed, with its file, before anything is recorded.

use finance::document::{DocumentCommand, DocumentState, document_code, document_name};
use flow::library::{
    build_and_sign, collect_signatures, finality, receive_finality, sign_transaction,
};
use flow::{Flow, FlowContext, FlowError, Responder, Session};
use ledger::{TransactionBuilder, TxId};
use primitives::{Encode, Hash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::flows;

/// Arguments of [`Cosign`].
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct CosignArgs {
    /// The number of the other node.
    pub with: u64,
    /// The file.
    pub file: Hash,
}

primitives::record!(CosignArgs { with, file });

/// Lets this node and another one sign that a file is shared.
pub struct Cosign;

impl Flow for Cosign {
    const NAME: &'static str = "test.cosign";
    const VERSION: u32 = 1;
    type Args = CosignArgs;
    type Output = TxId;

    async fn run(ctx: FlowContext, args: CosignArgs) -> Result<TxId, FlowError> {
        let other = flows::name(args.with).party_id();
        let to = ctx
            .network()
            .node(&other)
            .expect("a known node")
            .party
            .clone();
        let theirs = to.key.clone();
        let document = DocumentState {
            from: ctx.me().clone(),
            to,
            title: "for both".to_owned(),
            attachment: args.file,
        };
        let (code, constraint) = document_code();
        let me = ctx.me().key.clone();
        let builder = TransactionBuilder::new(ctx.notary()?.clone())
            .attachment(*code)
            .attachment(args.file)
            .output_data(
                document_name().clone(),
                constraint.clone(),
                document.to_bytes(),
            )
            .command(
                document_name().clone(),
                DocumentCommand::Share.to_bytes(),
                vec![me.clone(), theirs.clone()],
            );
        let proposed = build_and_sign(&ctx, builder, &[me]).await?;
        ctx.verify(&proposed, None, &[theirs]).await?;
        let session = ctx.open_session(&other)?;
        let signed = collect_signatures(&ctx, proposed, &[session]).await?;
        let id = signed.id();
        finality(&ctx, signed, &[other]).await?;
        Ok(id)
    }
}

/// The responder of [`Cosign`].
pub struct Cosigns;

impl Responder for Cosigns {
    const NAME: &'static str = "test.cosign";
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let id = sign_transaction(&ctx, &session, |_, _| Ok(())).await?;
        receive_finality(&ctx, &id).await?;
        Ok(())
    }
}
