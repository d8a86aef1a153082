//! A member that speaks the protocol of nodes by hand: a good certificate and key, and no node behind them. The benchmark of
//! a siege uses it too.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use api::{FlowOrder, FlowQuery};
use finance::{IssuedToken, Portion, Reference, cash_builder, cash_name};
use kernel::message::{PeerMessage, Standing};
use ledger::limits::COMMAND_SIGNERS_MAX;
use ledger::{
    NetworkMap, Party, PartyId, SignedTransaction, TransactionBuilder, TransactionSignature, TxId,
};
use net::{Inbound, NetLimits, Options, PeerAddress, Sent, Sink, TlsMaterial, Transport};
use node::bootstrap::load_node_dir;
use primitives::{Decode, Encode, Hash, KeyPair, Scheme};

/// A peer as the besieger sees it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    /// Whether a connection stands.
    pub connected: bool,
    /// The number of connections so far.
    pub connections: u64,
    /// The last session message that the peer has acknowledged.
    pub acked: u64,
}

/// The links to the peers. All other messages of the peers are dropped.
#[derive(Default)]
struct Ears {
    links: Mutex<BTreeMap<PartyId, Link>>,
}

impl Sink for Ears {
    fn deliver(&self, batch: &mut Vec<Inbound>) {
        for inbound in batch.drain(..) {
            let mut links = self.links.lock().expect("no panic before");
            match inbound {
                Inbound::PeerUp { peer, .. } => {
                    let link = links.entry(peer).or_default();
                    link.connected = true;
                    link.connections += 1;
                }
                Inbound::PeerDown { peer } => links.entry(peer).or_default().connected = false,
                Inbound::Message { peer, bytes, .. } => {
                    if let Ok(PeerMessage::SessionAck { upto }) = PeerMessage::from_bytes(&bytes) {
                        links.entry(peer).or_default().acked = upto;
                    }
                }
            }
        }
    }

    fn has_room(&self) -> bool {
        true
    }
}

/// A hostile member: its place in the network, and its connections.
pub struct Besieger {
    transport: Transport,
    ears: Arc<Ears>,
    network: NetworkMap,
    me: Party,
    key: KeyPair,
    next: u64,
}

#[allow(dead_code)] // the tests and the benchmark each use a part
/// Returns an order about the responders that a besieger holds at a node.
pub fn order_about_its_responders() -> FlowOrder {
    FlowOrder {
        query: FlowQuery {
            flow: Some("cash.reissue".to_owned()),
            ..FlowQuery::default()
        },
        dry_run: false,
        after: None,
    }
}

#[allow(dead_code)] // the tests and the benchmark each use a part
impl Besieger {
    /// Takes the place of the node of a folder in the network.
    pub fn start(folder: &Path) -> Self {
        let files = load_node_dir(folder).expect("bootstrapped");
        let me = files.info.party.clone();
        let others = files.network.nodes().filter(|(id, _)| **id != me.id());
        let peers = others.map(|(id, info)| PeerAddress {
            id: *id,
            name: info.party.name.to_string(),
            addresses: info.addresses.clone(),
        });
        let ears = Arc::new(Ears::default());
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
        }
    }

    /// Returns the besieger's own party.
    pub fn me(&self) -> &Party {
        &self.me
    }

    /// Returns the besieger's identity key.
    pub fn key(&self) -> &KeyPair {
        &self.key
    }

    /// Returns the party of a name in the network.
    pub fn party(&self, name: &str) -> Party {
        let name = format!("O={name}, L=London, C=GB");
        let mut nodes = self.network.nodes();
        let found = nodes.find(|(_, info)| info.party.name.to_string() == name);
        found.expect("a member").1.party.clone()
    }

    /// Tells whether a connection to a party stands.
    pub fn reaches(&self, party: &Party) -> bool {
        self.link(party).connected
    }

    /// Returns the link to a party.
    pub fn link(&self, party: &Party) -> Link {
        let links = self.ears.links.lock().expect("no panic before");
        links.get(&party.id()).copied().unwrap_or_default()
    }

    /// Says that all is well between the two nodes.
    pub fn greet(&self, to: &Party) {
        self.say(to, &PeerMessage::Standing(Standing::default()));
    }

    /// Sends a message and returns its length, or nothing if it finds no room or no connection.
    pub fn say(&self, to: &Party, message: &PeerMessage) -> Option<usize> {
        let bytes = message.to_bytes();
        let length = bytes.len();
        let sent = self.transport.handle().send(&to.id(), 0, bytes);
        (sent == Sent::Queued).then_some(length)
    }

    /// Returns bytes that never come again.
    pub fn salt(&mut self) -> [u8; 32] {
        self.next += 1;
        *Hash::plain(&self.next.to_be_bytes()).as_bytes()
    }

    /// Makes an issue of cash to a party, by an issuer of this key.
    pub fn issue(&self, to: &Party, key: &KeyPair) -> TransactionBuilder {
        let token = IssuedToken {
            issuer: Party {
                name: self.me.name.clone(),
                key: key.public().clone(),
            },
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
        builder.parameters(self.network.parameters_hash())
    }

    /// Makes an issue by a party with a P-256 key, with a signature of that key over other bytes.
    fn falsely_signed(&mut self, to: &Party) -> SignedTransaction {
        let key = KeyPair::from_seed(Scheme::EcdsaP256, self.salt());
        let builder = self.issue(to, &key);
        let wire = builder.build(self.salt()).expect("a transaction");
        let other = TxId::from_array(self.salt());
        SignedTransaction::new(wire, [TransactionSignature::sign(&other, &key)])
    }

    /// Delivers this number of transactions with invalid P-256 signatures. Returns the length of the message, or `None` if it is lost.
    pub fn flood(&mut self, to: &Party, count: usize) -> Option<usize> {
        let transactions = (0..count).map(|_| self.falsely_signed(to).to_bytes());
        let message = PeerMessage::Deliver {
            transactions: transactions.collect(),
            dependencies: Vec::new(),
        };
        self.say(to, &message)
    }

    /// Makes a delivery of an issue that all of these keys must sign, and that they have signed. Its signatures are valid. The
    /// contract refuses it, but only once they are checked.
    pub fn signed_by_many(&mut self, to: &Party, keys: &[KeyPair]) -> PeerMessage {
        let mut builder = self.issue(to, &self.key);
        for keys in keys.chunks(COMMAND_SIGNERS_MAX) {
            let signers = keys.iter().map(|key| key.public().clone());
            builder = builder.command(cash_name().clone(), Vec::new(), signers.collect());
        }
        let wire = builder.build(self.salt()).expect("a transaction");
        let id = wire.id();
        let signers = keys.iter().chain([&self.key]);
        let signatures = signers.map(|key| TransactionSignature::sign(&id, key));
        PeerMessage::Deliver {
            transactions: vec![SignedTransaction::new(wire, signatures).to_bytes()],
            dependencies: Vec::new(),
        }
    }
}
