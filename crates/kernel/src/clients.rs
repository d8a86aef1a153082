//! Who waits for which flow, which client ids are taken, and what ended flows came to.
//!
//! # Invariants
//! - A client id names one start for ever (until it is removed): the same id with another start is refused.
//! - Everything here is bounded: live flows by admission, waits by the shell's connections, outcomes by bytes.

use std::collections::{BTreeMap, HashMap};

use flow::FlowId;
use ledger::TxId;
use primitives::{Decode, DecodeError, Decoder, Domain, Encode, Encoder, Hash};

use crate::cache::GenerationCache;
use crate::event::{Token, Wait};
use crate::rows::{ClientRow, Outcome, client_key};

/// What a start record says of its caller; opaque to the flow engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// Who started it.
    pub user: String,
    /// The client id, if any.
    pub client_id: Option<String>,
    /// The digest of the start, where there is a client id.
    pub start_digest: Option<Hash>,
}

/// The key of a caller's client id and the digest of its start.
pub fn client_of(caller: &Caller) -> Option<(Hash, Hash)> {
    let client_id = caller.client_id.as_ref()?;
    Some((client_key(&caller.user, client_id), caller.start_digest?))
}

impl Encode for Caller {
    fn encode(&self, e: &mut Encoder) {
        e.array(3);
        e.text(&self.user);
        self.client_id.encode(e);
        self.start_digest.encode(e);
    }
}

impl Decode for Caller {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.expect_array(3)?;
        Ok(Self {
            user: d.text()?.to_owned(),
            client_id: Option::decode(d)?,
            start_digest: Option::decode(d)?,
        })
    }
}

/// The digest by which a repeated start is recognised.
pub fn start_digest(flow: &str, version: Option<u32>, args: &[u8]) -> Hash {
    let name_len = (flow.len() as u64).to_be_bytes();
    let version = version.map_or([0; 4], u32::to_be_bytes);
    Hash::of(
        Domain::Derive,
        &[b"start", &name_len, flow.as_bytes(), &version, args],
    )
}

/// A flow that has not ended, or has ended and is not delivered yet.
#[derive(Debug, Default)]
pub struct LiveFlow {
    /// Who waits, and for what.
    pub waits: Vec<(Token, Wait)>,
    /// The key of its client id and the digest of its start.
    pub client: Option<(Hash, Hash)>,
    /// What it recorded so far.
    pub transactions: Vec<TxId>,
    /// The commit of the last transaction it recorded in this run.
    pub recorded_in: Option<u64>,
    /// The last progress step.
    pub step: &'static str,
    /// Why it is parked.
    pub parked: Option<String>,
    /// Whether a client started it (a responder takes no place among starts).
    pub started_here: bool,
}

/// An ended flow whose transactions are not all delivered, kept only while somebody waits for that.
#[derive(Debug)]
pub struct Undelivered {
    /// What it came to.
    pub outcome: Outcome,
    /// Who waits.
    pub tokens: Vec<Token>,
    /// How many of its transactions are still owed to somebody.
    pub owed: usize,
    /// Whether a participant refused one.
    pub refused: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Clients {
    live: BTreeMap<FlowId, LiveFlow>,
    by_client: HashMap<Hash, FlowId>,
    /// Rows of client ids that the store may not show yet, with the commit that writes them.
    undurable: HashMap<Hash, (ClientRow, u64)>,
    recent: GenerationCache<FlowId, Outcome>,
    undelivered: HashMap<FlowId, Undelivered>,
    /// Which waiting flows a transaction holds up.
    held_up: HashMap<TxId, Vec<FlowId>>,
}

impl Clients {
    /// Outcomes of ended flows are kept in memory up to this many bytes.
    pub fn new(recent_bytes: usize) -> Self {
        Self {
            live: BTreeMap::new(),
            by_client: HashMap::new(),
            undurable: HashMap::new(),
            recent: GenerationCache::new(recent_bytes),
            undelivered: HashMap::new(),
            held_up: HashMap::new(),
        }
    }

    /// A flow starts.
    pub fn begin(&mut self, flow: FlowId, live: LiveFlow) {
        if let Some((key, _)) = live.client {
            self.by_client.insert(key, flow);
        }
        self.live.insert(flow, live);
    }

    /// The live flow of a client id.
    pub fn by_client(&self, key: &Hash) -> Option<FlowId> {
        self.by_client.get(key).copied()
    }

