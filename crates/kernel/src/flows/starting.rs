//! Admission: which starts run, which wait, and which are refused as "busy". A client id makes a start happen exactly once.
//!
//! A start is acknowledged only after it runs. The commit of that round writes its first journal row or its outcome. So a start that still waits when the node stops has the same effect as a start that was never sent.

use flow::{FlowId, StartRecord};
use ledger::Rejection;
use primitives::{Encode, Hash, Timestamp};

use crate::command::ScheduleCommand;
use crate::context::Context;
use crate::errors;
use crate::event::{Reply, Start, Token, Wait};
use crate::flows::Flows;
use crate::flows::admission::{StartCapacity, WAITING_PART};
use crate::flows::caller::{Caller, start_digest};
use crate::flows::clients::LiveFlow;
use crate::flows::queue::{Queued, RoundStarts};
use crate::flows::views::FlowViews;
use crate::peers::unanswered::Unanswered;
use crate::port::{Reads, StoreFailure};
use crate::rows::client_key;

/// Maximum number of queued starts that run in one round. Without it, a round under overload would take as long as the start of a
/// thousand flows, and work that needs several rounds, above all deliveries, would fall behind.
pub const QUEUED_STARTS_PER_ROUND: usize = 128;
/// Maximum number of them that states have scheduled. A counterparty decides how much work such a flow is.
const SCHEDULED_STARTS_PER_ROUND: usize = 8;

impl Flows {
    /// Returns the room for starts. It is unbounded while all starts are refused for another reason, because the kernel has to give
    /// that reason.
    pub(crate) fn start_capacity(&self, is_rolled_back: bool, context: &Context) -> StartCapacity {
        let starts = &self.starts;
        let queued = starts.queue.clients();
        let capacity = starts.admission.capacity(queued, &context.options);
        match starts.draining || self.keeps_too_many(context) || is_rolled_back {
            true => StartCapacity {
                places: usize::MAX,
                ..capacity
            },
            false => capacity,
        }
    }

    /// Returns whether a client's start has a place among those that run.
    fn has_place(&self, start: &Start, context: &Context) -> bool {
        let (name, args) = (&start.name, start.args.len());
        let admission = &self.starts.admission;
        admission.has_place(name, args, &context.options)
    }

    /// Returns whether a scheduled start waits and has a place among those that run.
    fn next_scheduled_fits(&self, context: &Context) -> bool {
        let admission = &self.starts.admission;
        self.starts.queue.first_scheduled().is_some_and(|start| {
            let (name, args) = (&start.name, start.args.len());
            admission.has_scheduled_place(name, args, &context.options)
        })
    }

    /// Returns whether there is room for a client's start among those that wait.
    fn may_wait(&self, start: &Start, context: &Context) -> bool {
        let (queue, options) = (&self.starts.queue, &context.options);
        // A sum that is too large for the type is over every limit, so it is clipped.
        let bytes = queue.args_bytes().saturating_add(start.args.len());
        queue.clients() < self.starts.admission.waiting_max(options)
            && (queue.clients() == 0 || bytes <= options.live_bytes_max / WAITING_PART)
    }

    /// Handles a client's start. All starts are refused if this node's data is an older copy.
    pub(super) fn on_start(
        &mut self,
        start: Start,
        views: FlowViews<'_>,
        context: &mut Context,
    ) -> Result<(), StoreFailure> {
        let FlowViews {
            deliveries, reads, ..
        } = views;
        let client = start.client_id.as_ref().map(|client_id| {
            let digest = start_digest(&start.name, start.version, &start.args);
            (client_key(&start.user, client_id), digest)
        });
        if let Some((key, digest)) = client
            && self.known_client(&start, (key, digest), deliveries, context, reads)?
        {
            return Ok(());
        }
        if let Some(data_until) = views.older_copy {
            let rejection = refused_on_older_copy(data_until);
            context.reply(start.token, Reply::Rejected(rejection));
        } else if self.starts.draining {
            let rejection = errors::rejection(&errors::DRAINING, "the node is being drained");
            context.reply(start.token, Reply::Rejected(rejection));
        } else if self.keeps_too_many(context) {
            let kept = context.options.kept_flows_max;
            let text = format!("{kept} flows are kept for an operator");
            let rejection = errors::rejection(&errors::TOO_MANY_KEPT, text);
            context.reply(start.token, Reply::Rejected(rejection));
        } else if self.starts.queue.clients() == 0
            && self.has_place(&start, context)
            // Otherwise the two take turns, still in this round.
            && !self.next_scheduled_fits(context)
        {
            let waits = vec![(start.token, start.wait)];
            let queued = Queued {
                start,
                client,
                waits,
                scheduled: None,
            };
            self.run_start(queued, context);
        } else if self.may_wait(&start, context) || self.waits_for_its_turn(&start, context) {
            self.starts.queue.push(start, client);
        } else {
            let starts = &self.starts;
            let retry_after_ms = starts.admission.retry_after_ms(starts.queue.clients());
            context.figures.starts_busy += 1;
            context.reply(start.token, Reply::Busy { retry_after_ms });
        }
        Ok(())
    }

