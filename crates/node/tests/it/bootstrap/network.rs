//! The files that bootstrap makes, and those that it leaves unchanged.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ledger::{LegalName, PartyId};
use primitives::Hash;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;

use crate::bootstrap::stage::{Stage, THREE};

fn party(name: &str) -> PartyId {
    name.parse::<LegalName>().expect("a name").party_id()
}

fn names(certificate: &CertificateDer<'_>, name: &str) -> bool {
    let parsed = ParsedCertificate::try_from(certificate).expect("a certificate");
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    rustls::client::verify_server_name(&parsed, &name).is_ok()
}

#[test]
fn a_network_of_three() {
    let stage = Stage::three();
    let mut ports = Vec::new();
    for (folder, name, host, notary) in [
        ("notary", "O=Notary, L=Zürich, C=CH", "localhost", true),
        ("bank-a", "O=Bank A, L=London, C=GB", "a.example.org", false),
        (
            "bank-b-desk",
            "OU=Desk, O=Bank B, L=New York, ST=NY, C=US",
            "::1",
            false,
        ),
    ] {
        let files = stage.load(folder).expect(folder);
        let id = party(name);
        assert_eq!(files.info.party.id(), id);
        assert_eq!(files.info.party.key, *files.identity.public());
        assert_eq!(files.info.addresses, [files.config.p2p.listen.to_string()]);
        assert_eq!(
            (files.info.notary.is_some(), files.config.notary.is_some()),
            (notary, notary)
        );
        for name in [&id.dns_name(), "localhost", "127.0.0.1", "::1", host] {
            assert!(names(&files.chain[0], name), "{folder}: {name}");
        }
        assert!(!names(&files.chain[0], "b.example.org"));
        assert!(!names(&files.chain[0], &party("O=X, L=X, C=XX").dns_name()));
        assert_eq!(files.network.nodes().len(), 3);
        assert_eq!(
            files.network.notary().map(|party| party.id()),
            Some(party("O=Notary, L=Zürich, C=CH"))
        );
        for address in [files.config.p2p.listen, files.config.api.listen] {
            assert_eq!(address.ip(), Ipv4Addr::LOCALHOST);
            assert!((10_000..32_000).contains(&address.port()), "{address}");
            ports.push(address.port());
        }
        let token = stage.read(&format!("{folder}/api-token"));
        let hash = Hash::plain(token.as_bytes()).to_string();
        assert_eq!(files.config.api.tokens[0].sha256, hash);
        assert!(!stage.read(&format!("{folder}/node.toml")).contains(&token));
        for secret in ["api-token", "identity.key", "tls.key.pem"] {
            let path = stage.path(folder).join(secret);
            let mode = fs::metadata(&path)
                .expect("it is there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
    }
    for secret in ["network-root/root.key.pem", "network-root/network.key"] {
        let mode = fs::metadata(stage.path(secret))
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{secret}");
    }
    assert_eq!(
        stage
            .load("bank-a")
            .expect("loads")
            .config
            .limits
            .live_flows,
        7
    );
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 6, "every port once");
}

#[test]
fn again_changes_nothing() {
    let stage = Stage::three();
    let before = stage.files();
    let made = stage.bootstrap(THREE).expect("again");
    assert!(made.nodes.iter().all(|node| node.existed && !node.renewed));
    assert!(!made.is_map_changed);
    assert_eq!(stage.files(), before);
}

#[test]
fn a_new_node_is_added_to_all_and_changes_no_key() {
    let stage = Stage::three();
    let before = stage.files();
    let parameters = stage
        .load("bank-a")
        .expect("loads")
        .network
        .parameters()
        .clone();
    // The new one alone: those that are there stay in the network.
    let description = r#"
        [[node]]
        name = "O=Notary, L=Zürich, C=CH"
        notary = true
        [[node]]
        name = "O=Bank C, L=Paris, C=FR"
        address = "0.0.0.0:10005"
        advertised = ["c.example.org:10005", "192.0.2.7:10005"]
    "#;
    let made = stage.bootstrap(description).expect("added");
    assert!(made.is_map_changed);
    assert_eq!(
        made.nodes
            .iter()
            .map(|node| node.existed)
            .collect::<Vec<_>>(),
        [true, false]
    );
    let after = stage.files();
    let new = Path::new("bank-c");
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{}", path.display());
    }
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        let local = path.strip_prefix(stage.out()).expect("below");
        let info = local.ends_with(
            Path::new("network/nodes").join(party("O=Bank C, L=Paris, C=FR").to_string()),
        );
        assert!(local.starts_with(new) || info, "{}", path.display());
    }
    for folder in ["notary", "bank-a", "bank-b-desk", "bank-c"] {
        let network = stage.load(folder).expect(folder).network;
        assert_eq!(network.nodes().len(), 4, "{folder}");
        assert_eq!(
            *network.parameters(),
            parameters,
            "transactions name them by their hash"
        );
        let info = network
            .node(&party("O=Bank C, L=Paris, C=FR"))
            .expect("it is known");
        assert_eq!(info.addresses, ["c.example.org:10005", "192.0.2.7:10005"]);
    }
}

