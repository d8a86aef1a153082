//! The command line of a node that knows IOUs.

use std::process::ExitCode;

fn main() -> ExitCode {
    tally::main_with(iou::register)
}