    /// Returns whether there is a free place for a client's start, which waits only for the turns of scheduled starts.
    fn waits_for_its_turn(&self, start: &Start, context: &Context) -> bool {
        let free = self.starts.admission.free_places(&context.options);
        self.has_place(start, context) && self.starts.queue.clients() < free
    }

    /// Answers or attaches a start that repeats an earlier one. Returns false if it is a new one.
    fn known_client(
        &mut self,
        start: &Start,
        (key, digest): (Hash, Hash),
        deliveries: &Unanswered,
        context: &mut Context,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        if let Some(flow) = self.clients.by_client(&key) {
            let same = self.clients.live(&flow).and_then(|live| live.client);
            if same.is_none_or(|(_, known)| known != digest) {
                client_id_reused(start, context);
            } else if start.wait == Wait::Accepted {
                context.reply(start.token, Reply::Accepted { flow });
            } else {
                self.on_attach(flow, start.wait, start.token, deliveries, context);
            }
            return Ok(true);
        }
        if let Some(queued) = self.starts.queue.by_client(&key) {
            let flow = queued.start.flow;
            if queued.client.is_some_and(|(_, known)| known == digest) {
                self.starts.queue.wait(&flow, start.token, start.wait);
            } else {
                client_id_reused(start, context);
            }
            return Ok(true);
        }
        let Some(row) = self.clients.row(&key, reads)? else {
            return Ok(false);
        };
        if row.start_digest == digest {
            self.answer_ended(row.outcome, start.wait, start.token, deliveries, context);
        } else {
            client_id_reused(start, context);
        }
        Ok(true)
    }

    /// Returns the digest of the start that a client id stands for, ended or not.
    pub(crate) fn known_start(
        &self,
        key: &Hash,
        reads: &dyn Reads,
    ) -> Result<Option<Hash>, StoreFailure> {
        let live = self.clients.by_client(key);
        let live = live.and_then(|flow| self.clients.live(&flow)?.client);
        match live.or_else(|| self.starts.queue.by_client(key)?.client) {
            Some((_, digest)) => Ok(Some(digest)),
            None => {
                let row = self.clients.row(key, reads)?;
                Ok(row.map(|row| row.start_digest))
            }
        }
    }

    /// Returns whether scheduled flows may be started. The schedule bounds the number of those that wait.
    pub(crate) fn takes_scheduled(&self, is_rolled_back: bool, context: &Context) -> bool {
        !self.starts.draining
            && !self.keeps_too_many(context)
            && !is_rolled_back
            && self.gate.allows_starts()
    }

    /// Queues a scheduled start.
    pub(crate) fn queue_scheduled(&mut self, queued: Queued) {
        assert!(
            queued.scheduled.is_some(),
            "the start {} was not scheduled",
            queued.start.flow
        );
        self.starts.queue.push_queued(queued);
    }

    /// Removes a queued start whose state is consumed, and tells its clients.
    pub(super) fn withdraw_start(&mut self, flow: FlowId, context: &mut Context) {
        let Some(queued) = self.starts.queue.remove(&flow) else {
            return;
        };
        let rejection = errors::start_cancelled(&queued.start.flow);
        for (token, _) in queued.waits {
            context.reply(token, Reply::Rejected(rejection.clone()));
        }
    }

    /// Refuses the starts of clients that wait for a place, because this node's data has proved to be an older copy, which ends at
    /// `data_until`. Scheduled starts keep their places until an operator has finished a recovery.
    pub(super) fn refuse_starts(&mut self, data_until: Timestamp, context: &mut Context) {
        self.starts.admission.note_unproved(true);
        for queued in self.starts.queue.take_unscheduled() {
            for (token, _) in queued.waits {
                context.reply(token, Reply::Rejected(refused_on_older_copy(data_until)));
            }
        }
    }

