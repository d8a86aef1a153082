//! Transfers of files between the simulated nodes. They may be late, fail or arrive damaged.

use kernel::files::FileFailure;
use kernel::port::Table;
use kernel::{Action, Event};
use primitives::Hash;

use crate::files::{Stage, Step, Wanted};
use crate::membership::SHORT;
use crate::world::{What, World};

/// Time without an answer after which a node considers a peer unreachable, in microseconds.
const SILENCE_US: u64 = 2_000_000;

impl World {
    /// Uploads the file that a flow will refer to.
    pub(crate) fn upload(&mut self, node: usize, hash: Hash, size: u64) {
        self.files.whole[node].insert(hash);
        let token = self.clients.upload();
        let event = Event::FileStored {
            hash,
            size,
            name: "a file".to_owned(),
            media_type: String::new(),
            user: "somebody".to_owned(),
            token,
        };
        self.mail(node, event);
    }

    /// Performs a kernel's action on a file.
    pub(crate) fn file_action(&mut self, node: usize, action: Action) {
        match action {
            Action::FetchFile {
                hash,
                peer,
                transaction,
                ..
            } => {
                let Some(peer) = self.membership.node_of(&peer) else {
                    return;
                };
                self.note(node, format_args!("asks {} for {hash}", SHORT[peer]));
                self.files.next += 1;
                let number = self.files.next;
                let wanted = Wanted {
                    peer,
                    transaction,
                    number,
                };
                self.files.wanted[node].insert(hash, wanted);
                let soon = self.chance.between(50, 5_000);
                self.file_step(soon, node, hash, number, Stage::Asked);
                self.file_step(SILENCE_US, node, hash, number, Stage::Silence);
            }
            Action::AbandonFile { hash } => drop(self.files.wanted[node].remove(&hash)),
            Action::PermitFile { peer, hash, offer } => {
                let Some(to) = self.membership.node_of(&peer) else {
                    return;
                };
                let Some(wanted) = self.files.wanted[to].get(&hash) else {
                    return;
                };
                if wanted.peer == node {
                    let number = wanted.number;
                    let soon = self.chance.between(50, 5_000);
                    self.file_step(soon, to, hash, number, Stage::Answered(offer));
                }
            }
            Action::DropFile { hash } => {
                let rows = self.nodes[node].disk.durable().rows(Table::Attachments);
                if !rows.contains_key(hash.as_bytes().as_slice()) {
                    self.files.whole[node].remove(&hash);
                }
            }
            _ => {}
        }
    }

    fn file_step(&mut self, after_us: u64, node: usize, hash: Hash, number: u64, what: Stage) {
        let step = Step {
            node,
            hash,
            number,
            what,
        };
        self.at(after_us, What::File(Box::new(step)));
    }

    pub(crate) fn on_file_step(&mut self, step: Step) {
        let Step {
            node,
            hash,
            number,
            what,
        } = step;
        let wanted = self.files.wanted[node].get(&hash).copied();
        let Some(wanted) = wanted.filter(|wanted| wanted.number == number) else {
            return;
        };
        let from = wanted.peer;
        match what {
            Stage::Asked => {
                if !self.nodes[from].is_up() {
                    return self.file_fails(node, hash, FileFailure::Gone);
                }
                let event = Event::FilePermit {
                    peer: self.membership.ids[node],
                    hash,
                    transaction: wanted.transaction,
                };
                self.mail(from, event);
            }
            Stage::Silence => self.file_fails(node, hash, FileFailure::Gone),
            Stage::Answered(None) => {
                // A node that delivers a transaction has its files and serves them.
                let text = format!(
                    "{} does not serve {} the file {hash}",
                    SHORT[from], SHORT[node]
                );
                self.auditor.found(text);
            }
            Stage::Answered(Some(offer)) => {
                let is_whole = self.files.whole[from].contains(&hash);
                self.auditor.expect(is_whole, || {
                    format!(
                        "{} offers file {hash}, which is not on its disk",
                        SHORT[from]
                    )
                });
                let event = Event::FileOffered {
                    hash,
                    peer: self.membership.ids[from],
                    size: offer.size,
                };
                self.mail(node, event);
                let slow = self.chance.per_mille(300);
                let takes = self
                    .chance
                    .between(100, if slow { 900_000 } else { 20_000 });
                self.file_step(takes, node, hash, number, Stage::Whole(offer));
            }
            Stage::Whole(offer) => {
                if !self.calm {
                    let code = || "files.disk_full".to_owned();
                    let failure = match self.chance.below(20) {
                        0 | 1 => Some(FileFailure::Gone),
                        2 => Some(FileFailure::Mismatch),
                        3 => Some(FileFailure::Disk { code: code() }),
                        _ => None,
                    };
                    if let Some(failure) = failure {
                        return self.file_fails(node, hash, failure);
                    }
                }
                self.files.wanted[node].remove(&hash);
                self.files.whole[node].insert(hash);
                self.tally.files += 1;
                let event = Event::FileArrived {
                    hash,
                    size: offer.size,
                    name: offer.name,
                    media_type: offer.media_type,
                    peer: self.membership.ids[from],
                };
                self.mail(node, event);
            }
        }
    }

    fn file_fails(&mut self, node: usize, hash: Hash, failure: FileFailure) {
        if let Some(wanted) = self.files.wanted[node].remove(&hash) {
            let peer = self.membership.ids[wanted.peer];
            let event = Event::FileFailed {
                hash,
                peer,
                failure,
            };
            self.mail(node, event);
        }
    }

    /// Forgets a crashed node's requests. Complete files stay on its disk.
    pub(crate) fn files_crash(&mut self, node: usize) {
        self.files.wanted[node].clear();
    }
}
