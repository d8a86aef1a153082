//! Invalid messages of an adversary, and the checks of how its victims react.

use finance::{CashState, Portion, cash_builder};
use flow::FlowId;
use flow::messaging::RequestId;
use kernel::message::{PeerMessage, ServiceId};
use kernel::port::Table;
use kernel::{BACKLOG_BYTES_MAX, PeerFigures, Priority};
use ledger::{NotaryRequest, SignedTransaction, StateAndRef, StateRef, TxId};
use primitives::{Decode, Encode, Hash, SignatureContext};

use crate::Adversary;
use crate::membership::{BANKS, EXCHANGE, NOTARY, OTHER_NOTARY, SHORT, key};
use crate::world::{What, World};

/// The member that sends garbage.
const SENDER: usize = EXCHANGE;
/// Messages sent at once.
const BURST: u64 = 24;
/// Time between bursts, in microseconds.
const PAUSE_US: (u64, u64) = (500, 9_000);
/// Maximum length of a message that does not decode, in bytes.
const NOISE_BYTES_MAX: u64 = 300;

impl World {
    /// Sends a burst of garbage and schedules the next one.
    pub(crate) fn send_garbage(&mut self) {
        let Some(garbage) = &mut self.garbage else {
            return;
        };
        let victim = garbage
            .chance
            .one_of(&[BANKS[0], BANKS[0], BANKS[1], NOTARY, OTHER_NOTARY]);
        let kind = garbage.chance.below(4);
        let pause = garbage.chance.between(PAUSE_US.0, PAUSE_US.1);
        if self.nodes[SENDER].is_up() {
            let count = if kind == 3 { BURST / 4 } else { BURST };
            for _ in 0..count {
                if let Some(bytes) = self.garbage_of(kind, victim) {
                    self.tally.garbage += 1;
                    self.transmit(SENDER, victim, Priority::Normal, bytes);
                }
            }
        }
        if !self.calm {
            self.at(pause, What::Garbage);
        }
    }

    fn garbage_of(&mut self, kind: usize, victim: usize) -> Option<Vec<u8>> {
        match kind {
            0 => self.noise(),
            1 => self.cut_off_message(),
            2 => self.badly_signed(victim),
            _ => self.invented(victim),
        }
    }

    /// Returns random bytes.
    fn noise(&mut self) -> Option<Vec<u8>> {
        let chance = &mut self.garbage.as_mut()?.chance;
        let length = chance.between(0, NOISE_BYTES_MAX);
        let mut bytes: Vec<u8> = Vec::new();
        while (bytes.len() as u64) < length {
            bytes.extend(chance.bytes32());
        }
        // No valid message begins with this byte.
        bytes.insert(0, 0xff);
        Some(bytes)
    }

    /// Returns the first part of a delivery.
    fn cut_off_message(&mut self) -> Option<Vec<u8>> {
        let signed = self.some_transaction()?;
        let mut bytes = delivery(&signed);
        let chance = &mut self.garbage.as_mut()?.chance;
        bytes.truncate(chance.below(bytes.len()));
        Some(bytes)
    }

    /// Returns a transaction that the victim does not have, with each signature replaced by a wrong one.
    fn badly_signed(&mut self, victim: usize) -> Option<Vec<u8>> {
        let signed = self.some_transaction()?;
        let id = signed.id();
        let known = self.nodes[victim].disk.durable().rows(Table::TxIndex);
        if known.contains_key(id.as_bytes().as_slice()) {
            return None;
        }
        let signatures = signed.signatures().iter().cloned().map(|mut signature| {
            signature.signature = key(SENDER).sign(SignatureContext::Transaction, &Hash::ZERO);
            signature
        });
        let bad = SignedTransaction::new(signed.wire().clone(), signatures);
        Some(delivery(&bad))
    }

