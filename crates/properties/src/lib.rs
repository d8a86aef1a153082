//! The configuration of property tests, the same in every crate: tests depend on it, programs never do.
//!
//! `PROPTEST_CASES` sets the number of cases for all properties. Without it each property has its own. A failing case is kept under
//! `proptest-regressions` in the folder of its crate, in a file named after the module of the property, and runs first from then on. Such a
//! file belongs into the repository.

#[doc(hidden)]
pub use proptest;

/// The configuration of a property: so many cases, unless `PROPTEST_CASES` says otherwise.
#[macro_export]
macro_rules! config {
    ($cases:expr) => {
        $crate::config_with(
            $cases,
            ::std::concat!(
                ::std::env!("CARGO_MANIFEST_DIR"),
                "/proptest-regressions/",
                ::std::module_path!(),
                ".txt"
            ),
        )
    };
}

use proptest::prelude::ProptestConfig;
use proptest::test_runner::FileFailurePersistence;

/// The configuration of [`config!`] with a file for failing cases.
#[must_use]
pub fn config_with(cases: u32, regressions: &'static str) -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    config.failure_persistence = Some(Box::new(FileFailurePersistence::Direct(regressions)));
    config
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{TestError, TestRunner};

    use super::config_with;

    #[test]
    fn a_failing_case_is_kept_beside_its_crate() {
        let config = crate::config!(7);
        let kept = format!("{:?}", config.failure_persistence);
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/");
        assert!(kept.contains(file), "{kept}");
        assert!(kept.contains("properties::tests.txt"), "{kept}");
    }

    #[test]
    fn a_kept_case_runs_first() {
        let folder = std::env::temp_dir().join(format!("properties-{}", std::process::id()));
        let file = folder.join("kept.txt").display().to_string();
        let file: &'static str = Box::leak(file.into_boxed_str());
        let fails = |cases| {
            let mut runner = TestRunner::new(config_with(cases, file));
            runner.run(&any::<u64>(), |value| {
                prop_assert!(value < 1 << 20);
                Ok(())
            })
        };
        let first = fails(64);
        assert!(matches!(first, Err(TestError::Fail(_, value)) if value == 1 << 20));
        // Without new cases only the kept one can fail.
        let again = fails(0);
        std::fs::remove_dir_all(&folder).expect("the folder is there");
        assert!(matches!(again, Err(TestError::Fail(..))), "{again:?}");
    }
}
