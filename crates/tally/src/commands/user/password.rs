//! Reads a password from the terminal without echo, or from standard input, but never from the command line.

use std::io::{BufRead, Read};

use api::SecretText;
use node::users::{PASSWORD_BYTES_MAX, PasswordHash};

use crate::failure::Failure;

/// Minimum length of a password, in bytes.
const BYTES_MIN: usize = 8;

/// Reads a password.
pub fn read(from_stdin: bool) -> Result<SecretText, Failure> {
    let password = if from_stdin {
        first_line()?
    } else {
        let ask = |what: &str| {
            let typed = rpassword::prompt_password(what).map_err(|error| unread(&error))?;
            Ok::<_, Failure>(SecretText::from(typed))
        };
        let password = ask("Password: ")?;
        if ask("Again: ")? != password {
            return Err(bad("the two passwords differ"));
        }
        password
    };
    if !(BYTES_MIN..=PASSWORD_BYTES_MAX).contains(&password.expose().len()) {
        let text = format!("a password has {BYTES_MIN} to {PASSWORD_BYTES_MAX} bytes");
        return Err(bad(&text));
    }
    Ok(password)
}

/// Its hash.
pub fn hash(password: &SecretText) -> Result<PasswordHash, Failure> {
    PasswordHash::new(password.expose().as_bytes())
        .ok_or_else(|| no_randomness(&"the password could not be hashed"))
}

fn first_line() -> Result<SecretText, Failure> {
    let mut line = String::new();
    let most = PASSWORD_BYTES_MAX as u64 + 2;
    let stdin = std::io::stdin().lock();
    let read = stdin.take(most).read_line(&mut line);
    read.map_err(|error| unread(&error))?;
    let line = SecretText::from(line);
    Ok(line.expose().trim_end_matches(['\n', '\r']).into())
}

fn bad(text: &str) -> Failure {
    Failure::local("tally.bad_password", text, "Choose another password.")
}

fn unread(error: &std::io::Error) -> Failure {
    Failure::local(
        "tally.bad_password",
        format!("no password could be read: {error}"),
        "Run this in a terminal, or give --password-stdin.",
    )
}

/// Returns the failure for missing random bytes from the system.
pub fn no_randomness(error: &dyn std::fmt::Display) -> Failure {
    Failure::local(
        "node.system",
        error.to_string(),
        "Check the limits of processes and memory for this user.",
    )
}
