//! A member that speaks the protocol of nodes by hand: a good certificate and key, and no node behind them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use finance::{IssuedToken, Portion, Reference, cash_builder};
use flow::messaging::RequestId;
use flow::{FlowId, SessionBody, SessionId, SessionMessage};
use kernel::message::{PeerMessage, ServiceId, Standing};
use ledger::{
    NetworkMap, NotaryRequest, Party, PartyId, SignedTransaction, StateAndRef, StateRef,
    TransactionBuilder, TransactionSignature, TxId, WireTransaction,
};
use net::{Inbound, NetLimits, Options, PeerAddress, Sent, Sink, TlsMaterial, Transport};
use node::bootstrap::load_node_dir;
use primitives::{Encode, Hash, KeyPair, Scheme};

/// What the besieger hears, and answers at once.
struct Ears {
    heard: AtomicU64,
    up: std::sync::Mutex<Vec<PartyId>>,
}

impl Sink for Ears {
    fn deliver(&self, batch: &mut Vec<Inbound>) {
        for inbound in batch.drain(..) {
            let mut up = self.up.lock().expect("no panic before");
            match inbound {
                Inbound::PeerUp { peer, .. } => up.push(peer),
                Inbound::PeerDown { peer } => up.retain(|other| *other != peer),
                Inbound::Message { .. } => drop(self.heard.fetch_add(1, Ordering::Relaxed)),
            }
        }
    }

    fn has_room(&self) -> bool {
        true
    }
}

/// See the module.
pub struct Besieger {
    transport: Transport,
    ears: Arc<Ears>,
    network: NetworkMap,
    me: Party,
    key: KeyPair,
    /// Numbers of what was made by hand.
    next: u64,
    /// Numbers of session messages to each peer.
    sessions: std::collections::BTreeMap<PartyId, u64>,
}

impl Besieger {
    /// Takes the place of the node of a folder.
    pub fn start(folder: &Path) -> Self {
        let files = load_node_dir(folder).expect("bootstrapped");
        let me = files.info.party.clone();
        let others = files.network.nodes().filter(|(id, _)| **id != me.id());
        let peers = others.map(|(id, info)| PeerAddress {
            id: *id,
            addresses: info.addresses.clone(),
        });
        let ears = Arc::new(Ears {
            heard: AtomicU64::new(0),
            up: std::sync::Mutex::default(),
        });
        let options = Options {
            me: me.id(),
            epoch: 1,
            software: "besieger".to_owned(),
            listen: files.config.p2p.listen,
            tls: TlsMaterial {
                chain: files.chain.clone(),
                key: files.tls_key.clone_key(),
                root: files.root.clone(),
            },
            peers: peers.collect(),
            compression: net::Compression::Off,
            linger_us: 0,
            limits: NetLimits::default(),
        };
        let transport = Transport::start(options, Arc::clone(&ears) as Arc<dyn Sink>);
        Self {
            transport: transport.expect("it listens"),
            ears,
            network: files.network,
            me,
            key: files.identity,
            next: 0,
            sessions: Default::default(),
        }
    }

    /// The party of a name in the network.
    pub fn party(&self, name: &str) -> Party {
        let name = format!("O={name}, L=London, C=GB");
        let mut nodes = self.network.nodes();
        let found = nodes.find(|(_, info)| info.party.name.to_string() == name);
        found.expect("a member").1.party.clone()
    }

    /// Whether a connection to a party stands.
    pub fn reaches(&self, party: &Party) -> bool {
        let up = self.ears.up.lock().expect("no panic before");
        up.contains(&party.id())
    }

    /// Says that all is well between the two nodes.
    pub fn greet(&self, to: &Party) {
        self.say(to, &PeerMessage::Standing(Standing::default()));
    }

    /// Sends a message; whether there was room for it.
    pub fn say(&self, to: &Party, message: &PeerMessage) -> bool {
        self.say_bytes(to, message.to_bytes())
    }

    /// Sends bytes; whether there was room for them.
    pub fn say_bytes(&self, to: &Party, bytes: Vec<u8>) -> bool {
        matches!(
            self.transport.handle().send(&to.id(), 0, bytes),
            Sent::Queued
        )
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn salt(&mut self) -> [u8; 32] {
        let number = self.number();
        *Hash::plain(&number.to_be_bytes()).as_bytes()
    }

    fn built(&mut self, builder: TransactionBuilder) -> WireTransaction {
        let builder = builder.parameters(self.network.parameters_hash());
        let salt = self.salt();
        builder.build(salt).expect("a transaction")
    }

    fn issued(&mut self, to: &Party) -> WireTransaction {
        let token = IssuedToken {
            issuer: self.me.clone(),
            reference: Reference::default(),
            currency: "GBP".parse().expect("a currency"),
        };
        let portion = Portion {
            owner: to.key.clone(),
            quantity: 1,
            states: 1,
        };
        let notary = self.party("Notary");
        let builder = cash_builder::issue(notary, &token, &[portion]).expect("an issue");
        self.built(builder)
    }

    /// An issue to a party that its issuer has signed, with so many false P-256 signatures beside.
    pub fn falsely_signed(&mut self, to: &Party, signatures: u32) -> SignedTransaction {
        let wire = self.issued(to);
        let other = TxId::from_array(self.salt());
        let seeds: Vec<[u8; 32]> = (0..signatures).map(|_| self.salt()).collect();
        let false_ones = seeds.into_iter().map(|seed| {
            let key = KeyPair::from_seed(Scheme::EcdsaP256, seed);
            TransactionSignature::sign(&other, &key)
        });
        SignedTransaction::new(wire, false_ones).signed_by(&self.key)
    }

    /// A delivery.
    pub fn delivery(transactions: &[SignedTransaction]) -> PeerMessage {
        PeerMessage::Deliver {
            transactions: transactions.iter().map(Encode::to_bytes).collect(),
            dependencies: Vec::new(),
        }
    }

    /// A request to a notary for a transaction that consumes an invented state.
    pub fn invention(&mut self, notary: &Party) -> PeerMessage {
        let me = self.me.clone();
        let invented = self.issued(&me);
        let input = StateAndRef {
            state: invented.output(0).expect("an output").clone(),
            reference: StateRef::new(invented.id(), 0),
        };
        let portion = Portion {
            owner: me.key.clone(),
            quantity: 1,
            states: 1,
        };
        let spending = cash_builder::pay(notary.clone(), &[input], &[portion], &me.key);
        let wire = self.built(spending.expect("a payment").builder);
        let request = NotaryRequest::sign(&wire, &notary.id(), me.id(), &self.key);
        let number = self.number();
        PeerMessage::Request {
            id: RequestId {
                flow: FlowId([3; 16]),
                effect: u32::try_from(number).expect("few enough"),
            },
            service: ServiceId::Notarise as u8,
            body: request.to_bytes(),
        }
    }

    /// The opening of a session on which nothing is ever said.
    pub fn silent_session(&mut self, to: &Party) -> PeerMessage {
        let number = self.number();
        let mut initiator = [0; 16];
        initiator[..8].copy_from_slice(&number.to_be_bytes());
        let message = SessionMessage {
            session: SessionId {
                initiator: FlowId(initiator),
                number: 1,
            },
            to_initiator: false,
            body: SessionBody::Init {
                flow: "cash.reissue".to_owned(),
                versions: vec![<finance::flows::ReissueCash as flow::Flow>::VERSION],
                first: None,
            },
        };
        let seq = self.sessions.entry(to.id()).or_default();
        *seq += 1;
        PeerMessage::Session {
            seq: *seq,
            body: message.to_bytes(),
        }
    }
}
