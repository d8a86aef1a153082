//! Uploads of users: files on their way into the node, over however many requests.
//!
//! ```text
//! begin ─► Upload ─► take ─► Incoming ─► write … ─► (dropped: back to the upload) ─► take ─► finish ─► published
//! single ────────────────► Incoming ─► write … ─► (dropped: discarded)            ─► finish ─► published
//! ```
//! Bytes go straight to the disk and are hashed on the way, so no file is kept in memory. An upload survives a restart, because
//! its promise lies next to its part. An upload that was idle for long is forgotten.
//!
//! It writes no row: the kernel records published files.

mod begun;
mod blocking;
mod incoming;
mod node_uploads;
mod options;
mod part_owner;
mod places;
mod promise;
mod upload;

pub use incoming::{Incoming, NotPublished, PIECE_BYTES};
pub use node_uploads::{Uploads, watch};
pub use options::UploadLimits;
pub use places::{Place, TransferFigures};
pub use promise::Promise;
pub use upload::Upload;
