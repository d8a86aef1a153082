//! The connections of clients: how many there may be, and which one ends to make room for another.
//!
//! A connection is anonymous until it carries a request with a good token. Anonymous connections are bounded overall and by address, and
//! when a bound is reached the one that has been idle longest ends. Connections of users are never ended for others.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::claim::{Claim, connection_share, whole_share};
use super::options::HttpOptions;
use super::share::{Reserved, Resource, Share, ShareLimits};
use super::user_shares::UserShares;
use super::waiting::WaitingBytes;
use super::windows::{LargerWindow, Window};
use crate::users::network_of;

/// Bounds of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// Connections of all clients.
    all: usize,
    /// Anonymous connections of all addresses.
    anonymous: usize,
    /// Anonymous connections of one address other than the machine's own.
    anonymous_per_address: usize,
}

/// The sizes of the shares that connections come with.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    whole: ShareLimits,
    of_connection: ShareLimits,
    anonymous: ShareLimits,
    of_address: ShareLimits,
}

/// The connections of a server, and the shares of its clients.
pub(crate) struct Connections {
    bounds: Bounds,
    sizes: Sizes,
    began: Instant,
    /// The share of all anonymous clients.
    anonymous: Arc<Share>,
    users: UserShares,
    table: Mutex<Table>,
}

/// The open connections, by number: the number grows with each.
#[derive(Default)]
struct Table {
    last: u64,
    open: BTreeMap<u64, Arc<Visitor>>,
    addresses: HashMap<IpAddr, Address>,
    anonymous: usize,
}

struct Address {
    connections: usize,
    anonymous: usize,
    share: Arc<Share>,
}

/// The origin of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientAddress(pub(crate) Option<std::net::IpAddr>);

/// One connection and its client, as far as it is known.
#[derive(Debug)]
pub(crate) struct Visitor {
    number: u64,
    address: IpAddr,
    share: Arc<Share>,
    of_address: Arc<Share>,
    /// Whether it has carried a request that its server accepts; one that does not soon is closed.
    is_used: AtomicBool,
    /// The place among its user's connections, once it has carried a good token.
    user: OnceLock<Reserved>,
    in_flight: AtomicUsize,
    /// Milliseconds since the server began.
    active_ms: AtomicU64,
    evicted: Notify,
    /// The larger window of a user's connection, if there was one left.
    larger: OnceLock<LargerWindow>,
    widened: Notify,
    waiting: Arc<WaitingBytes>,
}

/// A connection's place, given back when dropped.
pub(crate) struct ConnectionPlace {
    connections: Arc<Connections>,
    visitor: Arc<Visitor>,
}

/// A request in flight on a connection.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Visitor>);

/// The outcome of asking for a connection's place.
pub(crate) struct Admitted {
    pub(crate) place: ConnectionPlace,
    /// Whether another connection ends for it.
    pub(crate) evicted: bool,
}

impl Connections {
    pub(super) fn new(options: &HttpOptions) -> Self {
        let anonymous = options.anonymous;
        let bounds = Bounds {
            all: options.connections_max,
            anonymous: anonymous.connections_max,
            anonymous_per_address: anonymous.connections_per_address_max,
        };
        let whole = whole_share(options);
        let sizes = Sizes {
            whole,
            of_connection: connection_share(options),
            anonymous: anonymous.of_all(whole),
            of_address: anonymous.of_address(whole),
        };
        Self::of(bounds, sizes)
    }

    fn of(bounds: Bounds, sizes: Sizes) -> Self {
        let root = Share::new(sizes.whole);
        Self {
            bounds,
            sizes,
            began: Instant::now(),
            anonymous: Share::within(&root, sizes.anonymous),
            users: UserShares::new(root, sizes.whole.three_quarters()),
            table: Mutex::default(),
        }
    }

    /// Takes a place for a new connection, or finds that users have them all.
    pub(super) fn admit(self: &Arc<Self>, from: IpAddr) -> Option<Admitted> {
        let address = network_of(from);
        let mut table = self.table();
        let evicted = self.make_room(&mut table, address, is_own(from))?;
        table.last += 1;
        let number = table.last;
        let entry = table.addresses.entry(address).or_insert_with(|| Address {
            connections: 0,
            anonymous: 0,
            share: Share::within(
                &self.anonymous,
                if is_own(from) {
                    ShareLimits::unbounded()
                } else {
                    self.sizes.of_address
                },
            ),
        });
        entry.connections += 1;
        entry.anonymous += 1;
        let visitor = Arc::new(Visitor {
            number,
            address,
            share: Share::new(self.sizes.of_connection),
            of_address: Arc::clone(&entry.share),
            is_used: AtomicBool::new(false),
            user: OnceLock::new(),
            in_flight: AtomicUsize::new(0),
            active_ms: AtomicU64::new(self.now_ms()),
            evicted: Notify::new(),
            larger: OnceLock::new(),
            widened: Notify::new(),
            waiting: WaitingBytes::unbounded(),
        });
        table.anonymous += 1;
        table.open.insert(number, Arc::clone(&visitor));
        let place = ConnectionPlace {
            connections: Arc::clone(self),
            visitor,
        };
        Some(Admitted { place, evicted })
    }

