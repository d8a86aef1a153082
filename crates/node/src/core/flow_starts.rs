//! Starts of flows: from the API's requests to the kernel's events.

use api::Wait;
use kernel::{Event, Start, Token};

use super::readers::VIEW_RETRY_MS;
use super::service::Service;
use crate::http::{Answer, StartCapacity, StartRequest, Ticket};

pub(super) fn kernel_wait(wait: Wait) -> kernel::Wait {
    match wait {
        Wait::None => kernel::Wait::Accepted,
        Wait::Finalised => kernel::Wait::Finalised,
        Wait::Delivered => kernel::Wait::Delivered,
    }
}

impl Service {
    /// Returns the room for starts.
    pub(super) fn capacity_for_starts(&self) -> StartCapacity {
        if self.shared.view.is_behind() {
            return StartCapacity::none(VIEW_RETRY_MS);
        }
        self.shared.gate.start_capacity()
    }

    /// Refuses starts without room or with bad arguments, and passes the others to the kernel.
    pub(super) fn start_flows(&self, starts: Vec<StartRequest<'_>>) {
        let mut room = self.capacity_for_starts();
        let mut tickets = Vec::with_capacity(starts.len());
        let mut events = Vec::with_capacity(starts.len());
        for start in starts {
            if !room.take(start.client_id.is_some()) {
                self.shared.gate.turn_away(1);
                start.ticket.answer(Answer::Refused(room.refusal()));
                continue;
            }
            if let Some((ticket, start)) = self.prepare(start) {
                tickets.push(ticket);
                events.push(Event::Start(Box::new(start)));
            }
        }
        if !tickets.is_empty() && self.shared.replies.register(tickets) {
            self.shared.gate.hand_over(events.len());
            self.shared.kernel.tell_all(events);
        }
    }

    fn prepare(&self, start: StartRequest<'_>) -> Option<(Ticket, Start)> {
        let StartRequest {
            flow_id,
            seed,
            flow,
            version,
            args,
            user,
            client_id,
            wait,
            ticket,
        } = start;
        let encoded = match version {
            Some(version) => Ok(version),
            None => self.flows.current_version(flow),
        };
        let encoded = encoded.and_then(|v| self.flows.args_from_json(flow, v, args.as_bytes()));
        let args = match encoded {
            Ok(args) => args,
            Err(error) => {
                ticket.answer(Answer::Refused(error.to_rejection().into()));
                return None;
            }
        };
        let start = Start {
            flow: flow_id,
            seed,
            name: flow.to_owned(),
            version,
            args,
            user: user.to_string(),
            client_id: client_id.map(str::to_owned),
            wait: kernel_wait(wait),
            token: Token(ticket.id()),
        };
        Some((ticket, start))
    }
}
