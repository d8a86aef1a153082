//! `[full]` and `--set`.

use toml::Value;

use super::{SWAP, read};
use crate::plan::{Load, Plan};

fn set(text: &str, set: &[&str]) -> Plan {
    read(text, false, set).unwrap_or_else(|error| panic!("{set:?}: {error}"))
}

#[test]
fn full_is_laid_over_only_when_asked_for() {
    assert_eq!(read(SWAP, false, &[]).expect("small").run.seconds, 5.0);
    let full = read(SWAP, true, &[]).expect("full");
    assert_eq!((full.run.seconds, full.run.repeats), (1200.0, 3));
    let over = read(SWAP, true, &["run.seconds=2"]).expect("both");
    assert_eq!(over.run.seconds, 2.0);
}

#[test]
fn what_is_wrong_with_full_is_told_without_it() {
    let text = SWAP.replace("run.seconds = 1200", "run.seconds = -3");
    let error = read(&text, false, &[]).expect_err("negative");
    assert!(error.contains("`run.seconds` is -3"), "{error}");
}

#[test]
fn settings_on_the_command_line() {
    let plan = set(
        SWAP,
        &[
            "run.seconds = 0.5",
            "title=Another one",
            "load.rate=100",
            "network.settings.p2p.compression=false",
            "network.nodes.bank-2.settings.\"store.linger_us\"=9",
            "work.swap.depth=3",
            "sweep.parties.values=4",
            "sweep.variant.only=[\"slow\", \"fast\"]",
        ],
    );
    assert_eq!(
        (plan.run.seconds, plan.title.as_str()),
        (0.5, "Another one")
    );
    assert!(matches!(plan.load, Load::Open(_)));
    assert_eq!(
        plan.network.settings["p2p.compression"],
        Value::Boolean(false)
    );
    let bank = &plan.network.nodes["bank-2"];
    assert_eq!(bank.settings["store.linger_us"], Value::Integer(9));
    assert_eq!(plan.work[0].knobs["depth"], Value::Integer(3));
    assert_eq!(plan.points().expect("points").len(), 2);
    let only = set(SWAP, &["sweep.parties.only=6", "sweep.variant.only=fast"]);
    let points = only.points().expect("one");
    assert_eq!(points.len(), 1);
    assert_eq!(
        (points[0].at[0].name.as_str(), points[0].at[1].name.as_str()),
        ("6", "fast")
    );
    let alone = set(SWAP, &["sweep=[]", "work.parties=6"]);
    assert_eq!(alone.points().expect("one").len(), 1);
}

#[test]
fn one_of_several_kinds_of_work_goes_by_its_label() {
    let text = "[[work]]\nkind = 'swap'\nlabel = 'a'\n[[work]]\nkind = 'swap'\nlabel = 'b'";
    let plan = set(
        text,
        &["work.b.weight=4", "network.banks=9", "work.a.parties=2"],
    );
    assert_eq!((plan.work[0].weight, plan.work[1].weight), (1, 4));
    assert_eq!(plan.work[0].knobs["parties"], Value::Integer(2));
    let error = read(text, false, &["work.parties=4"]).expect_err("which?");
    assert!(error.contains("say which one by its label"), "{error}");
}

#[test]
fn what_is_wrong_with_a_setting_says_which_one() {
    for (given, wanted) in [
        ("run.seconds", "key=value"),
        ("=3", "key=value"),
        ("run..x=3", "key=value"),
        ("run.seconds=", "key=value"),
        ("run.seconds=[1", "--set run.seconds=[1"),
        (
            "run.seconds=soon",
            "`run.seconds` is \"soon\"; it has to be a number from 0.1",
        ),
        ("run.secondz=3", "did you mean `seconds`?"),
        ("runs.seconds=3", "did you mean `run`?"),
        ("run=3", "it has to be a table"),
        ("work.parties=6", "--set sweep.parties.only=[...]"),
        ("work.sessions.x=6", "the sweep varies `work.sessions`"),
        ("sweep.variant.only=fats", "did you mean `fast`?"),
        ("sweep.variant.only=[]", "1 to 200 names"),
        ("full.run.seconds=3", "with --full"),
        ("network.settings.a.b=3", "a node has no setting `a.b`"),
        ("network.nodes.bank-12.cores=1", "did you mean `bank-1`?"),
    ] {
        let error = read(SWAP, false, &[given]).expect_err(given);
        assert!(error.starts_with("--set "), "{given}: {error}");
        assert!(error.contains(wanted), "{given}: {error}");
    }
    let many = vec!["seed=1"; 101];
    assert!(read(SWAP, false, &many).is_err());
}
