//! The flows that a node can run, by name and version, and their responders.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use ledger::StateRef;
use primitives::{Decode, Encode};
use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema};

use crate::arguments::{ArgumentField, fields_of, from_json};
use crate::error::{BAD_ARGUMENTS, BAD_OUTPUT, NO_RESPONDER, UNKNOWN_FLOW, VERSION_UNSUPPORTED};
use crate::{Flow, FlowContext, FlowError, Responder, Session};

/// A running flow. Its output is encoded.
pub(crate) type FlowFuture = Pin<Box<dyn Future<Output = Result<Vec<u8>, FlowError>> + Send>>;

/// Erases the types of a [`Flow`].
trait AnyFlow: Send + Sync {
    fn run(
        &self,
        make: &dyn Fn(&'static str) -> FlowContext,
        args: &[u8],
    ) -> Result<FlowFuture, FlowError>;
    fn args_from_json(&self, json: &[u8]) -> Result<Vec<u8>, FlowError>;
    fn args_to_json(&self, args: &[u8]) -> Result<String, FlowError>;
    fn output_to_json(&self, output: &[u8]) -> Result<String, FlowError>;
    fn fields(&self) -> &'static [&'static str];
    fn steps(&self) -> &'static [&'static str];
    fn schemas(&self, generator: &mut SchemaGenerator) -> FlowSchemas;
}

/// Erases the types of a [`Responder`].
trait AnyResponder: Send + Sync {
    fn name(&self) -> &'static str;
    fn run(&self, ctx: FlowContext, session: Session) -> FlowFuture;
}

struct Initiating<F>(PhantomData<fn() -> F>);
struct Responding<R>(PhantomData<fn() -> R>);

impl<F: Flow> AnyFlow for Initiating<F> {
    fn run(
        &self,
        make: &dyn Fn(&'static str) -> FlowContext,
        args: &[u8],
    ) -> Result<FlowFuture, FlowError> {
        let args = decode_args::<F>(args)?;
        let ctx = make(F::NAME);
        Ok(Box::pin(async move {
            F::run(ctx, args).await.map(|output| output.to_bytes())
        }))
    }

    fn args_from_json(&self, json: &[u8]) -> Result<Vec<u8>, FlowError> {
        from_json::<F::Args>(json)
            .map(|args| args.to_bytes())
            .map_err(|text| FlowError::listed(&BAD_ARGUMENTS, format!("{}: {text}", F::NAME)))
    }

    fn args_to_json(&self, args: &[u8]) -> Result<String, FlowError> {
        serde_json::to_string(&decode_args::<F>(args)?)
            .map_err(|error| FlowError::listed(&BAD_ARGUMENTS, error.to_string()))
    }

    fn output_to_json(&self, output: &[u8]) -> Result<String, FlowError> {
        let bad = |text: String| FlowError::listed(&BAD_OUTPUT, format!("{}: {text}", F::NAME));
        let output = F::Output::from_bytes(output).map_err(|error| bad(error.to_string()))?;
        serde_json::to_string(&output).map_err(|error| bad(error.to_string()))
    }

    fn fields(&self) -> &'static [&'static str] {
        fields_of::<F::Args>()
    }

    fn steps(&self) -> &'static [&'static str] {
        F::STEPS
    }

    fn schemas(&self, generator: &mut SchemaGenerator) -> FlowSchemas {
        let mut arguments = F::Args::json_schema(generator);
        // Unknown fields in arguments are refused even if their type would accept them, so the schema says so.
        let is_closed = !self.fields().is_empty() && arguments.get("properties").is_some();
        if is_closed {
            arguments.insert("additionalProperties".to_owned(), false.into());
        }
        FlowSchemas {
            arguments,
            result: generator.subschema_for::<F::Output>(),
        }
    }
}

/// Runs a flow's code that is outside its future: decoders and encoders of its arguments and its output. A panic becomes
/// `flow.panicked`.
fn contained<T>(flow: &str, run: impl FnOnce() -> Result<T, FlowError>) -> Result<T, FlowError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        Err(FlowError::panicked(
            &format!("the code of '{flow}'"),
            &*panic,
        ))
    })
}

fn decode_args<F: Flow>(args: &[u8]) -> Result<F::Args, FlowError> {
    F::Args::from_bytes(args)
        .map_err(|error| FlowError::listed(&BAD_ARGUMENTS, format!("{}: {error}", F::NAME)))
}

impl<R: Responder> AnyResponder for Responding<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn run(&self, ctx: FlowContext, session: Session) -> FlowFuture {
        Box::pin(async move { R::run(ctx, session).await.map(|()| Vec::new()) })
    }
}

/// JSON schemas of a flow's arguments and result.
#[derive(Clone, Debug)]
pub struct FlowSchemas {
    /// The schema of the arguments, written out; the types it refers to are among the generator's definitions.
    pub arguments: Schema,
    /// The schema of the result, which may be a reference to the generator's definitions.
    pub result: Schema,
}

