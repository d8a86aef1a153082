//! The laboratory against targets with known behaviour, in virtual time. Its results must match the known truth within
//! the stated bounds. Latencies are exact up to the histogram's buckets (0.1 %); arrivals fall on whole milliseconds.

use std::sync::Arc;
use std::time::Duration;

use perf::fake::{Behaviour, ServiceTime, Stall, Target};
use perf::load::engine::{
    Chance, Clock, Driven, Ended, LoadEnvironment, SampleSink, Settings, Virtual, findings, stretch,
};
use perf::plan::{Closed, Knee, Load, Open, Shape, Step, Think};
use perf::results::Stretch;
use perf::stats::summarise;

/// The relative error of the histogram's buckets.
const BUCKET: f64 = 0.001;

fn settings(warm_up_s: f64, seconds: f64) -> Settings {
    Settings {
        warm_up: Duration::from_secs_f64(warm_up_s),
        measured: Duration::from_secs_f64(seconds),
        count: None,
        seed: 11,
        labels: vec!["fake".to_owned()],
        unfinished_after: Duration::from_secs(60),
    }
}

fn closed(outstanding: u32, think: Think) -> Load {
    Load::Closed(Closed { outstanding, think })
}

fn open(shape: Shape, poisson: bool, outstanding_max: u32) -> Load {
    Load::Open(Open {
        shape,
        poisson,
        outstanding_max,
    })
}

fn constant(per_s: f64) -> Load {
    open(Shape::Constant(per_s), false, 1_000_000)
}

fn measure(behaviour: Behaviour, load: &Load, settings: &Settings) -> Stretch {
    let clock = Virtual::default();
    clock.run(async {
        let target = Arc::new(Target::new(&clock, behaviour));
        stretch(
            &clock,
            &target,
            load,
            settings,
            &LoadEnvironment::default(),
            async {},
        )
        .await
    })
}

fn near(actual: f64, expected: f64, share: f64) -> bool {
    (actual - expected).abs() <= share * expected.abs()
}

#[track_caller]
fn assert_near(actual: f64, expected: f64, share: f64) {
    assert!(
        near(actual, expected, share),
        "{actual}, not {expected} within {share}"
    );
}

/// Checks that every due unit is accounted for.
#[track_caller]
fn assert_adds_up(stretch: &Stretch) {
    assert_eq!(
        stretch.due,
        stretch.done + stretch.failed() + stretch.dropped
    );
    assert_eq!(stretch.latencies.count(), stretch.done);
    let series = |of: fn(&perf::results::Second) -> u64| stretch.series.iter().map(of).sum::<u64>();
    assert_eq!(series(|second| second.done), stretch.done);
}

#[test]
fn a_constant_service_gives_its_latency_and_the_rate_of_the_loop() {
    let behaviour = || Behaviour {
        service: ServiceTime::Constant(20.0),
        ..Behaviour::default()
    };
    // 8 workers, a unit each 20 ms: 400/s.
    let result = measure(
        behaviour(),
        &closed(8, Think::Fixed(0.0)),
        &settings(1.0, 10.0),
    );
    assert_adds_up(&result);
    assert_eq!(result.done, 4_000);
    assert_near(result.per_s(), 400.0, 1e-9);
    for share in [0.0, 0.5, 0.99, 1.0] {
        assert_near(result.latencies.quantile_ms(share), 20.0, BUCKET);
    }
    // Units that end exactly at the end of the last second count in the next one.
    assert_eq!(result.series.len(), 11);
    assert!(
        result
            .series
            .iter()
            .skip(1)
            .take(9)
            .all(|second| second.done == 400 && near(second.p50_ms, 20.0, BUCKET))
    );
    // The warm-up of a second is before it, on the scenario's time axis.
    assert_eq!(result.started_ms / 1000, 1);

    let result = measure(behaviour(), &constant(250.0), &settings(1.0, 10.0));
    assert_adds_up(&result);
    assert_eq!((result.due, result.dropped, result.late), (2_500, 0, 0));
    assert_near(result.per_s(), 250.0, 0.003);
    assert_near(result.latencies.quantile_ms(1.0), 20.0, BUCKET);
}

