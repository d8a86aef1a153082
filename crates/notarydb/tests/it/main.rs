//! One suite for every record of consumed states: a store, a MariaDB Galera cluster and a PostgreSQL server.

mod backends;
mod faults;
mod hostile;
mod planted;
mod suite;
mod tls;
