//! The messages to the kernel.

use std::convert::Infallible;

use kernel::Event;
use runtime::{Handle, Messages};

/// The messages that the kernel takes. All questions to it are events.
pub(crate) struct KernelMessages;

impl Messages for KernelMessages {
    type Event = Event;
    type Query = Infallible;

    fn peer_bytes(event: &Event) -> usize {
        match event {
            Event::Message { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }
}

/// The way to the kernel.
pub(crate) type KernelHandle = Handle<KernelMessages>;