#[test]
fn think_time_slows_a_closed_loop_as_it_should() {
    let behaviour = Behaviour {
        service: ServiceTime::Constant(20.0),
        ..Behaviour::default()
    };
    // A worker's round is 20 ms of service and 80 ms of thought: 10/s each.
    let fixed = measure(
        behaviour.clone(),
        &closed(10, Think::Fixed(80.0)),
        &settings(0.0, 100.0),
    );
    assert_near(fixed.per_s(), 100.0, 0.002);
    // 10,000 thoughts at random: their mean is within 4 % in 4 of its deviations (1 %).
    let random = measure(
        behaviour,
        &closed(10, Think::Random(80.0)),
        &settings(0.0, 100.0),
    );
    assert_near(random.per_s(), 100.0, 0.04);
    assert!(random.per_s() != fixed.per_s());
    assert_near(random.latencies.quantile_ms(1.0), 20.0, BUCKET);
}

#[test]
fn percentiles_of_known_distributions() {
    // 100,000 samples of an exponential distribution with a mean of 50 ms: 4 deviations of a percentile's estimate,
    // sqrt(p (1 - p) / n) / density, are 2 % of the median, 1.9 % of the 90th and 2.8 % of the 99th.
    let exponential = Behaviour {
        service: ServiceTime::Exponential(50.0),
        ..Behaviour::default()
    };
    for load in [closed(100, Think::Fixed(0.0)), constant(2000.0)] {
        let result = measure(exponential.clone(), &load, &settings(0.5, 50.0));
        assert!(result.done > 95_000);
        for (share, bound) in [(0.5, 0.02), (0.9, 0.019), (0.99, 0.028)] {
            let expected = -(1.0f64 - share).ln() * 50.0;
            assert_near(
                result.latencies.quantile_ms(share),
                expected,
                bound + BUCKET,
            );
        }
        assert_near(result.latencies.mean_ms(), 50.0, 0.013 + BUCKET);
    }
    let bimodal = Behaviour {
        service: ServiceTime::Bimodal {
            fast_ms: 5.0,
            slow_ms: 500.0,
            slow_share: 0.02,
        },
        ..Behaviour::default()
    };
    let result = measure(bimodal, &constant(1000.0), &settings(1.0, 60.0));
    let at = |share| result.latencies.quantile_ms(share);
    assert_near(at(0.5), 5.0, BUCKET);
    assert_near(at(0.97), 5.0, BUCKET);
    assert_near(at(0.99), 500.0, BUCKET);
}

/// Checks the coverage of 200 points with four repeats each: about 190 have the truth within their 95 % interval, give or
/// take four standard deviations of that count (3.1 each). It covers both loops; rates, means and medians.
#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    const POINTS: u64 = 200;
    const MEAN_MS: f64 = 5.0;
    let random = open(Shape::Constant(100.0), true, 1_000_000);
    // A worker's round takes the mean service and no thought.
    for (name, load, per_s) in [
        ("open loop", random, 100.0),
        (
            "closed loop",
            closed(1, Think::Fixed(0.0)),
            1_000.0 / MEAN_MS,
        ),
    ] {
        let mut covered = [0; 3];
        for point in 0..POINTS {
            let repeats: Vec<Stretch> = (0..4)
                .map(|repeat| {
                    let seed = 1 + 4 * point + repeat;
                    let behaviour = Behaviour {
                        service: ServiceTime::Exponential(MEAN_MS),
                        seed,
                        ..Behaviour::default()
                    };
                    let settings = Settings {
                        seed,
                        ..settings(0.2, 5.0)
                    };
                    measure(behaviour, &load, &settings)
                })
                .collect();
            let summary = summarise(&repeats, 0.0);
            let truths = [
                ("rate_per_s", per_s),
                ("mean_ms", MEAN_MS),
                ("p50_ms", MEAN_MS * std::f64::consts::LN_2),
            ];
            for ((metric, truth), covered) in truths.into_iter().zip(&mut covered) {
                let found = &summary.metrics[metric];
                let (low, high) = (found.low.expect("repeats"), found.high.expect("repeats"));
                *covered += u64::from((low..=high).contains(&truth));
            }
        }
        for (metric, covered) in ["rate", "mean", "median"].into_iter().zip(covered) {
            assert!(
                (178..=199).contains(&covered),
                "{name}, {metric}: {covered} of {POINTS} intervals have the truth in them"
            );
        }
    }
}

