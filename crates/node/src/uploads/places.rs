//! How many transfers run at once, of everybody and of each user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// See the module.
#[derive(Debug)]
pub(super) struct Places {
    all_max: usize,
    per_user_max: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_user: HashMap<Arc<str>, usize>,
}

/// A place, given back when dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    user: Arc<str>,
}

impl Places {
    pub(super) fn new(all_max: usize, per_user_max: usize) -> Self {
        Self {
            all_max,
            per_user_max,
            taken: Mutex::default(),
        }
    }

    pub(super) fn take(self: &Arc<Self>, user: &Arc<str>) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.by_user.get(user).copied().unwrap_or(0);
        if taken.all >= self.all_max || own >= self.per_user_max {
            return None;
        }
        taken.all += 1;
        taken.by_user.insert(Arc::clone(user), own + 1);
        Some(Place {
            places: Arc::clone(self),
            user: Arc::clone(user),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self
            .places
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        taken.all = taken.all.saturating_sub(1);
        let left = taken.by_user.get(&self.user).copied().unwrap_or(0);
        if left > 1 {
            taken.by_user.insert(Arc::clone(&self.user), left - 1);
        } else {
            taken.by_user.remove(&self.user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_for_all_and_for_each_and_come_back() {
        let places = Arc::new(Places::new(3, 2));
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        let first = places.take(&ann);
        let second = places.take(&ann);
        assert!(first.is_some() && second.is_some() && places.take(&ann).is_none());
        let third = places.take(&bob);
        assert!(third.is_some() && places.take(&bob).is_none());
        drop(first);
        assert!(places.take(&bob).is_some());
        drop((second, third));
        let taken = places.taken.lock().expect("whole");
        assert_eq!((taken.all, taken.by_user.len()), (0, 0));
    }
}