    /// Returns a notarisation request for a payment of cash that was never issued. It is also sent to banks, which do not
    /// notarise.
    fn invented(&mut self, victim: usize) -> Option<Vec<u8>> {
        let token = self.plan.tokens.first()?.clone();
        let chance = &mut self.garbage.as_mut()?.chance;
        let (origin, salt, flow) = (chance.bytes32(), chance.bytes32(), chance.bytes32());
        let owner = self.membership.parties[SENDER].key.clone();
        let notary = self.membership.parties[victim].clone();
        let portion = Portion {
            owner: owner.clone(),
            quantity: 1,
            states: 1,
        };
        let made = cash_builder::issue(notary.clone(), &token, std::slice::from_ref(&portion));
        let made = made.ok()?.build(origin).ok()?;
        let cash = CashState::from_bytes(&made.outputs().first()?.data).ok()?;
        debug_assert_eq!(cash.owner, owner, "the sender spends its own invention");
        let coin = StateAndRef {
            state: made.outputs().first()?.clone(),
            reference: StateRef::new(TxId::from_array(origin), 0),
        };
        let paid = cash_builder::pay(notary, &[coin], &[portion], &owner).ok()?;
        let parameters = self.membership.parameters_hash();
        let wire = paid.builder.parameters(parameters).build(salt).ok()?;
        let (me, by) = (self.membership.ids[SENDER], key(SENDER));
        let request = NotaryRequest::sign(&wire, &self.membership.ids[victim], me, &by);
        self.auditor.invented.insert(wire.id());
        let flow = FlowId(*flow.first_chunk()?);
        let request = PeerMessage::Request {
            id: RequestId { flow, effect: 1 },
            service: ServiceId::Notarise as u8,
            body: request.to_bytes(),
        };
        Some(request.to_bytes())
    }

    /// Returns a transaction from a bank's ledger, as if the sender had seen it.
    fn some_transaction(&mut self) -> Option<SignedTransaction> {
        let garbage = self.garbage.as_mut()?;
        let bank = garbage.chance.one_of(&BANKS);
        let rows = self.nodes[bank].disk.durable().rows(Table::Ledger);
        let row = rows.values().nth(garbage.chance.below(rows.len()))?;
        kernel::decode_row(row).ok().map(|(_, signed)| signed)
    }

    /// Checks after a round that no honest member is blamed and that peers' backlogs are bounded, and records whether the sender
    /// is slowed down.
    pub(crate) fn check_blame(&mut self, node: usize) {
        if self.plan.adversary != Adversary::Garbage || node == SENDER {
            return;
        }
        let Some(kernel) = &self.nodes[node].kernel else {
            return;
        };
        for (peer, figures) in kernel.peer_figures() {
            let PeerFigures { work, .. } = figures;
            let bounded = work.backlog_bytes <= BACKLOG_BYTES_MAX / 2;
            self.auditor.expect(bounded, || {
                format!(
                    "{}: a peer's backlog has {} bytes",
                    SHORT[node], work.backlog_bytes
                )
            });
            let Some(from) = self.membership.node_of(&peer) else {
                continue;
            };
            if from == SENDER {
                if let Some(garbage) = &mut self.garbage {
                    garbage.slowed[node] |= work.slowed;
                }
                self.tally.slowed += u64::from(work.slowed);
                continue;
            }
            let blamed = work.slowed || work.cuts > 0 || work.garbage > 0;
            self.auditor.expect(!blamed, || {
                format!(
                    "{} blames {}, which is honest: {work:?}",
                    SHORT[node], SHORT[from]
                )
            });
        }
    }

    /// Cuts a peer off from a node for some time. Checks that the peer is the sender of garbage and was slowed down before.
    pub(crate) fn cut_off(&mut self, node: usize, peer: usize, ms: u64) {
        self.note(node, format_args!("cuts {} off for {ms} ms", SHORT[peer]));
        self.tally.cut_offs += 1;
        let slowed = self
            .garbage
            .as_ref()
            .is_some_and(|garbage| garbage.slowed[node]);
        self.auditor.expect(peer == SENDER && slowed, || {
            let (node, peer) = (SHORT[node], SHORT[peer]);
            format!("{node} cuts {peer} off, which it has not slowed down before")
        });
        self.cut((node, peer), self.now_us + ms * 1_000);
    }

    /// Forgets which peers a node has slowed down.
    pub(crate) fn forget_blame(&mut self, node: usize) {
        if let Some(garbage) = &mut self.garbage {
            garbage.slowed[node] = false;
        }
    }
}

fn delivery(signed: &SignedTransaction) -> Vec<u8> {
    let message = PeerMessage::Deliver {
        transactions: vec![signed.to_bytes()],
        dependencies: Vec::new(),
    };
    message.to_bytes()
}
