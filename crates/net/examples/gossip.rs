//! Measures the cost of a broadcast: four nodes in this process, all to all on the loopback interface. Each sends batches of
//! transactions at a steady rate and accepts all that it receives, after a delay that stands for checking.
//!
//! `cargo run --release -p net --example gossip -- [seconds] [batches a second of each] [bytes of a batch] [ms until accepted]`

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use net::gossip::{
    self, GossipEvent, GossipEvents, GossipHandle, GossipLimits, GossipOptions, Topic, Verdict,
};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

const NODES: usize = 4;

async fn node(number: u8, first: Option<&GossipHandle>) -> (GossipHandle, GossipEvents) {
    let options = GossipOptions {
        key_seed: [number; 32].into(),
        network: [1; 32],
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        seeds: first.iter().map(|first| first.local_address()).collect(),
        software: "cost".into(),
        ban_time: Duration::from_secs(600),
        limits: GossipLimits::default(),
    };
    gossip::start(options).await.expect("starts")
}

/// Accepts all messages and reports how long each took to arrive.
async fn hear(
    net: GossipHandle,
    mut events: GossipEvents,
    start: Instant,
    checking: Duration,
    times: mpsc::UnboundedSender<Duration>,
) {
    while let Some(event) = events.next().await {
        if let GossipEvent::Message { id, bytes, .. } = event {
            let sent = bytes.first_chunk::<8>().map(|b| u64::from_be_bytes(*b));
            let sent = Duration::from_nanos(sent.unwrap_or(0));
            // At the end the receiver is gone.
            let _ = times.send(start.elapsed().saturating_sub(sent));
            if checking.is_zero() {
                // The service may have ended.
                let _ = net.verdict(id, Verdict::Accept);
                continue;
            }
            let net = net.clone();
            tokio::spawn(async move {
                tokio::time::sleep(checking).await;
                // The service may have ended.
                let _ = net.verdict(id, Verdict::Accept);
            });
        }
    }
}

async fn speak(net: GossipHandle, number: u8, start: Instant, count: u64, rate: u64, size: usize) {
    let mut state = 88_172_645_463_325_252u64 + u64::from(number);
    let mut tick = tokio::time::interval(Duration::from_nanos(1_000_000_000 / rate));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for _ in 0..count {
        tick.tick().await;
        let mut batch: Vec<u8> = (0..size)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        let now = start.elapsed().as_nanos() as u64;
        batch[..8].copy_from_slice(&now.to_be_bytes());
        net.broadcast(Topic::Transactions, batch).expect("room");
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
        let field = fields.get(at).and_then(|field| field.parse::<u64>().ok());
        field.unwrap_or(0)
    };
    Duration::from_millis((ticks(12) + ticks(13)) * 10)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse::<u64>().ok());
    let seconds = arguments.next().unwrap_or(15);
    let rate = arguments.next().unwrap_or(200).max(1);
    let size = arguments.next().unwrap_or(3_700).max(8) as usize;
    let checking = Duration::from_millis(arguments.next().unwrap_or(0));
    let mut nodes = vec![node(1, None).await];
    for number in 2..=NODES as u8 {
        nodes.push(node(number, Some(&nodes[0].0)).await);
    }
    while nodes
        .iter()
        .any(|(net, _)| net.figures().peers < NODES as u64 - 1)
    {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (start, count) = (Instant::now(), seconds * rate);
    let (times, mut heard) = mpsc::unbounded_channel();
    let nets: Vec<GossipHandle> = nodes.iter().map(|(net, _)| net.clone()).collect();
    for (net, events) in nodes {
        tokio::spawn(hear(net, events, start, checking, times.clone()));
    }
    let before = processor_time();
    let speaking: Vec<_> = nets
        .iter()
        .zip(1..)
        .map(|(net, number)| tokio::spawn(speak(net.clone(), number, start, count, rate, size)))
        .collect();
    let expected = count as usize * NODES * (NODES - 1);
    let mut all = Vec::with_capacity(expected);
    while all.len() < expected {
        let next = tokio::time::timeout(Duration::from_secs(10), heard.recv()).await;
        let Ok(Some(time)) = next else { break };
        all.push(time);
    }
    let (took, cpu) = (start.elapsed(), processor_time() - before);
    for speaker in speaking {
        speaker.await.expect("no panic");
    }
    all.sort_unstable();
    let batches = count as f64 * NODES as f64;
    let figures: Vec<_> = nets.iter().map(GossipHandle::figures).collect();
    let sum =
        |of: fn(&net::gossip::GossipFigures) -> u64| figures.iter().map(of).sum::<u64>() as f64;
    println!(
        "{NODES} nodes, {rate} batches/s of {size} bytes each, accepted after {checking:?}, {:.1} s: {} of {expected} heard; {:.1} us CPU a batch, all nodes; \
         {:.0} % of a core; delivery p50 {:?} p99 {:?}; {:.2} copies a delivery; wire/payload {:.2}",
        took.as_secs_f64(),
        all.len(),
        cpu.as_secs_f64() * 1e6 / batches,
        cpu.as_secs_f64() * 100.0 / took.as_secs_f64(),
        all.get(all.len() / 2).copied().unwrap_or_default(),
        all.get(all.len() * 99 / 100).copied().unwrap_or_default(),
        sum(|f| f.messages_seen) / sum(|f| f.transactions_in),
        sum(|f| f.bytes_out) / (all.len() as f64 * size as f64),
    );
}
