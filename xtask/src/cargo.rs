//! Cargo, run by a chore as a person would run it.

use std::process::Command;

/// What cargo says of this package to whoever it runs. Build scripts that look at it (ring's does) would take a cargo that a chore runs for
/// another one than a person's, and compile everything above them anew, in turns.
const OF_THIS_PACKAGE: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

/// The cargo that runs this chore.
pub fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(program);
    let told = |name: &str| OF_THIS_PACKAGE.iter().any(|start| name.starts_with(start));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(told) {
            cargo.env_remove(name);
        }
    }
    cargo
}
