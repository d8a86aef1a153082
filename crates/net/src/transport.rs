//! The running transport: one thread for all connections.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use primitives::Coded;
use thiserror::Error;
use tokio::runtime;
use tokio::sync::oneshot;

use crate::accept;
use crate::errors;
use crate::handle::Handle;
use crate::options::Options;
use crate::shared::TransportState;
use crate::sink::Sink;
use crate::tls::TlsMaterialError;

/// Why a transport does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen for peers on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The TLS material cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsMaterialError),
    /// A setting is out of range.
    #[error("connections between nodes: {0}")]
    Option(&'static str),
    /// The operating system refused a thread or an event loop.
    #[error("the thread of the connections does not start: {0}")]
    System(io::Error),
}

impl Coded for StartError {
    fn code(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "net.listen_failed",
            Self::Tls(error) => error.code(),
            Self::Option(_) => "net.bad_option",
            Self::System(_) => "net.start_failed",
        }
    }

    fn hint(&self) -> &'static str {
        errors::action(self.code())
    }
}

/// The running connections of a node. Dropping it ends them.
pub struct Transport {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Transport {
    /// Listens, connects to the peers that this node has to dial, and hands incoming messages to
    /// `sink`.
    pub fn start(mut options: Options, sink: Arc<dyn Sink>) -> Result<Self, StartError> {
        options.check().map_err(StartError::Option)?;
        let address = options.listen;
        let peers = std::mem::take(&mut options.peers);
        let shared = Arc::new(TransportState::new(options, sink)?);
        let listening = |source| StartError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listening)?;
        listener.set_nonblocking(true).map_err(listening)?;
        let address = listener.local_addr().map_err(listening)?;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::System)?;
        let handle = Handle {
            shared,
            runtime: runtime.handle().clone(),
            address,
        };
        let listener = {
            let _in_runtime = runtime.enter();
            tokio::net::TcpListener::from_std(listener).map_err(listening)?
        };
        handle.set_peers(peers);
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&handle.shared);
        let work = move || {
            runtime.block_on(async {
                let accepting = tokio::spawn(accept::accept(Arc::clone(&shared), listener));
                // Told to stop, or the sender was dropped.
                let _ = stopped.await;
                accepting.abort();
                shared.finish();
            });
            // A look-up of a host name may hang, so the runtime does not wait for it.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new()
            .name("net".into())
            .spawn(work)
            .map_err(StartError::System)?;
        Ok(Self {
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the handle through which other threads send.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Transport {
    /// Sends what it can without waiting, closes all connections with a TLS close_notify, and joins the thread.
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails only if the thread is gone already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}
