//! The ground that a point runs on: our own network, an existing one, or none.

use std::path::PathBuf;

use client::{Client, Endpoint};

use super::care::Shape;
use super::error::RunError;
use super::ours::Ours;
use crate::monitor::Subject;
use crate::plan::{self, Target};
use crate::topology::{ExternalNode, NetworkError, Who};
use crate::workload::{Site, SiteNode};

/// The identity of a ground: points with equal keys share one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GroundKey {
    /// No node.
    Nothing,
    /// Brought up for this run.
    Ours(Shape),
    /// An existing network.
    Theirs(Target),
}

impl GroundKey {
    /// Returns the key of the ground that a scenario needs.
    pub fn of(network: &plan::Network, binary: Option<PathBuf>) -> Self {
        match &network.target {
            Some(target) => GroundKey::Theirs(target.clone()),
            None if network.banks == 0 => GroundKey::Nothing,
            None => GroundKey::Ours(Shape::of(network, binary)),
        }
    }
}

/// The ground that a point runs on.
pub(super) enum Ground {
    Nothing,
    Ours(Box<Ours>),
    Theirs(Theirs),
}

/// A network that is neither wiped nor restarted.
pub(super) struct Theirs {
    banks: Vec<ExternalNode>,
    notary: Option<ExternalNode>,
}

impl Ground {
    /// Creates it without starting anything.
    pub async fn new(key: &GroundKey, binary: PathBuf) -> Result<Self, RunError> {
        Ok(match key {
            GroundKey::Nothing => Ground::Nothing,
            GroundKey::Ours(shape) => Ground::Ours(Box::new(Ours::bootstrap(binary, shape).await?)),
            GroundKey::Theirs(target) => Ground::Theirs(Theirs::open(target)?),
        })
    }

    /// Returns the site for workloads.
    pub fn site(&self, seed: u64, outstanding: u32) -> Result<Site, RunError> {
        match self {
            Ground::Nothing => Ok(Site::new(Vec::new(), None, seed)),
            Ground::Ours(ours) => ours.site(seed, outstanding),
            Ground::Theirs(theirs) => theirs.site(seed),
        }
    }

    /// Returns its banks' names and APIs in order, for generators on other machines.
    pub fn banks(&self) -> Result<Vec<(String, Endpoint)>, RunError> {
        match self {
            Ground::Nothing => Ok(Vec::new()),
            Ground::Ours(ours) => ours.banks(),
            Ground::Theirs(theirs) => {
                let banks = theirs.banks.iter();
                Ok(banks
                    .map(|node| (node.name.clone(), node.endpoint.clone()))
                    .collect())
            }
        }
    }

    /// Returns the subjects to monitor.
    pub fn subjects(&self) -> Result<Vec<Subject>, RunError> {
        match self {
            Ground::Nothing => Ok(Vec::new()),
            Ground::Ours(ours) => ours.subjects(),
            Ground::Theirs(theirs) => Ok(theirs.subjects()),
        }
    }

    /// Returns the process of one of our nodes, by the node's name, if it runs.
    pub fn pid(&self, node: &str) -> Option<u32> {
        match self {
            Ground::Ours(ours) => ours.pid(node),
            Ground::Nothing | Ground::Theirs(_) => None,
        }
    }

    /// Returns the bytes on all disks together; `None` if they are not accessible.
    pub fn disk_bytes(&self) -> Option<u64> {
        match self {
            Ground::Ours(ours) => ours.disk_bytes(),
            Ground::Nothing | Ground::Theirs(_) => None,
        }
    }
}

impl Theirs {
    fn open(target: &Target) -> Result<Self, NetworkError> {
        let banks = target.banks.iter();
        let banks: Result<Vec<ExternalNode>, NetworkError> = banks
            .map(|folder| ExternalNode::of_folder(folder))
            .collect();
        let notary = target.notary.as_deref().map(ExternalNode::of_folder);
        Ok(Self {
            banks: banks?,
            notary: notary.transpose()?,
        })
    }

    fn site(&self, seed: u64) -> Result<Site, RunError> {
        let node = |node: &ExternalNode| {
            let client = Client::new(node.endpoint.clone()).map_err(NetworkError::from)?;
            let site = SiteNode::new(node.name.clone(), client);
            Ok::<SiteNode, RunError>(site.with_endpoint(node.endpoint.clone()))
        };
        let banks: Result<Vec<SiteNode>, RunError> = self.banks.iter().map(node).collect();
        let notary = self.notary.as_ref().map(node).transpose()?;
        Ok(Site::new(banks?, notary, seed))
    }

    fn subjects(&self) -> Vec<Subject> {
        let subject = |who: Who, node: &ExternalNode| Subject {
            name: who.to_string(),
            endpoint: Some(node.endpoint.clone()),
            ..Subject::default()
        };
        let notary = self.notary.iter().map(|node| subject(Who::Notary, node));
        let banks = self.banks.iter().enumerate();
        notary
            .chain(banks.map(|(at, node)| subject(Who::Bank(at), node)))
            .collect()
    }
}