#[test]
fn an_open_loop_shows_a_stall_in_full_and_a_closed_one_is_blind_to_it() {
    // Every 10 s there is a stall of one second. So a tenth of the arrivals wait, uniformly up to 1 s.
    let behaviour = || Behaviour {
        service: ServiceTime::Constant(1.0),
        stall: Some(Stall {
            every_s: 10.0,
            ms: 1000.0,
        }),
        ..Behaviour::default()
    };
    let result = measure(behaviour(), &constant(1000.0), &settings(5.0, 100.0));
    assert_eq!((result.due, result.done), (100_000, 100_000));
    assert_near(result.latencies.quantile_ms(0.89), 1.0, BUCKET);
    assert_near(result.latencies.quantile_ms(0.95), 501.0, 0.005);
    assert_near(result.latencies.quantile_ms(0.99), 901.0, 0.005);
    assert_near(result.latencies.quantile_ms(1.0), 1001.0, 0.005);
    assert_near(result.latencies.mean_ms(), 1.0 + 0.1 * 500.0, 0.01);
    assert!(result.generator.late_after_ms > 0.0, "its units are due");

    let result = measure(
        behaviour(),
        &closed(1, Think::Fixed(0.0)),
        &settings(5.0, 100.0),
    );
    // The rate (nine tenths) and the maximum show the stalls, the percentiles do not: ten samples in 90,000.
    assert_near(result.per_s(), 900.0, 0.003);
    assert_near(result.latencies.quantile_ms(0.9999 - 0.0002), 1.0, BUCKET);
    assert_near(result.latencies.quantile_ms(1.0), 1001.0, BUCKET);
    // The verdict whether the rate was steady is for closed loops only, which this tells.
    assert_eq!(result.generator.late_after_ms, 0.0);
    assert!(
        perf::stats::steadiness(&result).is_some(),
        "100 s are enough"
    );
}

#[test]
fn queueing_is_as_the_theory_says() {
    // M/D/1 at 80 %: the mean wait is rho / (2 (1 - rho)) services. 100,000 arrivals; waits are correlated over about
    // 1 / (1 - rho)^2 = 25 arrivals, which leaves 4,000 free ones, whose mean is within 8 % in 4 deviations.
    let behaviour = |service| Behaviour {
        service,
        slots: Some(1),
        ..Behaviour::default()
    };
    let load = open(Shape::Constant(80.0), true, 1_000_000);
    let settings = Settings {
        count: Some(100_000),
        ..settings(10.0, 20_000.0)
    };
    let result = measure(behaviour(ServiceTime::Constant(10.0)), &load, &settings);
    assert_eq!(result.done, 100_000);
    assert_near(result.latencies.mean_ms(), 10.0 * (1.0 + 0.8 / 0.4), 0.08);
    // M/M/1: the time in the system is exponential with a mean of 1 / (mu - lambda) = 50 ms.
    let result = measure(behaviour(ServiceTime::Exponential(10.0)), &load, &settings);
    assert_near(result.latencies.mean_ms(), 50.0, 0.12);
    assert_near(result.latencies.quantile_ms(0.9), 50.0 * 10f64.ln(), 0.15);
}

#[test]
fn errors_are_counted_by_code_and_retries_apart() {
    let behaviour = Behaviour {
        service: ServiceTime::Constant(2.0),
        errors: vec![
            ("fake.odd".to_owned(), 0.03),
            ("fake.rare".to_owned(), 0.001),
        ],
        retry_share: 0.2,
        ..Behaviour::default()
    };
    for load in [closed(16, Think::Fixed(0.0)), constant(1000.0)] {
        let settings = Settings {
            count: Some(50_000),
            ..settings(1.0, 1000.0)
        };
        let result = measure(behaviour.clone(), &load, &settings);
        assert_adds_up(&result);
        assert_eq!(result.due, 50_000);
        let count = |code: &str| {
            let fault = result.faults.iter().find(|fault| fault.code == code);
            fault.map_or(0, |fault| fault.count) as f64
        };
        // Counts at random: within 4 of their deviations.
        assert_near(count("fake.odd"), 1500.0, 4.0 / 1500f64.sqrt());
        assert_near(count("fake.rare"), 50.0, 4.0 / 50f64.sqrt());
        // Each try is followed by another with a chance of 0.2: 0.25 beyond the first. Not one is a new success.
        assert_near(result.retries as f64, 12_500.0, 0.05);
        assert_eq!(result.done + result.failed(), 50_000);
        assert!(
            result
                .series
                .iter()
                .map(|second| second.failed)
                .sum::<u64>()
                == result.failed()
        );
    }
}

