//! Tests that a written plan reads back the same.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use toml::Value;

use super::SWAP;
use crate::plan::{
    Audit, Axis, Case, Closed, ConnectorProgram, DatabaseKind, EACH_UNIT_MAX, Fault, FaultKind,
    Knee, Link, Load, METRICS, Monitors, Network, NoChecks, NodeSettings, NotaryBackend,
    NotaryKind, Open, Options, Plan, PublishedLine, Restart, Run, Shape, Step, Target, Think, Work,
    parse,
};
use crate::results::CONDITIONS;

fn again(plan: &Plan) -> Plan {
    let text = plan.to_toml();
    parse(
        "other",
        "x.toml",
        text.as_bytes(),
        &Options::default(),
        &NoChecks,
    )
    .unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

#[test]
fn a_file_and_what_is_written_of_it() {
    for full in [false, true] {
        let plan = super::read(SWAP, full, &[]).expect("reads");
        assert_eq!(again(&plan), plan);
        for point in plan.points().expect("points") {
            assert_eq!(again(&point.plan), point.plan);
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        (-1e9..1e9f64).prop_map(Value::Float),
        any::<bool>().prop_map(Value::Boolean),
        ".{0,20}".prop_map(Value::String),
    ];
    prop_oneof![
        leaf.clone(),
        vec(leaf.clone(), 0..3).prop_map(Value::Array),
        btree_map("[a-z]{1,4}", leaf, 0..3)
            .prop_map(|table| Value::Table(table.into_iter().collect())),
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        "[a-z ]{0,9}".prop_map(Value::String)
    ]
}

fn settings() -> impl Strategy<Value = BTreeMap<String, Value>> {
    // Never one within another: `a.b` cannot be a name if `a` is one.
    btree_map("[a-z_]{1,5}\\.[a-z_]{1,8}", leaf(), 0..4)
}

fn words() -> impl Strategy<Value = String> {
    "[a-zA-Z\"'\\\\#=\n ]{0,20}x"
}

fn seconds() -> impl Strategy<Value = f64> {
    prop_oneof![0.1..1e6f64, (1..1000u32).prop_map(f64::from)]
}

fn network() -> impl Strategy<Value = Network> {
    let link = || {
        let speeds = (0.0..1000.0f64, option::of(0.1..1000.0f64));
        option::of(speeds.prop_map(|(delay_ms, mbit_per_s)| Link {
            delay_ms,
            mbit_per_s,
        }))
    };
    let own = (settings(), option::of(1..9u32), link()).prop_map(|(settings, cores, link)| {
        NodeSettings {
            settings,
            cores,
            link,
        }
    });
    let nodes = btree_map("notary|bank-[1-3]", own, 0..3);
    let nodes_there =
        (vec("[a-z/]{1,9}", 1..4), option::of("[a-z/]{1,9}")).prop_map(|(banks, notary)| {
            Target::Nodes {
                banks: banks.into_iter().map(Into::into).collect(),
                notary: notary.map(Into::into),
            }
        });
    let command = vec("[a-z/]{1,9}", 1..4).prop_map(ConnectorProgram::Command);
    let target = prop_oneof![
        2 => nodes_there,
        1 => command.prop_map(Target::Connector),
        1 => Just(Target::Connector(ConnectorProgram::Postgres)),
    ];
    let workers = (any::<bool>(), 1..5u32).prop_map(|(galera, workers)| NotaryKind::Replicated {
        backend: match galera {
            true => NotaryBackend::Galera,
            false => NotaryBackend::Postgres,
        },
        workers,
    });
    let notary = prop_oneof![
        Just(NotaryKind::Single),
        Just(NotaryKind::Validating),
        workers
    ];
    let kinds = (notary, 0..4u32, option::of(option::of(0.0..100.0f64)));
    let free = (3..65u32, kinds, settings(), nodes, link()).prop_map(
        |(banks, (notary, requesters, postgres), settings, nodes, link)| Network {
            banks,
            database: match postgres {
                Some(_) => DatabaseKind::Postgres,
                None => DatabaseKind::Embedded,
            },
            database_latency_ms: postgres.flatten(),
            notary,
            requesters,
            settings,
            nodes,
            link,
            target: None,
        },
    );
    prop_oneof![
        4 => free,
        1 => target.prop_map(|target| Network {
            banks: match &target {
                Target::Nodes { banks, .. } => u32::try_from(banks.len()).expect("few"),
                Target::Connector(_) => 0,
            },
            notary: NotaryKind::Single,
            requesters: 0,
            database: DatabaseKind::Embedded,
            database_latency_ms: None,
            settings: BTreeMap::new(),
            nodes: BTreeMap::new(),
            link: None,
            target: Some(target),
        }),
    ]
}

fn works() -> impl Strategy<Value = Vec<Work>> {
    let knobs = btree_map("[a-j]{1,6}", value(), 0..4);
    let one = (words(), 1..99u32, knobs).prop_map(|(kind, weight, knobs)| (kind, weight, knobs));
    vec(one, 1..4).prop_map(|works| {
        let numbered = works.into_iter().enumerate();
        numbered
            .map(|(at, (kind, weight, knobs))| Work {
                kind,
                label: format!("work {at}"),
                weight,
                knobs,
            })
            .collect()
    })
}

fn load() -> impl Strategy<Value = Load> {
    let think = prop_oneof![
        (0.0..1e6f64).prop_map(Think::Fixed),
        (0.0..1e6f64).prop_map(Think::Random),
        (0.0..1e6f64).prop_map(Think::Uniform)
    ];
    let closed = (1..100_000u32, think)
        .prop_map(|(outstanding, think)| Load::Closed(Closed { outstanding, think }));
    let step = (0.5..1e5f64, seconds()).prop_map(|(per_s, seconds)| Step { per_s, seconds });
    let shape = prop_oneof![
        (0.001..1e6f64).prop_map(Shape::Constant),
        (0.5..1e6f64, 0.0..1e6f64).prop_map(|(from, to)| Shape::Ramp { from, to }),
        vec(step, 1..4).prop_map(Shape::Steps),
    ];
    let open =
        (shape, any::<bool>(), 1..100_000u32).prop_map(|(shape, poisson, outstanding_max)| {
            Load::Open(Open {
                shape,
                poisson,
                outstanding_max,
            })
        });
    let knee = (
        0.001..1e3f64,
        2e3..1e6f64,
        1.0..99.9f64,
        0.01..1e6f64,
        0.001..0.5f64,
    )
        .prop_map(|(from_per_s, to_per_s, percentile, latency_ms, within)| {
            Load::Knee(Knee {
                from_per_s,
                to_per_s,
                percentile,
                latency_ms,
                within,
                outstanding_max: 7,
            })
        });
    prop_oneof![closed, open, knee]
}

fn run() -> impl Strategy<Value = Run> {
    (
        0.0..1e6f64,
        seconds(),
        option::of(1..1_000_000u64),
        1..1000u32,
        0..4u8,
        option::of(option::of(0.0..10.0f64)),
    )
        .prop_map(|(warm_up_s, seconds, count, repeats, flags, fault)| Run {
            warm_up_s,
            seconds,
            count,
            repeats,
            interleave: flags == 1,
            restart: Restart::Needed,
            fresh: flags == 2,
            each_unit: flags == 3 && count.is_some_and(|count| count <= EACH_UNIT_MAX),
            fault: fault.map(|freeze| Fault {
                node: "notary".to_owned(),
                kind: freeze.map_or(FaultKind::Kill, FaultKind::Freeze),
                at_s: 1.5,
            }),
        })
}

fn sweep() -> impl Strategy<Value = Vec<Axis>> {
    let set = btree_map("(work\\.[a-j]{1,6}|run\\.x)", leaf(), 0..3);
    vec(vec((option::of(-1e6..1e6f64), set), 1..4), 0..3).prop_map(|axes| {
        let case = |(at, (number, set)): (usize, (Option<f64>, _))| Case {
            name: format!("case {at}"),
            number,
            set,
        };
        let axis = |(at, cases): (usize, Vec<(Option<f64>, _)>)| {
            let mut cases: Vec<Case> = cases.into_iter().enumerate().map(case).collect();
            if cases.iter().any(|case| case.number.is_none()) {
                cases.iter_mut().for_each(|case| case.number = None);
            }
            Axis {
                label: format!("axis {at}"),
                cases,
            }
        };
        axes.into_iter().enumerate().map(axis).collect()
    })
}

fn conditions() -> impl Strategy<Value = BTreeMap<String, String>> {
    let condition =
        (0..CONDITIONS.len(), words()).prop_map(|(at, words)| (CONDITIONS[at].0.to_owned(), words));
    vec(condition, 0..3).prop_map(|conditions| conditions.into_iter().collect())
}

fn published() -> impl Strategy<Value = Vec<PublishedLine>> {
    let values = prop_oneof![
        btree_map("[0-9a-z. ]{1,6}", 0.0..1e9f64, 1..4),
        (0.0..1e9f64).prop_map(|value| BTreeMap::from([(String::new(), value)])),
    ];
    let line = (words(), words(), conditions(), 0..METRICS.len(), values).prop_map(
        |(label, source, conditions, metric, values)| PublishedLine {
            label,
            source,
            url: "https://example.org/results".to_owned(),
            conditions,
            metric: METRICS[metric].to_owned(),
            // A single value has no case, so no deviation either.
            deviations: values
                .iter()
                .filter(|(case, _)| !case.is_empty())
                .take(1)
                .map(|(case, value)| (case.clone(), value / 10.0))
                .collect(),
            values,
        },
    );
    vec(line, 0..3)
}

prop_compose! {
    fn plan()(
        name in "[a-z][a-z0-9]{0,9}",
        (title, about) in (words(), ".{0,40}"),
        seed in 0..i64::MAX as u64,
        network in network(),
        work in works(),
        load in load(),
        run in run(),
        (every_ms, metrics, machine) in (prop_oneof![Just(0u64), 50..9_999u64], vec("[a-z_]{1,9}", 0..3), any::<bool>()),
        read_max in 1..10_000u32,
        published in published(),
        metric in 0..METRICS.len(),
    ) -> Plan {
        let (mut run, mut work) = (run, work);
        if let Some(target) = &network.target {
            run.fresh = false;
            run.fault = None;
            if target.connector().is_some() {
                work.truncate(1);
                work[0].kind = "command".to_owned();
            }
        }
        if matches!(load, Load::Knee(_)) {
            run.each_unit = false;
        }
        if let Load::Open(Open { shape: Shape::Steps(steps), .. }) = &load {
            run.seconds = steps.iter().map(|step| step.seconds).sum();
        }
        Plan {
            name, title, about, seed, network, chain: None, work, load, run,
            sweep: Vec::new(),
            monitors: Monitors { every_ms, metrics, machine },
            audit: Audit { read_max },
            published,
            main_metric: METRICS[metric].to_owned(),
        }
    }
}

proptest! {
    #![proptest_config(properties::config!(256))]

    #[test]
    fn any_plan(plan in plan()) {
        prop_assert_eq!(again(&plan), plan);
    }

    #[test]
    fn any_sweep(mut plan in plan(), sweep in sweep()) {
        // With several kinds of work, a case has to name the work of a knob. `run.x` is not a setting, and is reported.
        plan.work.truncate(1);
        plan.sweep = sweep;
        let good = plan.points();
        let text = plan.to_toml();
        match parse("other", "x.toml", text.as_bytes(), &Options::default(), &NoChecks) {
            Ok(read) => {
                prop_assert_eq!(&read, &plan);
                prop_assert_eq!(read.points(), good);
            }
            Err(error) => prop_assert!(good.is_err(), "{}", error),
        }
    }
}