#[test]
fn another_notary_and_other_limits_make_a_new_version() {
    let stage = Stage::three();
    let old = stage.load("bank-a").expect("loads").network;
    let second = "[[node]]\nname = \"O=Second, L=Bern, C=CH\"\nnotary = true\n";
    stage
        .bootstrap(&format!(
            "max_message_bytes = 1000000\nmax_attachment_bytes = 200000000\n\
             max_transaction_attachment_bytes = 300000000\n{THREE}\n{second}"
        ))
        .expect("added");
    let new = stage.load("bank-a").expect("loads").network;
    let (old, new) = (old.parameters(), new.parameters());
    assert_eq!((old.version, new.version), (1, 2));
    assert_eq!((new.notaries.len(), new.max_message_bytes), (2, 1_000_000));
    assert_eq!(new.max_attachment_bytes, 200_000_000);
    assert_eq!(new.max_transaction_attachment_bytes, 300_000_000);
    assert_eq!(
        new.notaries[0], old.notaries[0],
        "the default stays the first"
    );
    assert_ne!(old.hash(), new.hash());
}

#[test]
fn a_notary_that_validates_says_so_in_its_info_and_its_configuration() {
    let stage = Stage::three();
    let second = "[[node]]\nname = \"O=Second, L=Bern, C=CH\"\nnotary = true\nvalidating = true\n";
    let text = format!("{THREE}\n{second}");
    stage.bootstrap(&text).expect("added");
    let table = [
        ("notary", Some(false)),
        ("second", Some(true)),
        ("bank-a", None),
    ];
    for (folder, validating) in table {
        let files = stage.load(folder).expect(folder);
        let signed = files.info.notary.map(|notary| notary.validating);
        let configured = files.config.notary.map(|notary| notary.validating);
        assert_eq!((signed, configured), (validating, validating), "{folder}");
    }
    stage.bootstrap(&text).expect("the same again");
}

#[test]
fn a_node_that_moved_is_known_after_bootstrapping_again() {
    let stage = Stage::three();
    let id = party("O=Bank A, L=London, C=GB");
    let serial = |stage: &Stage| {
        let network = stage.load("notary").expect("loads").network;
        let info = network.node(&id).expect("it is known");
        (info.serial, info.addresses.clone())
    };
    let before = serial(&stage);
    let text = stage.read("bank-a/node.toml");
    stage.write(
        "bank-a/node.toml",
        &text.replace("[p2p]", "[p2p]\nadvertised = [\"a.example.org:1\"]"),
    );
    stage.bootstrap(THREE).expect("again");
    let after = serial(&stage);
    assert!(
        after.0 > before.0 && after.1 == ["a.example.org:1"],
        "{before:?} {after:?}"
    );
}

#[test]
fn what_an_interrupted_run_left_out_is_made() {
    let stage = Stage::three();
    let before = stage.files();
    for gone in [
        "node.toml",
        "tls.pem",
        "root.pem",
        "api-token",
        "network/parameters",
    ] {
        let folder = stage.path("bank-a");
        fs::remove_file(folder.join(gone)).expect("it is there");
        let made = stage.bootstrap(THREE).expect("finished");
        let bank = &made.nodes[1];
        assert!(bank.existed, "{gone}");
        assert_eq!(bank.configured_again, gone == "node.toml", "{gone}");
        if gone != "api-token" {
            stage.load("bank-a").expect("loads");
        }
    }
    let identity = stage.path("bank-a/identity.key");
    assert_eq!(stage.files()[&identity], before[&identity]);
}