#[test]
fn what_finds_no_place_is_dropped_and_what_starts_late_is_counted() {
    // 100 places of 1 s each take 100/s; half of 200/s are dropped.
    let slow = Behaviour {
        service: ServiceTime::Constant(1000.0),
        ..Behaviour::default()
    };
    let load = open(Shape::Constant(200.0), false, 100);
    let result = measure(slow, &load, &settings(10.0, 50.0));
    assert_adds_up(&result);
    assert_eq!(result.due, 10_000);
    assert_near(result.dropped as f64, 5_000.0, 0.01);
    assert_eq!((result.late, result.failed()), (0, 0));

    // The workload blocks the only processor for 50 ms in each second. So 5 % of the units start late, less the 10 ms of tolerance: 4 %.
    let result = starved(50, 1000);
    assert_eq!(result.due, 10_000);
    assert_near(result.late as f64, 10_000.0 * 0.04, 0.05);
    assert_near(result.generator.behind_max_ms, 50.0, 0.05);
}

/// Runs 1,000 units a second for 10 s. Every `every`th one uses the generator's processor for `burn_ms` milliseconds.
fn starved(burn_ms: u64, every: u64) -> Stretch {
    struct Burner {
        clock: Virtual,
        every: u64,
        burn: Duration,
    }
    impl Driven for Burner {
        async fn run(&self, _slot: u32, unit: u64, _due: Duration) -> Ended {
            if unit.is_multiple_of(self.every) {
                self.clock.burn(self.burn);
            }
            Ended {
                work: 0,
                outcome: Ok(()),
                retries: 0,
            }
        }
    }
    let clock = Virtual::default();
    clock.run(async {
        let burner = Arc::new(Burner {
            clock: clock.clone(),
            every,
            burn: Duration::from_millis(burn_ms),
        });
        let settings = settings(0.0, 10.0);
        stretch(
            &clock,
            &burner,
            &constant(1000.0),
            &settings,
            &LoadEnvironment::default(),
            async {},
        )
        .await
    })
}

#[test]
fn the_alarm_is_raised_when_the_generator_is_starved_and_not_otherwise() {
    let codes = |stretch: &Stretch| -> Vec<String> {
        let found = findings(stretch).into_iter();
        found.map(|finding| finding.code).collect()
    };
    assert!(codes(&starved(0, 1)).is_empty());
    assert!(codes(&starved(1, 100)).is_empty());
    // Late wake-ups and late starts.
    let late = starved(50, 500);
    assert_near(late.generator.lag_max_ms, 50.0, 0.05);
    assert_near(late.generator.cpu_cores, 0.1, 0.05);
    assert_eq!(codes(&late), ["lab.generator_limit", "lab.generator_limit"]);
    // The processor only, in small pieces: a generator has one core, however many the machine has, and an agent is one more.
    let mut busy = starved(9, 10);
    assert_near(busy.generator.cpu_cores, 0.9, 0.05);
    assert_eq!(codes(&busy), ["lab.generator_limit"]);
    let said = findings(&busy).remove(0).message;
    assert!(said.contains("runs on one core"), "{said}");
    busy.generator.agents = 2;
    assert!(codes(&busy).is_empty());
    busy.generator.cpu_cores *= 2.0;
    assert_eq!(codes(&busy), ["lab.generator_limit"]);
    let ordinary = starved(3, 4);
    assert_near(ordinary.generator.cpu_cores, 0.75, 0.05);
    assert!(codes(&ordinary).is_empty());
}

#[test]
fn steps_and_ramps_are_driven_as_scheduled() {
    let step = |per_s, seconds| Step { per_s, seconds };
    let steps = Shape::Steps(vec![step(100.0, 5.0), step(300.0, 5.0), step(50.0, 5.0)]);
    let result = measure(
        Behaviour::default(),
        &open(steps, false, 1000),
        &settings(2.0, 60.0),
    );
    assert_eq!(result.due, 2_250);
    assert_near(result.seconds, 15.0, 1e-9);
    let by_second: Vec<u64> = result.series.iter().map(|second| second.done).collect();
    assert!(
        by_second[1..5].iter().all(|done| *done == 100),
        "{by_second:?}"
    );
    assert!(
        by_second[6..10].iter().all(|done| *done == 300),
        "{by_second:?}"
    );
    assert!(
        by_second[11..14].iter().all(|done| *done == 50),
        "{by_second:?}"
    );

    let ramp = Shape::Ramp {
        from: 0.0,
        to: 1000.0,
    };
    let result = measure(
        Behaviour::default(),
        &open(ramp, false, 1000),
        &settings(0.0, 10.0),
    );
    assert_eq!(result.due, 5_000);
    for (second, row) in result.series.iter().take(10).enumerate() {
        // Each second's count is compared with the rate at its middle. A unit at its edge may count in the next.
        assert!(
            (row.done as f64 - (second as f64 * 100.0 + 50.0)).abs() <= 2.0,
            "{second}: {row:?}"
        );
    }
}

