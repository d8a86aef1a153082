//! The attacks of the hostile member, paced to the link of one member.

use std::collections::{BTreeMap, VecDeque};
use std::io::BufRead;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use finance::flows::ReissueCash;
use flow::messaging::RequestId;
use flow::{Flow, FlowId, SessionBody, SessionId, SessionMessage};
use kernel::message::{PeerMessage, ServiceId};
use ledger::{NotaryRequest, Party, PartyId, StateAndRef, StateRef, TxId};
use primitives::{Encode, Hash, KeyPair, Scheme};
use serde::{Deserialize, Serialize};

use crate::besieger::Besieger;

/// Bytes that the member sends a second: a link of 20 Mbit/s.
pub const BYTES_PER_S: usize = 2_500_000;
/// Time between two portions.
const TICK: Duration = Duration::from_millis(10);
/// Longest time that an attack waits for its connections. A victim may have cut them off.
const CONNECTIONS_WITHIN: Duration = Duration::from_secs(45);
/// Transactions of one delivery, each with a false P-256 signature.
const FLOOD: usize = 20;
/// Valid P-256 signatures of one delivery. They take longer than a round may.
const SIGNATURES: usize = 2_000;
/// The same in a small delivery.
const FEW_SIGNATURES: usize = 4;
/// The same among other messages, so that these have most of the bytes.
const SIGNATURES_BESIDE_OTHERS: usize = 100;
/// Bytes of deliveries with valid signatures that are made before the attack, for some 7 seconds of it. Signing as many takes the
/// attacker about as long as checking them takes a victim.
const PREPARED_BYTES: usize = 7 * BYTES_PER_S;
/// Length of a message that does not decode.
const NOISE_BYTES: usize = 1_000;

/// A kind of attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attack {
    /// Nothing: the control, which shows how far the rates of calm windows differ.
    Nothing,
    /// Sessions that are opened at the bank and never used.
    Sessions,
    /// Requests to the notary that consume invented states.
    Invented,
    /// Deliveries of false P-256 signatures and of garbage, to the bank and the notary.
    Floods,
    /// Deliveries of transactions with thousands of valid P-256 signatures each, to the bank and the notary.
    Signatures,
    /// The same with a few signatures in each delivery.
    Few,
    /// All of these in turns.
    Everything,
}

/// All attacks, in the order of the benchmark. The victims answer `Floods` and `Everything` with a pause of the connection.
pub const ATTACKS: [Attack; 7] = [
    Attack::Nothing,
    Attack::Sessions,
    Attack::Invented,
    Attack::Signatures,
    Attack::Few,
    Attack::Floods,
    Attack::Everything,
];

/// The traffic of one attack.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Sent {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// An order to the hostile process, as one line of JSON.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Waits for the connections that an attack needs.
    Connect(Attack),
    /// Begins an attack.
    Attack(Attack),
    /// Ends the attack.
    Calm,
}

