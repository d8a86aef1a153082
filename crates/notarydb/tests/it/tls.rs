//! TLS to the servers: their certificates must be signed by the configured authority, for the name in the URL.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pgserver::{ClusterOptions, GaleraCluster, PgServer, ServerOptions};
use primitives::Coded;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::backends::{Backend, check, entry, password};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    CertifiedIssuer::self_signed(params, key).expect("signed")
}

/// A certificate of the authority for this address, and its key.
fn certificate(of: &Authority) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
    let certificate = params.signed_by(&key, of).expect("signed");
    (certificate.pem(), key.serialize_pem())
}

/// Writes a file that the user of the database may read, too.
fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("a folder of ours");
    folder
}

fn maria(tls: Option<(&Path, &Authority)>) -> Backend {
    let arguments = tls.map_or_else(Vec::new, |(folder, authority)| {
        let (certificate, key) = certificate(authority);
        let file = |option: &str, text: &str| {
            format!("--{option}={}", file(folder, option, text).display())
        };
        vec![
            // The server itself refuses a connection without TLS.
            "--require-secure-transport=ON".to_owned(),
            file("ssl-cert", &certificate),
            file("ssl-key", &key),
            file("ssl-ca", &authority.pem()),
        ]
    });
    let options = ClusterOptions {
        servers: 1,
        arguments,
        ..ClusterOptions::default()
    };
    let server = GaleraCluster::start(&options).expect("a server");
    Backend::Galera(Box::new(server), password())
}

fn postgres(tls: Option<(&Path, &Authority)>) -> Backend {
    let options = ServerOptions {
        tls: tls.map(|(_, authority)| certificate(authority)),
        ..ServerOptions::default()
    };
    let server = PgServer::start(&options).expect("a server");
    Backend::Postgres(Box::new(server), password())
}

#[test]
fn certificates_of_the_servers_are_checked() {
    type Start = fn(Option<(&Path, &Authority)>) -> Backend;
    for (name, start) in [("MariaDB", maria as Start), ("PostgreSQL", postgres)] {
        let (right, other, folder) = (authority(), authority(), folder());
        let backend = start(Some((folder.path(), &right)));
        let mut settings = backend.settings(0);
        settings.give_up = std::time::Duration::from_secs(2);
        let refused = |settings: &notarydb::Settings, why: &str| {
            let refused = notarydb::open(settings).map(drop);
            let error = refused.expect_err(why);
            let code = error.code();
            assert!(code.ends_with(".unreachable"), "{name}, {why}: {error}");
        };

        settings.ca = Some(file(folder.path(), "other.pem", &other.pem()));
        refused(&settings, "another authority");

        // A file may hold several authorities.
        let both = format!("{}{}", other.pem(), right.pem());
        settings.ca = Some(file(folder.path(), "both.pem", &both));
        let url = settings.url.clone();
        settings.url = url.replace("127.0.0.1", "localhost");
        refused(&settings, "another name");

        settings.url = url;
        let mut worker =
            notarydb::open(&settings).unwrap_or_else(|error| panic!("{name}: {error}"));
        let answer =
            notary::UniquenessRecord::settle(&mut worker, &check(vec![entry(1, &[1], &[])], &[]));
        let answer = answer.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert!(
            matches!(answer, notary::UniquenessOutcome::Found(_)),
            "{name}: {answer:?}"
        );
        if let Backend::Postgres(server, _) = &backend {
            let plain = "select count(*) from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'ledger' and not ssl";
            assert_eq!(server.administer(plain).expect("readable"), "0");
        }

        // A server without TLS is refused: the connection never goes on without it.
        let plain = start(None);
        let mut to_plain = plain.settings(0);
        (to_plain.ca, to_plain.give_up) = (settings.ca, settings.give_up);
        refused(&to_plain, "no TLS");
    }
}