    /// A start failed before anything was promised.
    pub fn forget(&mut self, flow: &FlowId) {
        if let Some(live) = self.live.remove(flow)
            && let Some((key, _)) = live.client
        {
            self.by_client.remove(&key);
        }
    }

    /// The row of a client id is being written by this commit.
    pub fn remember_client(&mut self, key: Hash, row: ClientRow, number: u64) {
        self.undurable.insert(key, (row, number));
    }

    /// The row of a client id that is being written.
    pub fn ended_client(&self, key: &Hash) -> Option<ClientRow> {
        self.undurable.get(key).map(|(row, _)| row.clone())
    }

    /// A client id is free again.
    pub fn forget_client(&mut self, key: &Hash) {
        self.undurable.remove(key);
    }

    /// Every commit up to this one is durable.
    pub fn committed(&mut self, number: u64) {
        if !self.undurable.is_empty() {
            self.undurable.retain(|_, (_, n)| *n > number);
        }
    }

    /// A live flow.
    pub fn live(&self, flow: &FlowId) -> Option<&LiveFlow> {
        self.live.get(flow)
    }

    /// A live flow.
    pub fn live_mut(&mut self, flow: &FlowId) -> Option<&mut LiveFlow> {
        self.live.get_mut(flow)
    }

    /// A flow ended: it is live no longer.
    pub fn end(&mut self, outcome: &Outcome) -> Option<LiveFlow> {
        let live = self.live.remove(&outcome.flow)?;
        if let Some((key, _)) = live.client {
            self.by_client.remove(&key);
        }
        let result_bytes = match &outcome.result {
            Ok(bytes) => bytes.len(),
            Err(rejection) => rejection.message.len() + rejection.hint.len() + 64,
        };
        let weight = 128 + result_bytes + outcome.transactions.len() * 32;
        self.recent.insert(outcome.flow, outcome.clone(), weight);
        Some(live)
    }

    /// What a flow came to, if it ended not too long ago.
    pub fn outcome(&mut self, flow: &FlowId) -> Option<Outcome> {
        self.recent.get(flow)
    }

    /// Clients wait for the delivery of an ended flow that owes `owed`; `owed` is not empty.
    pub fn wait_for_delivery(&mut self, outcome: Outcome, tokens: Vec<Token>, owed: &[TxId]) {
        let flow = outcome.flow;
        if let Some(waiting) = self.undelivered.get_mut(&flow) {
            waiting.tokens.extend(tokens);
            return;
        }
        for id in owed {
            self.held_up.entry(*id).or_default().push(flow);
        }
        self.undelivered.insert(
            flow,
            Undelivered {
                outcome,
                tokens,
                owed: owed.len(),
                refused: false,
            },
        );
    }

    /// A transaction is owed to nobody any more: returns the waits that this ends.
    pub fn delivered(&mut self, id: &TxId) -> Vec<(Token, Outcome, bool)> {
        let mut ended = Vec::new();
        for flow in self.held_up.remove(id).unwrap_or_default() {
            let Some(waiting) = self.undelivered.get_mut(&flow) else {
                continue;
            };
            waiting.owed = waiting.owed.saturating_sub(1);
            if waiting.owed == 0
                && let Some(done) = self.undelivered.remove(&flow)
            {
                for token in done.tokens {
                    ended.push((token, done.outcome.clone(), !done.refused));
                }
            }
        }
        ended
    }

    /// A participant refuses a transaction.
    pub fn refused(&mut self, id: &TxId) {
        for flow in self.held_up.get(id).into_iter().flatten() {
            if let Some(waiting) = self.undelivered.get_mut(flow) {
                waiting.refused = true;
            }
        }
    }

    /// A client no longer waits.
    pub fn detach(&mut self, token: Token) {
        for live in self.live.values_mut() {
            live.waits.retain(|(t, _)| *t != token);
        }
        let mut nobody = Vec::new();
        for (flow, waiting) in &mut self.undelivered {
            waiting.tokens.retain(|t| *t != token);
            if waiting.tokens.is_empty() {
                nobody.push(*flow);
            }
        }
        for flow in nobody {
            if let Some(forgotten) = self.undelivered.remove(&flow) {
                for id in &forgotten.outcome.transactions {
                    if let Some(flows) = self.held_up.get_mut(id) {
                        flows.retain(|f| *f != flow);
                        if flows.is_empty() {
                            self.held_up.remove(id);
                        }
                    }
                }
            }
        }
    }
}