    /// Ends the anonymous connection that has been idle longest; `false` if there is none.
    pub(super) fn shed(&self) -> bool {
        let mut table = self.table();
        let Some(oldest) = table.longest_idle(|_| true) else {
            return false;
        };
        table.remove(&oldest);
        oldest.evicted.notify_one();
        true
    }

    /// Ends the connection that has to go for one more. `None` if only connections of users could.
    fn make_room(&self, table: &mut Table, address: IpAddr, is_own: bool) -> Option<bool> {
        let of_address = table.addresses.get(&address).map_or(0, |a| a.anonymous);
        let narrow = !is_own && of_address >= self.bounds.anonymous_per_address;
        let wide = table.anonymous >= self.bounds.anonymous || table.open.len() >= self.bounds.all;
        if !narrow && !wide {
            return Some(false);
        }
        let oldest = table.longest_idle(|visitor| !narrow || visitor.address == address)?;
        table.remove(&oldest);
        oldest.evicted.notify_one();
        Some(true)
    }

    /// Notes that a connection carried a good token; `false` if its user has too many connections.
    pub(super) fn trust(&self, visitor: &Arc<Visitor>, user: &Arc<str>) -> bool {
        if visitor.user.get().is_some() {
            return true;
        }
        let share = self.users.of(user);
        let Some(held) = share.take(Resource::Connections, 1) else {
            return false;
        };
        visitor.earn();
        visitor.widen(&share);
        // Set under the table's lock, so that the connection's removal changes the count that it is in.
        let mut table = self.table();
        // A second request at the same moment may have been faster; then this place goes back.
        if visitor.user.set(held).is_ok() {
            table.no_longer_anonymous(visitor);
        }
        true
    }

    /// The shares that a user's request draws on.
    pub(super) fn claim_of_user(&self, visitor: &Visitor, user: &Arc<str>) -> Claim {
        Claim::new(self.users.of(user), Arc::clone(&visitor.share)).waiting_within(&visitor.waiting)
    }

