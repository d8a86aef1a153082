//! The ground that a point runs on: our own network, an existing one, or none.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use client::{Client, Endpoint};

use super::care::Shape;
use super::error::RunError;
use super::ours::Ours;
use crate::connector::{self, Connector};
use crate::measure::DiskUse;
use crate::monitor::Subject;
use crate::plan::{self, ConnectorProgram, Target};
use crate::topology::{ExternalNode, NetworkError, Who};
use crate::workload::{Site, SiteNode};

/// The name of a connector among processes.
const CONNECTOR: &str = "connector";

/// The identity of a ground: points with equal keys share one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GroundKey {
    /// No node.
    Nothing,
    /// Brought up for this run.
    Ours(Shape),
    /// An existing network: the folders of its banks and of its notary.
    Theirs(Vec<PathBuf>, Option<PathBuf>),
    /// Another system.
    Other(ConnectorProgram),
}

impl GroundKey {
    /// Returns the key of the ground that a scenario needs.
    pub fn of(network: &plan::Network, binary: Option<PathBuf>) -> Self {
        match &network.target {
            Some(Target::Nodes { banks, notary }) => {
                GroundKey::Theirs(banks.clone(), notary.clone())
            }
            Some(Target::Connector(program)) => GroundKey::Other(program.clone()),
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
    /// Another system, by its connector.
    Other(Arc<Connector>),
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
            GroundKey::Theirs(banks, notary) => {
                Ground::Theirs(Theirs::open(banks, notary.as_deref())?)
            }
            GroundKey::Other(program) => {
                let command = match program {
                    ConnectorProgram::Postgres => connector::postgres::command(&binary),
                    ConnectorProgram::Command(words) => words.clone(),
                };
                let started = Connector::start(&command).await;
                Ground::Other(Arc::new(started.map_err(|fault| RunError::Work {
                    what: "starting the connector",
                    failed: fault.into(),
                })?))
            }
        })
    }

    /// Returns the site for workloads.
    pub fn site(&self, seed: u64, outstanding: u32) -> Result<Site, RunError> {
        match self {
            Ground::Nothing => Ok(Site::new(Vec::new(), None, seed)),
            Ground::Ours(ours) => ours.site(seed, outstanding),
            Ground::Theirs(theirs) => theirs.site(seed),
            Ground::Other(connector) => {
                let site = Site::new(Vec::new(), None, seed);
                Ok(site.with_connector(Arc::clone(connector)))
            }
        }
    }

    /// Returns its banks' names and APIs in order, for generators on other machines.
    pub fn banks(&self) -> Result<Vec<(String, Endpoint)>, RunError> {
        match self {
            Ground::Nothing | Ground::Other(_) => Ok(Vec::new()),
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
            Ground::Other(connector) => Ok(subjects(connector)),
        }
    }

    /// Returns the process of one of our nodes, by the node's name, if it runs.
    pub fn pid(&self, node: &str) -> Option<u32> {
        match self {
            Ground::Ours(ours) => ours.pid(node),
            Ground::Nothing | Ground::Theirs(_) | Ground::Other(_) => None,
        }
    }

    /// Returns the bytes on all disks together; `None` if they are not accessible.
    pub fn disk_bytes(&self) -> Option<u64> {
        match self {
            Ground::Ours(ours) => ours.disk_bytes(),
            Ground::Other(connector) => disk_bytes(connector),
            Ground::Nothing | Ground::Theirs(_) => None,
        }
    }

    /// Returns the error if the ground has ended by itself.
    pub fn died(&mut self) -> Option<RunError> {
        match self {
            Ground::Ours(ours) => ours.died(),
            Ground::Other(connector) => connector.ended().map(|fault| RunError::Work {
                what: "the connector",
                failed: fault.into(),
            }),
            Ground::Nothing | Ground::Theirs(_) => None,
        }
    }
}

/// Returns the processes of another system and its connector, to be monitored.
fn subjects(connector: &Arc<Connector>) -> Vec<Subject> {
    let processes = connector.hello().processes.iter();
    let mut subjects: Vec<Subject> = processes
        .map(|process| Subject {
            name: process.name.clone(),
            pid: Some(process.pid),
            with_children: true,
            folder: process.folder.clone(),
            ..Subject::default()
        })
        .collect();
    subjects.push(Subject {
        name: CONNECTOR.to_owned(),
        pid: connector.pid(),
        connector: Some(Arc::clone(connector)),
        ..Subject::default()
    });
    subjects
}

/// Returns the bytes of the folders that another system names; `None` if it names none, or one cannot be read.
fn disk_bytes(connector: &Connector) -> Option<u64> {
    let folders = connector.hello().processes.iter();
    let sizes = folders.filter_map(|process| process.folder.as_deref());
    let sizes: Option<Vec<u64>> = sizes
        .map(|folder| Some(DiskUse::of(folder).ok()?.live_bytes))
        .collect();
    sizes
        .filter(|sizes| !sizes.is_empty())
        .map(|sizes| sizes.iter().sum())
}

impl Theirs {
    fn open(banks: &[PathBuf], notary: Option<&Path>) -> Result<Self, NetworkError> {
        let banks = banks.iter();
        let banks: Result<Vec<ExternalNode>, NetworkError> = banks
            .map(|folder| ExternalNode::of_folder(folder))
            .collect();
        let notary = notary.map(ExternalNode::of_folder);
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
