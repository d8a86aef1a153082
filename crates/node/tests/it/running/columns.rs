//! A contract's newer version declares other columns: the view is filled again, and answers by them.

use std::sync::Arc;

use api::{StartFlow, VaultAnswer, VaultQuery, Wait};
use client::{Client, ClientError};
use flow::{Flow, FlowContext, FlowError};
use ledger::{
    ColumnKind, ColumnSpec, ColumnValue, Contract, ContractName, ContractRegistry,
    ContractRejection, LedgerTransaction, SignedTransaction, StateFacts, TransactionBuilder,
    TransactionSignature,
};
use node::Apps;
use node::bootstrap::{NetworkSpec, bootstrap};
use primitives::{Decode, DecodeError, Encode, KeyPair, PublicKey, Scheme, SignatureContext};
use serde_json::{Value, json};

use crate::running::{ALONE, run, start_with};

const CONTRACT: &str = "test.parcel";

/// The state of a parcel.
struct ParcelState {
    owner: PublicKey,
    grams: u64,
}

primitives::record!(ParcelState { owner, grams });

/// Its versions decide the same and describe differently.
struct Parcel(u32);

const GRAMS: ColumnSpec = ColumnSpec {
    name: "grams",
    kind: ColumnKind::Number,
};
const CLASS: ColumnSpec = ColumnSpec {
    name: "class",
    kind: ColumnKind::Text,
};

impl Contract for Parcel {
    fn name(&self) -> &str {
        CONTRACT
    }

    fn version(&self) -> u32 {
        self.0
    }

    fn verify(&self, _: &LedgerTransaction) -> Result<(), ContractRejection> {
        Ok(())
    }

    fn describe(&self, data: &[u8]) -> Result<StateFacts, DecodeError> {
        let parcel = ParcelState::from_bytes(data)?;
        let class = if parcel.grams > 500 { "heavy" } else { "light" };
        Ok(StateFacts {
            participants: vec![parcel.owner],
            // Both in every version: undeclared columns are left out.
            columns: vec![
                (GRAMS.name, ColumnValue::Number(parcel.grams)),
                (CLASS.name, ColumnValue::Text(class.into())),
            ],
            ..StateFacts::default()
        })
    }

    fn columns(&self) -> &[ColumnSpec] {
        match self.0 {
            1 => &[GRAMS],
            2 => &[GRAMS, CLASS],
            _ => &[CLASS],
        }
    }
}

fn register(contracts: &mut ContractRegistry, versions: &[u32]) {
    let author = KeyPair::from_seed(Scheme::Ed25519, [99; 32]);
    for version in versions {
        let parcel = Arc::new(Parcel(*version));
        contracts.register_signed(parcel, &author).expect("new");
    }
}

/// Makes a parcel of this weight in grams, under the first version.
struct Pack;

impl Flow for Pack {
    const NAME: &'static str = "test.pack";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = u64;

    async fn run(ctx: FlowContext, grams: u64) -> Result<u64, FlowError> {
        let name = ContractName::new(CONTRACT).expect("a name");
        let mut contracts = ContractRegistry::new();
        register(&mut contracts, &[1]);
        let (code, constraint) = contracts.current(&name).expect("registered");
        let owner = ctx.me().key.clone();
        let data = ParcelState {
            owner: owner.clone(),
            grams,
        };
        let wire = TransactionBuilder::new(ctx.notary()?.clone())
            .attachment(code)
            .output_data(name.clone(), constraint, data.to_bytes())
            .command(name, vec![], vec![owner.clone()])
            .build(ctx.random32()?)?;
        let signature = ctx
            .sign(&owner, SignatureContext::Transaction, wire.id().hash())
            .await?;
        let signature = TransactionSignature {
            by: owner,
            signature,
            batch: None,
        };
        let signed = SignedTransaction::new(wire, [signature]);
        flow::library::finality(&ctx, signed, &[]).await?;
        Ok(grams)
    }
}

fn apps(versions: &[u32]) -> Apps {
    let mut apps = Apps::built_in().expect("cash");
    register(&mut apps.contracts, versions);
    apps.flows.register::<Pack>();
    apps
}

async fn ask(client: &Client, asked: &Value) -> Result<VaultAnswer, ClientError> {
    let query: VaultQuery = serde_json::from_value(asked.clone()).expect("a query");
    client.query_vault(&query).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_view_made_for_other_columns_is_filled_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, ALONE).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let (node, client) = start_with(&out.join("alone"), apps(&[1])).await;
    for grams in [100_u64, 900, 700] {
        let pack = StartFlow::new("test.pack", &grams).expect("JSON");
        let outcome = client.start(&pack.wait(Wait::Delivered)).await;
        let outcome = outcome.expect("taken");
        assert!(outcome.error.is_none(), "{outcome:?}");
    }
    run(&client, "cash.issue", 5).await;
    node.stop().await;

    let grams = json!({ "where": { "greater": { "field": "test.parcel.grams", "value": 500 } },
        "sort": [{ "field": "test.parcel.grams" }] });
    let class = json!({ "where": { "is": { "field": "test.parcel.class", "value": "heavy" } } });
    // The versions of the binary, and which of the columns there are then: more, the same again, fewer, others.
    for (versions, has_grams, has_class) in [
        (&[1][..], true, false),
        (&[1, 2], true, true),
        (&[1, 2], true, true),
        (&[1], true, false),
        (&[3], false, true),
        (&[], false, false),
        (&[2], true, true),
    ] {
        let (node, client) = start_with(&out.join("alone"), apps(versions)).await;
        let all = json!({ "where": { "prefix": { "field": "contract", "value": "test." } } });
        let all = ask(&client, &all).await.expect("an answer").states;
        // A state of code that is not here is nothing to the vault.
        let known = if versions.is_empty() { 0 } else { 3 };
        assert_eq!(all.len(), known, "{versions:?}");
        let newest = versions.last();
        for state in &all {
            let shown: Vec<&str> = state.columns.keys().map(String::as_str).collect();
            let expected: &[&str] = match newest {
                Some(1) => &["grams"],
                Some(2) => &["class", "grams"],
                _ => &["class"],
            };
            assert_eq!(shown, expected, "{versions:?}");
        }
        for (asked, is_there) in [(&grams, has_grams), (&class, has_class)] {
            match ask(&client, asked).await {
                Ok(answer) => {
                    assert!(is_there, "{versions:?}: {asked}");
                    assert_eq!(answer.states.len(), 2, "{versions:?}: {asked}");
                }
                Err(error) => {
                    assert!(!is_there, "{versions:?}: {asked}: {error}");
                    assert_eq!(error.code(), "api.bad_query");
                }
            }
        }
        let cash = json!({ "group_by": ["symbol"], "where": { "is": { "field": "contract", "value": "tally.cash" } } });
        let cash = ask(&client, &cash).await.expect("sums").groups;
        assert_eq!(cash[0].quantity, "5", "{versions:?}");
        node.stop().await;
    }
}
