//! The command line of a node that knows IOUs.

use std::process::ExitCode;

fn main() -> ExitCode {
    tally::Application::new(iou::register)
        .with_workloads(iou::register_workloads)
        .main()
}
