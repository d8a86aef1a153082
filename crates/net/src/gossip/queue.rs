//! The queue of events, bounded in number and bytes. While it is full, the service waits.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};

use super::{GossipEvent, GossipLimits};

/// The receiving end of a service's events. An application that does not take them stops the service from reading from its
/// peers, and so, after a while, the peers from sending.
#[derive(Debug)]
pub struct GossipEvents {
    waiting: mpsc::Receiver<GossipEvent>,
    room: Arc<Semaphore>,
    room_max: u32,
}

/// The sending end of a service's events.
#[derive(Debug)]
pub(super) struct Outlet {
    waiting: mpsc::Sender<GossipEvent>,
    room: Arc<Semaphore>,
    room_max: u32,
    /// Events of the last turn that found no room. The service takes no other turn until this is empty.
    held: VecDeque<GossipEvent>,
}

/// The application has dropped the receiving end.
#[derive(Debug)]
pub(super) struct NobodyListens;

/// Both ends.
pub(super) fn queue(limits: &GossipLimits) -> (Outlet, GossipEvents) {
    let (sender, waiting) = mpsc::channel(limits.events_max);
    let room_max = u32::try_from(limits.events_bytes_max);
    let room_max = room_max.expect("a limit in bytes is at most 2 GiB");
    let room = Arc::new(Semaphore::new(room_max as usize));
    let outlet = Outlet {
        waiting: sender,
        room: Arc::clone(&room),
        room_max,
        held: VecDeque::new(),
    };
    let events = GossipEvents {
        waiting,
        room,
        room_max,
    };
    (outlet, events)
}

impl GossipEvents {
    /// Waits for the next event. Returns `None` once the service has ended.
    pub async fn next(&mut self) -> Option<GossipEvent> {
        let event = self.waiting.recv().await?;
        Some(self.taken(event))
    }

    /// Returns the next event, if the queue has one.
    pub fn try_next(&mut self) -> Option<GossipEvent> {
        let event = self.waiting.try_recv().ok()?;
        Some(self.taken(event))
    }

    /// Blocks until the next event. Returns `None` once the service has ended. Panics within a runtime, as tokio's
    /// blocking calls do.
    pub fn blocking_next(&mut self) -> Option<GossipEvent> {
        let event = self.waiting.blocking_recv()?;
        Some(self.taken(event))
    }

    fn taken(&self, event: GossipEvent) -> GossipEvent {
        self.room
            .add_permits(permits(&event, self.room_max) as usize);
        event
    }
}

/// Returns the share of the queue that an event takes. It is capped at the size of the queue, so that even the largest event fits.
fn permits(event: &GossipEvent, room_max: u32) -> u32 {
    u32::try_from(event.cost()).map_or(room_max, |cost| cost.min(room_max))
}

impl Outlet {
    /// Holds an event until [`flush`](Self::flush) finds room for it.
    pub(super) fn push(&mut self, event: GossipEvent) {
        self.held.push_back(event);
    }

    /// Returns the number of events that did not fit the queue.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns whether all events have fitted the queue.
    pub(super) fn is_clear(&self) -> bool {
        self.held.is_empty()
    }

    /// Waits until all events are in the queue. It is cancel safe.
    pub(super) async fn flush(&mut self) -> Result<(), NobodyListens> {
        while let Some(first) = self.held.front() {
            let room = self.room.acquire_many(permits(first, self.room_max)).await;
            let room = room.map_err(|_| NobodyListens)?;
            let slot = self.waiting.reserve().await.map_err(|_| NobodyListens)?;
            if let Some(event) = self.held.pop_front() {
                // The permit is released when the event is taken.
                room.forget();
                slot.send(event);
            }
        }
        Ok(())
    }
}
