//! Two processes of bank A on one schema, under load: the hot one is killed, stopped, and cut off from the database or from its peers. The cold
//! one takes over when it has to. Peers and clients find it by themselves at its second address. Then every accepted flow has completed exactly
//! once, value is conserved, and all nodes agree.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use client::{Client, Endpoint};
use perf::topology::{Network, NetworkOptions, Standby, Who, tail};
use rustix::process::Signal;

use crate::stage::banks::Banks;
use crate::stage::proxy::Proxy;
use crate::stage::{self, A, B, DEADLINE};
use crate::vault_sql::agrees;

/// Flows outstanding at each bank.
const OUTSTANDING: usize = 16;
/// Flows that a bank completes before and after a disturbance.
const FLOWS: usize = 30;
/// The longest time from a disturbance until the cold process completes flows.
const TAKEOVER_MAX: Duration = Duration::from_secs(10);
/// The exit code of a node whose store has failed.
const STORE_FAILED: i32 = 6;
/// In a node's folder: its configuration.
const CONFIG_FILE: &str = "node.toml";

/// A network with two processes of bank A. Each connection of the hot process passes a proxy, and so does each connection to another node.
struct Stage {
    banks: Banks,
    network: Network,
    /// In front of the notary, the hot process of bank A, and bank B, for other nodes.
    peers: [Proxy; 3],
    /// Between clients and the hot process.
    api: Proxy,
    /// Between the hot process and the database.
    database: Proxy,
    client: Client,
}

impl Stage {
    /// Brings all up, and waits until both banks complete flows and the cold process waits for the lease.
    async fn open() -> Self {
        let peers = [(); 3].map(|()| Proxy::start());
        let (api, database) = (Proxy::start(), Proxy::start());
        let advertised = peers
            .iter()
            .map(|proxy| vec![proxy.address().to_string()])
            .collect();
        let options = NetworkOptions {
            database: true,
            standby: true,
            advertised,
            ..stage::options(&["A", "B"])
        };
        let mut network = Network::bootstrap(&options).expect("folders and a server");
        for (proxy, who) in peers.iter().zip([Who::Notary, A, B]) {
            proxy.lead_to(address(network.folder(who), "p2p"));
        }
        api.lead_to(address(network.folder(A), "api"));
        let server = local(network.database_server().expect("a server").port());
        database.lead_to(server);
        let config = network.folder(A).join(CONFIG_FILE);
        let text = fs::read_to_string(&config).expect("readable");
        let text = text.replace(&server.to_string(), &database.address().to_string());
        fs::write(&config, text).expect("written");
        network.start_all().expect("all start");
        let standby = network.standby().expect("it was asked for").api();
        let client = Client::new(Endpoint {
            address: format!("{}, {standby}", api.address()),
            ..network.endpoint(A).expect("bootstrap wrote it")
        });
        let client = client.expect("an endpoint");
        let clients = [client.clone(), stage::client(&network, B)];
        let banks = Banks::open_at(&network, clients, OUTSTANDING).await;
        let mut stage = Self {
            banks,
            network,
            peers,
            api,
            database,
            client,
        };
        stage.cold().process().start().expect("it starts");
        stage.cold_reaches(Standby::has_waited).await;
        stage.completes_flows().await;
        // The hot process learns with its next renewal that another one waits.
        stage.renews(2).await;
        stage
    }

    /// The process of bank A that waits to take over.
    fn cold(&mut self) -> &mut Standby {
        self.network.standby().expect("it was asked for")
    }

