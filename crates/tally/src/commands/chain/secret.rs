//! The secret of an account: a key's seed in a file, or a passphrase.

use std::path::PathBuf;

use chain::key_of_passphrase;
use primitives::{Hash, KeyPair, Scheme, SecretText, hex};

use crate::failure::{Failure, about_file};

/// The secret of an account.
#[derive(Debug, Default, clap::Args)]
#[group(multiple = false)]
pub struct Secret {
    /// A file with the seed of the account's key, 64 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The account's passphrase, which other users of this machine can see. For test networks only
    #[arg(long, value_name = "TEXT")]
    passphrase: Option<SecretText>,
    /// Read the passphrase from standard input
    #[arg(long)]
    passphrase_stdin: bool,
}

impl Secret {
    /// Returns the key.
    pub fn key(&self) -> Result<KeyPair, Failure> {
        if let Some(path) = &self.key_file {
            let text = std::fs::read_to_string(path).map_err(|error| about_file(path, &error))?;
            let text = SecretText::new(text);
            let seed = hex::decode_array(text.expose().trim())
                .ok_or_else(|| about_file(path, &"it does not hold 64 hexadecimal digits"))?;
            return Ok(KeyPair::from_seed(Scheme::Ed25519, seed));
        }
        Ok(key_of_passphrase(self.phrase()?.expose()))
    }

    /// The seed of the key, as hexadecimal text.
    pub fn seed(&self) -> Result<api::SecretText, Failure> {
        if let Some(path) = &self.key_file {
            let text = std::fs::read_to_string(path).map_err(|error| about_file(path, &error))?;
            return Ok(SecretText::new(text).expose().trim().into());
        }
        // The seed is the hash of the passphrase, as in `chain::key_of_passphrase`.
        let seed = Hash::plain(self.phrase()?.expose().as_bytes());
        Ok(seed.to_string().into())
    }

    fn phrase(&self) -> Result<SecretText, Failure> {
        let passphrase = self.given_phrase()?;
        if passphrase.expose().is_empty() {
            return Err(super::bad_value(super::EMPTY_PASSPHRASE));
        }
        Ok(passphrase)
    }

    fn given_phrase(&self) -> Result<SecretText, Failure> {
        if let Some(passphrase) = &self.passphrase {
            return Ok(passphrase.clone());
        }
        if !self.passphrase_stdin {
            let text = "no key is named: give --key-file, --passphrase or --passphrase-stdin";
            return Err(super::bad_value(text));
        }
        let mut line = String::new();
        std::io::stdin()
            .read_line(&mut line)
            .map_err(|error| super::bad_value(format!("standard input: {error}")))?;
        let line = SecretText::new(line);
        Ok(line.expose().trim_end_matches(['\n', '\r']).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        secret: Secret,
    }

    #[test]
    fn an_empty_passphrase_is_refused() {
        let line = <Line as clap::Parser>::try_parse_from(["x", "--passphrase", ""]);
        let secret = line.expect("a good line").secret;
        let refused = secret.key().map(drop).expect_err("empty");
        assert!(format!("{refused:?}").contains("is empty"), "{refused:?}");
        secret.seed().expect_err("empty");
        super::super::account("passphrase:").expect_err("empty");
    }

    #[test]
    fn debug_output_hides_the_passphrase() {
        let line = <Line as clap::Parser>::try_parse_from(["x", "--passphrase", "swordfish"]);
        let line = line.expect("a good line");
        let phrase = line.secret.phrase().expect("given");
        assert_eq!(phrase.expose(), "swordfish");
        let seed = line.secret.seed().expect("given");
        for shown in [format!("{line:?}"), format!("{line:#?}")] {
            assert!(!shown.contains("swordfish"), "{shown}");
        }
        assert_eq!(format!("{phrase:?} {seed:?}"), "(secret) (secret)");
    }
}
