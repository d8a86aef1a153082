//! A flow that fails until the file that it needs exists.

use std::path::Path;

use flow::{Flow, FlowContext, FlowError, FlowRegistry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arguments of [`Frail`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FrailArgs {
    /// The flow does well once this file is there.
    needs: String,
    /// Whether it panics without; else it says that time may mend it.
    panics: bool,
}

primitives::record!(FrailArgs { needs, panics });

/// The flow of this module.
pub struct Frail;

impl Flow for Frail {
    const NAME: &'static str = "trial.frail";
    const VERSION: u32 = 1;
    type Args = FrailArgs;
    type Output = bool;

    async fn run(ctx: FlowContext, args: FrailArgs) -> Result<bool, FlowError> {
        ctx.sleep_ms(1).await?;
        if Path::new(&args.needs).exists() {
            return Ok(true);
        }
        assert!(!args.panics, "nobody has thought of this");
        let hint = "bring it back";
        Err(FlowError::new("trial.away", "what it needs is away", hint).transient())
    }
}

pub fn register(flows: &mut FlowRegistry) {
    flows.register::<Frail>();
}