    /// Milliseconds since the server began.
    pub(super) fn now_ms(&self) -> u64 {
        primitives::whole_ms(self.began.elapsed())
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The anonymous connection that has been idle longest, among those without a request first.
    fn longest_idle(&self, may_go: impl Fn(&Visitor) -> bool) -> Option<Arc<Visitor>> {
        let anonymous = self
            .open
            .values()
            .filter(|visitor| visitor.user.get().is_none() && may_go(visitor));
        let order = |visitor: &&Arc<Visitor>| {
            let is_busy = visitor.in_flight.load(Ordering::Relaxed) > 0;
            let active_ms = visitor.active_ms.load(Ordering::Relaxed);
            (is_busy, active_ms, visitor.number)
        };
        anonymous.min_by_key(order).map(Arc::clone)
    }

    fn remove(&mut self, visitor: &Visitor) {
        if self.open.remove(&visitor.number).is_none() {
            return;
        }
        let is_anonymous = visitor.user.get().is_none();
        self.anonymous -= usize::from(is_anonymous);
        if let Some(entry) = self.addresses.get_mut(&visitor.address) {
            entry.connections -= 1;
            entry.anonymous -= usize::from(is_anonymous);
            if entry.connections == 0 {
                self.addresses.remove(&visitor.address);
            }
        }
    }

    fn no_longer_anonymous(&mut self, visitor: &Visitor) {
        if !self.open.contains_key(&visitor.number) {
            return;
        }
        self.anonymous -= 1;
        if let Some(entry) = self.addresses.get_mut(&visitor.address) {
            entry.anonymous -= 1;
        }
    }
}

impl Visitor {
    /// Notes that the connection carried a request that its server accepts.
    pub(crate) fn earn(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    /// Notes that bytes moved.
    pub(super) fn active(&self, now_ms: u64) {
        self.active_ms.store(now_ms, Ordering::Relaxed);
    }

    /// Gives the connection a larger window if the user's share has one left.
    fn widen(&self, share: &Arc<Share>) {
        if let Some(larger) = LargerWindow::take(share)
            && self.larger.set(larger).is_ok()
        {
            self.widened.notify_one();
        }
    }

    /// Notes the window of the connection, which waiting bodies may not take up.
    pub(super) fn has_window(&self, window: Window) {
        self.waiting.set(window);
    }

    /// Waits until the connection gets a larger window.
    pub(super) async fn widened(&self) -> Window {
        loop {
            self.widened.notified().await;
            if let Some(larger) = self.larger.get() {
                return larger.window;
            }
        }
    }

    /// Counts a request in flight until the result is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    /// The shares that an anonymous request draws on.
    pub(crate) fn claim(&self) -> Claim {
        Claim::new(Arc::clone(&self.of_address), Arc::clone(&self.share))
            .waiting_within(&self.waiting)
    }

    /// Waits until the connection has to end for another.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl ConnectionPlace {
    pub(super) fn visitor(&self) -> &Arc<Visitor> {
        &self.visitor
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.connections.table().remove(&self.visitor);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether an address is the machine's own: a proxy or the laboratory there stands for many clients.
fn is_own(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(all: usize, anonymous: usize, per_address: usize) -> Arc<Connections> {
        let bounds = Bounds {
            all,
            anonymous,
            anonymous_per_address: per_address,
        };
        let unbounded = ShareLimits::unbounded();
        let sizes = Sizes {
            whole: unbounded.with(Resource::Connections, all),
            of_connection: unbounded,
            anonymous: unbounded,
            of_address: unbounded,
        };
        Arc::new(Connections::of(bounds, sizes))
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// The numbers of those that are open.
    fn open(connections: &Connections) -> Vec<u64> {
        connections.table().open.keys().copied().collect()
    }

    #[test]
    fn the_longest_idle_anonymous_connection_makes_room() {
        let connections = connections(5, 4, 2);
        let mut places = Vec::new();
        // The address, whether another goes, and the open ones then.
        for (from, evicts, left) in [
            (1, false, vec![1]),
            (1, false, vec![1, 2]),
            // One of the same address goes, though another is older.
            (2, false, vec![1, 2, 3]),
            (1, true, vec![2, 3, 4]),
            (2, false, vec![2, 3, 4, 5]),
            // Too many anonymous ones of all addresses: the oldest.
            (3, true, vec![3, 4, 5, 6]),
        ] {
            let admitted = connections.admit(address(from)).expect("room");
            assert_eq!((admitted.evicted, open(&connections)), (evicts, left));
            places.push(admitted.place);
        }
        // One that is busy stays, and so does one that was active lately.
        let _busy = places[2].visitor().begin();
        places[3].visitor().active(u64::MAX);
        places.push(connections.admit(address(4)).expect("room").place);
        assert_eq!(open(&connections), [3, 4, 6, 7]);
        places.clear();
        let table = connections.table();
        assert_eq!((table.anonymous, table.addresses.len()), (0, 0));
    }

    #[test]
    fn connections_of_users_stay_and_count_for_their_user() {
        let connections = connections(4, 4, 4);
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let mut places = Vec::new();
        // Three quarters of four are one user's.
        for (user, trusted) in [(&ann, true), (&ann, true), (&ann, true), (&ann, false)] {
            let place = connections.admit(address(1)).expect("room").place;
            assert_eq!(connections.trust(place.visitor(), user), trusted);
            places.push(place);
        }
        assert!(connections.trust(places[0].visitor(), &ann), "it has one");
        // The anonymous connection is closed; then none is left.
        let admitted = connections.admit(address(2)).expect("room");
        assert!(admitted.evicted && connections.trust(admitted.place.visitor(), &bob));
        assert!(connections.admit(address(3)).is_none());
        drop(places);
        assert!(connections.admit(address(3)).is_some());
        drop(admitted);
        let table = connections.table();
        assert_eq!(
            (table.anonymous, table.open.len(), table.addresses.len()),
            (0, 0, 0)
        );
    }

    #[test]
    fn the_machine_itself_has_no_bound_of_its_own() {
        let connections = connections(9, 8, 1);
        let own = IpAddr::from([127, 0, 0, 1]);
        let places: Vec<_> = (0..8).map(|_| connections.admit(own)).collect();
        assert!(places.iter().flatten().all(|admitted| !admitted.evicted));
        assert!(
            connections
                .admit(own)
                .is_some_and(|admitted| admitted.evicted)
        );
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        for (text, network) in [
            ("10.0.0.1", "10.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(network_of(address).to_string(), network);
        }
    }
}
