//! Shares of the server's resources.
//!
//! Every client, address and connection has a share of each resource, and a share may lie within a wider one: an address within all
//! anonymous clients, these and every user within the whole server. A place is taken in all of them or in none, without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A resource that is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// Requests in flight.
    Requests,
    /// Streams of starts.
    Streams,
    /// Followers of events.
    Followers,
    /// Queries of the vault.
    Queries,
    /// Connections.
    Connections,
    /// Bytes of bodies that hold no place for a large one.
    BodyBytes,
    /// Bytes of HTTP/2 windows beyond the smallest ones.
    WindowBytes,
    /// Bytes of large answers that are not sent yet.
    AnswerBytes,
}

/// The number of resources.
const RESOURCES: usize = 8;

/// The size of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShareLimits {
    /// In the order of [`Resource`].
    most: [usize; RESOURCES],
    /// Large bodies in memory at once.
    large_bodies: usize,
}

impl ShareLimits {
    /// A share without bounds, to be bounded by [`ShareLimits::with`].
    pub(crate) fn unbounded() -> Self {
        Self {
            most: [usize::MAX; RESOURCES],
            large_bodies: Semaphore::MAX_PERMITS,
        }
    }

    /// The same with a bound of one resource.
    pub(crate) fn with(mut self, resource: Resource, most: usize) -> Self {
        self.most[resource as usize] = most;
        self
    }

    /// The same with a bound of large bodies.
    pub(crate) fn large_bodies(mut self, most: usize) -> Self {
        self.large_bodies = most.min(Semaphore::MAX_PERMITS);
        self
    }

    /// Three quarters of every bound, rounded up: the share of one client, so that no client takes everything.
    pub(crate) fn three_quarters(self) -> Self {
        let part = |most: usize| most - most / 4;
        Self {
            most: self.most.map(part),
            large_bodies: part(self.large_bodies),
        }
    }
}

/// A share of every resource, within a wider one or on its own.
#[derive(Debug)]
pub(crate) struct Share {
    used: [AtomicUsize; RESOURCES],
    limits: ShareLimits,
    large: Arc<Semaphore>,
    within: Option<Arc<Share>>,
}

impl Share {
    /// A share of its own.
    pub(crate) fn new(limits: ShareLimits) -> Arc<Self> {
        Self::of(limits, None)
    }

    /// A share within a wider one.
    pub(crate) fn within(wider: &Arc<Share>, limits: ShareLimits) -> Arc<Self> {
        Self::of(limits, Some(Arc::clone(wider)))
    }

    fn of(limits: ShareLimits, within: Option<Arc<Share>>) -> Arc<Self> {
        Arc::new(Self {
            used: Default::default(),
            limits,
            large: Arc::new(Semaphore::new(limits.large_bodies)),
            within,
        })
    }

    /// Takes an amount of a resource from this share and all wider ones, or nothing.
    pub(crate) fn take(self: &Arc<Self>, resource: Resource, count: usize) -> Option<Reserved> {
        for (depth, share) in self.chain().enumerate() {
            if !share.add(resource, count) {
                for share in self.chain().take(depth) {
                    share.remove(resource, count);
                }
                return None;
            }
        }
        Some(Reserved {
            share: Arc::clone(self),
            resource,
            count,
        })
    }

    /// Takes an amount of a resource, and all that the narrowest share has if the amount is larger. So anything fits alone.
    pub(crate) fn take_clipped(
        self: &Arc<Self>,
        resource: Resource,
        count: usize,
    ) -> Option<Reserved> {
        let bounds = self
            .chain()
            .map(|share| share.limits.most[resource as usize]);
        self.take(resource, bounds.fold(count, usize::min))
    }

    /// Waits for a place for a large body in this share and all wider ones, first come first served.
    pub(crate) async fn large_place(self: &Arc<Self>) -> LargePlace {
        let mut places = Vec::new();
        for share in self.chain() {
            // The semaphore is never closed, so an error cannot occur. Without its permit, the shares before it still limit the body.
            places.extend(Arc::clone(&share.large).acquire_owned().await.ok());
        }
        LargePlace(places)
    }

    /// The amount in use.
    #[cfg(test)]
    pub(crate) fn used(&self, resource: Resource) -> usize {
        self.used[resource as usize].load(Ordering::Acquire)
    }

    /// This share, then the wider ones.
    fn chain(&self) -> impl Iterator<Item = &Share> {
        std::iter::successors(Some(self), |share| share.within.as_deref())
    }

    fn add(&self, resource: Resource, count: usize) -> bool {
        let most = self.limits.most[resource as usize];
        let grown = |used: usize| used.checked_add(count).filter(|sum| *sum <= most);
        self.used[resource as usize]
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, grown)
            .is_ok()
    }

    fn remove(&self, resource: Resource, count: usize) {
        let before = self.used[resource as usize].fetch_sub(count, Ordering::AcqRel);
        assert!(
            before >= count,
            "{resource:?}: {count} of {before} given back"
        );
    }
}