#[test]
fn the_knee_of_a_queue_is_found_within_its_bound() {
    // M/M/1 with mu = 100/s: the 99th percentile of the time in the system is ln(100) / (mu - lambda), which is 200 ms at
    // lambda = 100 - 4.605 / 0.2 = 77/s. Bounds: 5 % of the search, and 4 % by chance and by arrivals in whole ticks.
    let knee = Knee {
        from_per_s: 5.0,
        to_per_s: 1_000.0,
        percentile: 99.0,
        latency_ms: 200.0,
        within: 0.05,
        outstanding_max: 500,
    };
    let behaviour = Behaviour {
        service: ServiceTime::Exponential(10.0),
        slots: Some(1),
        ..Behaviour::default()
    };
    let result = measure(behaviour, &Load::Knee(knee.clone()), &settings(20.0, 300.0));
    let (found, met) = *result.tried.last().expect("it was tried");
    assert!(met);
    assert_near(found, 77.0, 0.09);
    assert_near(result.per_s(), found, 0.03);
    assert!(result.latencies.quantile_ms(0.99) <= 200.0);
    assert!(result.tried.len() < 20);
    // Each trial has its figures.
    let offered: Vec<f64> = result.trials.iter().map(|one| one.offered_per_s).collect();
    let tried: Vec<f64> = result.tried.iter().map(|one| one.0).collect();
    assert_eq!(offered, tried);
    for (trial, (_, met)) in result.trials.iter().zip(&result.tried) {
        assert!(
            trial.done_per_s > 0.0 && trial.p50_ms.is_some(),
            "{trial:?} {met}"
        );
    }
    assert!(findings(&result).is_empty());

    // c servers: M/M/c, whose waits follow from Erlang's formula.
    let servers = Behaviour {
        service: ServiceTime::Exponential(40.0),
        slots: Some(4),
        ..Behaviour::default()
    };
    let expected = erlang_knee(4, 25.0, 0.2);
    let result = measure(servers, &Load::Knee(knee), &settings(20.0, 300.0));
    let (found, met) = *result.tried.last().expect("it was tried");
    assert!(met);
    assert_near(found, expected, 0.09);
}

