//! The services of the API, one file for each resource.

mod contracts;
mod flows;
mod hospital;
mod integrity;
mod ledger;
mod notary;
mod status;
mod vault;
