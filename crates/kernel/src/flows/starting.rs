//! Admission: which starts run, which wait, and which are refused as "busy". A client id makes a start happen exactly once.
//!
//! A start is acknowledged only after it runs: the commit of the round in which it runs writes its first journal row or its
//! outcome. A start that still waits when the node stops is therefore as if it had never been sent.

use crate::errors;
use crate::event::{Reply, Start, Token, Wait};
use crate::flows::admission::{Room, WAITING_PART};
use crate::flows::caller::{Caller, start_digest};
use crate::flows::clients::LiveFlow;
use crate::flows::queue::Queued;
use crate::kernel::Kernel;
use crate::port::{Reads, StoreFailure};
use crate::rows::client_key;
use flow::{FlowId, StartRecord};
use primitives::{Encode, Hash, Timestamp};

/// Maximum number of queued starts that run in one round. Without it, a round under overload would take as long as the start of a
/// thousand flows, and work that needs several rounds, above all deliveries, would fall behind.
pub const QUEUED_STARTS_PER_ROUND: usize = 128;

impl Kernel {
    /// Returns the room for starts, so that a shell need not ask for each one. It is unbounded while all starts are refused for
    /// another reason, because the kernel has to give that reason.
    pub fn room(&self) -> Room {
        let starts = &self.starts;
        let room = starts
            .admission
            .room(starts.queue.len(), &self.context.options);
        match starts.draining || self.keeps_too_many() || self.is_rolled_back() {
            true => Room {
                places: usize::MAX,
                ..room
            },
            false => room,
        }
    }

    /// Whether a start may run at once.
    fn may_run_now(&self, start: &Start) -> bool {
        let (name, args) = (&start.name, start.args.len());
        self.starts.queue.len() == 0
            && self
                .starts
                .admission
                .has_place(name, args, &self.context.options)
    }

    /// Whether there is room for a start among those that wait.
    fn may_wait(&self, start: &Start) -> bool {
        let queue = &self.starts.queue;
        let bytes = queue.args_bytes().saturating_add(start.args.len());
        queue.len() < self.starts.admission.waiting_max(&self.context.options)
            && (queue.len() == 0 || bytes <= self.context.options.live_bytes_max / WAITING_PART)
    }

    pub(crate) fn on_start(&mut self, start: Start, reads: &dyn Reads) -> Result<(), StoreFailure> {
        let client = start.client_id.as_ref().map(|client_id| {
            let digest = start_digest(&start.name, start.version, &start.args);
            (client_key(&start.user, client_id), digest)
        });
        if let Some((key, digest)) = client
            && self.known_client(&start, key, digest, reads)?
        {
            return Ok(());
        }
        if let Some(row) = &self.integrity.rollback {
            let text = format!(
                "this node's data is an older copy: it ends on {}, and peers have seen more of it",
                row.data_until
            );
            let rejection = errors::rejection(&errors::ROLLED_BACK, text);
            self.context.reply(start.token, Reply::Rejected(rejection));
            return Ok(());
        }
        let full = self.keeps_too_many();
        let (may_run, may_wait) = (self.may_run_now(&start), self.may_wait(&start));
        let starts = &mut self.starts;
        if full && !starts.draining {
            let kept = self.context.options.kept_flows_max;
            let text = format!("{kept} flows are kept for an operator");
            let rejection = errors::rejection(&errors::TOO_MANY_KEPT, text);
            self.context.reply(start.token, Reply::Rejected(rejection));
        } else if starts.draining {
            let rejection = errors::rejection(&errors::DRAINING, "the node is being drained");
            self.context.reply(start.token, Reply::Rejected(rejection));
        } else if may_run {
            let waits = vec![(start.token, start.wait)];
            self.run_start(Queued {
                start,
                client,
                waits,
                scheduled: None,
            });
        } else if may_wait {
            starts.queue.push(start, client);
        } else {
            let retry_after_ms = starts.admission.retry_after_ms(starts.queue.len());
            self.context.figures.starts_busy += 1;
            self.context
                .reply(start.token, Reply::Busy { retry_after_ms });
        }
        Ok(())
    }

    /// Whether the start repeats an earlier one; then it is answered, or attached.
    fn known_client(
        &mut self,
        start: &Start,
        key: Hash,
        digest: Hash,
        reads: &dyn Reads,
    ) -> Result<bool, StoreFailure> {
        if let Some(flow) = self.clients.by_client(&key) {
            let same = self.clients.live(&flow).and_then(|live| live.client);
            if same.is_none_or(|(_, known)| known != digest) {
                self.client_id_reused(start);
            } else if start.wait == Wait::Accepted {
                self.context.reply(start.token, Reply::Accepted { flow });
            } else {
                self.on_attach(flow, start.wait, start.token);
            }
            return Ok(true);
        }
        if let Some(queued) = self.starts.queue.by_client(&key) {
            let flow = queued.start.flow;
            if queued.client.is_some_and(|(_, known)| known == digest) {
                self.starts.queue.wait(&flow, start.token, start.wait);
            } else {
                self.client_id_reused(start);
            }
            return Ok(true);
        }
        let Some(row) = self.clients.row(&key, reads)? else {
            return Ok(false);
        };
        if row.start_digest == digest {
            self.answer_ended(row.outcome, start.wait, start.token);
        } else {
            self.client_id_reused(start);
        }
        Ok(true)
    }

