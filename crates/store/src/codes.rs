//! The codes of the store and of its files, in one list.

use primitives::ErrorInfo;

use crate::{failure, files};

const COUNT: usize = failure::ERRORS.len() + files::ERRORS.len();

/// Every public error code of this crate.
pub const ERRORS: &[ErrorInfo] = &joined();

const fn joined() -> [ErrorInfo; COUNT] {
    let mut all = [failure::ERRORS[0]; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = match at.checked_sub(failure::ERRORS.len()) {
            None => failure::ERRORS[at],
            Some(of_files) => files::ERRORS[of_files],
        };
        at += 1;
    }
    all
}
