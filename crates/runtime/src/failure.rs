//! The failures that end a core.

use std::any::Any;

use primitives::storage::{FailureKind, StoreFailure};

use crate::core::Core;

/// Returns the message of a panic.
#[must_use]
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a text".to_owned(),
    }
}

/// Returns the failure that follows a panic of a core or of its shell.
pub(crate) fn of_panic<C: Core>(panic: &(dyn Any + Send)) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Panic,
        code: C::PANICKED.code,
        message: format!("the node's {} met a bug: {}", C::SUBJECT, panic_text(panic)),
        hint: C::PANICKED.action,
    }
}
