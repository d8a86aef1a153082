//! The failures that end a core.

use std::any::Any;

use primitives::ErrorInfo;
use primitives::storage::{FailureKind, StoreFailure};

/// Returns the message of a panic.
#[must_use]
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic without a message".to_owned(),
    }
}

/// Returns the failure that follows a panic of a part of the node.
pub(crate) fn of_panic(panicked: ErrorInfo, part: &str, panic: &(dyn Any + Send)) -> StoreFailure {
    StoreFailure {
        kind: FailureKind::Panic,
        code: panicked.code,
        message: format!("the node's {part} met a bug: {}", panic_text(panic)),
        hint: panicked.action,
    }
}
