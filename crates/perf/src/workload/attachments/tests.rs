//! Tests of files moved to and from a node, an in-memory table, over real TLS. The audit is tested with every kind of
//! planted fault.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use client::{Client, Endpoint};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use primitives::Hash;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::depot::Depot;
use super::stored::{SENDER, Stored, upload};
use super::{MockFile, MockSizes, check_files, register};
use crate::audit::Verdict;
use crate::workload::{Failed, Site, SiteNode, Workloads};

const TOKEN: &str = "secret";

/// The node's files, and how often it is still too busy.
#[derive(Default)]
struct Shelf {
    files: BTreeMap<String, Vec<u8>>,
    busy: u32,
}

type SharedShelf = Arc<Mutex<Shelf>>;

fn lock(shelf: &SharedShelf) -> std::sync::MutexGuard<'_, Shelf> {
    shelf.lock().expect("no test panics with it")
}

async fn node(shelf: SharedShelf) -> Endpoint {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a key");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .expect("a certificate");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, shelf) = (acceptor.clone(), Arc::clone(&shelf));
            tokio::spawn(async move {
                let Ok(tls) = acceptor.accept(socket).await else {
                    return;
                };
                let service = service_fn(move |request| answer(request, Arc::clone(&shelf)));
                let server = hyper::server::conn::http1::Builder::new();
                // Ignore the error: the test checks clients that hang up early.
                let _ = server.serve_connection(TokioIo::new(tls), service).await;
            });
        }
    });
    Endpoint {
        address,
        server_name: "localhost".to_owned(),
        root_pem: own.cert.pem(),
        token: TOKEN.into(),
    }
}

async fn answer(
    request: Request<Incoming>,
    shelf: SharedShelf,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let say = |status: StatusCode, body: Vec<u8>| {
        let response = Response::builder()
            .status(status)
            .header("retry-after", "0");
        Ok(response.body(Full::from(body)).expect("a response"))
    };
    let refuse = |status, code: &str| {
        let problem = json!({ "code": code, "message": "the fake says no" });
        say(status, problem.to_string().into_bytes())
    };
    if request.headers()["authorization"] != format!("Bearer {TOKEN}") {
        return refuse(StatusCode::UNAUTHORIZED, "auth.bad_token");
    }
    let described = |hash: &str, size: usize| {
        let view = json!({ "hash": hash, "size": size, "name": "x", "references": 0 });
        view.to_string().into_bytes()
    };
    let path = request.uri().path().to_owned();
    if request.method() == Method::POST {
        let promised: u64 = request.headers()["content-length"]
            .to_str()
            .ok()
            .and_then(|text| text.parse().ok())
            .expect("a length");
        let bytes = request.into_body().collect().await.expect("a body");
        let bytes = bytes.to_bytes().to_vec();
        assert_eq!(bytes.len() as u64, promised);
        let hash = Hash::plain(&bytes).to_string();
        let mut shelf = lock(&shelf);
        if let Some(left) = shelf.busy.checked_sub(1) {
            shelf.busy = left;
            return refuse(StatusCode::TOO_MANY_REQUESTS, "node.busy");
        }
        let size = bytes.len();
        shelf.files.insert(hash.clone(), bytes);
        return say(StatusCode::CREATED, described(&hash, size));
    }
    let name = path.trim_start_matches("/v1/attachments/");
    let (hash, content) = match name.strip_suffix("/content") {
        Some(hash) => (hash, true),
        None => (name, false),
    };
    match lock(&shelf).files.get(hash) {
        None => refuse(StatusCode::NOT_FOUND, "file.unknown"),
        Some(bytes) if content => say(StatusCode::OK, bytes.clone()),
        Some(bytes) => say(StatusCode::OK, described(hash, bytes.len())),
    }
}

const SIZES: MockSizes = MockSizes {
    from: 1,
    to: 300_000,
};

fn code(ended: Result<impl Sized, Failed>) -> String {
    ended.map_or_else(|failed| failed.fault.code, |_| String::new())
}

#[tokio::test]
async fn files_arrive_as_they_were_made_and_are_read_back() {
    let shelf = SharedShelf::default();
    let endpoint = node(Arc::clone(&shelf)).await;
    let depot = Depot::new(&endpoint).expect("an endpoint");
    for number in 0..5 {
        let file = MockFile::new(1, number, SIZES);
        let (hash, size) = (file.hash(), file.size());
        assert_eq!(depot.upload(file, hash, false).await, Ok(0));
        assert_eq!(depot.has(hash, size).await, Ok(()));
        assert_eq!(depot.reads_back(hash, size).await, Ok(()));
        for wrong in [0, size - 1, size + 1] {
            assert_eq!(code(depot.has(hash, wrong).await), "lab.wrong_file");
            assert_eq!(code(depot.reads_back(hash, wrong).await), "lab.wrong_file");
        }
    }
    let file = MockFile::new(2, 0, SIZES);
    let (hash, size) = (file.hash(), file.size());
    assert_eq!(code(depot.has(hash, size).await), "file.unknown");
    assert_eq!(code(depot.reads_back(hash, size).await), "file.unknown");
    // A wrong hash for the bytes.
    let upload = depot.upload(file, Hash::ZERO, false).await;
    assert_eq!(code(upload), "lab.wrong_file");

    lock(&shelf).busy = 3;
    assert_eq!(code(depot.upload(file, hash, false).await), "node.busy");
    assert_eq!(depot.upload(file, hash, true).await, Ok(2));

    let stranger = Endpoint {
        token: "other".into(),
        ..endpoint.clone()
    };
    let depot = Depot::new(&stranger).expect("an endpoint");
    assert_eq!(code(depot.has(hash, size).await), "auth.bad_token");
    let nowhere = Endpoint {
        address: "127.0.0.1:1".to_owned(),
        ..endpoint
    };
    let depot = Depot::new(&nowhere).expect("an endpoint");
    assert_eq!(code(depot.has(hash, size).await), "lab.no_connection");
}

