//! An answer of a service that arrives later.

use std::future::Future;
use std::pin::Pin;

use super::refusal::Refusal;

/// A read or a change that runs outside the caller's thread.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;
