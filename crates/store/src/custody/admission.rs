//! The decision whether a store may be opened, and how: as the one that it was, as a new one, or as one to adopt.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::anchor::{self, Anchor};
use super::check;
use super::keeper::Keeper;
use super::listing::Listing;
use super::mark::{Mark, Position};
use super::options::{Custody, Places, set_aside};
use super::store_id::StoreId;
use crate::directory::{self, Directory, Format, STORED};
use crate::failure::OpenError;

/// A store that may be opened.
pub(crate) struct Admitted {
    pub(crate) directory: Directory,
    pub(crate) keeper: Keeper,
    /// The last acknowledged record, which the log must contain.
    pub(crate) sequence: u64,
}

/// The content of the anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchored {
    /// The options name no anchor file.
    NotKept,
    /// The anchor file is missing.
    Absent,
    /// The identity has no store yet.
    Fresh,
    Of(StoreId),
}

/// The content of the `FORMAT` file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marked {
    /// The `FORMAT` file is missing.
    Absent,
    /// A store made before there were inventories, or a copy that was never opened.
    Unlisted,
    Of(StoreId),
}

/// How a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// Make a new store: there is none, and none is expected.
    Create,
    /// Take over a copy, or a store made before there were inventories.
    Adopt,
    /// Open the store that the inventory lists.
    Continue,
}

/// Why a store is not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// The anchor names a store, but its files are missing.
    StoreMissing,
    FormatMissing,
    FormatOlder,
    FormatForeign,
    InventoryMissing,
    InventoryForeign,
    AnchorMissing,
}

/// Decides by the anchor, the `FORMAT` file and the inventory (its store, and whether it says "whole").
fn decide(
    anchor: Anchored,
    format: Marked,
    inventory: Option<(StoreId, bool)>,
) -> Result<Plan, Refusal> {
    let Some((store, whole)) = inventory else {
        return match (anchor, format) {
            (Anchored::Of(_) | Anchored::Absent, Marked::Absent) => Err(Refusal::StoreMissing),
            (Anchored::NotKept | Anchored::Fresh, Marked::Absent) => Ok(Plan::Create),
            (Anchored::Of(_), _) | (_, Marked::Of(_)) => Err(Refusal::InventoryMissing),
            (_, Marked::Unlisted) => Ok(Plan::Adopt),
        };
    };
    match anchor {
        Anchored::Of(own) if own != store => return Err(Refusal::InventoryForeign),
        Anchored::Absent => return Err(Refusal::AnchorMissing),
        Anchored::Of(_) | Anchored::Fresh | Anchored::NotKept => {}
    }
    match format {
        Marked::Of(found) if found != store => Err(Refusal::FormatForeign),
        Marked::Absent if whole => Err(Refusal::FormatMissing),
        Marked::Unlisted if whole => Err(Refusal::FormatOlder),
        Marked::Of(_) | Marked::Absent | Marked::Unlisted => Ok(Plan::Continue),
    }
}

/// Admits the store in `path`, or refuses it before anything is changed. A new one is begun.
pub(crate) fn admit(
    path: &Path,
    title: &str,
    tables: &[&str],
    custody: Option<&Custody>,
) -> Result<Admitted, OpenError> {
    let entrance = Entrance {
        path,
        title,
        places: Places::of(path, custody),
    };
    if !path.exists() {
        // Before a folder is made.
        entrance.look()?;
    }
    std::fs::create_dir_all(path).map_err(entrance.io(path))?;
    let lock = directory::lock(path)?;
    let (plan, seen) = entrance.look()?;
    let sequence = entrance.check(plan, &seen, tables)?;
    let (listing, mark) = match plan {
        Plan::Create | Plan::Adopt => entrance.begin(&seen)?,
        Plan::Continue => entrance.resume(seen)?,
    };
    for folder in STORED {
        std::fs::create_dir_all(path.join(folder)).map_err(entrance.io(path))?;
    }
    // The anchor will name this store. It must not become durable before the names of the folders above the store.
    let anchor_folder = entrance.places.anchor.as_deref().and_then(Path::parent);
    directory::sync_up_to(path, anchor_folder).map_err(entrance.io(path))?;
    Ok(Admitted {
        directory: Directory::new(path, lock),
        keeper: Keeper::new(entrance.places, listing, mark),
        sequence,
    })
}