fn site(nodes: Vec<Endpoint>) -> Arc<Site> {
    let banks = nodes.into_iter().enumerate().map(|(at, endpoint)| {
        let client = Client::new(endpoint.clone()).expect("an endpoint");
        SiteNode::new(format!("bank {at}"), client).with_endpoint(endpoint)
    });
    Arc::new(Site::new(banks.collect(), None, 5))
}

async fn findings(site: &Site) -> (usize, usize, Vec<String>) {
    let mut verdict = Verdict::default();
    check_files(site, &mut verdict).await.expect("nodes answer");
    (verdict.files, verdict.files_read, verdict.findings)
}

#[tokio::test]
async fn the_audit_finds_what_is_missing_cut_or_changed_at_any_bank() {
    let shelves = [SharedShelf::default(), SharedShelf::default()];
    let site = site(vec![
        node(Arc::clone(&shelves[0])).await,
        node(Arc::clone(&shelves[1])).await,
    ]);
    let depot = Depot::new(site.endpoint(0).expect("known")).expect("an endpoint");
    let mut stored = Vec::new();
    for _ in 0..4 {
        let (file, busy) = upload(&site, &depot, SENDER, SIZES, true)
            .await
            .expect("it is taken");
        assert_eq!(busy, 0);
        assert_eq!(Stored::of_json(&file.to_json()), Ok(file));
        site.holds_file(file.hash, file.size, &[1]);
        stored.push(file.hash.to_string());
    }
    let copies = lock(&shelves[0]).files.clone();
    lock(&shelves[1]).files = copies;
    assert_eq!(findings(&site).await, (8, 8, Vec::new()));

    lock(&shelves[1]).files.remove(&stored[0]);
    if let Some(bytes) = lock(&shelves[1]).files.get_mut(&stored[1]) {
        bytes.pop();
    }
    if let Some(bytes) = lock(&shelves[0]).files.get_mut(&stored[2]) {
        bytes[0] ^= 1;
    }
    let (files, _, said) = findings(&site).await;
    assert_eq!((files, said.len()), (8, 3), "{said:?}");
    for (bank, hash) in [("bank 1", 0), ("bank 1", 1), ("bank 0", 2)] {
        let about = format!("{bank} should have file {}", stored[hash]);
        assert!(said.iter().any(|words| words.contains(&about)), "{said:?}");
    }
}

#[test]
fn knobs_are_taken_and_what_is_not_allowed_is_named() {
    let mut all = Workloads::none();
    register(&mut all);
    let check = |kind: &str, knobs: &str, expected: &str| {
        let set = toml::from_str(knobs).expect("TOML");
        let said = match all.make(kind, &set) {
            Ok(made) => {
                assert_eq!(made.kind(), kind);
                String::new()
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expected, "{kind}: {knobs}");
    };
    check("make-attachments", "", "");
    check(
        "make-attachments",
        "size = 0\nsize_max = 50000000\nretry = true",
        "",
    );
    check(
        "make-attachments",
        "size = 5\nsize_max = 4",
        "size_max: 4: no less than size (5) is allowed",
    );
    check("transfer-attachment", "", "");
    check(
        "transfer-attachment",
        "temperature = 'present'\nfiles = 10\nstarts = 'requests'\ngateway_workers = 8",
        "",
    );
    check(
        "transfer-attachment",
        "temperature = 'hot'",
        "temperature: \"hot\": \"warm\" or \"sent\" or \"cold\" or \"present\" is allowed",
    );
    check(
        "transfer-attachment",
        "size = 500000001",
        "size: 500000001: a whole number from 0 to 500000000 is allowed",
    );
}

#[test]
fn cold_and_warm_share_a_preparation_and_move_bytes_and_present_does_neither() {
    let mut all = Workloads::none();
    register(&mut all);
    let made = |knobs: &str| {
        let set = toml::from_str(knobs).expect("TOML");
        all.make("transfer-attachment", &set).expect("good knobs")
    };
    let warm = made("temperature = 'warm'\nsize = 10");
    let cold = made("temperature = 'cold'\nsize = 10");
    let sent = made("temperature = 'sent'\nsize = 10");
    let present = made("temperature = 'present'\nsize = 10");
    assert_ne!(warm.prepares(7), sent.prepares(7));
    assert_eq!(warm.prepares(7), cold.prepares(7));
    assert_ne!(warm.prepares(7), warm.prepares(8));
    assert_eq!(present.prepares(7), present.prepares(8));
    assert_ne!(present.prepares(100), warm.prepares(100));
    let bytes = [&warm, &cold, &sent, &present].map(|workload| workload.bytes_per_unit());
    assert_eq!(bytes, [10.0, 10.0, 10.0, 0.0]);
    let banks = [&warm, &cold, &sent, &present].map(|workload| workload.banks_min());
    assert_eq!(banks, [2, 2, 3, 2]);
}