/// Returns the rate at which 1 % stay longer than `target` seconds with `servers` of `mu` a second each.
fn erlang_knee(servers: u32, mu: f64, target: f64) -> f64 {
    let longer = |lambda: f64| {
        let c = f64::from(servers);
        let load = lambda / mu;
        let mut term = 1.0;
        let mut sum = 1.0;
        for k in 1..servers {
            term *= load / f64::from(k);
            sum += term;
        }
        let last = term * load / c * c / (c - load);
        let waits = last / (sum + last);
        // Service alone, and a wait (exponential with c mu - lambda) before it.
        let theta = c * mu - lambda;
        let serve = (-mu * target).exp();
        serve + waits * mu / (mu - theta) * ((-theta * target).exp() - serve)
    };
    let (mut low, mut high) = (0.0, f64::from(servers) * mu * 0.999);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if longer(middle) <= 0.01 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[test]
fn stopping_starts_nothing_more_and_says_what_was_left() {
    let clock = Virtual::default();
    let hangs = Behaviour {
        service: ServiceTime::Bimodal {
            fast_ms: 10.0,
            slow_ms: 1e9,
            slow_share: 0.01,
        },
        ..Behaviour::default()
    };
    for load in [constant(100.0), closed(50, Think::Fixed(100.0))] {
        let around = LoadEnvironment::default();
        let stop = around.stop.clone();
        let result = clock.run(async {
            let asker = clock.clone();
            let at = clock.now() + Duration::from_secs(5);
            clock.spawn(async move {
                asker.sleep_until(at).await;
                stop.ask();
            });
            let target = Arc::new(Target::new(&clock, hangs.clone()));
            stretch(
                &clock,
                &target,
                &load,
                &settings(0.0, 1000.0),
                &around,
                async {},
            )
            .await
        });
        assert_adds_up(&result);
        assert!(result.due > 400 && result.due < 5_000, "{}", result.due);
        let [fault] = result.faults.as_slice() else {
            panic!("one code: {:?}", result.faults);
        };
        assert!(fault.code == "lab.unfinished" && fault.count > 0);
        assert_near(result.seconds, 20.0, 0.01);
    }
}

#[test]
fn kinds_of_work_are_told_apart_and_rows_say_the_same_as_the_histogram() {
    struct Mix(Virtual);
    impl Driven for Mix {
        async fn run(&self, _slot: u32, unit: u64, _due: Duration) -> Ended {
            let work = usize::from(unit.is_multiple_of(4));
            let took = Duration::from_millis(if work == 0 { 3 } else { 30 });
            self.0.sleep_until(self.0.now() + took).await;
            let failed = unit % 100 == 1;
            Ended {
                work,
                outcome: if failed {
                    Err(perf::load::Fault {
                        code: "mix.failed".to_owned(),
                        message: "on purpose".to_owned(),
                    })
                } else {
                    Ok(())
                },
                retries: 0,
            }
        }
    }
    let clock = Virtual::default();
    let (sink, mut batches) = SampleSink::channel();
    let around = LoadEnvironment {
        samples: Some(sink.clone()),
        ..LoadEnvironment::default()
    };
    let mut settings = settings(0.5, 4.0);
    settings.labels = vec!["quick".to_owned(), "slow".to_owned()];
    let result = clock.run(async {
        let mix = Arc::new(Mix(clock.clone()));
        stretch(&clock, &mix, &constant(1000.0), &settings, &around, async {
        })
        .await
    });
    drop((sink, around));
    assert_adds_up(&result);
    let [quick, slow] = result.works.as_slice() else {
        panic!("two kinds");
    };
    assert_eq!(
        (quick.label.as_str(), quick.done, quick.failed),
        ("quick", 2_960, 40)
    );
    assert_eq!(
        (slow.label.as_str(), slow.done, slow.failed),
        ("slow", 1_000, 0)
    );
    assert_near(quick.latencies.quantile_ms(1.0), 3.0, BUCKET);
    assert_near(slow.latencies.quantile_ms(0.0), 30.0, BUCKET);
    let mut both = quick.latencies.clone();
    both.merge(&slow.latencies);
    assert_eq!(both, result.latencies);

    let mut rows = Vec::new();
    while let Ok(batch) = batches.try_recv() {
        rows.extend(batch);
    }
    assert_eq!(rows.len() as u64, result.due);
    let failed = rows
        .iter()
        .filter(|row| row.code.as_deref() == Some("mix.failed"));
    assert_eq!(failed.count() as u64, result.failed());
    let mut slow_rows = rows.iter().filter(|row| row.work == 1);
    assert!(slow_rows.all(|row| row.elapsed_us == 30_000 && row.latency_us == 30_000));
}

#[test]
fn views_that_catch_up_count_into_the_time() {
    let clock = Virtual::default();
    let result = clock.run(async {
        let target = Arc::new(Target::new(&clock, Behaviour::default()));
        let settings = Settings {
            count: Some(100),
            ..settings(0.0, 100.0)
        };
        let load = closed(1, Think::Fixed(0.0));
        let caught_up = async {
            clock
                .sleep_until(clock.now() + Duration::from_millis(900))
                .await
        };
        stretch(
            &clock,
            &target,
            &load,
            &settings,
            &LoadEnvironment::default(),
            caught_up,
        )
        .await
    });
    assert_eq!(result.done, 100);
    assert_near(result.seconds, 1.0, 1e-9);
}

#[test]
fn merging_histograms_is_exact() {
    let mut chance = Chance::new(3, 3);
    let mut all = perf::measure::Latencies::new();
    let mut parts = vec![perf::measure::Latencies::new(); 5];
    for number in 0..100_000 {
        let took = Duration::from_secs_f64(chance.exponential(0.3));
        all.record(took);
        parts[number % 5].record(took);
    }
    let mut merged = perf::results::Histogram::default();
    for part in &parts {
        merged.merge(&part.histogram());
    }
    assert_eq!(merged, all.histogram());
    assert_near(merged.quantile_ms(0.99), all.p99_ms(), 1e-12);
}

#[test]
fn the_same_seed_gives_the_same_stretch() {
    let behaviour = Behaviour {
        service: ServiceTime::Exponential(10.0),
        slots: Some(4),
        ..Behaviour::default()
    };
    let load = open(Shape::Constant(300.0), true, 10_000);
    let run = || measure(behaviour.clone(), &load, &settings(1.0, 20.0));
    assert_eq!(run(), run());
}
