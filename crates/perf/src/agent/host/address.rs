//! A host's address as the command line gives it: `NAME=host:port[,fingerprint=HEX]`.

use std::fmt;
use std::str::FromStr;

use crate::agent::AgentAddress;

/// The longest name of a host.
const NAME_BYTES_MAX: usize = 32;

/// The name of a host, and the address of its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAddress {
    /// Its name, for placing nodes.
    pub name: String,
    /// The address of its agent.
    pub agent: AgentAddress,
}

impl fmt::Display for HostAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}={}", self.name, self.agent)
    }
}

impl FromStr for HostAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, address) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} is not of the form NAME=HOST:PORT"))?;
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_name) {
            return Err(format!(
                "{name:?} is no name of a host: use at most {NAME_BYTES_MAX} of a-z, 0-9 and -"
            ));
        }
        let agent: AgentAddress = address.parse()?;
        if agent.weight != 1 {
            return Err("a host has no weight; place nodes with --place NODE=NAME".to_owned());
        }
        Ok(Self {
            name: name.to_owned(),
            agent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let hex = "ab".repeat(32);
        for (text, name, pinned) in [
            ("a=localhost:7700", "a", false),
            ("rack-2=[::1]:7700", "rack-2", false),
            (&format!("b=10.0.0.2:1,fingerprint={hex}"), "b", true),
        ] {
            let address: HostAddress = text.parse().expect(text);
            assert_eq!(address.name, name);
            assert_eq!(address.agent.fingerprint.is_some(), pinned);
        }
        let long = format!("{}=h:1", "a".repeat(NAME_BYTES_MAX + 1));
        for text in [
            "",
            "host:1",
            "=host:1",
            "A=host:1",
            "a b=host:1",
            "a=host",
            "a=h:1,weight=2",
            long.as_str(),
        ] {
            assert!(text.parse::<HostAddress>().is_err(), "{text}");
        }
    }
}
