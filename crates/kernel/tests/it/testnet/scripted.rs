//! Played nodes. Instead of a kernel, the test sends such a node's messages and receives the messages to it.

use kernel::Event;
use kernel::message::{Answer, FetchResponse, NOTICE_ID, PeerMessage, ServiceId, WaitingNotice};
use ledger::SignedTransaction;
use primitives::{Decode, Encode, Timestamp};

use super::Testnet;

impl Testnet {
    /// Replaces a node's kernel by the test. The node stays connected to all others.
    pub fn script(&mut self, node: usize) {
        self.down(node);
        self.nodes[node].heard = Some(Vec::new());
        for other in 0..self.nodes.len() {
            if self.nodes[other].kernel.is_some() {
                self.link(other, node);
            }
        }
        self.settle();
    }

    /// Sends a message of a scripted node.
    pub fn say(&mut self, from: usize, to: usize, message: &PeerMessage) {
        self.say_bytes(from, to, message.to_bytes());
    }

    /// Sends any bytes as a message of a scripted node.
    pub fn say_bytes(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        let peer = self.nodes[from].id;
        self.tell(to, Event::Message { peer, bytes });
    }

    /// Delivers transactions of a scripted node.
    pub fn deliver(&mut self, from: usize, to: usize, transactions: &[&SignedTransaction]) {
        let transactions = transactions
            .iter()
            .map(|transaction| transaction.to_bytes());
        let message = PeerMessage::Deliver {
            transactions: transactions.collect(),
            dependencies: Vec::new(),
        };
        self.say(from, to, &message);
    }

    /// Returns the messages sent to a scripted node since the last call.
    pub fn heard(&mut self, node: usize) -> Vec<PeerMessage> {
        let heard = self.nodes[node].heard.as_mut().expect("a scripted node");
        std::mem::take(heard)
    }

    /// Answers the only fetch that a scripted node has received.
    pub fn answer_fetch(&mut self, from: usize, to: usize, answer: kernel::message::Answer) {
        let mut heard = self.heard(from);
        heard.retain(|message| !matches!(message, PeerMessage::SessionAck { .. }));
        let [PeerMessage::Request { id, service, .. }] = heard.as_slice() else {
            panic!("not one request: {heard:?}; logs: {:#?}", self.logs);
        };
        assert_eq!(*service, ServiceId::Fetch as u8);
        self.say(from, to, &PeerMessage::Response { id: *id, answer });
        self.settle();
    }

    pub(super) fn hear(&mut self, from: usize, node: usize, bytes: &[u8]) {
        let tells_time = self.nodes[node].tells_time;
        let Some(heard) = &mut self.nodes[node].heard else {
            return;
        };
        let message = PeerMessage::from_bytes(bytes).expect("nodes make sense");
        match message {
            // Nodes send these at each connection. They matter to no test.
            PeerMessage::Standing(_) | PeerMessage::Mark(_) => {}
            PeerMessage::Request { id, service, .. }
                if tells_time && service == ServiceId::Clock as u8 =>
            {
                let answer = Answer::Done(Timestamp::from_ms(self.now).to_bytes());
                self.say(node, from, &PeerMessage::Response { id, answer });
            }
            message => heard.push(message),
        }
    }
}

/// Returns the notice that a delivery stays unanswered for now, if the message is one.
pub fn waits(message: &PeerMessage) -> Option<WaitingNotice> {
    match message {
        PeerMessage::Response {
            id,
            answer: Answer::Done(body),
        } if *id == NOTICE_ID => Some(WaitingNotice::from_bytes(body).expect("a notice")),
        _ => None,
    }
}

/// Returns an answer to a fetch: a part of a back chain, newest first.
pub fn part(transactions: &[&SignedTransaction]) -> kernel::message::Answer {
    let positions = (1..=transactions.len() as u64).rev();
    let encoded = transactions
        .iter()
        .map(|transaction| transaction.to_bytes());
    let response = FetchResponse {
        transactions: positions.zip(encoded).collect(),
        unknown: Vec::new(),
    };
    kernel::message::Answer::Done(response.to_bytes())
}
