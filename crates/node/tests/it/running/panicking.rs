//! A panic on the kernel's thread fails the node: every waiting caller is refused, and the process can end for a supervisor.

use std::time::Duration;

use api::{StartFlow, Wait};
use flow::{Flow, FlowContext, FlowError};
use node::Apps;
use node::bootstrap::{NetworkSpec, bootstrap};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::running::{ALONE, run, start, start_with};

/// How long the node has to fail.
const PATIENCE: Duration = Duration::from_secs(60);

/// The value of a panic that panics again when it is dropped. The boundary around an application's code has caught the first
/// panic by then, so the second one ends the kernel's thread.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("out of step");
    }
}

/// Arguments whose decoder panics with a [`Bomb`].
#[derive(Serialize, Deserialize, JsonSchema)]
struct BrokenArgs {
    number: u64,
}

impl Encode for BrokenArgs {
    fn encode(&self, e: &mut Encoder) {
        self.number.encode(e);
    }
}

impl Decode for BrokenArgs {
    fn decode(_: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        std::panic::panic_any(Bomb);
    }
}

struct Broken;

impl Flow for Broken {
    const NAME: &'static str = "test.broken";
    const VERSION: u32 = 1;
    type Args = BrokenArgs;
    type Output = u64;

    async fn run(_: FlowContext, args: BrokenArgs) -> Result<u64, FlowError> {
        Ok(args.number)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_on_the_kernels_thread_fails_the_node() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let description = folder.path().join("NETWORK.toml");
    std::fs::write(&description, ALONE).expect("written");
    let out = folder.path().join("out");
    let spec = NetworkSpec::read(&description).expect("a description");
    bootstrap(&spec, &out).expect("bootstrapped");
    let mut apps = Apps::built_in().expect("cash");
    apps.flows.register::<Broken>();
    let (mut node, client) = start_with(&out.join("alone"), apps).await;
    run(&client, "cash.issue", 100).await;

    let broken = StartFlow::new("test.broken", &json!({ "number": 1 })).expect("JSON");
    let refusal = client.start(&broken.wait(Wait::Finalised)).await;
    let refusal = refusal.expect_err("no outcome");
    assert_eq!(refusal.code(), "node.store_failed", "{refusal}");
    let failure = tokio::time::timeout(PATIENCE, node.store_failed()).await;
    let failed = failure.expect("a failure");
    assert!(!failed.is_superseded);
    let failure = failed.rejection;
    assert!(failure.message.contains("node.panicked"), "{failure}");
    assert!(failure.message.contains("out of step"), "{failure}");
    let late = StartFlow::new("cash.issue", &json!({ "currency": "GBP", "quantity": 1 }));
    let late = client.start(&late.expect("JSON")).await;
    assert_eq!(late.expect_err("no outcome").code(), "node.store_failed");
    node.stop().await;

    // The durable data is whole.
    let (node, client) = start(&out.join("alone")).await;
    run(&client, "cash.exit", 100).await;
    node.stop().await;
}
