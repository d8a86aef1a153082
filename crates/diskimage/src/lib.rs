//! Disks as a power cut would leave them: records what a process writes, renames and syncs, and rebuilds the directory
//! at any moment of the recording with the unsynced part dropped, reordered or torn.
//!
//! ```no_run
//! use diskimage::{Policy, Recorder, Recording};
//! use std::{path::Path, process::Command};
//!
//! let recorder = Recorder::new(Path::new("/tmp/run/store"), Path::new("/tmp/run/recording"));
//! let mut child = Command::new("the-program");
//! recorder.arm(&mut child).status().unwrap();        // it calls recorder.sequence() whenever something is acknowledged
//! let recording = Recording::load(recorder.log()).unwrap();
//! recording.image_at(4711, Policy::Torn, 1, Path::new("/tmp/run/image")).unwrap();
//! ```
//!
//! What counts as durable, as POSIX promises and no more: the data and length of a file once a sync that *began after*
//! the write has succeeded; a name once its directory was synced. After a failed sync what it would have covered is
//! never durable, whatever later syncs say. A rename is atomic; a sector of 512 bytes is written whole or not at all.
//!
//! Test-only. A recording may span several processes, one after the other, if each ended by itself.

mod disk;
mod image;
mod recorder;
mod recording;

pub use image::Policy;
pub use recorder::Recorder;
pub use recording::{Operation, Recording, RecordingError};
