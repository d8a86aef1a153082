//! The files of the simulated nodes: complete files on their disks, and transfers, which may be late, fail or arrive damaged.

use std::collections::{BTreeMap, BTreeSet};

use kernel::files::{FileFailure, FileOffer, FileRow};
use kernel::port::Table;
use kernel::{Action, Event};
use ledger::{ContractExecutor, SignedTransaction, TxId};
use primitives::{Decode, Hash};

use crate::auditor::{Auditor, holder};
use crate::node::Node;
use crate::town::{NODES, SHORT, Town};
use crate::world::{What, World};

/// Time without an answer after which a node considers a peer unreachable, in microseconds.
const SILENCE_US: u64 = 2_000_000;
/// Codes that a node logs about files that do not arrive.
const COMPLAINTS: [&str; 4] = [
    "node.delivery_waits",
    "tx.attachment_unavailable",
    "tx.attachment_mismatch",
    "file.not_stored",
];

/// A file that a node asked a peer for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    peer: usize,
    transaction: TxId,
    /// Distinguishes this request from other requests for the same file.
    number: u64,
}

/// A step of a file transfer to a node.
pub(crate) struct Step {
    node: usize,
    hash: Hash,
    number: u64,
    what: Stage,
}

enum Stage {
    /// The request arrives at the peer.
    Asked,
    /// The answer arrives at the node.
    Answered(Option<FileOffer>),
    /// The last byte arrives.
    Whole(FileOffer),
    /// No answer has come for too long.
    Silence,
}

/// The files and transfers of all nodes.
#[derive(Default)]
pub(crate) struct Files {
    /// Complete files, by node. They survive a crash.
    pub(crate) whole: [BTreeSet<Hash>; NODES],
    wanted: [BTreeMap<Hash, Wanted>; NODES],
    next: u64,
}

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
                let Some(peer) = self.town.node_of(&peer) else {
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
                let Some(to) = self.town.node_of(&peer) else {
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
                    peer: self.town.ids[node],
                    hash,
                    transaction: wanted.transaction,
                };
                self.mail(from, event);
            }
            Stage::Silence => self.file_fails(node, hash, FileFailure::Gone),
            Stage::Answered(None) => {
                // A node that delivers a transaction has its files and serves them.
                let text = format!("{} does not give {} file {hash}", SHORT[from], SHORT[node]);
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
                    peer: self.town.ids[from],
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
                    peer: self.town.ids[from],
                };
                self.mail(node, event);
            }
        }
    }

    fn file_fails(&mut self, node: usize, hash: Hash, failure: FileFailure) {
        if let Some(wanted) = self.files.wanted[node].remove(&hash) {
            let peer = self.town.ids[wanted.peer];
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

/// Returns whether a warning is about a file that does not arrive, which happens in these runs.
pub(crate) fn is_expected(code: &str) -> bool {
    COMPLAINTS.contains(&code)
}

/// Returns the files that a transaction lists.
fn files_of(town: &Town, signed: &SignedTransaction) -> Vec<Hash> {
    let listed = signed.wire().attachments().iter();
    let files = listed.filter(|hash| town.contracts().descriptor(hash).is_none());
    files.copied().collect()
}

/// Returns whether a node participates in an output of a transaction.
fn takes_part(town: &Town, nodes: &[Node], signed: &SignedTransaction, node: usize) -> bool {
    let outputs = signed.wire().outputs().iter();
    let facts = outputs.filter_map(|state| town.contracts().describe(state).ok());
    let mut participants = facts.flat_map(|facts| facts.participants);
    participants.any(|key| holder(town, nodes, &key) == Some(node))
}

impl Auditor {
    /// Checks a node that claims to have a transaction: if it participates, it has the files durably.
    pub(crate) fn check_files_of(
        &mut self,
        town: &Town,
        nodes: &[Node],
        node: usize,
        signed: &SignedTransaction,
    ) {
        let files = files_of(town, signed);
        if files.is_empty() || !takes_part(town, nodes, signed, node) {
            return;
        }
        let rows = nodes[node].disk.durable().rows(Table::Attachments);
        for hash in files {
            self.expect(rows.contains_key(hash.as_bytes().as_slice()), || {
                let id = signed.id();
                format!(
                    "{} takes part in {id} and lacks its file {hash}",
                    SHORT[node]
                )
            });
        }
    }

    /// Checks the files at the end. Participants have their files, the references match the ledger, and each file with a row is
    /// on the disk.
    pub(crate) fn check_files(
        &mut self,
        town: &Town,
        nodes: &[Node],
        whole: &[BTreeSet<Hash>; NODES],
    ) {
        for (node, short) in SHORT.iter().enumerate() {
            let durable = nodes[node].disk.durable();
            let mut expected: BTreeMap<Hash, u64> = BTreeMap::new();
            let mut references: BTreeSet<Vec<u8>> = BTreeSet::new();
            for row in durable.rows(Table::Ledger).values() {
                let Ok((_, signed)) = kernel::decode_row(row) else {
                    continue;
                };
                self.check_files_of(town, nodes, node, &signed);
                for hash in files_of(town, &signed) {
                    *expected.entry(hash).or_default() += 1;
                    let key = [hash.as_bytes().as_slice(), signed.id().as_bytes()].concat();
                    references.insert(key);
                }
            }
            let rows = durable.rows(Table::FileRefs);
            let same = rows.len() == references.len();
            self.expect(
                same && rows.keys().all(|key| references.contains(key)),
                || format!("{short}: the references to files are not those of its ledger"),
            );
            for (key, value) in durable.rows(Table::Attachments) {
                let hash = Hash::from_slice(key).unwrap_or(Hash::ZERO);
                let refs = FileRow::from_bytes(value).map(|row| row.refs).ok();
                let counted = expected.get(&hash).copied().unwrap_or_default();
                self.expect(refs == Some(counted), || {
                    format!("{short}: file {hash} has {refs:?} references where {counted} are")
                });
                self.expect(whole[node].contains(&hash), || {
                    format!("{short}: file {hash} has a row and is not on the disk")
                });
            }
        }
    }
}
