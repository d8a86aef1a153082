//! Boxed futures, for traits that are used as objects, and for functions that other crates await.

use std::future::Future;
use std::pin::Pin;

/// A boxed future, for traits that are used as objects. It is compiled where it is made. The body of an `async fn` is compiled in each crate that
/// awaits it, with all that it awaits and spawns.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The same for a future that stays on its thread.
pub type LocalBoxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Returns a future that is already complete.
pub fn done<'a, T: Send + 'a>(value: T) -> Boxed<'a, T> {
    Box::pin(std::future::ready(value))
}
