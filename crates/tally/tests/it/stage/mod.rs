//! Shared parts of the process tests: a network of real processes, seeded choices, and deadlines instead of sleeps.
#![allow(dead_code)] // each test uses its part

pub mod agent;
pub mod banks;
pub mod cash;
pub mod command;
pub mod guide;
pub mod hosts;
pub mod proxy;
pub mod restore;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use api::{FlowStatus, Outcome, StartFlow, Wait};
use client::{Client, ClientError};
use perf::topology::{Network, NetworkOptions, Who};

/// The longest wait for an event that should happen.
pub const DEADLINE: Duration = Duration::from_secs(120);
/// The first bank.
pub const A: Who = Who::Bank(0);
/// The second bank.
pub const B: Who = Who::Bank(1);
/// The third bank, in the tests that have one.
pub const C: Who = Who::Bank(2);

/// The program under test.
pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_tally"))
}

/// A notary and banks called `Bank A`, `Bank B`, .. in a temporary folder.
pub fn options(banks: &[&str]) -> NetworkOptions {
    NetworkOptions {
        banks: banks.iter().map(|bank| format!("Bank {bank}")).collect(),
        ..NetworkOptions::two_banks(binary())
    }
}

/// Brought up and ready.
pub fn network(banks: &[&str]) -> Network {
    Network::bring_up(&options(banks)).expect("the network comes up")
}

/// Sends a signal to a process of the network.
pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process id"), signal).expect("it runs");
}

/// A client of one.
pub fn client(network: &Network, who: Who) -> Client {
    network
        .client(who)
        .expect("bootstrap wrote its token and certificate")
}

/// Starts a flow, waits for it as asked, and expects it to end well.
pub async fn completes(client: &Client, start: StartFlow, wait: Wait) -> Outcome {
    let outcome = client
        .start(&start.wait(wait).timeout_ms(60_000))
        .await
        .expect("the node takes the start");
    let wanted = if wait == Wait::Delivered {
        FlowStatus::Delivered
    } else {
        FlowStatus::Finalised
    };
    assert!(
        outcome.status == wanted || outcome.status == FlowStatus::Delivered,
        "{outcome:?}"
    );
    outcome
}

/// Polls until `probe` returns a value. Panics with `what` at the deadline.
pub async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Polls until `is_so`. Panics with `what` at the deadline.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        std::thread::yield_now();
    }
}

/// The sum that a node holds of a currency.
pub async fn holds(client: &Client, currency: &str) -> Result<u128, ClientError> {
    let balances = client.balances().await?.balances;
    Ok(balances
        .iter()
        .filter(|balance| balance.symbol == currency)
        .map(|balance| balance.quantity.parse::<u128>().expect("a number"))
        .sum())
}

/// Returns whether a page of `docs/errors` has a heading for the code.
pub fn is_documented(code: &str) -> bool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    let pages = std::fs::read_dir(folder).expect("generated pages");
    pages.into_iter().any(|page| {
        let text = std::fs::read_to_string(page.expect("readable").path()).expect("text");
        text.lines()
            .any(|line| line.strip_prefix("### ") == Some(code))
    })
}

/// A small seeded generator (SplitMix64), so that a failing run can be repeated.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// From `TALLY_SEED`, else from the clock. The seed is printed, and cargo shows it when the test fails.
    pub fn from_environment() -> Self {
        let seed = std::env::var("TALLY_SEED")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                now.map_or(1, |since| since.as_nanos() as u64 % 1_000_000_007)
            });
        println!("repeat this run with TALLY_SEED={seed}");
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Another generator, whose numbers follow from this one's next.
    pub fn fork(&mut self) -> Self {
        Self(self.number())
    }

    /// A number from `from` to below `to`.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.number() % (to - from)
    }

    /// Returns a random duration below this number of milliseconds.
    pub fn moment(&mut self, most_ms: u64) -> Duration {
        Duration::from_micros(self.between(0, most_ms * 1000))
    }
}
