//! `docs/guides/first-application.md`, run with this program as its `iou`.
//!
//! Not run, with the reason in the guide: the commands that compile. They take minutes, and `examples/iou` is built and tested
//! with the workspace.

use std::path::Path;
use std::process::ExitCode;

use crate::stage::guide;

/// The name of the guide's program.
const PROGRAM: &str = "iou";

/// Returns whether this process is the guide's program.
pub fn is_program() -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    Path::new(&name)
        .file_name()
        .is_some_and(|name| name == PROGRAM)
}

/// Runs this process as `examples/iou/src/main.rs` does.
pub fn main() -> ExitCode {
    tally::Application::new(iou::register)
        .with_workloads(iou::register_workloads)
        .main()
}

pub fn the_first_application_does_as_its_guide_says() {
    let program = std::env::current_exe().expect("this program");
    guide::follow(&["first-application.md"], &[(PROGRAM, &program)]);
}
