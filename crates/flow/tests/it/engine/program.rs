//! A flow that executes its arguments: the subject of the replay properties.

use std::future::Future;
use std::pin::Pin;

use flow::{Flow, FlowContext, FlowError, Responder, Session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::flows::{ask, party};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Op {
    Ask,
    AskAndCatch,
    Now,
    Random,
    Nap(u64),
    Limit(u64, Vec<Op>),
    Sub(Vec<Op>),
    Both(Vec<Op>, Vec<Op>),
    Open(u8),
    Send,
    Hear,
    Close,
    Fail,
}

primitives::variants!(Op {
    0 => Ask,
    1 => AskAndCatch,
    2 => Now,
    3 => Random,
    4 => Nap(ms),
    5 => Limit(ms, ops),
    6 => Sub(ops),
    7 => Both(left, right),
    8 => Open(who),
    9 => Send,
    10 => Hear,
    11 => Close,
    12 => Fail,
});

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ops {
    pub ops: Vec<Op>,
}
primitives::record!(Ops { ops });

pub struct Program;
impl Flow for Program {
    const NAME: &'static str = "test.program";
    const VERSION: u32 = 1;
    type Args = Ops;
    type Output = String;

    async fn run(ctx: FlowContext, args: Ops) -> Result<String, FlowError> {
        run(ctx, args.ops).await
    }
}

type Running = Pin<Box<dyn Future<Output = Result<String, FlowError>> + Send>>;

/// Runs the operations; the result lists everything that the flow observed.
fn run(ctx: FlowContext, ops: Vec<Op>) -> Running {
    Box::pin(async move {
        let mut seen = String::new();
        let mut session: Option<Session> = None;
        for op in ops {
            let next = match op {
                Op::Ask => ask(&ctx, &format!("ask {}", digest(&seen))).await?,
                Op::AskAndCatch => ask(&ctx, "catch")
                    .await
                    .unwrap_or_else(|error| error.code.into_owned()),
                Op::Now => ctx.now().as_ms().to_string(),
                Op::Random => ctx.random32()?[0].to_string(),
                Op::Nap(ms) => {
                    ctx.sleep_ms(ms).await?;
                    "slept".into()
                }
                Op::Limit(ms, ops) => match ctx.timeout_ms(ms, run(ctx.clone(), ops)).await {
                    Ok(text) => text,
                    Err(error) => error.code.into_owned(),
                },
                Op::Sub(ops) => match ctx.sub_flow::<Program>(Ops { ops }).await {
                    Ok(text) => text,
                    Err(error) => error.code.into_owned(),
                },
                Op::Both(left, right) => ctx
                    .join_all(vec![run(ctx.clone(), left), run(ctx.clone(), right)])
                    .await?
                    .join("|"),
                Op::Open(who) => {
                    let letter = if who % 2 == 0 { 'B' } else { 'C' };
                    session = Some(ctx.open_session(&party(letter).id())?);
                    String::new()
                }
                Op::Send => match &session {
                    Some(session) => match session.send(&digest(&seen)).await {
                        Ok(()) => "sent".into(),
                        Err(error) => error.code.into_owned(),
                    },
                    None => String::new(),
                },
                Op::Hear => match &session {
                    Some(session) => match session.receive::<String>().await {
                        Ok(text) => text,
                        Err(error) => error.code.into_owned(),
                    },
                    None => String::new(),
                },
                Op::Close => {
                    if let Some(session) = &session {
                        session.close();
                    }
                    String::new()
                }
                Op::Fail => return Err(FlowError::new("test.failed", seen, "")),
            };
            seen = format!("{seen},{next}");
            if seen.len() > 200 {
                seen = digest(&seen);
            }
        }
        Ok(seen)
    })
}

fn digest(text: &str) -> String {
    primitives::Hash::plain(text.as_bytes()).to_string()[..8].to_owned()
}

/// Answers nothing.
pub struct ProgramAnswer;
impl Responder for ProgramAnswer {
    const NAME: &'static str = Program::NAME;
    const VERSION: u32 = 1;

    async fn run(_: FlowContext, session: Session) -> Result<(), FlowError> {
        session.receive::<String>().await.map(drop)
    }
}
