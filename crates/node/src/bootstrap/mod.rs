//! Bootstrapping a network: from one description to a folder for each node, with keys, certificates and the network map.
//!
//! ```text
//!   OUT/network-root/   root.key.pem root.pem network.key network/     (keep these away from the nodes)
//!   OUT/<node>/         node.toml root.pem network.pub tls.pem tls.key.pem identity.key api-token users.toml
//!                       network/parameters network/nodes/<party id>
//! ```
//! The root certifies TLS keys. The network key signs the parameters and node infos. A repeated run only adds: keys, tokens and
//! configurations stay, and of the network's documents only the affected ones change. A certificate is renewed if it ends within
//! [`RENEWED_DAYS`].

pub(crate) mod authority;
mod certificate;
mod documents;
mod error;
pub(crate) mod files;
mod network;
mod node_files;
pub(crate) mod ports;
pub(crate) mod spec;
mod validity;

pub(crate) use documents::member_file;
pub use error::{BootstrapError, ERRORS};
pub(crate) use error::{CERTIFICATE_ENDS, ROOT_ENDS};
pub use network::{Bootstrapped, BootstrappedNode, PLATFORM_VERSION, bootstrap};
pub(crate) use node_files::CertificatesEnd;
pub use node_files::{NodeFiles, load_node_dir};
pub use spec::{NetworkSpec, NodeSpec};
pub use validity::{RENEWED_DAYS, days_left, not_after};
