//! Runs cargo from a chore with the environment of a direct call.

use std::process::Command;

/// Prefixes of the variables that cargo sets for this package in every process it runs. Build scripts that read them (ring's
/// does) would see a different environment under a chore than under a direct call of cargo, and rebuild everything that depends
/// on them at each alternation.
const OF_THIS_PACKAGE: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// The profile of the checks and tests, see `Cargo.toml`.
pub const PROFILE: &str = "checked";

/// Returns the cargo that runs this chore.
pub fn cargo() -> Command {
    // Outside of cargo, it is the one of the search path.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(program);
    without_this_package(&mut cargo);
    cargo
}

/// Removes the variables that cargo sets for this package from the environment of a command.
pub fn without_this_package(command: &mut Command) {
    let is_set = |name: &str| OF_THIS_PACKAGE.iter().any(|start| name.starts_with(start));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_set) {
            command.env_remove(name);
        }
    }
}
