//! An agent's address as the command line gives it: `host:port[,weight=N][,fingerprint=HEX]`.

use std::fmt;
use std::str::FromStr;

use primitives::Hash;

/// The largest weight of one agent.
const WEIGHT_MAX: u32 = 10_000;

/// The address of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAddress {
    /// `host:port`.
    pub address: String,
    /// Its share of the load among the others.
    pub weight: u32,
    /// The expected fingerprint of its certificate, if the operator gave one.
    pub fingerprint: Option<Hash>,
}

impl fmt::Display for AgentAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.address)
    }
}

impl FromStr for AgentAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let address = parts.next().expect("even an empty text has one part");
        let port = address
            .rsplit_once(':')
            .map(|(host, port)| (host.is_empty(), port.parse::<u16>()));
        if !matches!(port, Some((false, Ok(1..)))) {
            return Err(format!("{address:?} is not of the form HOST:PORT"));
        }
        let mut found = Self {
            address: address.to_owned(),
            weight: 1,
            fingerprint: None,
        };
        for part in parts {
            match part.split_once('=') {
                Some(("weight", weight)) => {
                    let weight = weight.parse().ok();
                    found.weight = weight
                        .filter(|weight| (1..=WEIGHT_MAX).contains(weight))
                        .ok_or_else(|| format!("a weight from 1 to {WEIGHT_MAX} is allowed"))?;
                }
                Some(("fingerprint", hex)) => {
                    let fingerprint = hex.parse();
                    let wrong = |_| "a fingerprint is 64 hexadecimal digits".to_owned();
                    found.fingerprint = Some(fingerprint.map_err(wrong)?);
                }
                _ => {
                    return Err(format!(
                        "{part:?}: weight=N and fingerprint=HEX may follow the address"
                    ));
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let hex = "ab".repeat(32);
        for (text, weight, pinned) in [
            ("localhost:7700", 1, false),
            ("[::1]:7700,weight=3", 3, false),
            (&format!("10.0.0.2:1,fingerprint={hex},weight=2"), 2, true),
        ] {
            let address: AgentAddress = text.parse().expect(text);
            assert_eq!(
                (address.weight, address.fingerprint.is_some()),
                (weight, pinned)
            );
        }
        for text in [
            "",
            "host",
            "host:",
            ":7",
            "host:0",
            "host:70000",
            "h:1,weight=0",
            "h:1,x=2",
            "h:1,fingerprint=ab",
        ] {
            assert!(text.parse::<AgentAddress>().is_err(), "{text}");
        }
    }
}
