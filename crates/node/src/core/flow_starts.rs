//! Starts of flows: from the API's requests to the kernel's events.

use api::Wait;
use kernel::{Event, Start, Token};

use super::service::Service;
use super::vault_reads::VIEW_RETRY_MS;
use crate::http::{Answer, Refusal, StartRequest, Ticket};

pub(super) fn kernel_wait(wait: Wait) -> kernel::Wait {
    match wait {
        Wait::None => kernel::Wait::Accepted,
        Wait::Finalised => kernel::Wait::Finalised,
        Wait::Delivered => kernel::Wait::Delivered,
    }
}

impl Service {
    /// Hands starts to the kernel, those that it need not see answered at once.
    pub(super) fn start_flows(&self, starts: Vec<StartRequest<'_>>) {
        let behind = self.shared.view.is_behind();
        let mut tickets = Vec::with_capacity(starts.len());
        let mut events = Vec::with_capacity(starts.len());
        for start in starts {
            if behind {
                start
                    .ticket
                    .answer(Answer::Refused(Refusal::busy(VIEW_RETRY_MS)));
                continue;
            }
            if let Some((ticket, start)) = self.prepare(start) {
                tickets.push(ticket);
                events.push(Event::Start(Box::new(start)));
            }
        }
        if !tickets.is_empty() && self.shared.replies.register(tickets) {
            self.shared.mailbox.push_all(events);
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
