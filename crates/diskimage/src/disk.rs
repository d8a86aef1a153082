//! The disk at a moment of a recording: the durable part of every file and directory, and the pending changes.

use std::collections::{BTreeMap, HashMap};

use crate::recording::{Operation, Recording, listed};

/// A file or directory; inodes are used again, these numbers never.
pub(crate) type Object = usize;

/// A change of a file's data that no successful sync has covered.
#[derive(Clone, Copy)]
pub(crate) struct Pending<'a> {
    pub(crate) sequence: u64,
    pub(crate) change: Change<'a>,
    /// A sync covers it; it is only kept here because something before it is uncertain.
    pub(crate) certain: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Change<'a> {
    Write { offset: u64, data: &'a [u8] },
    Truncate { length: u64 },
    Allocate { end: u64 },
}

/// A file's data: the durable part, and the changes since, in order.
#[derive(Default)]
pub(crate) struct FileData<'a> {
    pub(crate) durable: Vec<u8>,
    pub(crate) pending: Vec<Pending<'a>>,
    /// Changes up to this one were part of a failed sync: no later sync makes them durable.
    lost_before: u64,
}

/// A change of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    Link {
        parent: Object,
        name: String,
        object: Object,
    },
    Unlink {
        parent: Object,
        name: String,
    },
    Move {
        from: (Object, String),
        to: (Object, String),
        object: Object,
    },
}

pub(crate) type Names = BTreeMap<(Object, String), Object>;

/// The state of the recorded directory after some operation.
pub(crate) struct Disk<'a> {
    root: String,
    pub(crate) root_object: Object,
    objects: HashMap<u64, Object>,
    pub(crate) files: Vec<Option<FileData<'a>>>,
    /// Names as the process sees them.
    names: Names,
    pub(crate) durable_names: Names,
    /// Changes of names that no directory sync has covered, in order.
    pub(crate) pending_names: Vec<(u64, Naming)>,
    syncing: HashMap<u64, Option<Object>>,
}

impl<'a> Disk<'a> {
    /// Returns the disk after the operations up to and including `sequence`.
    pub(crate) fn at(recording: &'a Recording, sequence: u64) -> Self {
        let mut disk = Self {
            root: String::new(),
            root_object: 0,
            // The root directory is object 0.
            files: vec![None],
            objects: HashMap::new(),
            names: Names::new(),
            durable_names: Names::new(),
            pending_names: Vec::new(),
            syncing: HashMap::new(),
        };
        for (number, operation) in recording
            .operations()
            .take_while(|(number, _)| *number <= sequence)
        {
            if let Some(operation) = operation {
                disk.apply(number, operation);
            }
        }
        disk
    }

    fn apply(&mut self, sequence: u64, operation: Operation<'a>) {
        match operation {
            Operation::Root { inode, path } => {
                self.root = path.to_owned();
                self.objects.insert(inode, self.root_object);
            }
            Operation::Create { inode, path } => {
                let object = self.new_object(inode, Some(FileData::default()));
                self.link(sequence, path, object);
            }
            Operation::Open { inode, path } => self.found(sequence, inode, path),
            Operation::Mkdir { inode, path } => {
                let object = self.new_object(inode, None);
                self.link(sequence, path, object);
            }
            Operation::Write {
                inode,
                offset,
                data,
            } => self.change(sequence, inode, Change::Write { offset, data }),
            Operation::Truncate { inode, length } => {
                self.change(sequence, inode, Change::Truncate { length })
            }
            Operation::Allocate { inode, end } => {
                self.change(sequence, inode, Change::Allocate { end })
            }
            Operation::SyncBegin { inode } => {
                self.syncing
                    .insert(sequence, self.objects.get(&inode).copied());
            }
            Operation::SyncEnd { begin, failed, .. } => {
                if let Some(Some(object)) = self.syncing.remove(&begin) {
                    self.synced(object, begin, failed);
                }
            }
            Operation::Rename { from, to } => self.rename(sequence, from, to),
            Operation::Link { from, to } => {
                let object = self.place(from).and_then(|from| self.names.get(&from));
                if let Some(object) = object.copied() {
                    self.link(sequence, to, object);
                }
            }
            Operation::Unlink { path } | Operation::Rmdir { path } => {
                if let Some(place) = self.place(path)
                    && self.names.remove(&place).is_some()
                {
                    let (parent, name) = place;
                    self.pending_names
                        .push((sequence, Naming::Unlink { parent, name }));
                }
            }
            Operation::Listing { inode, names } => self.compare_listing(sequence, inode, names),
            Operation::Unsupported { .. } => {}
        }
    }

    fn new_object(&mut self, inode: u64, data: Option<FileData<'a>>) -> Object {
        self.files.push(data);
        let object = self.files.len() - 1;
        self.objects.insert(inode, object);
        object
    }

    /// Returns the parent and the name of a path that is not the root's.
    fn place(&self, path: &str) -> Option<(Object, String)> {
        let inside = path.strip_prefix(&self.root)?.strip_prefix('/')?;
        let mut parent = self.root_object;
        let mut parts = inside.split('/').filter(|part| !part.is_empty()).peekable();
        loop {
            let part = parts.next()?;
            if parts.peek().is_none() {
                return Some((parent, part.to_owned()));
            }
            parent = *self.names.get(&(parent, part.to_owned()))?;
        }
    }

