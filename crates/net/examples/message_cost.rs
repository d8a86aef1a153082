//! Measures the cost of a message: two nodes in this process, over TLS on the loopback interface.
//!
//! `cargo run --release -p net --example message_cost`

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use ledger::PartyId;
use net::{
    Compression, Handle, Inbound, NetLimits, Options, PeerAddress, Sink, TlsMaterial, Transport,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;

/// Counts messages and wakes the waiting thread, as a kernel's mailbox would.
#[derive(Default)]
struct Counter {
    messages: AtomicU64,
    queue: Mutex<Vec<Inbound>>,
    arrived: Condvar,
}

impl Sink for Counter {
    fn deliver(&self, batch: &mut Vec<Inbound>) {
        self.messages
            .fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.queue.lock().expect("no panics").append(batch);
        self.arrived.notify_one();
    }

    fn has_room(&self) -> bool {
        true
    }
}

impl Counter {
    fn take(&self) -> Vec<Inbound> {
        let mut queue = self.queue.lock().expect("no panics");
        while queue.is_empty() {
            queue = self.arrived.wait(queue).expect("no panics");
        }
        std::mem::take(&mut queue)
    }
}

struct Pair {
    _transports: [Transport; 2],
    sinks: [Arc<Counter>; 2],
    nets: [Handle; 2],
    ids: [PartyId; 2],
}

fn pair(compression: Compression) -> Pair {
    let mut params = CertificateParams::new(vec![]).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let root = CertifiedIssuer::self_signed(params, key).expect("signs");
    let ids = [1, 2].map(|number| PartyId::from_array([number; 32]));
    let sinks = [(); 2].map(|()| Arc::new(Counter::default()));
    let transports = [0, 1].map(|index| {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![ids[index].dns_name()]).expect("a name");
        let certificate = params.signed_by(&key, &root).expect("signs");
        let options = Options {
            me: ids[index],
            epoch: 1,
            software: "cost".into(),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            tls: TlsMaterial {
                chain: vec![certificate.der().clone()],
                key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
                root: root.der().clone(),
            },
            peers: vec![],
            compression,
            linger_us: 0,
            limits: NetLimits::default(),
        };
        Transport::start(options, sinks[index].clone()).expect("starts")
    });
    let nets = [0, 1].map(|index| transports[index].handle().clone());
    for (me, other) in [(0, 1), (1, 0)] {
        let addresses = vec![nets[other].local_address().to_string()];
        nets[me].set_peers(vec![PeerAddress {
            name: "peer".to_owned(),
            id: ids[other],
            addresses,
        }]);
    }
    for sink in &sinks {
        sink.take();
    }
    Pair {
        _transports: transports,
        sinks,
        nets,
        ids,
    }
}

/// Processor time of the process so far.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|f| f.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Duration::from_millis((ticks(12) + ticks(13)) * 10)
}

fn stream(compression: Compression, size: usize, batch: usize, count: u64) {
    let Pair {
        sinks,
        nets,
        ids,
        _transports,
    } = pair(compression);
    // Half of it is like transactions: hashes that do not compress, and text that does.
    let mut state = 88_172_645_463_325_252u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let message: Vec<u8> = (0..size)
        .map(|i| {
            if i % 200 < 100 {
                random()
            } else {
                b"tally.cash O=Bank A"[i % 19]
            }
        })
        .collect();
    let (start, cpu) = (Instant::now(), processor_time());
    let consumer = std::thread::spawn({
        let sink = sinks[1].clone();
        move || {
            let mut seen = 0;
            while seen < count {
                seen += sink.take().len() as u64;
            }
        }
    });
    let mut sent = 0;
    while sent < count {
        if nets[0].is_full(&ids[1], size * batch) {
            std::thread::sleep(Duration::from_micros(200));
            continue;
        }
        let messages = (0..batch).map(|_| (ids[1], 0, message.clone()));
        sent += nets[0].send_many(messages).queued as u64;
    }
    consumer.join().expect("no panics");
    let (took, cpu) = (start.elapsed(), processor_time() - cpu);
    let (out, input) = (nets[0].figures(), nets[1].figures());
    println!(
        "{compression:?} {size:>8} B x {batch:>4}: {:>9.0} messages/s {:>7.0} MB/s  {:>6.2} us CPU a message, both ends; wire/raw {:.2}; {:>6.1} messages a write, {:>6.1} a read",
        count as f64 / took.as_secs_f64(),
        (count as usize * size) as f64 / took.as_secs_f64() / 1e6,
        cpu.as_secs_f64() * 1e6 / count as f64,
        out.wire_bytes_out as f64 / (count as usize * size) as f64,
        count as f64 / out.writes as f64,
        count as f64 / input.reads as f64,
    );
}

fn round_trips(count: u32) {
    let Pair {
        sinks,
        nets,
        ids,
        _transports,
    } = pair(Compression::Auto);
    let [near, far] = sinks;
    let echo = std::thread::spawn({
        let (net, id) = (nets[1].clone(), ids[0]);
        move || {
            for _ in 0..count {
                far.take();
                net.send(&id, 0, vec![0; 500]);
            }
        }
    });
    let mut times = Vec::new();
    for _ in 0..count {
        let start = Instant::now();
        nets[0].send(&ids[1], 0, vec![0; 500]);
        near.take();
        times.push(start.elapsed());
    }
    echo.join().expect("no panics");
    times.sort_unstable();
    println!(
        "round trip of 500 bytes, four threads: p50 {:?} p99 {:?}",
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
}

fn main() {
    round_trips(20_000);
    for compression in [Compression::Off, Compression::On] {
        for (size, batch, count) in [
            (300, 1, 300_000),
            (300, 100, 3_000_000),
            (1_000, 1, 300_000),
            (1_000, 50, 1_500_000),
            (1 << 20, 4, 3_000),
        ] {
            stream(compression, size, batch, count);
        }
    }
}
