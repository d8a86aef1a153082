//! TLS to the server: its certificate must be signed by the configured authority, for the name in the URL.

use pgserver::{PgServer, ServerOptions};
use primitives::Coded;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::rig::{self, Rig, settings};
use crate::workload::{assert_equals, model};

struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("signed");
        Self { issuer }
    }

    fn certificate(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        (certificate.pem(), key.serialize_pem())
    }
}

#[test]
fn certificate_of_the_server_is_checked() {
    let (right, other) = (Authority::new(), Authority::new());
    let server = PgServer::start(&ServerOptions {
        tls: Some(right.certificate("127.0.0.1")),
        ..ServerOptions::default()
    })
    .expect("starts");
    // Without TLS there is no way in.
    server
        .administer("alter system set log_connections = on")
        .expect("changed");
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, authority: &Authority| {
        let path = folder.path().join(name);
        std::fs::write(&path, authority.issuer.pem()).expect("written");
        path
    };
    let mut settings = settings(&server);
    settings.ca = Some(file("other.pem", &other));
    let refused = Rig::open(&settings, folder.path()).map(drop);
    assert_eq!(refused.expect_err("unknown").code(), "database.unreachable");

    settings.ca = Some(file("right.pem", &right));
    let url = settings.url.clone();
    settings.url = url.replace("127.0.0.1", "localhost");
    let refused = Rig::open(&settings, folder.path()).map(drop);
    assert_eq!(
        refused.expect_err("another name").code(),
        "database.unreachable"
    );

    settings.url = url;
    let opened = Rig::open(&settings, folder.path()).expect("opens");
    opened.commit(1, 1, 100);
    assert_equals(&opened.cache, &model(1, 100), "over TLS");
    let plain = "select count(*) from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'tally' and not ssl";
    assert_eq!(server.administer(plain).expect("readable"), "0");

    // The connection never goes on without TLS.
    drop(opened);
    let without = rig::server();
    settings.url = rig::settings(&without).url;
    let folder = tempfile::tempdir().expect("a folder");
    let refused = Rig::open(&settings, folder.path()).map(drop);
    assert_eq!(refused.expect_err("no TLS").code(), "database.unreachable");
}