/// A registered flow, for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowDescription {
    /// Its name.
    pub name: &'static str,
    /// The versions that can be started; a start takes the highest by default. Retired versions, which only continue, are left out.
    pub versions: Vec<u32>,
    /// The fields of the highest version's arguments.
    pub arguments: Vec<ArgumentField>,
    /// The progress steps declared by the highest version.
    pub steps: &'static [&'static str],
    /// The versions of its responder.
    pub responds_to: Vec<u32>,
}

/// The flows a node can run.
#[derive(Clone, Default)]
pub struct FlowRegistry {
    flows: BTreeMap<&'static str, BTreeMap<u32, Arc<dyn AnyFlow>>>,
    responders: BTreeMap<&'static str, BTreeMap<u32, Arc<dyn AnyResponder>>>,
    schedulable: BTreeSet<&'static str>,
    /// Versions of flows that continue and cannot be started.
    retired: BTreeSet<(&'static str, u32)>,
    /// Whether peers can open no sessions. Responders in flight continue.
    sessions_closed: bool,
}

impl FlowRegistry {
    /// Creates an empty registry.
    pub fn new() -> FlowRegistry {
        FlowRegistry::default()
    }

    /// Registers one version of a flow, replacing an earlier registration of that version.
    pub fn register<F: Flow>(&mut self) -> &mut FlowRegistry {
        let flow = Arc::new(Initiating::<F>(PhantomData));
        self.retired.remove(&(F::NAME, F::VERSION));
        self.flows
            .entry(F::NAME)
            .or_default()
            .insert(F::VERSION, flow);
        self
    }

    /// Registers a version of a flow that is no longer started. Flows in flight continue on it.
    pub fn register_retired<F: Flow>(&mut self) -> &mut FlowRegistry {
        self.register::<F>();
        self.retired.insert((F::NAME, F::VERSION));
        self
    }

    /// Registers one version of a flow that states may schedule. The node starts it with the state's reference at the scheduled
    /// time, for a state made by any party. So the flow must rely only on properties that the state's contract ensures.
    pub fn register_scheduled<F: Flow<Args = StateRef>>(&mut self) -> &mut FlowRegistry {
        self.schedulable.insert(F::NAME);
        self.register::<F>()
    }

    /// Returns whether states may schedule a flow.
    pub fn is_schedulable(&self, name: &str) -> bool {
        self.schedulable.contains(name)
    }

    /// Registers the responder to one version of a flow.
    pub fn register_responder<R: Responder>(&mut self) -> &mut FlowRegistry {
        let responder = Arc::new(Responding::<R>(PhantomData));
        self.responders
            .entry(R::NAME)
            .or_default()
            .insert(R::VERSION, responder);
        self
    }

    /// Refuses all new sessions from peers, even if responders are registered: for a notary that takes part in no flows.
    /// Responders in flight continue.
    pub fn close_sessions(&mut self) -> &mut FlowRegistry {
        self.sessions_closed = true;
        self
    }

    /// Lists every registered name, in order.
    pub fn list(&self) -> Vec<FlowDescription> {
        let mut names: Vec<&'static str> = self
            .flows
            .keys()
            .chain(self.responders.keys())
            .copied()
            .collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| self.describe(name)).collect()
    }

    fn describe(&self, name: &'static str) -> FlowDescription {
        let newest = self.startable(name).last().map(|(_, flow)| flow);
        let fields = newest.map_or(&[][..], |f| f.fields());
        FlowDescription {
            name,
            // Empty if the name only responds to others.
            versions: self.startable(name).map(|(version, _)| version).collect(),
            arguments: fields.iter().map(|name| ArgumentField { name }).collect(),
            steps: newest.map_or(&[][..], |f| f.steps()),
            responds_to: self
                .responders
                .get(name)
                .filter(|_| !self.sessions_closed)
                .map(|v| v.keys().copied().collect())
                .unwrap_or_default(),
        }
    }

    /// Returns the version that a new start takes: the highest that can be started.
    pub fn current_version(&self, name: &str) -> Result<u32, FlowError> {
        self.versions(name)?;
        let newest = self.startable(name).last();
        newest
            .map(|(version, _)| version)
            .ok_or_else(|| retired(name, &[]))
    }

    /// Checks that a flow can be started in a version: it is registered and not retired.
    pub(crate) fn check_start(&self, name: &str, version: u32) -> Result<(), FlowError> {
        self.flow(name, version)?;
        if self.startable(name).any(|(known, _)| known == version) {
            return Ok(());
        }
        let startable: Vec<u32> = self.startable(name).map(|(known, _)| known).collect();
        Err(retired(name, &startable))
    }

    /// Returns the versions of a flow that are not retired, ascending.
    fn startable(&self, name: &str) -> impl Iterator<Item = (u32, &Arc<dyn AnyFlow>)> {
        let versions = self.flows.get_key_value(name).into_iter();
        versions.flat_map(|(name, versions)| {
            let versions = versions.iter();
            let kept = versions.filter(|(version, _)| !self.retired.contains(&(*name, **version)));
            kept.map(|(version, flow)| (*version, flow))
        })
    }