/// Makes the checks of [`admit`] on the store in `path`, which no process may have open, and changes nothing. Returns the last
/// acknowledged record, or `None` if a new store would be made.
pub(crate) fn would_admit(
    path: &Path,
    title: &str,
    tables: &[&str],
    custody: Option<&Custody>,
) -> Result<Option<u64>, OpenError> {
    let entrance = Entrance {
        path,
        title,
        places: Places::of(path, custody),
    };
    let (plan, seen) = entrance.look()?;
    if plan == Plan::Create && !path.exists() {
        return Ok(None);
    }
    let sequence = entrance.check(plan, &seen, tables)?;
    Ok((plan != Plan::Create).then_some(sequence))
}

/// Turns a store, which no process has open and whose files were checked, into one that the next start adopts. The inventory and the mark are
/// renamed.
pub(crate) fn readopt(
    path: &Path,
    title: &str,
    custody: Option<&Custody>,
) -> Result<(), OpenError> {
    let entrance = Entrance {
        path,
        title,
        places: Places::of(path, custody),
    };
    let _lock = directory::lock(path)?;
    let places = &entrance.places;
    if let Some(anchor) = &places.anchor {
        anchor::write(anchor, &places.key, Anchor::Fresh).map_err(entrance.io(anchor))?;
    }
    for file in [&places.inventory, &places.mark] {
        set_aside(file).map_err(entrance.io(file))?;
    }
    let made = directory::take_inventory(path)?;
    directory::finish_copy(path, title, &made).map_err(entrance.io(path))
}

/// Returns the tables that the store had when it was last open, if there is an authentic and complete inventory of this store.
pub(crate) fn vouched_tables(
    path: &Path,
    custody: Option<&Custody>,
) -> Result<Option<BTreeSet<String>>, OpenError> {
    let places = Places::of(path, custody);
    let io = |source| OpenError::Io {
        path: places.inventory.clone(),
        source,
    };
    let Some(Ok(listing)) = Listing::read(&places.inventory, &places.key).map_err(io)? else {
        return Ok(None);
    };
    // If the FORMAT file cannot be read, nothing shows that the inventory belongs to this store.
    let format = directory::read_format(path, &listing.title).ok().flatten();
    let is_its_own = format.is_some_and(|format| format.store == Some(listing.store));
    let vouches = listing.whole && is_its_own;
    Ok(vouches.then(|| listing.tables.into_keys().collect()))
}

/// The state of a store's files, read before it is opened.
struct FoundFiles {
    anchor: Anchored,
    format: Option<Format>,
    listing: Option<Listing>,
}

struct Entrance<'a> {
    path: &'a Path,
    title: &'a str,
    places: Places,
}

