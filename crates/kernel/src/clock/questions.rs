//! The node's clock and those of its peers: a jump is told, peers are asked, and a notary judges no time window meanwhile.

use flow::FlowId;
use flow::messaging::RequestId;
use ledger::PartyId;
use primitives::{Decode, Encode, Moment, Timestamp};

use crate::clock::watch::Agreement;
use crate::errors;
use crate::event::{Priority, Reply, Token};
use crate::kernel::Kernel;
use crate::message::{Answer, PeerMessage, ServiceId};

/// The first bytes of the ids of these questions; no flow's id is likely to begin with them.
const CLOCK_QUESTION: [u8; 8] = [0xfe; 8];

impl Kernel {
    /// Advances the time. The wall clock may have jumped forwards or backwards. Only deadlines on the wall clock follow a jump.
    pub(crate) fn advance(&mut self, now: Moment) {
        let monotonic = self.now.monotonic.max(now.monotonic);
        self.now = Moment::new(monotonic, now.wall);
        self.engine.set_now(now.wall);
        self.engine.set_monotonic(monotonic);
        let Some(jump) = self.clock_watch.observe(self.now) else {
            return;
        };
        self.doubt_windows();
        let by_ms = jump.by_ms;
        let text = format!(
            "the clock jumped by {by_ms:+} ms and shows {} now; it is in doubt until peers' clocks or the operator confirm it",
            jump.at
        );
        self.warn(errors::CLOCK_JUMPED.code, text);
    }

    /// Asks peers for their clocks, and judges the answers.
    pub(crate) fn tend_clock(&mut self) {
        let now = self.now.monotonic;
        match self.clock_watch.judge(now) {
            Some(Agreement::Agrees { answers }) => {
                self.doubt_windows();
                let text = format!("the clock agrees with those of {answers} peers");
                self.inform(errors::CLOCK_JUMPED.code, text);
            }
            Some(Agreement::Differs) | None => {}
        }
        let Some(asking) = self.clock_watch.ask(now) else {
            return;
        };
        for peer in asking.peers {
            let question = PeerMessage::Request {
                id: question_id(asking.number),
                service: ServiceId::Clock as u8,
                body: Vec::new(),
            };
            self.send(peer, Priority::Normal, question);
        }
    }

    /// Answers a peer that asks for the time of this node's wall clock.
    pub(crate) fn tell_clock(&self) -> Answer {
        Answer::Done(self.now.wall.to_bytes())
    }

    /// A peer told its clock, or that it does not.
    pub(crate) fn on_clock_told(&mut self, number: u64, peer: PartyId, answer: &Answer) {
        let wall = match answer {
            Answer::Done(body) => Timestamp::from_bytes(body).ok(),
            // An older program knows no such question.
            Answer::Failed(_) | Answer::Wait(_) => None,
        };
        self.clock_watch.answered(number, peer, wall, self.now);
    }

    /// An operator vouches for the clock.
    pub(crate) fn on_clock_confirmed(&mut self, user: &str, token: Token) {
        if self.clock_watch.confirm() {
            self.doubt_windows();
            let wall = self.now.wall;
            let text = format!(
                "{} confirmed the clock, which shows {wall}",
                user.escape_debug()
            );
            self.warn(errors::CLOCK_JUMPED.code, text);
        }
        self.reply(token, Reply::Done);
    }

    /// The notary judges time windows unless the clock is in doubt.
    fn doubt_windows(&mut self) {
        let in_doubt = self.clock_watch.in_doubt();
        if let Some(notarisation) = &mut self.notarisation {
            notarisation.notary.doubt_clock(in_doubt);
        }
    }
}

fn question_id(number: u64) -> RequestId {
    let mut flow = [0; 16];
    flow[..8].copy_from_slice(&CLOCK_QUESTION);
    flow[8..].copy_from_slice(&number.to_be_bytes());
    RequestId {
        flow: FlowId(flow),
        effect: 0,
    }
}

/// The asking that a question belongs to, if it is one for a clock.
pub(crate) fn asking_of(id: &RequestId) -> Option<u64> {
    let bytes = id.flow.as_bytes();
    let number = bytes.last_chunk::<8>()?;
    (bytes[..8] == CLOCK_QUESTION).then(|| u64::from_be_bytes(*number))
}
