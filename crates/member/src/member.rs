//! A member that asks the network's notary.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use flow::FlowId;
use flow::messaging::{RequestId, RequestOptions, Requests};
use ledger::{
    ContractName, NotaryRequest, NotaryResponse, Party, PartyId, StateRef, TransactionBuilder,
    TxId, WireTransaction,
};
use net::{Compression, NetLimits, PeerAddress, Transport};
use primitives::{Decode, Encode, Hash, KeyPair};
use tokio::sync::oneshot;

use crate::error::MemberError;
use crate::identity::Identity;
use crate::post::{Event, Inbox, Post};

/// The contract that its transactions name. No node verifies them.
const CONTRACT: &str = "member";

/// A member that is connected to the notary, or to all workers of a replicated one. Dropping it ends its connections.
pub struct Member {
    party: Party,
    key: KeyPair,
    notary: Party,
    parameters: Hash,
    contract: ContractName,
    workers: Vec<PartyId>,
    /// Distinguishes this member's requests from those of an earlier run under the same identity.
    run: FlowId,
    next: AtomicU32,
    events: Sender<Event>,
    transport: Option<Transport>,
    post: Option<JoinHandle<()>>,
}

impl Member {
    /// Connects to the network's first notary. Connections come about in the background ([`Member::connected`]).
    ///
    /// # Errors
    /// The network has no notary, or the member's address is in use.
    pub fn join(identity: Identity) -> Result<Self, MemberError> {
        let run: [u8; 16] = random()?;
        let epoch = u64::from_be_bytes(random()?);
        let network = &identity.network;
        let notary = network
            .notary()
            .ok_or(MemberError::NotListed("notary"))?
            .clone();
        let services = network.services();
        let workers = match services.get(&notary.id()) {
            Some(workers) => workers.clone(),
            None => vec![notary.id()],
        };
        let listed = workers.iter().filter_map(|id| network.node(id));
        let peers = listed.map(|info| PeerAddress {
            id: info.party.id(),
            name: info.party.name.to_string(),
            addresses: info.addresses.clone(),
        });
        let options = net::Options {
            me: identity.party.id(),
            // The store that it names is the memory of this run.
            epoch,
            software: concat!("tally-member ", env!("CARGO_PKG_VERSION")).to_owned(),
            listen: identity.listen,
            tls: identity.tls,
            peers: peers.collect(),
            compression: Compression::default(),
            linger_us: 0,
            limits: NetLimits::default(),
        };
        let requests = Requests::new(RequestOptions::default(), services.clone());
        let parameters = network.parameters_hash();
        let (events, inbox) = channel();
        let transport = Transport::start(options, Arc::new(Inbox(events.clone())))?;
        let post = Post {
            requests,
            waiting: HashMap::new(),
            handle: transport.handle().clone(),
            began: Instant::now(),
        };
        let thread = std::thread::Builder::new().name("member".into());
        let thread = thread.spawn(move || post.run(&inbox));
        Ok(Self {
            party: identity.party,
            key: identity.key,
            notary,
            parameters,
            contract: ContractName::new(CONTRACT).expect("a valid name"),
            workers,
            run: FlowId(run),
            next: AtomicU32::new(1),
            events,
            transport: Some(transport),
            post: Some(thread.map_err(MemberError::Thread)?),
        })
    }

    /// Returns the notary that transactions name.
    pub fn notary(&self) -> &Party {
        &self.notary
    }

    /// Returns how many of the notary's workers it is connected to, and how many there are.
    pub fn connected(&self) -> (usize, usize) {
        let Some(transport) = &self.transport else {
            return (0, self.workers.len());
        };
        let up = self.workers.iter();
        let up = up.filter(|worker| transport.handle().is_connected(worker));
        (up.count(), self.workers.len())
    }

    /// Returns new random references to this many states. No transaction creates them: a notary that does not validate
    /// cannot tell.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn new_states(&self, count: usize) -> Result<Vec<StateRef>, MemberError> {
        let new = || Ok(StateRef::new(TxId::from_array(random()?), 0));
        (0..count).map(|_| new()).collect()
    }

    /// Makes a transaction that consumes states and reads others. Two transactions with the same states differ.
    ///
    /// # Errors
    /// There are too many states, or two equal ones.
    pub fn transaction(
        &self,
        consumes: &[StateRef],
        reads: &[StateRef],
    ) -> Result<WireTransaction, MemberError> {
        let signers = vec![self.key.public().clone()];
        let builder = TransactionBuilder::new(self.notary.clone())
            .parameters(self.parameters)
            .command(self.contract.clone(), Vec::new(), signers);
        let builder = consumes.iter().fold(builder, |b, state| b.consume(*state));
        let builder = reads.iter().fold(builder, |b, state| b.reference(*state));
        Ok(builder.build(random()?)?)
    }

    /// Asks the notary to notarise a transaction, and waits as long as it takes. The request is withdrawn if the caller gives up; the
    /// notary may have decided it nevertheless.
    ///
    /// # Errors
    /// The notary refuses the request without a decision, or its answer does not decode.
    pub async fn notarise(&self, wire: &WireTransaction) -> Result<NotaryResponse, MemberError> {
        let request = NotaryRequest::sign(wire, &self.notary.id(), self.party.id(), &self.key);
        let id = RequestId {
            flow: self.run,
            effect: self.next.fetch_add(1, Ordering::Relaxed),
        };
        let (reply, answer) = oneshot::channel();
        let _withdrawal = Withdrawal(&self.events, id);
        let event = Event::Ask {
            id,
            party: self.notary.id(),
            body: request.to_bytes(),
            reply,
        };
        self.events.send(event).map_err(|_| MemberError::Ended)?;
        let answer = answer.await.map_err(|_| MemberError::Ended)?;
        let bytes = answer.map_err(MemberError::Failed)?;
        Ok(NotaryResponse::from_bytes(&bytes)?)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // A thread that has ended needs no word.
        let _ = self.events.send(Event::Stop);
        if let Some(post) = self.post.take() {
            // It panics only for a fault of its own, which its callers have seen.
            let _ = post.join();
        }
        self.transport.take();
    }
}

/// Returns random bytes.
fn random<const N: usize>() -> Result<[u8; N], MemberError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(MemberError::Random)?;
    Ok(bytes)
}

/// Withdraws a request when its caller stops waiting.
struct Withdrawal<'a>(&'a Sender<Event>, RequestId);

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Cancel(self.1));
    }
}
