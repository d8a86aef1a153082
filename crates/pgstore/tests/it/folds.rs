//! The present rows on the server, and the deletion of commits.

use crate::rig::{Rig, server, settings, wait_for};
use crate::workload::{Table, model};
use primitives::storage::TableSet;

#[test]
fn present_rows_become_those_of_the_model() {
    let (server, seed) = (server(), 11);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    rig.commit(seed, 1, 700);
    wait_for("all rows", || {
        let figures = rig.database.figures();
        figures.folded == figures.confirmed
    });
    let model = model(seed, 700);
    for table in Table::ALL {
        let count = format!(
            "select count(*) from bank_a.rows where tab = {}",
            table.number()
        );
        let found: usize = server
            .query(&count)
            .expect("readable")
            .parse()
            .expect("a number");
        let expected = model.keys().filter(|(of, _)| of == table).count();
        assert_eq!(found, expected, "{table:?}");
    }
    // Rows that were deleted within seconds never came there.
    let written = rig.database.figures().rows_folded;
    assert!(written < 4 * model.len() as u64, "{written} rows written");
}

#[test]
fn folds_go_on_after_a_restart() {
    let (server, seed) = (server(), 12);
    let settings = settings(&server);
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..3 {
        let rig = Rig::open(&settings, folder.path()).expect("opens");
        rig.commit(seed, 1 + round * 100, 100 + round * 100);
        // The node stops before the fold of these commits.
    }
    let rig = Rig::open(&settings, folder.path()).expect("opens");
    wait_for("all rows", || {
        let figures = rig.database.figures();
        figures.folded == figures.confirmed
    });
    let found = server
        .query("select count(*) from bank_a.rows")
        .expect("readable");
    assert_eq!(found, model(seed, 300).len().to_string());
}
