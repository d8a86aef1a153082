//! The files of the test network: each node's disk holds some whole, and they travel at once, or as a test wants it.

use std::collections::BTreeMap;

use kernel::files::FileFailure;
use kernel::{Action, Event, Reply, Token};
use ledger::TxId;
use primitives::Hash;

use super::Testnet;

/// The behaviour of file transfers to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransferBehaviour {
    /// The file arrives at once.
    #[default]
    Whole,
    /// The file arrives only when the test delivers it.
    Never,
    /// The bytes do not match the hash.
    Damaged,
    /// The sender is away.
    Away,
    /// The disk is full.
    Full,
}

/// A node's files.
#[derive(Debug, Default)]
pub struct NodeFiles {
    /// The bytes of stored files, by hash.
    pub whole: BTreeMap<Hash, Vec<u8>>,
    /// The behaviour of transfers to this node.
    pub transfers: TransferBehaviour,
    /// The size that it claims for each file, if it lies.
    pub claimed_size: Option<u64>,
    /// Files that it requests and has not received: the node asked, the transaction, and the size.
    pub wanted: BTreeMap<Hash, (usize, TxId, u64)>,
    /// Files that it gave up.
    pub abandoned: Vec<Hash>,
}

impl Testnet {
    pub(super) fn on_file_action(&mut self, node: usize, action: Action) {
        match action {
            Action::FetchFile {
                hash,
                peer,
                transaction,
                size_max,
            } => {
                let from = self.nodes.iter().position(|other| other.id == peer);
                let from = from.expect("a known peer");
                self.fetched.push((node, from, hash));
                let wanted = (from, transaction, size_max);
                self.nodes[node].files.wanted.insert(hash, wanted);
                match self.nodes[node].files.transfers {
                    TransferBehaviour::Never => {}
                    TransferBehaviour::Away => self.file_failed(node, hash, FileFailure::Gone),
                    TransferBehaviour::Whole
                    | TransferBehaviour::Damaged
                    | TransferBehaviour::Full => self.ask_for_file(node, hash),
                }
            }
            Action::PermitFile { peer, hash, offer } => {
                let to = self.nodes.iter().position(|other| other.id == peer);
                let to = to.expect("a known peer");
                let Some((from, _, size_max)) = self.nodes[to].files.wanted.get(&hash).copied()
                else {
                    self.permits.push((node, to, hash, offer));
                    return;
                };
                assert_eq!(from, node, "another one answers");
                let bytes = self.nodes[node].files.whole.get(&hash).cloned();
                self.permits.push((node, to, hash, offer.clone()));
                let (Some(offer), Some(bytes)) = (offer, bytes) else {
                    self.file_failed(to, hash, FileFailure::Unknown);
                    return;
                };
                let size = self.nodes[node].files.claimed_size.unwrap_or(offer.size);
                if size > size_max {
                    self.file_failed(to, hash, FileFailure::TooLarge { size });
                    return;
                }
                let peer = self.nodes[node].id;
                self.tell(to, Event::FileOffered { hash, peer, size });
                match self.nodes[to].files.transfers {
                    TransferBehaviour::Damaged => self.file_failed(to, hash, FileFailure::Mismatch),
                    TransferBehaviour::Full => {
                        let code = "files.disk_full".to_owned();
                        self.file_failed(to, hash, FileFailure::Disk { code });
                    }
                    _ => {
                        self.nodes[to].files.wanted.remove(&hash);
                        self.nodes[to].files.whole.insert(hash, bytes);
                        self.tell(
                            to,
                            Event::FileArrived {
                                hash,
                                size: offer.size,
                                name: offer.name,
                                media_type: offer.media_type,
                                peer,
                            },
                        );
                    }
                }
            }
            Action::AbandonFile { hash } => {
                self.nodes[node].files.wanted.remove(&hash);
                self.nodes[node].files.abandoned.push(hash);
            }
            Action::DropFile { hash } => drop(self.nodes[node].files.whole.remove(&hash)),
            other => panic!("{other:?} is about no file"),
        }
    }

    /// Requests a file from the node that the kernel chose.
    pub fn ask_for_file(&mut self, node: usize, hash: Hash) {
        let (from, transaction, _) = self.nodes[node].files.wanted[&hash];
        let peer = self.nodes[node].id;
        if self.nodes[from].kernel.is_none() {
            return self.file_failed(node, hash, FileFailure::Gone);
        }
        self.tell(
            from,
            Event::FilePermit {
                peer,
                hash,
                transaction,
            },
        );
    }

    /// Reports the failure of a file that a node requested.
    pub fn file_failed(&mut self, node: usize, hash: Hash, failure: FileFailure) {
        if let Some((from, ..)) = self.nodes[node].files.wanted.remove(&hash) {
            let peer = self.nodes[from].id;
            self.tell(
                node,
                Event::FileFailed {
                    hash,
                    peer,
                    failure,
                },
            );
        }
    }

    /// Uploads a file as a user. Returns its hash and the node's reply.
    pub fn upload(&mut self, node: usize, bytes: &[u8], name: &str) -> (Hash, Reply) {
        let hash = Hash::plain(bytes);
        self.nodes[node].files.whole.insert(hash, bytes.to_vec());
        let size = bytes.len() as u64;
        let reply = self.about_file(node, |token| Event::FileStored {
            hash,
            size,
            name: name.to_owned(),
            media_type: "text/plain".to_owned(),
            user: "ann".to_owned(),
            token,
        });
        (hash, reply)
    }

    /// Sends an event about a file to a node, and returns the reply.
    pub fn about_file(&mut self, node: usize, event: impl FnOnce(Token) -> Event) -> Reply {
        let token = self.token();
        self.tell(node, event(Token(token)));
        self.settle();
        self.replies.remove(&token).expect("an answer")
    }
}