impl Entrance<'_> {
    fn io(&self, path: &Path) -> impl FnOnce(io::Error) -> OpenError + use<> {
        let path = path.to_path_buf();
        move |source| OpenError::Io { path, source }
    }

    /// Reads the three files that the decision depends on, and decides.
    fn look(&self) -> Result<(Plan, FoundFiles), OpenError> {
        let seen = FoundFiles {
            anchor: self.read_anchor()?,
            format: directory::read_format(self.path, self.title)?,
            listing: self.read_listing()?,
        };
        let format = match &seen.format {
            None => Marked::Absent,
            Some(Format {
                store: Some(id), ..
            }) => Marked::Of(*id),
            Some(_) => Marked::Unlisted,
        };
        let inventory = seen
            .listing
            .as_ref()
            .map(|found| (found.store, found.whole));
        let plan =
            decide(seen.anchor, format, inventory).map_err(|refusal| self.refused(refusal))?;
        Ok((plan, seen))
    }

    fn read_anchor(&self) -> Result<Anchored, OpenError> {
        let Some(path) = &self.places.anchor else {
            return Ok(Anchored::NotKept);
        };
        match anchor::read(path, &self.places.key).map_err(self.io(path))? {
            None => Ok(Anchored::Absent),
            Some(Ok(Anchor::Fresh)) => Ok(Anchored::Fresh),
            Some(Ok(Anchor::Of(id))) => Ok(Anchored::Of(id)),
            Some(Err(reason)) => Err(OpenError::Unlisted {
                path: path.clone(),
                reason,
            }),
        }
    }

    fn read_listing(&self) -> Result<Option<Listing>, OpenError> {
        let path = &self.places.inventory;
        let damaged = |reason| OpenError::Unlisted {
            path: path.clone(),
            reason,
        };
        match Listing::read(path, &self.places.key).map_err(self.io(path))? {
            None => Ok(None),
            Some(Err(reason)) => Err(damaged(reason)),
            Some(Ok(listing)) if listing.title != self.title => Err(damaged(format!(
                "it lists a store of the kind \"{}\", not \"{}\"",
                listing.title, self.title
            ))),
            Some(Ok(listing)) => Ok(Some(listing)),
        }
    }

    /// Makes all checks before a file is changed. Returns the last acknowledged record.
    fn check(&self, plan: Plan, seen: &FoundFiles, tables: &[&str]) -> Result<u64, OpenError> {
        if plan != Plan::Continue {
            self.check_beginning(seen, tables)?;
            return Ok(0);
        }
        let Some(listing) = &seen.listing else {
            return Err(self.refused(Refusal::InventoryMissing));
        };
        if listing.whole {
            let position = self.check_mark(listing)?;
            check::compare(self.path, listing)?;
            return Ok(listing.sequence.max(position.sequence));
        }
        if let Some(Format {
            store: None,
            copy: Some(made),
        }) = &seen.format
        {
            directory::check_whole(self.path, made)?;
        }
        Ok(listing.sequence)
    }

    /// Checks the files that a new store or an adopted one begins with.
    fn check_beginning(&self, seen: &FoundFiles, tables: &[&str]) -> Result<(), OpenError> {
        match &seen.format {
            None => {
                let places = [&self.places.inventory, &self.places.mark];
                directory::refuse_strangers(self.path, &places.map(PathBuf::as_path))
            }
            Some(Format {
                copy: Some(made), ..
            }) => directory::check_whole(self.path, made),
            Some(_) => check::before_adoption(self.path, tables),
        }
    }

    /// Begins a store, or the adoption of one, after the checks. A step that is cut short here is repeated at the next start.
    fn begin(&self, seen: &FoundFiles) -> Result<(Listing, Mark), OpenError> {
        if let (Anchored::Absent, Some(anchor)) = (seen.anchor, &self.places.anchor) {
            // The reserved anchor shows that no store was lost.
            anchor::write(anchor, &self.places.key, Anchor::Fresh).map_err(self.io(anchor))?;
        }
        let store = StoreId::draw().map_err(self.io(self.path))?;
        let listing = Listing::begun(self.title, store);
        listing
            .write(&self.places.inventory, &self.places.key)
            .map_err(self.io(&self.places.inventory))?;
        let mark = self.begin_mark(&listing)?;
        directory::write_format(self.path, self.title, store).map_err(self.io(self.path))?;
        Ok((listing, mark))
    }

    /// Continues with a store that has an inventory, after the checks. Completes one whose creation was interrupted.
    fn resume(&self, seen: FoundFiles) -> Result<(Listing, Mark), OpenError> {
        let Some(listing) = seen.listing else {
            return Err(self.refused(Refusal::InventoryMissing));
        };
        if listing.whole {
            let path = &self.places.mark;
            let mark = Mark::open(path).map_err(self.io(path))?;
            return Ok((listing, mark));
        }
        let mark = self.begin_mark(&listing)?;
        directory::write_format(self.path, self.title, listing.store)
            .map_err(self.io(self.path))?;
        Ok((listing, mark))
    }

    fn begin_mark(&self, listing: &Listing) -> Result<Mark, OpenError> {
        let position = Position {
            store: listing.store,
            generation: listing.generation,
            sequence: 0,
        };
        Mark::create(&self.places.mark, &position).map_err(self.io(&self.places.mark))
    }

    fn check_mark(&self, listing: &Listing) -> Result<Position, OpenError> {
        let path = &self.places.mark;
        let refused = |path: &Path, reason: String| OpenError::Unlisted {
            path: path.to_path_buf(),
            reason,
        };
        let Some(position) = Mark::read(path).map_err(self.io(path))? else {
            return Err(refused(path, "it is missing".into()));
        };
        let Some(position) = position else {
            return Err(refused(path, "it is damaged".into()));
        };
        if position.store != listing.store {
            return Err(refused(
                path,
                format!("it belongs to the store {}", position.store),
            ));
        }
        if position.generation > listing.generation {
            let reason = format!(
                "it is version {}, but {} names version {}: an older file has replaced it",
                listing.generation,
                path.display(),
                position.generation
            );
            return Err(refused(&self.places.inventory, reason));
        }
        Ok(position)
    }

    fn refused(&self, refusal: Refusal) -> OpenError {
        let format = self.path.join(directory::FORMAT_FILE);
        // Only a store with an anchor is refused for its anchor.
        let anchor = self.places.anchor.clone().unwrap_or_default();
        let inventory = self.places.inventory.clone();
        let incomplete = |path, reason: &str| OpenError::Incomplete {
            path,
            reason: reason.to_owned(),
        };
        let unlisted = |path, reason: &str| OpenError::Unlisted {
            path,
            reason: reason.to_owned(),
        };
        match refusal {
            Refusal::StoreMissing => OpenError::Missing {
                path: self.path.to_path_buf(),
            },
            Refusal::FormatMissing => incomplete(format, "it is missing"),
            Refusal::FormatOlder => incomplete(format, "it is older than the inventory"),
            Refusal::FormatForeign => OpenError::Foreign {
                path: format,
                reason: "it names another store than the inventory".into(),
            },
            Refusal::InventoryForeign => OpenError::Foreign {
                path: inventory,
                reason: format!("it lists another store than {} names", anchor.display()),
            },
            Refusal::InventoryMissing => unlisted(inventory, "it is missing"),
            Refusal::AnchorMissing => unlisted(anchor, "it is missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: StoreId = StoreId::from_bytes([1; 16]);
    const B: StoreId = StoreId::from_bytes([2; 16]);

    #[test]
    fn decides_for_every_combination_of_what_is_left() {
        use Anchored::{Absent, Fresh, NotKept, Of};
        use Refusal::*;
        let none = None;
        let whole = Some((A, true));
        let begun = Some((A, false));
        let no = Marked::Absent;
        let old = Marked::Unlisted;
        let a = Marked::Of(A);
        for (anchor, format, inventory, expected) in [
            // If nothing is left of a store, a new one is made only if no anchor is kept or the anchor expects a new store.
            (NotKept, no, none, Ok(Plan::Create)),
            (Fresh, no, none, Ok(Plan::Create)),
            (Absent, no, none, Err(StoreMissing)),
            (Of(A), no, none, Err(StoreMissing)),
            // A store made before inventories is adopted once.
            (NotKept, old, none, Ok(Plan::Adopt)),
            (Fresh, old, none, Ok(Plan::Adopt)),
            (Absent, old, none, Ok(Plan::Adopt)),
            (Of(A), old, none, Err(InventoryMissing)),
            // The inventory of a listed store is gone.
            (NotKept, a, none, Err(InventoryMissing)),
            (Fresh, a, none, Err(InventoryMissing)),
            (Absent, a, none, Err(InventoryMissing)),
            (Of(A), a, none, Err(InventoryMissing)),
            // Everything is there.
            (NotKept, a, whole, Ok(Plan::Continue)),
            (Fresh, a, whole, Ok(Plan::Continue)),
            (Of(A), a, whole, Ok(Plan::Continue)),
            (Absent, a, whole, Err(AnchorMissing)),
            (Of(B), a, whole, Err(InventoryForeign)),
            // FORMAT is gone or of another time or store.
            (NotKept, no, whole, Err(FormatMissing)),
            (Of(A), no, whole, Err(FormatMissing)),
            (NotKept, old, whole, Err(FormatOlder)),
            (NotKept, Marked::Of(B), whole, Err(FormatForeign)),
            (Of(A), Marked::Of(B), whole, Err(FormatForeign)),
            // An interrupted creation or adoption is continued.
            (NotKept, no, begun, Ok(Plan::Continue)),
            (NotKept, old, begun, Ok(Plan::Continue)),
            (NotKept, a, begun, Ok(Plan::Continue)),
            (Fresh, old, begun, Ok(Plan::Continue)),
            (Fresh, Marked::Of(B), begun, Err(FormatForeign)),
            (Of(B), a, begun, Err(InventoryForeign)),
            (Absent, no, begun, Err(AnchorMissing)),
        ] {
            let decided = decide(anchor, format, inventory);
            assert_eq!(decided, expected, "{anchor:?} {format:?} {inventory:?}");
        }
    }
}
