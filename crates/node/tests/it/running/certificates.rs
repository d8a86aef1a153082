//! The certificates of a running node.

use node::bootstrap::{NetworkSpec, bootstrap};

use super::{ALONE, start, value};
use crate::bootstrap::stage::certify_for;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_warns_of_a_certificate_that_ends_soon() {
    for (days, warns) in [(20, true), (40, false)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let description = folder.path().join("NETWORK.toml");
        std::fs::write(&description, ALONE).expect("written");
        let out = folder.path().join("out");
        let spec = NetworkSpec::read(&description).expect("a description");
        bootstrap(&spec, &out).expect("bootstrapped");
        certify_for(&out, "alone", days);
        let (node, client) = start(&out.join("alone")).await;
        let health = client.health().await.expect("readable");
        let codes = health.warnings.iter().map(|warning| warning.code.as_str());
        let warned = codes.filter(|code| *code == "bootstrap.certificate_ends");
        assert_eq!(warned.count(), usize::from(warns), "{days} days");
        let metrics = client.metrics().await.expect("readable");
        assert!(value(&metrics, "tally_certificates_end_seconds") > 1.7e9);
        node.stop().await;
    }
}