    async fn cold_reaches(&mut self, state: impl Fn(&Standby) -> bool) {
        let end = Instant::now() + DEADLINE;
        while !state(self.cold()) {
            assert!(Instant::now() < end, "{}", self.cold().log());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Waits until each bank has completed some more flows.
    async fn completes_flows(&self) {
        for bank in [0, 1] {
            let before = self.banks.answered_by(bank).await;
            stage::eventually("more flows", async || {
                (self.banks.answered_by(bank).await >= before + FLOWS).then_some(())
            })
            .await;
        }
    }

    /// Waits until the lease has been renewed this many times.
    async fn renews(&self, times: u32) {
        for _ in 0..times {
            let read = || self.ask("select expires from bank_a.lease");
            let before = read();
            stage::eventually("a renewal", async || (read() != before).then_some(())).await;
        }
    }

    /// Waits until the cold process has taken over and both banks complete flows. Prints the times.
    async fn takes_over(&mut self, disturbed: Instant, what: &str) {
        self.cold_reaches(Standby::has_taken_over).await;
        let lease = disturbed.elapsed();
        self.cold_reaches(Standby::is_ready).await;
        let ready = disturbed.elapsed();
        let before = self.banks.answered_by(0).await;
        stage::eventually("a flow of the cold process", async || {
            (self.banks.answered_by(0).await > before).then_some(())
        })
        .await;
        let flow = disturbed.elapsed();
        println!(
            "{what}: lease taken after {} ms, ready after {} ms, a flow completed after {} ms",
            lease.as_millis(),
            ready.as_millis(),
            flow.as_millis()
        );
        assert!(flow < TAKEOVER_MAX, "{what}: {flow:?}");
        self.completes_flows().await;
    }

    /// Waits until the hot process has ended by itself with a coded error.
    async fn hot_ends(&mut self) {
        let log = self.network.log(A).to_path_buf();
        let hot = self.network.process(A);
        // The load goes on meanwhile.
        let ended = tokio::task::block_in_place(|| hot.ended_within(DEADLINE));
        let status = ended.expect("the hot process ends");
        assert_eq!(status.code(), Some(STORE_FAILED), "{}", tail(&log));
        let text = fs::read_to_string(&log).expect("readable");
        let codes = ["database.lease_ended", "database.deposed"];
        assert!(
            codes.iter().any(|code| text.contains(code)),
            "{}",
            tail(&log)
        );
    }

    /// Starts the first process on standby, and waits until it waits for the lease.
    async fn hot_stands_by(&mut self) {
        let folder = self.network.folder(A).to_path_buf();
        let mut config = read_config(&folder);
        let database = config["database"].as_table_mut().expect("a section");
        database.insert("standby".into(), true.into());
        fs::write(folder.join(CONFIG_FILE), config.to_string()).expect("written");
        self.network.process(A).start().expect("starts");
        let log = self.network.log(A).to_path_buf();
        stage::eventually("the first process waits", async || {
            let text = fs::read_to_string(&log).expect("readable");
            text.contains("waits for the lease").then_some(())
        })
        .await;
    }

    /// Checks the books of all nodes, and that no process wrote after it was deposed.
    async fn close(mut self) {
        let wrong = self.banks.close(&self.network).await;
        assert_eq!(
            wrong, 0,
            "outcomes that do not list what their flow recorded"
        );
        let server = self.network.database_server().expect("a server");
        agrees(&self.client, server, "bank_a").await;
        let late = "select count(*) from (select fence, lead(fence) over (order by number) as next, number,
                      lead(number) over (order by number) as following from bank_a.commits) as pairs
                    where next < fence or following <> number + 1";
        assert_eq!(server.query(late).expect("readable"), "0");
    }

    fn ask(&self, sql: &str) -> String {
        let query = self.network.database_query(sql);
        query.expect("a server").expect("readable")
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn read_config(folder: &Path) -> toml::Table {
    let text = fs::read_to_string(folder.join(CONFIG_FILE)).expect("readable");
    text.parse().expect("TOML")
}

/// Returns the address on which a node listens.
fn address(folder: &Path, section: &str) -> SocketAddr {
    let config = read_config(folder);
    let listen = config[section]["listen"].as_str().expect("an address");
    listen.parse().expect("an address")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_is_replaced() {
    let mut stage = Stage::open().await;
    let killed = Instant::now();
    stage.network.kill(A);
    stage.takes_over(killed, "killed").await;
    // It finds its schema taken when it starts again.
    let refused = stage.network.start(A).expect_err("the other one runs");
    assert!(refused.to_string().contains("database.held"), "{refused}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_process_is_replaced_and_ends_when_it_goes_on() {
    let mut stage = Stage::open().await;
    let pid = stage.network.pid(A).expect("it runs");
    let stopped = Instant::now();
    stage::signal(pid, Signal::STOP);
    stage.takes_over(stopped, "stopped").await;
    stage::signal(pid, Signal::CONT);
    let resumed = Instant::now();
    stage.hot_ends().await;
    println!(
        "ended {} ms after it went on",
        resumed.elapsed().as_millis()
    );
    stage.completes_flows().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_loses_the_database_ends_and_is_replaced() {
    let mut stage = Stage::open().await;
    let cut = Instant::now();
    stage.database.cut(true);
    stage.hot_ends().await;
    println!("ended {} ms after the cut", cut.elapsed().as_millis());
    // On a busy machine the other one may begin before this one is seen to end. What keeps them apart is the token that each commit checks.
    stage.takes_over(cut, "lost the database").await;
    // A supervisor starts it again, and the two change places once more.
    stage.database.cut(false);
    stage.hot_stands_by().await;
    let killed = Instant::now();
    stage.cold().process().kill();
    let hot = stage.network.process(A);
    tokio::task::block_in_place(|| hot.wait_ready(DEADLINE)).expect("it takes over");
    println!("ready again after {} ms", killed.elapsed().as_millis());
    assert!(killed.elapsed() < TAKEOVER_MAX);
    stage.completes_flows().await;
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_loses_its_peers_and_clients_goes_on() {
    let mut stage = Stage::open().await;
    let proxies = || stage.peers.iter().chain([&stage.api]);
    proxies().for_each(|proxy| proxy.cut(true));
    // For longer than the lease lasts.
    stage.renews(5).await;
    proxies().for_each(|proxy| proxy.cut(false));
    stage.completes_flows().await;
    assert!(!stage.cold().has_taken_over());
    stage.close().await;
}