    /// Runs a start, and answers its clients or notes that they wait.
    fn run_start(&mut self, queued: Queued, context: &mut Context) {
        let Queued {
            start,
            client,
            waits,
            scheduled,
        } = queued;
        let flow = start.flow;
        let (name, args) = (start.name.clone(), start.args.len());
        let begun = match start.version {
            Some(version) => Ok(version),
            None => context.identity.flows.current_version(&start.name),
        };
        let begun = begun.and_then(|version| {
            let record = start_record(start, version, client, context);
            self.runner.start(record)
        });
        if let Err(error) = begun {
            let rejection = error.to_rejection();
            for (token, _) in waits {
                context.reply(token, Reply::Rejected(rejection.clone()));
            }
            if let Some(due) = scheduled {
                context.command(ScheduleCommand::Refuse {
                    due,
                    name,
                    rejection,
                });
            }
            return;
        }
        assert!(
            self.clients.live(&flow).is_none(),
            "flow {flow} starts, and is live already"
        );
        context.figures.flows_started += 1;
        let now = context.now.monotonic;
        let admission = &mut self.starts.admission;
        let place = match scheduled {
            Some(_) => admission.take_scheduled(&name, args),
            None => admission.take(&name, args, now),
        };
        let live = LiveFlow {
            client,
            place: Some(place),
            ..LiveFlow::default()
        };
        self.clients.begin(flow, live);
        for (token, wait) in waits {
            self.note_wait(flow, token, wait, context);
        }
        if let Some(due) = scheduled {
            context.command(ScheduleCommand::Started { due, flow, name });
        }
    }

    fn note_wait(&mut self, flow: FlowId, token: Token, wait: Wait, context: &mut Context) {
        if wait == Wait::Accepted {
            // Sent with the round's commit, which holds the flow's first journal row or its outcome.
            context.reply(token, Reply::Accepted { flow });
        } else {
            self.clients.wait(flow, token, wait);
        }
    }

    /// Runs the next queued start if there is room. `begun` counts those that have run in this round. Returns whether one has run.
    pub(crate) fn start_next(&mut self, begun: &mut RoundStarts, context: &mut Context) -> bool {
        if begun.all == 0 {
            self.starts.may_run = false;
        }
        let first = self.starts.queue.first_of_clients();
        let client_fits = first.is_some_and(|start| self.has_place(start, context));
        let mut scheduled_fits = self.next_scheduled_fits(context);
        if !client_fits && !scheduled_fits {
            return false;
        }
        if begun.all >= QUEUED_STARTS_PER_ROUND {
            self.starts.may_run = true;
            return false;
        }
        if scheduled_fits && begun.scheduled >= SCHEDULED_STARTS_PER_ROUND {
            self.starts.may_run = true;
            scheduled_fits = false;
        }
        let Some(queued) = self.starts.queue.pop(client_fits, scheduled_fits) else {
            return false;
        };
        begun.all += 1;
        begun.scheduled += usize::from(queued.scheduled.is_some());
        self.run_start(queued, context);
        true
    }
}

pub(super) fn refused_on_older_copy(data_until: Timestamp) -> Rejection {
    let text = format!(
        "this node's data is an older copy: it ends on {data_until}, and peers have seen more of it"
    );
    errors::rejection(&errors::ROLLED_BACK, text)
}

fn client_id_reused(start: &Start, context: &mut Context) {
    let client_id = start.client_id.as_deref().unwrap_or_default();
    let text = format!("client id '{client_id}' stands for another start");
    let rejection = errors::rejection(&errors::CLIENT_ID_REUSED, text);
    context.reply(start.token, Reply::Rejected(rejection));
}

fn start_record(
    start: Start,
    version: u32,
    client: Option<(Hash, Hash)>,
    context: &Context,
) -> StartRecord {
    let caller = Caller {
        user: start.user,
        client_id: start.client_id,
        start_digest: client.map(|(_, digest)| digest),
    };
    StartRecord {
        id: start.flow,
        flow: start.name,
        version,
        args: start.args,
        seed: start.seed,
        at: context.now.wall,
        origin: None,
        caller: caller.to_bytes(),
    }
}
