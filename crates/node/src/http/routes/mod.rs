//! One function for each request. Each takes HTTP apart, asks the service, and puts the answer together.

mod attachments;
mod batch;
mod consents;
mod description;
mod endpoints;
mod events;
mod flows;
mod handler;
mod hospital;
mod ledger;
mod login;
pub(crate) mod parameters;
mod reads;
mod receive;
mod recovery;
pub(super) mod status;
mod uploads;
mod users;
mod vault;

use api::operations;
use handler::Route;

use super::route::route;
use super::stream;

/// Returns all operations with their handlers, except `/health`.
pub(super) fn all() -> impl Iterator<Item = Route> {
    flows::routes()
        .chain(batch::routes())
        .chain(endpoints::routes())
        .chain(events::routes())
        .chain(hospital::routes())
        .chain([route(&operations::STREAM, stream::open)])
        .chain(reads::routes())
        .chain(vault::routes())
        .chain(ledger::routes())
        .chain(attachments::routes())
        .chain(uploads::routes())
        .chain(recovery::routes())
        .chain(users::routes())
        .chain(consents::routes())
        .chain(status::routes())
        .chain(description::routes())
        .chain(login::routes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_operation_has_one_handler() {
        let mut handled: Vec<&str> = all().map(|route| route.operation.id).collect();
        handled.push(operations::HEALTH.id);
        let described = operations::operations().map(|operation| operation.id);
        // The description has an operation for each flow instead.
        let described: BTreeSet<&str> = described
            .chain([operations::START_FLOW_AT_ENDPOINT.id])
            .collect();
        assert_eq!(handled.len(), described.len());
        assert_eq!(handled.into_iter().collect::<BTreeSet<_>>(), described);
    }
}
