//! Compiles the recorder, a library that is preloaded into the process under test.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=shim/recorder.c");
    let out =
        PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("recorder.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-o"])
        .arg(&out)
        .args(["shim/recorder.c", "-lpthread"])
        .status();
    match status {
        Ok(status) if status.success() => {}
        outcome => panic!(
            "{} does not compile shim/recorder.c: {outcome:?}",
            compiler.display()
        ),
    }
}
