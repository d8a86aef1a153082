//! Mistakes of operators, each with its code.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use node::bootstrap::{NodeFiles, days_left, not_after};
use primitives::Coded;
use rcgen::{CertificateParams, DistinguishedName, DnType, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::CertificateDer;

use crate::bootstrap::stage::{Stage, THREE, certify_for, refused};

#[test]
fn descriptions_that_make_no_network() {
    let node = |more: &str| format!("[[node]]\nname = \"O=A, L=X, C=XX\"\n{more}\n");
    let with = |more: &str| format!("{}{more}", node("notary = true"));
    for (description, code, says) in [
        (node(""), "bootstrap.description", "notary = true"),
        (
            with("[[node]]\nname = \"O=A, L=Y, C=YY\""),
            "bootstrap.description",
            "folder 'a'",
        ),
        (
            with("[[node]]\nname = \"O=Network Root, L=Y, C=YY\""),
            "bootstrap.description",
            "'network-root'",
        ),
        (
            with("[[node]]\nname = \"O=B, L=Y\""),
            "config.invalid",
            "attribute C is missing",
        ),
        (
            with("[[node]]\nnam = \"O=B, L=Y, C=YY\""),
            "config.invalid",
            "did you mean `name`?",
        ),
        (
            with("[[nodes]]\nname = \"O=B, L=Y, C=YY\""),
            "config.invalid",
            "did you mean `node`?",
        ),
        (
            node("notary = true\nadvertised = [\"here\"]"),
            "bootstrap.description",
            "'here'",
        ),
        (
            node("notary = true\naddress = \"0.0.0.0:1\""),
            "bootstrap.description",
            "'advertised'",
        ),
        (
            node("notary = true\naddress = \"[::1]:1\"\napi = \"[::1]:1\""),
            "bootstrap.description",
            "[::1]:1 is given twice",
        ),
        (
            node("notary = true\nconfig.limits.live_flow = 1"),
            "config.invalid",
            "did you mean `live_flows`?",
        ),
        (
            node("notary = true\nconfig.limits.live_flows = 0"),
            "config.out_of_range",
            "limits.live_flows",
        ),
        (
            node("notary = true\nconfig.p2p = 3"),
            "bootstrap.description",
            "config.p2p",
        ),
        (
            node("notary = true\nconfig.notary.validating = true"),
            "bootstrap.description",
            "'validating' is in the config of O=A",
        ),
        (
            with("[[node]]\nname = \"O=B, L=Y, C=YY\"\nvalidating = true"),
            "bootstrap.description",
            "'validating' without",
        ),
        (
            with("[[node]]\nname = \"O=B, L=Y, C=YY\"\nconfig.notary.queue_states_max = 3"),
            "bootstrap.description",
            "config.notary",
        ),
        ("node = 3".to_owned(), "config.invalid", "line 1"),
        ("garbage".to_owned(), "config.invalid", "line 1"),
    ] {
        refused(Stage::empty().bootstrap(&description), code, says);
    }
}

#[test]
fn a_fault_of_a_description_has_a_hint_of_its_own() {
    let node = |more: &str| format!("[[node]]\nname = \"O=A, L=X, C=XX\"\n{more}\n");
    let with = |more: &str| format!("{}{more}", node("notary = true"));
    for (description, hint) in [
        (node(""), "Add 'notary = true' to one [[node]]."),
        (
            format!("certificate_days = 1\n{}", with("")),
            "number of days in this range",
        ),
        (
            with("[[node]]\nname = \"O=A, L=Y, C=YY\""),
            "Give one of the two nodes a unit of its own",
        ),
        (
            with("[[node]]\nname = \"O=A, L=X, C=XX\""),
            "Give each [[node]] a name of its own.",
        ),
        (node("notary = true\nadvertised = [\"here\"]"), "host:port"),
        (node("notary = true\naddress = \"0.0.0.0:1\""), "advertised"),
        (node("notary = true\nconfig.p2p = 3"), "config.limits"),
    ] {
        let outcome = Stage::empty().bootstrap(&description);
        let error = outcome.map(drop).expect_err(&description);
        assert!(error.hint().contains(hint), "{error}: {}", error.hint());
    }
    // A fault in a node's config is one of the description, not of the node.toml that is made of it.
    for (config, says) in [
        (
            "live_flow = 1",
            "NETWORK.toml: the config of O=A, L=X, C=XX: `live_flow`: unknown field",
        ),
        ("live_flows = 0", "NETWORK.toml: limits.live_flows: "),
    ] {
        let stage = Stage::empty();
        let description = node(&format!("notary = true\nconfig.limits.{config}"));
        let error = stage.bootstrap(&description).map(drop);
        let text = error.expect_err(config).to_string();
        assert!(text.contains(says), "{text}");
        assert!(
            !text.contains("node.toml") && !text.contains("line "),
            "{text}"
        );
        assert!(!stage.out().exists(), "nothing is written");
    }
}

#[test]
fn nothing_of_others_is_overwritten() {
    let nothing_changes = |stage: &Stage, description: &str, code: &str, says: &str| {
        let before = stage.files();
        refused(stage.bootstrap(description), code, says);
        assert_eq!(stage.files(), before);
    };
    // The folder of another program.
    let stage = Stage::empty();
    stage.write("bank-a/accounts.txt", "mine");
    nothing_changes(&stage, THREE, "bootstrap.occupied", "bank-a");
    // Another party whose folder has the same name.
    let stage = Stage::three();
    let other = THREE.replace("L=London", "L=Leeds");
    nothing_changes(
        &stage,
        &other,
        "bootstrap.mismatched",
        "O=Bank A, L=London, C=GB",
    );
    // A node that becomes a notary, or none.
    let other = THREE.replace("host_names", "notary = true\nhost_names");
    nothing_changes(&stage, &other, "bootstrap.mismatched", "[notary]");
    // A notary that shall validate from now on.
    let other = THREE.replace("notary = true", "notary = true\nvalidating = true");
    nothing_changes(&stage, &other, "bootstrap.mismatched", "of what kind");
    // Folders without their root, or of another network.
    let away = stage.path("../root-away");
    fs::rename(stage.path("network-root"), &away).expect("moved");
    nothing_changes(&stage, THREE, "bootstrap.mismatched", "network-root");
    let stranger = Stage::three();
    fs::rename(stranger.path("network-root"), stage.path("network-root")).expect("moved");
    nothing_changes(&stage, THREE, "bootstrap.mismatched", "root.pem");
}

#[test]
fn a_key_of_a_party_that_exists_is_never_made_again() {
    type Loss = (&'static str, &'static [&'static str]);
    let losses: [Loss; 6] = [
        ("bank-a/identity.key", &["bank-a/identity.key"]),
        // Without its configuration the folder still has a certificate.
        (
            "bank-a/identity.key",
            &["bank-a/identity.key", "bank-a/node.toml"],
        ),
        // The whole folder is elsewhere: the network's documents list the party.
        ("bank-a/identity.key", &["bank-a"]),
        ("network-root/root.key.pem", &["network-root/root.key.pem"]),
        ("network-root/network.key", &["network-root/network.key"]),
        (
            "network-root/root.key.pem",
            &[
                "network-root/root.key.pem",
                "bank-a",
                "notary",
                "bank-b-desk",
            ],
        ),
    ];
    for (key, lost) in losses {
        let stage = Stage::three();
        for path in lost {
            let path = stage.path(path);
            let removed = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            removed.expect("it was there");
        }
        let before = stage.files();
        refused(stage.bootstrap(THREE), "bootstrap.key_lost", key);
        assert_eq!(stage.files(), before, "{lost:?}");
    }
    // Another key in its place is refused as well: it would be signed into the network's documents.
    let stage = Stage::three();
    fs::copy(
        stage.path("notary/identity.key"),
        stage.path("bank-a/identity.key"),
    )
    .expect("copied");
    let before = stage.files();
    refused(
        stage.bootstrap(THREE),
        "bootstrap.mismatched",
        "bank-a/identity.key",
    );
    assert_eq!(stage.files(), before);
}

#[test]
fn a_lost_file_that_is_no_key_of_a_party_is_made_again() {
    for (lost, renewed) in [
        ("tls.pem", true),
        ("tls.key.pem", true),
        ("root.pem", false),
        ("network.pub", false),
        ("network/parameters", false),
    ] {
        let stage = Stage::three();
        fs::remove_file(stage.path("bank-a").join(lost)).expect(lost);
        let made = stage.bootstrap(THREE).expect(lost);
        let bank = made.nodes.iter().find(|node| node.dir.ends_with("bank-a"));
        assert_eq!(bank.expect("it is listed").renewed, renewed, "{lost}");
        stage.load("bank-a").expect(lost);
    }
}

#[test]
fn a_certificate_that_ends_soon_is_renewed() {
    let stage = Stage::three();
    let days = |pick: fn(&NodeFiles) -> &CertificateDer<'static>| {
        let files = stage.load("bank-a").expect("it loads");
        days_left(not_after(pick(&files)).expect("a certificate"))
    };
    let own: fn(&NodeFiles) -> &CertificateDer<'static> = |files| &files.chain[0];
    // A day is not complete at once.
    assert!((364..=365).contains(&days(own)), "by default");
    assert!((3_649..=3_650).contains(&days(|files| &files.root)));
    // Each line: the days that are left, and after another bootstrap.
    for (left, then) in [(29, 365), (31, 31), (5, 365)] {
        certify_for(&stage.out(), "bank-a", left);
        let made = stage.bootstrap(THREE).expect("bootstrapped");
        let renewed: Vec<bool> = made.nodes.iter().map(|node| node.renewed).collect();
        assert_eq!(renewed, [false, left < 30, false], "{left}");
        assert!(!made.is_map_changed, "certificates are not in the map");
        let found = days(own);
        assert!((then - 1..=then).contains(&found), "{left}: {found}");
    }
    for (line, word) in [
        ("certificate_days = 59", "certificate_days"),
        ("root_days = 36501", "root_days"),
    ] {
        let description = format!("{line}\n{THREE}");
        refused(stage.bootstrap(&description), "bootstrap.description", word);
    }
    let hosts = THREE.replace("a.example.org", "bücher.example.org");
    refused(stage.bootstrap(&hosts), "bootstrap.description", "bücher");
    // A certificate ends with its root.
    let stage = Stage::empty();
    let description = format!("certificate_days = 400\nroot_days = 100\n{THREE}");
    stage.bootstrap(&description).expect("bootstrapped");
    let files = stage.load("bank-a").expect("it loads");
    let ends = [&files.chain[0], &files.root].map(|der| not_after(der));
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn only_a_new_node_is_expected_to_have_no_store() {
    let stage = Stage::three();
    for folder in ["notary", "bank-a", "bank-b-desk"] {
        assert!(
            stage.path(folder).join("ledger.anchor").exists(),
            "{folder}"
        );
    }
    let anchor = stage.path("bank-a/ledger.anchor");
    fs::remove_file(&anchor).expect("removed");
    stage.bootstrap(THREE).expect("again");
    assert!(!anchor.exists(), "the node is not new");
    // Also without its configuration, because the network's documents list it.
    fs::remove_file(stage.path("bank-a/node.toml")).expect("removed");
    stage.bootstrap(THREE).expect("again");
    assert!(!anchor.exists(), "the node is not new");
}

#[test]
fn a_lost_configuration_is_made_again_with_the_address_that_others_know() {
    let stage = Stage::three();
    let before = stage.load("notary").expect("it loads");
    for lost in ["node.toml", "users.toml"] {
        fs::remove_file(stage.path("notary").join(lost)).expect(lost);
    }
    let made = stage.bootstrap(THREE).expect("again");
    let notary = &made.nodes[0];
    assert!(notary.configured_again && notary.existed && !notary.renewed);
    assert_eq!(notary.address, before.config.p2p.listen);
    assert!(!made.is_map_changed);
    assert!(!stage.path("notary/users.toml").exists(), "it was lost too");
    // Addresses that the operator has set are the ones that the others keep.
    let config = stage.path("notary/node.toml");
    let text = fs::read_to_string(&config).expect("readable");
    let advertised = "[p2p]\nadvertised = [\"notary.example.org:7\"]\n";
    fs::write(&config, text.replacen("[p2p]\n", advertised, 1)).expect("written");
    assert!(stage.bootstrap(THREE).expect("moved").is_map_changed);
    fs::remove_file(&config).expect("removed");
    let made = stage.bootstrap(THREE).expect("again");
    assert!(made.nodes[0].configured_again && !made.is_map_changed);
    assert!(
        stage
            .read("notary/node.toml")
            .contains("notary.example.org:7")
    );
}

#[test]
fn a_lost_configuration_is_no_reason_for_another_network_or_notary() {
    let stage = Stage::three();
    fs::remove_file(stage.path("notary/node.toml")).expect("removed");
    let before = stage.files();
    let validating = THREE.replacen("notary = true", "notary = true\nvalidating = true", 1);
    let refusal = stage.bootstrap(&validating);
    refused(refusal, "bootstrap.mismatched", "what kind");
    assert_eq!(stage.files(), before);
    // The root is kept elsewhere, and nothing else shows that the folder belongs to a network.
    let aside = stage.out().with_extension("aside");
    fs::rename(stage.path("network-root"), &aside).expect("moved");
    for folder in ["bank-a", "bank-b-desk"] {
        fs::remove_dir_all(stage.path(folder)).expect("removed");
    }
    let before = stage.files();
    refused(stage.bootstrap(THREE), "bootstrap.mismatched", "elsewhere");
    assert_eq!(stage.files(), before);
}

#[test]
fn folders_that_do_not_load() {
    let text = |stage: &Stage, path: &str, from: &str, to: &str| {
        stage.write(path, &stage.read(path).replace(from, to));
    };
    let open = |stage: &Stage, path: &str, mode: u32| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(stage.path(path), permissions).expect("changed");
    };
    type Mistake<'a> = Box<dyn Fn(&Stage) + 'a>;
    let remove = |path: &'static str| -> Mistake<'_> {
        Box::new(move |stage| {
            fs::remove_file(stage.path("bank-a").join(path)).expect("it is there")
        })
    };
    let copy = |path: &'static str| -> Mistake<'_> {
        // The file of another node.
        Box::new(move |stage| {
            let from = stage.path("notary").join(path);
            fs::copy(from, stage.path("bank-a").join(path)).expect("copied");
        })
    };
    let stranger = Stage::three();
    let strangers = |path: &'static str| -> Mistake<'_> {
        // The file of another network.
        let from = stranger.path("bank-a").join(path);
        Box::new(move |stage| {
            fs::copy(&from, stage.path("bank-a").join(path)).expect("copied");
        })
    };
    let garbage = |path: &'static str| -> Mistake<'_> {
        Box::new(move |stage| {
            fs::write(stage.path("bank-a").join(path), "garbage").expect("written")
        })
    };
    let expose = |path: &'static str, mode| -> Mistake<'_> {
        Box::new(move |stage| open(stage, &format!("bank-a/{path}"), mode))
    };
    let mistakes: Vec<(Mistake<'_>, &str, &str)> = vec![
        (remove("node.toml"), "bootstrap.missing", "node.toml"),
        (remove("identity.key"), "bootstrap.key_lost", "identity.key"),
        (remove("tls.pem"), "bootstrap.missing", "tls.pem"),
        (remove("tls.key.pem"), "bootstrap.missing", "tls.key.pem"),
        (remove("root.pem"), "bootstrap.missing", "root.pem"),
        (remove("network.pub"), "bootstrap.missing", "network.pub"),
        (
            remove("network/parameters"),
            "bootstrap.missing",
            "parameters",
        ),
        (garbage("node.toml"), "config.invalid", "line 1"),
        (garbage("identity.key"), "bootstrap.damaged", "identity.key"),
        (garbage("tls.pem"), "bootstrap.damaged", "tls.pem"),
        (garbage("tls.key.pem"), "bootstrap.damaged", "tls.key.pem"),
        (garbage("root.pem"), "bootstrap.damaged", "root.pem"),
        (garbage("network.pub"), "bootstrap.damaged", "network.pub"),
        (
            garbage("network/parameters"),
            "bootstrap.damaged",
            "parameters",
        ),
        (garbage("network/nodes/0"), "bootstrap.damaged", "nodes/0"),
        (
            expose("identity.key", 0o644),
            "bootstrap.exposed",
            "mode 644",
        ),
        (
            expose("tls.key.pem", 0o640),
            "bootstrap.exposed",
            "mode 640",
        ),
        (copy("identity.key"), "bootstrap.mismatched", "identity.key"),
        (copy("tls.pem"), "bootstrap.mismatched", "tls.key.pem"),
        (copy("tls.key.pem"), "bootstrap.mismatched", "tls.key.pem"),
        (copy("node.toml"), "bootstrap.mismatched", "identity.key"),
        (strangers("root.pem"), "bootstrap.mismatched", "root.pem"),
        (
            strangers("network.pub"),
            "bootstrap.damaged",
            "not by the network's key",
        ),
        (
            strangers("network/parameters"),
            "bootstrap.damaged",
            "not by the network's key",
        ),
        (
            Box::new(|stage| text(stage, "bank-a/node.toml", "Bank A", "Bank Z")),
            "bootstrap.mismatched",
            "O=Bank Z, L=London, C=GB",
        ),
        (
            Box::new(|stage| text(stage, "bank-a/node.toml", "[p2p]", "[notary]\n[p2p]")),
            "bootstrap.mismatched",
            "[notary]",
        ),
        (
            Box::new(|stage| {
                copy("tls.pem")(stage);
                copy("tls.key.pem")(stage);
            }),
            "bootstrap.mismatched",
            "another party",
        ),
        (
            Box::new(|stage| certify_until(stage, 2000, 2020)),
            "bootstrap.expired",
            "has expired",
        ),
        (
            Box::new(|stage| certify_until(stage, 2090, 2091)),
            "bootstrap.expired",
            "is not valid yet",
        ),
    ];
    for (mistake, code, says) in mistakes {
        let stage = Stage::three();
        assert!(stage.load("bank-a").is_ok());
        mistake(&stage);
        refused(stage.load("bank-a"), code, says);
    }
    refused(
        Stage::empty().load("bank-a"),
        "bootstrap.missing",
        "node.toml",
    );
}

/// A certificate of this network for Bank A between the beginnings of two years.
fn certify_until(stage: &Stage, since: i32, until: i32) {
    let files = stage.load("bank-a").expect("loads");
    let key = KeyPair::from_pem(&stage.read("network-root/root.key.pem")).expect("a key");
    let mut root = CertificateParams::default();
    root.distinguished_name = DistinguishedName::new();
    root.distinguished_name
        .push(DnType::CommonName, "Tallystick network root");
    let issuer = Issuer::new(root, key);
    let names = vec![files.info.party.id().dns_name()];
    let mut params = CertificateParams::new(names).expect("a name");
    params.not_before = date_time_ymd(since, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let own = KeyPair::from_pem(&stage.read("bank-a/tls.key.pem")).expect("a key");
    let certificate = params.signed_by(&own, &issuer).expect("signs");
    stage.write("bank-a/tls.pem", &certificate.pem());
}
