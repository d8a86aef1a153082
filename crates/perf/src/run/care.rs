//! The network that a point's scenario requires, and the settings of its nodes.

use std::path::PathBuf;

use crate::plan;
use crate::topology::{LinkSpeed, LinkSpeeds, NetworkOptions, NodeCare, Placement, Settings, Who};

/// The properties that cannot change once a network exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub banks: u32,
    pub notary: plan::NotaryKind,
    pub requesters: u32,
    /// Whether its nodes keep their data on a PostgreSQL server.
    pub database: bool,
    /// Whether they reach it through a proxy.
    pub database_link: bool,
    /// Whether its nodes connect through links.
    pub links: bool,
    /// Its executable, if it is not the run's.
    pub binary: Option<PathBuf>,
}

impl Shape {
    pub fn of(network: &plan::Network, binary: Option<PathBuf>) -> Self {
        Self {
            binary,
            banks: network.banks,
            notary: network.notary,
            requesters: network.requesters,
            database: network.database == plan::DatabaseKind::Postgres,
            database_link: network.database_latency_ms.is_some(),
            links: network.is_linked(),
        }
    }

    /// Returns the options to bring it up. `usual` is the executable if it has none of its own.
    pub fn options(&self, usual: PathBuf, hosts: &Placement) -> NetworkOptions {
        let binary = self.binary.clone().unwrap_or(usual);
        let (notary_backend, workers) = match self.notary {
            plan::NotaryKind::Replicated { backend, workers } => (backend, workers),
            _ => (plan::NotaryBackend::Galera, 0),
        };
        NetworkOptions {
            validating: self.notary == plan::NotaryKind::Validating,
            notary_backend,
            notary_workers: workers as usize,
            requesters: self.requesters as usize,
            database: self.database,
            database_link: self.database_link,
            links: self.links,
            placement: hosts.clone(),
            ..NetworkOptions::numbered(binary, self.banks)
        }
    }
}

/// Returns the configuration of one node: the common settings, overridden by its own.
pub(super) fn care(network: &plan::Network, who: Who) -> NodeCare {
    let mut settings: Settings = network.settings.clone();
    let name = match who {
        // The workers of a notary have the same settings.
        Who::Worker(_) => Who::Notary.to_string(),
        _ => who.to_string(),
    };
    let own = network.nodes.get(&name);
    if let Some(own) = own {
        settings.extend(own.settings.clone());
    }
    NodeCare {
        settings,
        cores: own.and_then(|own| own.cores),
    }
}

/// Returns the speeds of its links.
pub(super) fn link_speeds(network: &plan::Network) -> LinkSpeeds {
    let speed = |link: &plan::Link| LinkSpeed::new(link.delay_ms, link.mbit_per_s);
    let everybody = std::iter::once(Who::Notary).chain((0..network.banks as usize).map(Who::Bank));
    let own = everybody.enumerate().filter_map(|(at, who)| {
        let own = network.nodes.get(&who.to_string())?;
        Some((at, speed(own.link.as_ref()?)))
    });
    LinkSpeeds {
        all: network.link.as_ref().map(speed).unwrap_or_default(),
        own: own.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_s_own_settings_replace_and_join_those_of_all() {
        let settings = |pairs: &[(&str, i64)]| -> Settings {
            let pairs = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).into()));
            pairs.collect()
        };
        let own = plan::NodeSettings {
            settings: settings(&[("a.x", 2), ("a.y", 3)]),
            cores: Some(1),
            link: Some(plan::Link {
                delay_ms: 40.0,
                mbit_per_s: Some(8.0),
            }),
        };
        let network = plan::Network {
            banks: 2,
            notary: plan::NotaryKind::Validating,
            requesters: 0,
            database: plan::DatabaseKind::Embedded,
            database_latency_ms: None,
            settings: settings(&[("a.x", 1), ("b", 1)]),
            nodes: [("bank-2".to_owned(), own)].into(),
            link: None,
            target: None,
        };
        assert!(Shape::of(&network, None).links);
        let speeds = LinkSpeeds {
            all: LinkSpeed::default(),
            own: [(2, LinkSpeed::new(40.0, Some(8.0)))].into(),
        };
        assert_eq!(link_speeds(&network), speeds);
        let all = care(&network, Who::Bank(0));
        assert_eq!((all.settings, all.cores), (network.settings.clone(), None));
        let one = care(&network, Who::Bank(1));
        assert_eq!(one.settings, settings(&[("a.x", 2), ("a.y", 3), ("b", 1)]));
        assert_eq!(one.cores, Some(1));
        let options = Shape::of(&network, None).options("tally".into(), &Placement::default());
        assert!(
            options.validating
                && options.notary_workers == 0
                && options.banks == ["Bank 1", "Bank 2"]
        );
        let other = Shape::of(&network, Some("older".into()));
        assert_ne!(other, Shape::of(&network, None), "a network of its own");
        assert_eq!(
            other.options("tally".into(), &Placement::default()).binary,
            PathBuf::from("older")
        );
    }
}
