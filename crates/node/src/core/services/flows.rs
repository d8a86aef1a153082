//! Starts of flows and waits for them, as events of the kernel.

use std::sync::Arc;

use api::openapi::FlowFacts;
use api::{RawJson, Wait};
use flow::FlowId;
use kernel::{Event, Token};
use schemars::SchemaGenerator;

use crate::core::described::described_flows;
use crate::core::flow_history::outcome_of;
use crate::core::flow_starts::kernel_wait;
use crate::core::service::Service;
use crate::http::{
    EndedRow, FlowService, Followers, Pending, Refusal, StartCapacity, StartRequest, Ticket,
};

impl FlowService for Service {
    fn start_capacity(&self) -> StartCapacity {
        self.capacity_for_starts()
    }

    fn turned_away(&self, count: u64) {
        self.shared.gate.turn_away(count);
    }

    fn described_flows(&self, generator: &mut SchemaGenerator) -> Vec<FlowFacts> {
        described_flows(&self.flows, generator)
    }

    fn start(&self, starts: Vec<StartRequest<'_>>) {
        self.start_flows(starts);
    }

    fn attach(&self, flow_id: FlowId, wait: Wait, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            let wait = kernel_wait(wait);
            self.shared.kernel.tell(Event::Attach {
                flow: flow_id,
                wait,
                token,
            });
        }
    }

    fn ended(&self, flow_id: FlowId) -> Pending<'_, Option<Box<EndedRow>>> {
        Box::pin(async move {
            let row = self.history_row(flow_id).await?;
            Ok(row.map(|row| {
                let record = self.flow_record(&row);
                Box::new(EndedRow { row, record })
            }))
        })
    }

    fn recall(&self, ended: &EndedRow, wait: Wait, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            self.shared.kernel.tell(Event::Recall {
                outcome: Arc::new(outcome_of(&ended.row)),
                wait: kernel_wait(wait),
                token,
            });
        }
    }

    fn detach(&self, tickets: &[u64]) {
        self.shared.replies.forget(tickets);
        for ticket in tickets {
            self.shared.kernel.tell(Event::Detach {
                token: Token(*ticket),
            });
        }
    }

    fn cancel(&self, flow_id: FlowId, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            self.shared.kernel.tell(Event::Cancel {
                flow: flow_id,
                token,
            });
        }
    }

    fn forget_client_id(&self, user: &Arc<str>, client_id: &str, ticket: Ticket) {
        let token = Token(ticket.id());
        if self.shared.replies.register([ticket]) {
            let (user, client_id) = (user.to_string(), client_id.to_owned());
            self.shared.kernel.tell(Event::RemoveClient {
                user,
                client_id,
                token,
            });
        }
    }

    fn output_to_json(&self, flow: &str, version: u32, output: &[u8]) -> Result<RawJson, Refusal> {
        let json = self.flows.output_to_json(flow, version, output);
        let json = json.map_err(|error| Refusal::from(error.to_rejection()))?;
        serde_json::value::RawValue::from_string(json).map_err(|error| {
            let text = format!("the output of {flow} is not JSON: {error}");
            Refusal::listed(&api::codes::INTERNAL, text)
        })
    }

    fn followers(&self) -> &Arc<Followers> {
        &self.shared.followers
    }
}
