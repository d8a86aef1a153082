//! Two hosts for tests: network namespaces where the test may make them, else two loopback addresses.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use perf::agent::AgentHost;
use perf::topology::{Host, Placement};
use tempfile::TempDir;

use super::agent::{AgentProcess, token, token_file};

/// The names of the hosts.
const NAMES: [&str; 2] = ["a", "b"];

/// Two hosts with an agent on each.
pub struct Hosts {
    // Agents come first: their nodes end before the namespaces go.
    pub agents: Vec<AgentProcess>,
    namespaces: Option<Namespaces>,
    folder: TempDir,
}

impl Hosts {
    /// Makes the hosts.
    pub fn begin() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = token_file(folder.path());
        if let Some(namespaces) = Namespaces::make() {
            let agents = (0..2).map(|at| {
                let listen = format!("{}:0", namespaces.address(at));
                AgentProcess::start_host(&listen, Some(&namespaces.name(at)), &file)
            });
            let agents: Vec<AgentProcess> = agents.collect();
            // A firewall may let the test reach them, and not them each other.
            if namespaces.reaches(0, &agents[1].address) {
                return Self {
                    agents,
                    namespaces: Some(namespaces),
                    folder,
                };
            }
        }
        let listen = ["127.0.0.1:0", "127.0.0.2:0"].iter();
        let agents = listen.map(|listen| AgentProcess::start_host(listen, None, &file));
        Self {
            agents: agents.collect(),
            namespaces: None,
            folder,
        }
    }

    /// Connects to both, with some nodes on hosts of their own.
    pub fn placement(&self, place: &[(&str, &str)]) -> Placement {
        let hosts = NAMES.iter().zip(&self.agents).map(|(name, agent)| {
            let address = format!("{name}={}", agent.address);
            let address = address.parse().expect("an address");
            let host = AgentHost::connect(&address, &token()).expect("it is a host");
            Arc::new(host) as Arc<dyn Host>
        });
        let place = place
            .iter()
            .map(|(node, host)| ((*node).to_owned(), (*host).to_owned()));
        let place: BTreeMap<String, String> = place.collect();
        Placement::new(hosts.collect(), place).expect("in order")
    }

    /// Returns the options of a command line.
    pub fn options(&self) -> String {
        let hosts = NAMES.iter().zip(&self.agents);
        let hosts = hosts.map(|(name, agent)| format!("--host {name}={}", agent.address));
        let hosts: Vec<String> = hosts.collect();
        let file = self.folder.path().join("token");
        format!("{} --agent-token-file {}", hosts.join(" "), file.display())
    }

    /// Cuts a host off: nothing from it arrives any more, and no connection is ended.
    pub fn cut_off(&self, at: usize) {
        match &self.namespaces {
            Some(namespaces) => namespaces.cut_off(at),
            None => self.agents[at].freeze(),
        }
    }
}

/// Two namespaces on one bridge. Dropping it removes them.
struct Namespaces {
    /// Different for each that runs at the same time.
    id: String,
    /// The third part of its addresses.
    network: u32,
}

/// The number of the next namespaces of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

impl Namespaces {
    /// Returns `None` if the system does not let the test make any.
    fn make() -> Option<Self> {
        let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let made = Self {
            id: format!("{process}-{number}"),
            network: (8 * process + number) % 250,
        };
        let bridge = made.bridge();
        let mut lines = vec![
            format!("link add {bridge} type bridge"),
            format!("addr add {}/24 dev {bridge}", made.network(1)),
            format!("link set {bridge} up"),
        ];
        for at in 0..2 {
            let (name, link) = (made.name(at), made.link(at));
            lines.extend([
                format!("netns add {name}"),
                format!("link add {link} type veth peer name eth0 netns {name}"),
                format!("link set {link} master {bridge}"),
                format!("link set {link} up"),
                format!("-n {name} addr add {}/24 dev eth0", made.address(at)),
                format!("-n {name} link set eth0 up"),
                format!("-n {name} link set lo up"),
            ]);
        }
        lines.iter().all(|line| ip(line)).then_some(made)
    }

    fn bridge(&self) -> String {
        format!("tlb{}", self.id)
    }

    fn link(&self, at: usize) -> String {
        format!("tlv{}{}", self.id, ["a", "b"][at])
    }

    fn name(&self, at: usize) -> String {
        format!("tally-{}-{at}", self.id)
    }

    fn network(&self, last: usize) -> String {
        format!("10.213.{}.{last}", self.network)
    }

    fn address(&self, at: usize) -> String {
        self.network(at + 2)
    }

    fn reaches(&self, from: usize, address: &str) -> bool {
        let (host, port) = address.rsplit_once(':').expect("an address");
        let script = format!("exec 3<>/dev/tcp/{host}/{port}");
        let mut command = Command::new("timeout");
        command
            .args(["5", "ip", "netns", "exec", &self.name(from), "bash", "-c"])
            .arg(script)
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn cut_off(&self, at: usize) {
        assert!(ip(&format!("link set {} down", self.link(at))));
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for at in 0..2 {
            ip(&format!("netns del {}", self.name(at)));
        }
        ip(&format!("link del {}", self.bridge()));
    }
}

/// Runs `ip` with the space-separated words. Returns whether it succeeded.
fn ip(line: &str) -> bool {
    let mut command = Command::new("ip");
    command.args(line.split(' ')).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
