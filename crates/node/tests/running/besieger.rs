//! A member that speaks the protocol of nodes by hand: a good certificate and key, and no node behind them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use finance::{IssuedToken, Portion, Reference, cash_builder};
use kernel::message::{PeerMessage, Standing};
use ledger::{NetworkMap, Party, PartyId, SignedTransaction, TransactionSignature, TxId};
use net::{Inbound, NetLimits, Options, PeerAddress, Sink, TlsMaterial, Transport};
use node::bootstrap::load_node_dir;
use primitives::{Encode, Hash, KeyPair, Scheme};

/// The connected peers. Their messages are dropped.
#[derive(Default)]
struct Ears {
    up: Mutex<Vec<PartyId>>,
}

impl Sink for Ears {
    fn deliver(&self, batch: &mut Vec<Inbound>) {
        for inbound in batch.drain(..) {
            let mut up = self.up.lock().expect("no panic before");
            match inbound {
                Inbound::PeerUp { peer, .. } => up.push(peer),
                Inbound::PeerDown { peer } => up.retain(|other| *other != peer),
                Inbound::Message { .. } => {}
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
    next: u64,
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
            next: 0,
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

    /// Sends a message. One that finds no room or no connection is lost.
    fn say(&self, to: &Party, message: &PeerMessage) {
        let _ = self
            .transport
            .handle()
            .send(&to.id(), 0, message.to_bytes());
    }

    /// Bytes that never come again.
    fn salt(&mut self) -> [u8; 32] {
        self.next += 1;
        *Hash::plain(&self.next.to_be_bytes()).as_bytes()
    }

    /// An issue by a party of this P-256 key, whose signature is on something else.
    fn falsely_signed(&mut self, to: &Party) -> SignedTransaction {
        let key = KeyPair::from_seed(Scheme::EcdsaP256, self.salt());
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
        let builder = builder.parameters(self.network.parameters_hash());
        let wire = builder.build(self.salt()).expect("a transaction");
        let other = TxId::from_array(self.salt());
        SignedTransaction::new(wire, [TransactionSignature::sign(&other, &key)])
    }

    /// Delivers so many transactions with false P-256 signatures.
    pub fn flood(&mut self, to: &Party, count: usize) {
        let transactions = (0..count).map(|_| self.falsely_signed(to).to_bytes());
        let message = PeerMessage::Deliver {
            transactions: transactions.collect(),
            dependencies: Vec::new(),
        };
        self.say(to, &message);
    }
}