/// A part of a share, given back when dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    share: Arc<Share>,
    resource: Resource,
    count: usize,
}

impl Reserved {
    /// Takes more of the same resource; on `false` the part stays as it was.
    pub(crate) fn grow(&mut self, more: usize) -> bool {
        let Some(mut held) = self.share.take(self.resource, more) else {
            return false;
        };
        self.count += std::mem::take(&mut held.count);
        true
    }

    /// Gives a part back.
    pub(super) fn shrink(&mut self, less: usize) {
        let less = less.min(self.count);
        for share in self.share.chain() {
            share.remove(self.resource, less);
        }
        self.count -= less;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        for share in self.share.chain() {
            share.remove(self.resource, self.count);
        }
    }
}

/// A place for a large body, given back when dropped.
#[derive(Debug)]
pub(crate) struct LargePlace(
    #[expect(dead_code, reason = "dropping it releases the permits")] Vec<OwnedSemaphorePermit>,
);

#[cfg(test)]
mod tests {
    use super::*;
    use Resource::{BodyBytes, Requests, Streams};

    #[test]
    fn takes_from_all_wider_shares_or_from_none() {
        let limits = |requests, bytes| {
            ShareLimits::unbounded()
                .with(Requests, requests)
                .with(BodyBytes, bytes)
        };
        let whole = Share::new(limits(5, 100));
        let (ann, bob) = (
            Share::within(&whole, limits(4, 60)),
            Share::within(&whole, limits(4, 60)),
        );
        let mut held = Vec::new();
        // The share, the resource, the amount, whether there is room, and the use of the whole then.
        for (share, resource, count, has_room, used) in [
            (&ann, Requests, 4, true, 4),
            (&ann, Requests, 1, false, 4),
            (&bob, Requests, 2, false, 4),
            (&bob, Requests, 1, true, 5),
            (&bob, Requests, 1, false, 5),
            (&ann, BodyBytes, 61, false, 0),
            (&ann, BodyBytes, 60, true, 60),
            (&bob, BodyBytes, 41, false, 60),
            (&bob, BodyBytes, usize::MAX, false, 60),
            (&bob, BodyBytes, 40, true, 100),
            (&bob, Streams, 1_000, true, 1_000),
        ] {
            let taken = share.take(resource, count);
            assert_eq!(taken.is_some(), has_room, "{resource:?} {count}");
            assert_eq!(whole.used(resource), used, "{resource:?} {count}");
            held.extend(taken);
        }
        assert_eq!((bob.used(BodyBytes), ann.used(BodyBytes)), (40, 60));
        held.clear();
        for share in [&whole, &ann, &bob] {
            assert!([Requests, BodyBytes, Streams].map(|r| share.used(r)) == [0; 3]);
        }
    }

    #[test]
    fn grows_within_every_bound_and_gives_all_back() {
        let whole = Share::new(ShareLimits::unbounded().with(BodyBytes, 10));
        let own = Share::within(&whole, ShareLimits::unbounded().with(BodyBytes, 8));
        let mut held = own.take(BodyBytes, 3).expect("room");
        assert!(held.grow(5) && !held.grow(1));
        assert_eq!((own.used(BodyBytes), whole.used(BodyBytes)), (8, 8));
        drop(held);
        assert_eq!((own.used(BodyBytes), whole.used(BodyBytes)), (0, 0));
    }

    #[test]
    fn three_quarters_never_come_to_nothing() {
        for (most, part) in [(1, 1), (2, 2), (3, 3), (4, 3), (8, 6), (256, 192)] {
            let limits = ShareLimits::unbounded().with(Streams, most);
            let share = Share::new(limits.large_bodies(most).three_quarters());
            assert!(share.take(Streams, part).is_some(), "{most}");
            assert!(share.take(Streams, part + 1).is_none(), "{most}");
            assert_eq!(share.large.available_permits(), part, "{most}");
        }
    }

    #[tokio::test]
    async fn places_for_large_bodies_are_waited_for() {
        let whole = Share::new(ShareLimits::unbounded().large_bodies(2));
        let own = Share::within(&whole, ShareLimits::unbounded().large_bodies(1));
        let first = own.large_place().await;
        let mut second = std::pin::pin!(own.large_place());
        assert!(futures_are_pending(second.as_mut()).await);
        // The narrow share waits; others do not.
        let other = Share::within(&whole, ShareLimits::unbounded())
            .large_place()
            .await;
        drop(first);
        second.await;
        drop(other);
        assert_eq!(whole.large.available_permits(), 2);
    }

    async fn futures_are_pending<F: Future>(mut future: std::pin::Pin<&mut F>) -> bool {
        std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_pending()))
            .await
    }
}
