//! Disk images after a power cut: records the writes, renames and syncs of a process, and rebuilds the directory at any
//! moment of the recording with the unsynced part dropped, reordered or torn.
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
//! Durability is exactly the promise of POSIX. The data and length of a file are durable once a sync that *began after*
//! the write has succeeded; a name is durable once its directory was synced. Changes covered by a failed sync are never
//! durable, even if later syncs succeed. A rename is atomic; a sector of 512 bytes is written whole or not at all.
//!
//! Test-only. A recording may span several processes, one after the other, if each ended by itself.

mod disk;
mod image;
mod recorder;
mod recording;

pub use image::Policy;
pub use recorder::Recorder;
pub use recording::{Operation, Recording, RecordingError};