    /// Queues the scheduled starts whose time has come, while they may be started and there is room.
    pub(crate) fn queue_scheduled(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        while self.takes_scheduled() {
            let (clients, starts) = (&self.clients, &self.starts);
            let known = |key: &Hash| {
                let live = clients.by_client(key);
                let live = live.and_then(|flow| clients.live(&flow)?.client);
                match live.or_else(|| starts.queue.by_client(key)?.client) {
                    Some((_, digest)) => Ok(Some(digest)),
                    None => Ok(clients.row(key, reads)?.map(|row| row.start_digest)),
                }
            };
            let context = &mut self.context;
            let Some(queued) = self.schedule.next_start(&known, context, reads)? else {
                break;
            };
            self.starts.queue.push_queued(queued);
        }
        Ok(())
    }

    /// Returns whether scheduled flows may be started and there is room for one in the queue.
    fn takes_scheduled(&self) -> bool {
        !self.starts.is_draining()
            && !self.keeps_too_many()
            && !self.is_rolled_back()
            && self.gate.starts_scheduled()
            && self.starts.queue.len() < self.context.options.start_queue_max
    }

    /// Returns the time of the next scheduled start. There is none without room, because the end of a flow is a round of its own.
    pub(crate) fn next_scheduled(&self) -> Option<Timestamp> {
        self.schedule.next_time().filter(|_| self.takes_scheduled())
    }

    /// Takes a start back whose state is consumed, and tells its clients.
    pub(crate) fn withdraw_start(&mut self, flow: FlowId) {
        let Some(queued) = self.starts.queue.remove(&flow) else {
            return;
        };
        let rejection = errors::start_cancelled(&queued.start.flow);
        for (token, _) in queued.waits {
            self.context
                .reply(token, Reply::Rejected(rejection.clone()));
        }
    }

    fn client_id_reused(&mut self, start: &Start) {
        let client_id = start.client_id.as_deref().unwrap_or_default();
        let text = format!("client id '{client_id}' stands for another start");
        let rejection = errors::rejection(&errors::CLIENT_ID_REUSED, text);
        self.context.reply(start.token, Reply::Rejected(rejection));
    }

    /// Runs a start, and answers or notes everybody who asked for it.
    fn run_start(&mut self, queued: Queued) {
        let Queued {
            start,
            client,
            waits,
            scheduled,
        } = queued;
        let flow = start.flow;
        let (flow_name, args) = (start.name.clone(), start.args.len());
        let name = scheduled.map(|due| (due, start.name.clone()));
        let begun = match start.version {
            Some(version) => Ok(version),
            None => self.context.identity.flows.current_version(&start.name),
        };
        let begun = begun.and_then(|version| {
            let record = self.start_record(start, version, client);
            self.runner.start(record, &mut self.context)
        });
        if let Err(error) = begun {
            for (token, _) in waits {
                self.context
                    .reply(token, Reply::Rejected(error.to_rejection()));
            }
            if let Some((due, name)) = name {
                self.schedule
                    .refuse_start(due, name, error.to_rejection(), &mut self.context);
            }
            return;
        }
        self.context.figures.flows_started += 1;
        let place = self
            .starts
            .admission
            .take(&flow_name, args, self.context.now.monotonic);
        self.clients.begin(
            flow,
            LiveFlow {
                client,
                place: Some(place),
                ..LiveFlow::default()
            },
        );
        for (token, wait) in waits {
            self.note_wait(flow, token, wait);
        }
        if let Some((due, name)) = name {
            self.schedule.started(due, flow, name, &mut self.context);
        }
    }

    fn start_record(
        &self,
        start: Start,
        version: u32,
        client: Option<(Hash, Hash)>,
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
            at: self.context.now.wall,
            origin: None,
            caller: caller.to_bytes(),
        }
    }

    fn note_wait(&mut self, flow: FlowId, token: Token, wait: Wait) {
        if wait == Wait::Accepted {
            // Sent with the round's commit, which holds the flow's first journal row or its outcome.
            self.context.reply(token, Reply::Accepted { flow });
        } else {
            self.clients.wait(flow, token, wait);
        }
    }

    /// Runs queued starts while there is room, in several rounds if there are many.
    pub(crate) fn start_queued(&mut self, reads: &dyn Reads) -> Result<(), StoreFailure> {
        self.starts.may_run = false;
        let mut begun = 0;
        while let Some(start) = self.starts.queue.first() {
            if begun >= QUEUED_STARTS_PER_ROUND {
                self.starts.may_run = true;
                break;
            }
            begun += 1;
            let (name, args) = (&start.name, start.args.len());
            if !self
                .starts
                .admission
                .has_place(name, args, &self.context.options)
            {
                break;
            }
            let Some(queued) = self.starts.queue.pop() else {
                break;
            };
            self.run_start(queued);
            self.settle(reads)?;
        }
        Ok(())
    }
}
