//! The node's clock and those of its peers. A jump is reported and peers are asked for their clocks. Until they confirm the clock,
//! a notary judges no time window.

use flow::FlowId;
use flow::messaging::RequestId;
use ledger::PartyId;
use primitives::{Decode, Encode, Moment, Timestamp};

use super::watch::{Agreement, ClockWatch};
use crate::command::ClockCommand;
use crate::context::Context;
use crate::errors;
use crate::event::{Priority, Reply, Token};
use crate::message::{Answer, PeerMessage, ServiceId};
use crate::port::Table;
use crate::rows::META_CLOCK_DOUBT;
use crate::writes::{RowRange, Writer};

/// The first bytes of the ids of these questions; no flow's id is likely to begin with them.
const CLOCK_QUESTION: [u8; 8] = [0xfe; 8];

impl Writer for ClockWatch {
    const ROWS: &'static [RowRange] = &[RowRange::meta(META_CLOCK_DOUBT)];
}

impl ClockWatch {
    /// Logs and writes a doubt that there is at the start.
    pub(crate) fn begin(&self, context: &mut Context) {
        if !self.in_doubt() {
            return;
        }
        self.note_doubt(context);
        let text = format!(
            "the clock was in doubt before the start, or is behind a time that this notary judged by; it shows {} and is in doubt until peers' clocks or the operator confirm it",
            context.now.wall
        );
        context.warn(errors::CLOCK_JUMPED.code, text);
    }

    /// Compares the clocks at a new time. A jump of the wall clock is logged.
    pub(crate) fn advance(&mut self, context: &mut Context) {
        let Some(jump) = self.observe(context.now) else {
            return;
        };
        assert!(self.in_doubt(), "a jump puts the clock in doubt");
        self.note_doubt(context);
        let by_ms = jump.by_ms;
        let text = format!(
            "the clock jumped by {by_ms:+} ms and shows {} now; it is in doubt until peers' clocks or the operator confirm it",
            jump.at
        );
        context.warn(errors::CLOCK_JUMPED.code, text);
    }

    /// Asks peers for their clocks, and judges the answers.
    pub(crate) fn tend(&mut self, context: &mut Context) {
        let now = context.now.monotonic;
        match self.judge(now) {
            Some(Agreement::Agrees {
                answers,
                ended_doubt: true,
            }) => {
                self.note_doubt(context);
                let text = format!("the clock agrees with those of {answers} peers");
                context.inform(errors::CLOCK_JUMPED.code, text);
            }
            Some(Agreement::Differs { began_doubt: true }) => {
                self.note_doubt(context);
                // The peers differ from this clock, so there is a difference.
                let text = format!(
                    "the clock shows {}, and most peers' clocks differ by {} ms; it is in doubt until they or the operator confirm it",
                    context.now.wall,
                    self.figures().peers_ahead_ms.unwrap_or(0)
                );
                context.warn(errors::CLOCK_JUMPED.code, text);
            }
            Some(Agreement::Agrees { .. } | Agreement::Differs { .. }) | None => {}
        }
        let Some(asking) = self.ask(now) else {
            return;
        };
        assert!(
            !self.is_trusted(),
            "peers are asked only until the clock is trusted"
        );
        for peer in asking.peers {
            let question = PeerMessage::Request {
                id: question_id(asking.number),
                service: ServiceId::Clock as u8,
                body: Vec::new(),
            };
            context.send(peer, Priority::Normal, question);
        }
    }

    /// Returns the answer to a peer that asks for the time of this node's wall clock.
    pub(crate) fn answer(context: &Context) -> Answer {
        Answer::Done(context.now.wall.to_bytes())
    }

    /// Carries out a command.
    pub(crate) fn on_command(&mut self, command: ClockCommand, now: Moment) {
        let ClockCommand::Told {
            number,
            peer,
            answer,
        } = command;
        self.on_told(number, peer, &answer, now);
    }

    /// Handles a peer's answer: the time of its clock, or an error.
    fn on_told(&mut self, number: u64, peer: PartyId, answer: &Answer, now: Moment) {
        let wall = match answer {
            Answer::Done(body) => Timestamp::from_bytes(body).ok(),
            // An older program knows no such question.
            Answer::Failed(_) | Answer::Wait(_) => None,
        };
        self.answered(number, peer, wall, now);
    }

    /// Handles an operator's confirmation of the clock.
    pub(crate) fn on_confirmed(&mut self, user: &str, token: Token, context: &mut Context) {
        if self.confirm() {
            self.note_doubt(context);
            let wall = context.now.wall;
            let text = format!(
                "{} confirmed the clock, which shows {wall}",
                user.escape_debug()
            );
            context.warn(errors::CLOCK_JUMPED.code, text);
        }
        assert!(self.is_trusted(), "a confirmed clock is trusted");
        context.reply(token, Reply::Done);
    }

    /// Writes whether the clock is in doubt, so that a restart does not end the doubt.
    fn note_doubt(&self, context: &mut Context) {
        let mut batch = context.round.batch.of::<ClockWatch>();
        if self.in_doubt() {
            batch.put(Table::Meta, META_CLOCK_DOUBT, Vec::new());
        } else {
            batch.delete(Table::Meta, META_CLOCK_DOUBT);
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

/// Returns the round of questions that a clock request belongs to, or `None` for any other request.
pub(crate) fn asking_of(id: &RequestId) -> Option<u64> {
    let bytes = id.flow.as_bytes();
    let number = bytes.last_chunk::<8>()?;
    (bytes[..8] == CLOCK_QUESTION).then(|| u64::from_be_bytes(*number))
}
