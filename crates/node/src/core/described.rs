//! Flows as the API's description shows them.

use api::openapi::FlowFacts;
use flow::FlowRegistry;
use schemars::SchemaGenerator;

/// The flows of a registry that can be started, in order of name, with schemas by this generator.
pub fn described_flows(flows: &FlowRegistry, generator: &mut SchemaGenerator) -> Vec<FlowFacts> {
    let listed = flows.list().into_iter();
    let described = listed.filter_map(|flow| {
        let schemas = flows.schemas(flow.name, generator)?;
        Some(FlowFacts {
            name: flow.name.to_owned(),
            versions: flow.versions,
            steps: flow.steps.iter().map(|step| (*step).to_owned()).collect(),
            arguments: schemas.arguments,
            result: schemas.result,
        })
    });
    described.collect()
}
