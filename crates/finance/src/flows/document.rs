//! `document.share`: shares a file with another node.

use flow::library::{build_and_sign, finality};
use flow::{Flow, FlowContext, FlowError};
use ledger::{LegalName, TransactionBuilder};
use primitives::{Encode, Hash};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agreed::{StateResult, output_of};
use super::arguments::{notary, party};
use crate::document::{
    DocumentCommand, DocumentError, DocumentState, document_code, document_name,
};

/// Arguments of `document.share`. Encoded as an array of the fields in their order, absent ones null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShareArgs {
    /// The receiving party.
    pub to: LegalName,
    /// The file's SHA-256, in hexadecimal; the file must be uploaded first.
    pub attachment: Hash,
    /// The title shown to people: 1 to 256 bytes without control characters.
    pub title: String,
    /// The notary that the state names; the network's default, if left out. It does not sign, because nothing is
    /// consumed.
    #[serde(default)]
    pub notary: Option<LegalName>,
}

primitives::record!(ShareArgs {
    to,
    attachment,
    title,
    notary
});

/// Shares a file with another node, which fetches the file before it records the transaction.
#[derive(Debug)]
pub struct ShareDocument;

impl Flow for ShareDocument {
    const NAME: &'static str = "document.share";
    const VERSION: u32 = 1;
    type Args = ShareArgs;
    type Output = StateResult;
    const STEPS: &'static [&'static str] = &["building", "verifying", "recording"];

    async fn run(ctx: FlowContext, args: ShareArgs) -> Result<StateResult, FlowError> {
        ctx.progress("building");
        if !DocumentState::is_title(&args.title) {
            return Err(DocumentError::Title.into());
        }
        let to = party(&ctx, &args.to)?.clone();
        if to.id() == ctx.my_id() {
            return Err(DocumentError::WithItself.into());
        }
        let document = DocumentState {
            from: ctx.me().clone(),
            to: to.clone(),
            title: args.title,
            attachment: args.attachment,
        };
        let (code, constraint) = document_code();
        let me = ctx.me().key.clone();
        let builder = TransactionBuilder::new(notary(&ctx, args.notary.as_ref())?.clone())
            .attachment(*code)
            .attachment(document.attachment)
            .output_data(
                document_name().clone(),
                constraint.clone(),
                document.to_bytes(),
            )
            .command(
                document_name().clone(),
                DocumentCommand::Share.to_bytes(),
                vec![me.clone()],
            );
        let signed = build_and_sign(&ctx, builder, &[me]).await?;
        let state = output_of(&signed, document_name());
        finality(&ctx, signed, &[to.id()]).await?;
        Ok(StateResult {
            state,
            transaction: state.tx,
        })
    }
}
