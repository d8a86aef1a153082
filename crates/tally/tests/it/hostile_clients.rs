//! Real processes: clients without credentials that take all connections, or announce bodies and send nothing, stop no one else.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use api::Wait;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::chain_stage::Chain;
use crate::stage::{self, A, cash, client, completes, eventually};

/// Number of silent connections: more than the usual soft limit of open files.
const SILENT: usize = 1_100;
/// The hard limit of open files here and in the nodes: room for these connections, and for no more than half of them at a node.
const FILES: u64 = 1_500;
/// Logins that announce a body, more than bodies of their announced length could have in memory.
const LOGINS: usize = 64;
/// Set in the process that this test starts for itself. A process cannot raise its hard limit of open files again, so that the
/// other tests must not share it.
const ALONE: &str = "TALLY_HOSTILE_CLIENTS_ALONE";

/// Runs the test again in a process of its own.
fn run_alone() {
    let name = "hostile_clients::strangers_stop_neither_a_bank_nor_a_chain_node";
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("the process starts");
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"));
}

/// Lowers the limits of open files of this process and of the nodes that it starts.
fn few_files() {
    let files = getrlimit(Resource::Nofile)
        .maximum
        .map_or(FILES, |most| most.min(FILES));
    let limit = Rlimit {
        current: Some(files),
        maximum: Some(files),
    };
    setrlimit(Resource::Nofile, limit).expect("lower than before");
}

async fn silent_connections(address: SocketAddr) -> Vec<TcpStream> {
    let mut silent = Vec::new();
    for _ in 0..SILENT {
        // Once its places are taken the node is slow to accept: it ends older ones first.
        silent.extend(TcpStream::connect(address).await.ok());
    }
    assert!(silent.len() > SILENT / 2, "{} connected", silent.len());
    silent
}

/// Opens a TLS connection that knows no token.
async fn stranger(address: SocketAddr, root_pem: &[u8]) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(root_pem).expect("PEM");
    roots.add(root).expect("a root");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tcp = TcpStream::connect(address).await.expect("it listens");
    let name = ServerName::try_from("localhost").expect("a name");
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, tcp).await.expect("TLS")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_stop_neither_a_bank_nor_a_chain_node() {
    if std::env::var_os(ALONE).is_none() {
        return run_alone();
    }
    few_files();
    let mut network = stage::network(&["A", "B"]);
    let a = client(&network, A);
    let endpoint = network.endpoint(A).expect("bootstrapped");
    let address: SocketAddr = endpoint.address.parse().expect("an address");
    let start = || cash::issue("GBP", 1).expect("arguments");
    completes(&a, start(), Wait::Finalised).await;

    // Bodies that are announced and do not come.
    let mut logins = Vec::new();
    for length in [1 << 20, 16_000].repeat(LOGINS / 2) {
        let mut stranger = stranger(address, endpoint.root_pem.as_bytes()).await;
        let head = format!(
            "POST /v1/login HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n"
        );
        stranger.write_all(head.as_bytes()).await.expect("sent");
        stranger.flush().await.expect("sent");
        logins.push(stranger);
    }
    completes(&a, start(), Wait::Finalised).await;
    drop(logins);

    // More connections than files may be open. A client that is new gets in, and the store still opens its files.
    let silent = silent_connections(address).await;
    let new = client(&network, A);
    for client in [&a, &new, &a] {
        completes(client, start(), Wait::Finalised).await;
        assert!(client.health().await.expect("answered").ready);
    }
    let metrics = a.metrics().await.expect("answered");
    let evicted = metrics
        .lines()
        .find_map(|line| line.strip_prefix("tally_http_connections_evicted_total "));
    let evicted: u64 = evicted.expect("shown").parse().expect("a number");
    assert!(evicted > 100, "{evicted}");
    network.restart(A).expect("its store is well");
    drop(silent);
    eventually("the node answers again", async || {
        a.health().await.ok().filter(|health| health.ready)
    })
    .await;
    drop(network);

    let chain = Chain::bring_up(1, 1);
    let node = chain.client(0);
    let address = chain.endpoint(0).address.parse().expect("an address");
    let _silent = silent_connections(address).await;
    for client in [&node, &chain.client(0)] {
        let before = client.status().await.expect("answered").height;
        eventually("the chain grows", async || {
            let height = client.status().await.ok()?.height;
            (height > before).then_some(())
        })
        .await;
    }
}
