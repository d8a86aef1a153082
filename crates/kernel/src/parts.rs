//! The list of all types that write rows of the store.

use crate::back_chains::chain::Resolution;
use crate::clock::ClockWatch;
use crate::consents::Consents;
use crate::files::Proposals;
use crate::files::table::FileBook;
use crate::flows::claims::Claims;
use crate::flows::clients::Clients;
use crate::flows::copied::CopiedFlows;
use crate::flows::history::part::History;
use crate::folder::FolderRecord;
use crate::integrity::consumed::ConsumedIndex;
use crate::integrity::equivocations::Equivocations;
use crate::integrity::{Integrity, Lives};
use crate::keys::KeyBook;
use crate::ledger_book::Book;
use crate::notarisation::requests::Notarisation;
use crate::notes::Notes;
use crate::peers::links::Links;
use crate::peers::refusals::Refusals;
use crate::schedule::table::Schedule;
use crate::selection::quarantine::Quarantine;
use crate::writes::Listed;

/// Lists the writers. A type that is missing here cannot implement [`crate::writes::Writer`].
macro_rules! writers {
    ($($writer:ty),* $(,)?) => {
        $(impl Listed for $writer {})*

        /// Every writer by name, with the rows that it states.
        #[cfg(test)]
        const WRITERS: &[(&str, &[crate::writes::RowRange])] = &[
            $((stringify!($writer), <$writer as crate::writes::Writer>::ROWS)),*
        ];
    };
}

writers![
    Book,
    Claims,
    ClockWatch,
    Clients,
    Consents,
    ConsumedIndex,
    CopiedFlows,
    Notarisation,
    Equivocations,
    FileBook,
    FolderRecord,
    History,
    Integrity,
    KeyBook,
    Links,
    Lives,
    Notes,
    Proposals,
    Quarantine,
    Refusals,
    Resolution,
    Schedule,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Table;
    use crate::writes::RowRange;

    #[test]
    fn no_two_parts_write_the_same_rows() {
        for (at, (name, rows)) in WRITERS.iter().enumerate() {
            for (other, others) in &WRITERS[at + 1..] {
                let shared = rows
                    .iter()
                    .find(|range| others.iter().any(|other| range.overlaps(other)));
                assert_eq!(shared, None, "{name} and {other} write the same rows");
            }
        }
    }

    #[test]
    fn every_table_has_a_writer() {
        for table in Table::ALL.into_iter().filter(|table| *table != Table::Meta) {
            let whole = RowRange::table(table);
            let owned = WRITERS.iter().any(|(_, rows)| rows.contains(&whole));
            assert!(owned, "no part writes {}", table.name());
        }
    }
}