    fn link(&mut self, sequence: u64, path: &str, object: Object) {
        if let Some((parent, name)) = self.place(path) {
            self.names.insert((parent, name.clone()), object);
            self.pending_names.push((
                sequence,
                Naming::Link {
                    parent,
                    name,
                    object,
                },
            ));
        }
    }

    /// Handles a file opened under an unknown name: it was renamed without a record.
    fn found(&mut self, sequence: u64, inode: u64, path: &str) {
        let Some(place) = self.place(path) else {
            return;
        };
        match self.objects.get(&inode).copied() {
            Some(object) if self.names.get(&place) != Some(&object) => {
                self.moved(sequence, object, place)
            }
            Some(_) => {}
            None => {
                let object = self.new_object(inode, Some(FileData::default()));
                self.link(sequence, path, object);
            }
        }
    }

    fn moved(&mut self, sequence: u64, object: Object, to: (Object, String)) {
        let from = self
            .names
            .iter()
            .find(|(_, other)| **other == object)
            .map(|(place, _)| place.clone());
        if let Some(from) = &from {
            self.names.remove(from);
        }
        self.names.insert(to.clone(), object);
        let naming = match from {
            Some(from) => Naming::Move { from, to, object },
            None => Naming::Link {
                parent: to.0,
                name: to.1,
                object,
            },
        };
        self.pending_names.push((sequence, naming));
    }

    fn rename(&mut self, sequence: u64, from: &str, to: &str) {
        let (Some(from), Some(to)) = (self.place(from), self.place(to)) else {
            return;
        };
        if let Some(object) = self.names.remove(&from) {
            self.names.insert(to.clone(), object);
            self.pending_names
                .push((sequence, Naming::Move { from, to, object }));
        }
    }

    /// Names that changed without being seen become changes of this moment.
    fn compare_listing(&mut self, sequence: u64, inode: u64, names: &[u8]) {
        let Some(parent) = self.objects.get(&inode).copied() else {
            return;
        };
        let real: BTreeMap<String, u64> = listed(names)
            .map(|(inode, name)| (name.to_owned(), inode))
            .collect();
        for (name, inode) in &real {
            let place = (parent, name.clone());
            if let Some(object) = self.objects.get(inode).copied()
                && self.names.get(&place) != Some(&object)
            {
                self.moved(sequence, object, place);
            }
        }
        let gone: Vec<String> = self
            .names
            .range((parent, String::new())..(parent + 1, String::new()))
            .filter(|((_, name), _)| !real.contains_key(name))
            .map(|((_, name), _)| name.clone())
            .collect();
        for name in gone {
            self.names.remove(&(parent, name.clone()));
            self.pending_names
                .push((sequence, Naming::Unlink { parent, name }));
        }
    }

    fn change(&mut self, sequence: u64, inode: u64, change: Change<'a>) {
        let object = self.objects.get(&inode).copied();
        if let Some(Some(file)) = object.map(|object| &mut self.files[object]) {
            file.pending.push(Pending {
                sequence,
                change,
                certain: false,
            });
        }
    }

    fn synced(&mut self, object: Object, begin: u64, failed: bool) {
        match &mut self.files[object] {
            Some(file) => file.synced(begin, failed),
            None if failed => {}
            None => {
                let (durable, pending) = (&mut self.durable_names, &mut self.pending_names);
                pending.retain(|(sequence, naming)| {
                    let covered = *sequence < begin && naming.touches(object);
                    if covered {
                        naming.apply(durable);
                    }
                    !covered
                });
            }
        }
    }
}

impl FileData<'_> {
    /// Handles the end of a sync that began at `begin`.
    fn synced(&mut self, begin: u64, failed: bool) {
        if failed {
            self.lost_before = begin;
            return;
        }
        for pending in &mut self.pending {
            pending.certain |= pending.sequence < begin && pending.sequence > self.lost_before;
        }
        let certain = self
            .pending
            .iter()
            .take_while(|pending| pending.certain)
            .count();
        for pending in self.pending.drain(..certain) {
            pending.change.apply(&mut self.durable);
        }
    }
}

impl Change<'_> {
    /// Applies the whole change.
    pub(crate) fn apply(&self, file: &mut Vec<u8>) {
        match *self {
            Change::Write { offset, data } => write(file, offset, data),
            Change::Truncate { length } => file.resize(length as usize, 0),
            Change::Allocate { end } => file.resize(file.len().max(end as usize), 0),
        }
    }
}

/// Writes a piece, with zeroes before it where the file was shorter.
pub(crate) fn write(file: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let (start, end) = (offset as usize, offset as usize + data.len());
    if file.len() < end {
        file.resize(end, 0);
    }
    file[start..end].copy_from_slice(data);
}

impl Naming {
    fn touches(&self, directory: Object) -> bool {
        match self {
            Naming::Link { parent, .. } | Naming::Unlink { parent, .. } => *parent == directory,
            Naming::Move { from, to, .. } => from.0 == directory || to.0 == directory,
        }
    }

    /// Applies the change if its starting point exists.
    pub(crate) fn apply(&self, names: &mut Names) {
        match self {
            Naming::Link {
                parent,
                name,
                object,
            } => {
                names.insert((*parent, name.clone()), *object);
            }
            Naming::Unlink { parent, name } => {
                names.remove(&(*parent, name.clone()));
            }
            Naming::Move { from, to, object } => {
                // A rename also moves a file whose creation under its first name was never durable: the directory's
                // sync writes the directory as it is.
                names.remove(from);
                names.insert(to.clone(), *object);
            }
        }
    }
}
