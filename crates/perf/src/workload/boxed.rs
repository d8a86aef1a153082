//! Boxed futures, for traits that are used as objects.

use std::future::Future;
use std::pin::Pin;

/// A boxed future, for traits that are used as objects.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Returns a future that is already complete.
pub fn done<'a, T: Send + 'a>(value: T) -> Boxed<'a, T> {
    Box::pin(std::future::ready(value))
}