    /// Returns whether a version of a flow can run here.
    pub fn has(&self, name: &str, version: u32) -> bool {
        self.flows
            .get(name)
            .is_some_and(|versions| versions.contains_key(&version))
    }

    /// Returns whether a version of a responder can run here.
    pub fn has_responder(&self, name: &str, version: u32) -> bool {
        self.responders
            .get(name)
            .is_some_and(|versions| versions.contains_key(&version))
    }

    /// Encodes the arguments of a start from JSON. `flow.bad_arguments` names the field and suggests one.
    pub fn args_from_json(
        &self,
        name: &str,
        version: u32,
        json: &[u8],
    ) -> Result<Vec<u8>, FlowError> {
        let flow = self.flow(name, version)?;
        contained(name, || flow.args_from_json(json))
    }

    /// Converts encoded arguments to JSON.
    pub fn args_to_json(&self, name: &str, version: u32, args: &[u8]) -> Result<String, FlowError> {
        let flow = self.flow(name, version)?;
        contained(name, || flow.args_to_json(args))
    }

    /// Converts an encoded output to JSON.
    pub fn output_to_json(
        &self,
        name: &str,
        version: u32,
        output: &[u8],
    ) -> Result<String, FlowError> {
        let flow = self.flow(name, version)?;
        contained(name, || flow.output_to_json(output))
    }

    /// Returns the schemas of a flow's newest version, made by this generator; `None` if no such flow can be started here.
    pub fn schemas(&self, name: &str, generator: &mut SchemaGenerator) -> Option<FlowSchemas> {
        let (_, newest) = self.startable(name).last()?;
        Some(newest.schemas(generator))
    }

    /// Returns the highest offered version that has a responder here.
    pub(crate) fn negotiate(&self, name: &str, offered: &[u32]) -> Result<u32, FlowError> {
        if self.sessions_closed {
            let text = format!("this node answers no sessions, so none of '{name}'");
            return Err(FlowError::listed(&NO_RESPONDER, text));
        }
        let Some(versions) = self.responders.get(name) else {
            let text = format!("no responder for '{name}' is registered");
            return Err(FlowError::listed(&NO_RESPONDER, text));
        };
        let common = versions
            .keys()
            .rev()
            .find(|version| offered.contains(version));
        common.copied().ok_or_else(|| {
            let have: Vec<u32> = versions.keys().copied().collect();
            let text = format!("'{name}': offered versions {offered:?}, this node has {have:?}");
            FlowError::listed(&VERSION_UNSUPPORTED, text)
        })
    }

    /// Creates a flow's future without running it. `make` gets the flow's static name.
    pub(crate) fn run_flow(
        &self,
        name: &str,
        version: u32,
        args: &[u8],
        make: &dyn Fn(&'static str) -> FlowContext,
    ) -> Result<FlowFuture, FlowError> {
        let flow = self.flow(name, version)?;
        contained(name, || flow.run(make, args))
    }

    /// Creates a responder's future without running it.
    pub(crate) fn run_responder(
        &self,
        name: &str,
        version: u32,
        make: &dyn Fn(&'static str) -> (FlowContext, Session),
    ) -> Result<FlowFuture, FlowError> {
        let responder = self
            .responders
            .get(name)
            .and_then(|versions| versions.get(&version))
            .ok_or_else(|| {
                let text = format!("no responder for '{name}' version {version} is registered");
                FlowError::listed(&VERSION_UNSUPPORTED, text)
            })?;
        let (ctx, session) = make(responder.name());
        Ok(responder.run(ctx, session))
    }

    fn flow(&self, name: &str, version: u32) -> Result<&dyn AnyFlow, FlowError> {
        let versions = self.versions(name)?;
        versions.get(&version).map(|flow| &**flow).ok_or_else(|| {
            let have: Vec<u32> = versions.keys().copied().collect();
            let text =
                format!("'{name}' version {version} is not registered; this node has {have:?}");
            FlowError::listed(&VERSION_UNSUPPORTED, text)
        })
    }

    fn versions(&self, name: &str) -> Result<&BTreeMap<u32, Arc<dyn AnyFlow>>, FlowError> {
        self.flows.get(name).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> FlowError {
        let known: Vec<&str> = self.flows.keys().copied().collect();
        let mut text = format!("no flow '{name}' is registered");
        if let Some(near) = crate::arguments::nearest(name, &known) {
            text.push_str(&format!("; did you mean '{near}'?"));
        }
        FlowError::listed(&UNKNOWN_FLOW, text)
    }
}

/// Returns the refusal of a start in a retired version.
fn retired(name: &str, startable: &[u32]) -> FlowError {
    let text = format!(
        "'{name}': flows in flight continue on this version, and new ones start with {startable:?}"
    );
    FlowError::listed(&VERSION_UNSUPPORTED, text)
}

impl std::fmt::Debug for FlowRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}
