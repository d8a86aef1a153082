//! A payment that makes money: a validating notary refuses it, a non-validating one signs it.

use api::{FlowStatus, StartFlow, Wait};
use finance::{CashState, IssuedToken, Portion, Reference, cash_builder};
use flow::library::notarise;
use flow::{Flow, FlowContext, FlowError};
use ledger::{SelectionRequest, SignedTransaction, TransactionSignature};
use node::Apps;
use node::bootstrap::{NetworkSpec, bootstrap};
use primitives::{Decode, Encode, SignatureContext};
use serde_json::json;

use crate::running::{run, start, start_with, value};

/// Doubles a coin of this node: signed and notarised, but not verified by another node.
struct Mint;

impl Flow for Mint {
    const NAME: &'static str = "test.mint";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = u64;

    async fn run(ctx: FlowContext, quantity: u64) -> Result<u64, FlowError> {
        let token = IssuedToken {
            issuer: ctx.me().clone(),
            reference: Reference::default(),
            currency: "GBP".parse().expect("a currency"),
        };
        let notary = ctx.notary()?.clone();
        let request = SelectionRequest {
            token: token.id(),
            quantity,
            notary: Some(notary.id()),
            deadline_ms: 1_000,
        };
        let mut inputs = ctx.select_states(request).await?;
        for input in &mut inputs {
            let mut cash = CashState::from_bytes(&input.state.data).expect("cash");
            cash.quantity *= 2;
            input.state.data = cash.to_bytes();
        }
        let key = ctx.me().key.clone();
        let portion = Portion {
            owner: key.clone(),
            quantity: quantity * 2,
            states: 1,
        };
        let spending = cash_builder::pay(notary.clone(), &inputs, &[portion], &key)?;
        let wire = spending
            .builder
            .parameters(ctx.network().parameters_hash())
            .build(ctx.random32()?)?;
        let signature = ctx
            .sign(&key, SignatureContext::Transaction, wire.id().hash())
            .await?;
        let signature = TransactionSignature {
            by: key,
            signature,
            batch: None,
        };
        notarise(&ctx, SignedTransaction::new(wire, [signature]), &notary).await?;
        Ok(quantity)
    }
}

fn apps() -> Apps {
    let mut apps = Apps::built_in().expect("cash");
    apps.flows.register::<Mint>();
    apps
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_made_from_nothing_is_refused_by_a_notary_that_validates() {
    for validating in [false, true] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let description = folder.path().join("NETWORK.toml");
        let text = format!(
            "[[node]]\nname = \"O=Bank, L=London, C=GB\"\n\
             [[node]]\nname = \"O=Notary, L=London, C=GB\"\nnotary = true\nvalidating = {validating}\n"
        );
        std::fs::write(&description, text).expect("written");
        let out = folder.path().join("out");
        let spec = NetworkSpec::read(&description).expect("a description");
        bootstrap(&spec, &out).expect("bootstrapped");
        let (notary, notarys) = start(&out.join("notary")).await;
        let (bank, client) = start_with(&out.join("bank"), apps()).await;
        let shown = notarys.node().await.expect("readable").notary;
        assert_eq!(shown.map(|notary| notary.validating), Some(validating));
        run(&client, "cash.issue", 100).await;
        client.balances().await.expect("the view has it");

        let mint = StartFlow::new("test.mint", &json!(100)).expect("arguments");
        let mint = mint.wait(Wait::Finalised).timeout_ms(60_000);
        let outcome = client.start(&mint).await;
        let metrics = notarys.metrics().await.expect("readable");
        let recorded = value(&metrics, "tally_ledger_seq");
        if validating {
            let error = outcome.expect_err("it is refused");
            assert_eq!(error.code(), "notary.transaction_invalid", "{error:?}");
            assert!(error.to_string().contains("cash.not_conserved"), "{error}");
            assert_eq!(recorded, 1.0, "the issue, which is valid");
            // The state is as it was.
            run(&client, "cash.exit", 100).await;
        } else {
            let outcome = outcome.expect("it is signed");
            assert_eq!(outcome.status, FlowStatus::Delivered, "{outcome:?}");
            assert_eq!(recorded, 0.0, "it has seen a tear-off");
        }
        bank.stop().await;
        notary.stop().await;
    }
}
