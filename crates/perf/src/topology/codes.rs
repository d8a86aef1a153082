//! The error codes of the laboratory's networks.

use primitives::{Coded, ErrorInfo};

use super::host::{HostError, LOST, REFUSED};
use super::network_error::NetworkError;
use super::process::ProcessError;

/// The codes of this module.
pub const ERRORS: &[ErrorInfo] = &[
    ErrorInfo {
        code: "lab.bad_endpoint",
        cause: "A node's folder holds an address, a root certificate or a token that no client can be made of.",
        action: "Check api.listen in its node.toml, and its root.pem and api-token.",
    },
    ErrorInfo {
        code: "lab.bad_setting",
        cause: "A scenario sets something of a node's configuration that cannot be set, or a node's folder has a configuration that is not valid.",
        action: "Correct the setting under [network]; docs/reference/config.md lists every field of a node's configuration.",
    },
    ErrorInfo {
        code: "lab.bootstrap",
        cause: "The folders of a network for a run could not be made.",
        action: "Read the message that stands with it: it is that of the command that makes them.",
    },
    ErrorInfo {
        code: LOST,
        cause: "A machine whose agent runs nodes of this run was cut off, or its agent ended or fell silent. The nodes there have ended with it.",
        action: "Look at that machine and at the output of its agent, and run again.",
    },
    ErrorInfo {
        code: REFUSED,
        cause: "An agent does not do something for this run: a limit of its share is reached, or it does not accept a path or a program.",
        action: "The message names the limit or the value. Start agents on more machines, or end other runs.",
    },
    ErrorInfo {
        code: "lab.node_not_ready",
        cause: "A node of a run did not start, or ended or hung before it took work.",
        action: "Read the end of its log, which stands with the message: most often it is a setting that the node refuses, or a port or memory that is missing.",
    },
    ErrorInfo {
        code: "lab.node_not_stopped",
        cause: "A node of a run could not be stopped.",
        action: "Look whether its process is still there, and end it.",
    },
    ErrorInfo {
        code: "lab.no_postgres",
        cause: "A scenario has network.database = \"postgres\", and PostgreSQL is not installed.",
        action: "Install it: apt-get install postgresql.",
    },
    ErrorInfo {
        code: "lab.postgres",
        cause: "The PostgreSQL server of a run did not start, or refused a statement.",
        action: "Read the end of its log, which stands with the message: most often the disk is full, or memory is missing.",
    },
    ErrorInfo {
        code: "lab.no_galera",
        cause: "A network has a replicated notary, and MariaDB with Galera is not installed.",
        action: "Install Debian's packages mariadb-server and galera-4. No server needs to run: the laboratory starts its own.",
    },
    ErrorInfo {
        code: "lab.galera",
        cause: "A server of the replicated notary's database did not join its cluster.",
        action: "Read the end of its log in the message. Three servers need about 1 GB of memory.",
    },
    ErrorInfo {
        code: "lab.system",
        cause: "A file, a folder or a port that a run needs could not be had.",
        action: "Check the path that the message names, its permissions, and the room on its disk; TMPDIR says where networks are kept.",
    },
];

impl Coded for NetworkError {
    fn code(&self) -> &'static str {
        match self {
            NetworkError::System { .. } => "lab.system",
            NetworkError::Bootstrap(_) => "lab.bootstrap",
            NetworkError::Setting { .. } => "lab.bad_setting",
            NetworkError::Database(pgserver::ServerError::GaleraNotInstalled) => "lab.no_galera",
            NetworkError::Database(pgserver::ServerError::LateMember { .. }) => "lab.galera",
            NetworkError::Database(
                pgserver::ServerError::NotInstalled | pgserver::ServerError::NoUser(_),
            ) => "lab.no_postgres",
            NetworkError::Database(_) => "lab.postgres",
            NetworkError::Host(error) => error.code(),
            NetworkError::Process(error) => error.code(),
            NetworkError::Client(_) => "lab.bad_endpoint",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl Coded for ProcessError {
    fn code(&self) -> &'static str {
        match self {
            ProcessError::Host { source, .. } => source.code(),
            ProcessError::Start { .. }
            | ProcessError::Ended { .. }
            | ProcessError::NotReady { .. } => "lab.node_not_ready",
            ProcessError::State { .. } | ProcessError::Stop { .. } => "lab.node_not_stopped",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl Coded for HostError {
    fn code(&self) -> &'static str {
        match self {
            HostError::System { .. } => "lab.system",
            HostError::Failed { .. } => "lab.bootstrap",
            HostError::Refused { .. } => REFUSED,
            HostError::Lost { .. } => LOST,
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}
