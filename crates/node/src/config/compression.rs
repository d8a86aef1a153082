//! `p2p.compression`: a flag, or the word for links that a flag leaves alone.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The third value, in addition to `true` and `false`.
const ALWAYS: &str = "always";

/// Whether messages to nodes that want it are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompressionSetting {
    /// `false`: never.
    Off,
    /// `true`: on every link but those within the machine, where it costs more than it saves.
    #[default]
    Away,
    /// `"always"`: on those too.
    Always,
}

impl From<CompressionSetting> for net::Compression {
    fn from(setting: CompressionSetting) -> Self {
        match setting {
            CompressionSetting::Off => Self::Off,
            CompressionSetting::Away => Self::Auto,
            CompressionSetting::Always => Self::On,
        }
    }
}

impl Serialize for CompressionSetting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_bool(false),
            Self::Away => serializer.serialize_bool(true),
            Self::Always => serializer.serialize_str(ALWAYS),
        }
    }
}

impl<'de> Deserialize<'de> for CompressionSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FlagOrWord;

        impl Visitor<'_> for FlagOrWord {
            type Value = CompressionSetting;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "true, false or \"{ALWAYS}\"")
            }

            fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
                Ok(match flag {
                    true => CompressionSetting::Away,
                    false => CompressionSetting::Off,
                })
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
                match word {
                    ALWAYS => Ok(CompressionSetting::Always),
                    word => Err(E::invalid_value(Unexpected::Str(word), &self)),
                }
            }
        }

        deserializer.deserialize_any(FlagOrWord)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NodeConfig;
    use crate::config::error::tests::{SMALLEST, parse};

    fn with(value: &str) -> Result<NodeConfig, String> {
        let p2p = format!("[p2p]\ncompression = {value}");
        parse(&SMALLEST.replace("[p2p]", &p2p))
    }

    #[test]
    fn flags_and_the_word_are_taken_and_written_as_they_were() {
        for (value, setting, compression) in [
            ("false", CompressionSetting::Off, net::Compression::Off),
            ("true", CompressionSetting::Away, net::Compression::Auto),
            (
                "\"always\"",
                CompressionSetting::Always,
                net::Compression::On,
            ),
        ] {
            let config = with(value).unwrap_or_else(|error| panic!("{value}: {error}"));
            assert_eq!(config.p2p.compression, setting);
            assert_eq!(net::Compression::from(setting), compression);
            let written = toml::Table::try_from(&config).expect("a table");
            assert_eq!(written["p2p"]["compression"].to_string(), value);
        }
        let default = parse(SMALLEST).expect("it has a default").p2p.compression;
        assert_eq!(default, CompressionSetting::Away);
    }

    #[test]
    fn anything_else_is_refused_with_what_it_may_be() {
        for value in ["\"allways\"", "\"\"", "1", "[true]"] {
            let error = with(value).expect_err(value);
            assert!(
                error.contains("true, false or \"always\""),
                "{value}: {error}"
            );
        }
    }
}