/// Runs the hostile process: carries out the [`Order`] in each line of standard input, and answers each with the traffic since the
/// previous one.
pub fn run(folder: &Path) {
    let mut siege = Siege::new(folder);
    let (lines, received) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            // The receiver lives as long as the process.
            let _ = lines.send(line);
        }
    });
    let mut attack: Option<Attack> = None;
    loop {
        match received.recv_timeout(TICK) {
            Ok(line) => {
                let order = serde_json::from_str(&line).expect("an order");
                attack = match order {
                    Order::Attack(attack) => Some(attack),
                    Order::Connect(_) | Order::Calm => None,
                };
                if let Order::Connect(attack) = order {
                    siege.connect(attack);
                }
                println!("{}", serde_json::to_string(&siege.sent).expect("JSON"));
                siege.sent = Sent::default();
            }
            Err(RecvTimeoutError::Timeout) => attack.into_iter().for_each(|it| siege.tick(it)),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// The hostile member and its place in each victim's stream of sessions.
struct Siege {
    besieger: Besieger,
    bank: Party,
    notary: Party,
    /// The connection that was greeted last and the last number sent in it, for each victim.
    streams: BTreeMap<PartyId, (u64, u64)>,
    /// The keys that sign the transactions with many signatures.
    signers: Vec<KeyPair>,
    /// Deliveries with valid signatures, made in advance, by their recipients.
    prepared: BTreeMap<PartyId, VecDeque<PeerMessage>>,
    turn: usize,
    /// Bytes that were sent beyond the portions so far.
    ahead: usize,
    sent: Sent,
}

impl Siege {
    fn new(folder: &Path) -> Self {
        let besieger = Besieger::start(folder);
        let (bank, notary) = (besieger.party("Bank"), besieger.party("Notary"));
        Self {
            besieger,
            bank,
            notary,
            streams: BTreeMap::new(),
            signers: (0..SIGNATURES).map(signer).collect(),
            prepared: BTreeMap::new(),
            turn: 0,
            ahead: 0,
            sent: Sent::default(),
        }
    }

    /// Makes the messages of an attack that cost the attacker much time, and waits for the connections to its victims.
    fn connect(&mut self, attack: Attack) {
        self.prepared.clear();
        let mut bytes = 0;
        while let Some(count) = signatures_of(attack)
            && bytes < PREPARED_BYTES
        {
            for to in [self.bank.clone(), self.notary.clone()] {
                let message = self.besieger.signed_by_many(&to, &self.signers[..count]);
                bytes += message.to_bytes().len();
                self.prepared.entry(to.id()).or_default().push_back(message);
            }
        }
        let end = Instant::now() + CONNECTIONS_WITHIN;
        let victims = match attack {
            Attack::Nothing => vec![],
            Attack::Sessions => vec![self.bank.clone()],
            Attack::Invented => vec![self.notary.clone()],
            Attack::Signatures | Attack::Few | Attack::Floods | Attack::Everything => {
                vec![self.bank.clone(), self.notary.clone()]
            }
        };
        let reached = |siege: &Self| victims.iter().all(|it| siege.besieger.reaches(it));
        while !reached(self) && Instant::now() < end {
            std::thread::sleep(TICK);
        }
    }

    /// Sends one portion.
    fn tick(&mut self, attack: Attack) {
        let portion = BYTES_PER_S * TICK.as_millis() as usize / 1_000;
        let mut left = portion.saturating_sub(self.ahead);
        self.ahead = self.ahead.saturating_sub(portion);
        // A lost message costs its turn, so that a portion ends without any connection too.
        let mut lost = 0;
        while left > 0 && lost < 8 {
            self.turn += 1;
            match self.send(attack) {
                Some(length) => {
                    // A message may be longer than a portion.
                    self.ahead += length.saturating_sub(left);
                    left = left.saturating_sub(length);
                    self.sent.messages += 1;
                    self.sent.bytes += length as u64;
                }
                None => lost += 1,
            }
        }
    }

    fn send(&mut self, attack: Attack) -> Option<usize> {
        let victim = match (attack, self.turn % 2) {
            (Attack::Nothing, _) => return None,
            (Attack::Sessions, _) => self.bank.clone(),
            (Attack::Invented, _) => self.notary.clone(),
            (_, 0) => self.bank.clone(),
            (_, _) => self.notary.clone(),
        };
        if !self.greeted(&victim) {
            return None;
        }
        match (attack, self.turn % 8, self.turn % 16) {
            (Attack::Signatures | Attack::Few, ..) => {
                self.deliver_signatures(&victim, signatures_of(attack)?)
            }
            (Attack::Everything, _, 14 | 15) => {
                let signers = &self.signers[..SIGNATURES_BESIDE_OTHERS];
                let message = self.besieger.signed_by_many(&victim, signers);
                self.besieger.say(&victim, &message)
            }
            (Attack::Sessions, ..) | (Attack::Everything, 0 | 4, _) => self.open_session(&victim),
            (Attack::Invented, ..) | (Attack::Everything, 1 | 5, _) => self.invent(&victim),
            (_, 2 | 3, _) => self.noise(&victim),
            _ => self.besieger.flood(&victim, FLOOD),
        }
    }

    /// Delivers a transaction with valid signatures. It is made on the spot only if none is left from before the attack.
    fn deliver_signatures(&mut self, victim: &Party, count: usize) -> Option<usize> {
        let prepared = self.prepared.entry(victim.id()).or_default();
        let message = prepared.pop_front();
        let message =
            message.unwrap_or_else(|| self.besieger.signed_by_many(victim, &self.signers[..count]));
        self.besieger.say(victim, &message)
    }

    /// Greets a victim once in each connection. Tells whether there is a connection.
    fn greeted(&mut self, victim: &Party) -> bool {
        let link = self.besieger.link(victim);
        let stream = self.streams.entry(victim.id()).or_default();
        if link.connected && stream.0 != link.connections {
            *stream = (link.connections, link.acked);
            self.besieger.greet(victim);
        }
        link.connected
    }

    /// Opens a session that is never used.
    fn open_session(&mut self, victim: &Party) -> Option<usize> {
        let session = SessionMessage {
            session: SessionId {
                initiator: self.flow(),
                number: 1,
            },
            to_initiator: false,
            body: SessionBody::Init {
                flow: ReissueCash::NAME.to_owned(),
                versions: vec![ReissueCash::VERSION],
                first: None,
            },
        };
        let stream = self.streams.entry(victim.id()).or_default();
        let seq = stream.1 + 1;
        let body = session.to_bytes();
        let length = self
            .besieger
            .say(victim, &PeerMessage::Session { seq, body })?;
        stream.1 = seq;
        Some(length)
    }

    /// Asks for a signature on a transaction that consumes a state that never was.
    fn invent(&mut self, notary: &Party) -> Option<usize> {
        let me = self.besieger.me().clone();
        let origin = TxId::from_array(self.besieger.salt());
        let salt = self.besieger.salt();
        let issue = || self.besieger.issue(&me, self.besieger.key());
        let state = issue().build(salt).ok()?.outputs().first()?.clone();
        let coin = StateAndRef {
            state,
            reference: StateRef::new(origin, 0),
        };
        let wire = issue().input(coin).build(salt).ok()?;
        let request = NotaryRequest::sign(&wire, &notary.id(), me.id(), self.besieger.key());
        let message = PeerMessage::Request {
            id: RequestId {
                flow: self.flow(),
                effect: 1,
            },
            service: ServiceId::Notarise as u8,
            body: request.to_bytes(),
        };
        self.besieger.say(notary, &message)
    }

    /// Sends a delivery that does not decode.
    fn noise(&mut self, victim: &Party) -> Option<usize> {
        let message = PeerMessage::Deliver {
            transactions: vec![self.besieger.salt().repeat(NOISE_BYTES / 32)],
            dependencies: Vec::new(),
        };
        self.besieger.say(victim, &message)
    }

    /// Returns the id of a flow that does not exist.
    fn flow(&mut self) -> FlowId {
        let [flow, _] = *self.besieger.salt().as_chunks::<16>().0 else {
            unreachable!("a salt has 32 bytes")
        };
        FlowId(flow)
    }
}

/// Returns the signatures of a delivery in an attack with valid ones alone.
fn signatures_of(attack: Attack) -> Option<usize> {
    match attack {
        Attack::Signatures => Some(SIGNATURES),
        Attack::Few => Some(FEW_SIGNATURES),
        _ => None,
    }
}

/// Returns one of the keys that sign the transactions with many signatures.
fn signer(number: usize) -> KeyPair {
    let seed = Hash::plain(&[&b"signer"[..], &number.to_be_bytes()].concat());
    KeyPair::from_seed(Scheme::EcdsaP256, *seed.as_bytes())
}
