//! The flows under test, and the parties they run between.

use flow::{Deadline, Flow, FlowContext, FlowError, FlowRegistry, Responder, Service, Session};

use ledger::{PartyId, SelectionRequest, SignedTransaction, TokenId};
use primitives::{Decode, Hash, SignatureContext};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::engine::parties::{letter, network, party};
use crate::engine::program;

pub fn registry() -> FlowRegistry {
    let mut registry = FlowRegistry::new();
    registry
        .register::<Ask>()
        .register::<Greet>()
        .register::<Outer>()
        .register::<Inner>()
        .register::<Nap>()
        .register::<Race>()
        .register::<Patient>()
        .register::<Panics>()
        .register::<Brittle>()
        .register::<Flaky>()
        .register::<Talk>()
        .register::<Offer>()
        .register::<Pay>()
        .register::<Within>()
        .register::<TalkAndFall>()
        .register::<Split>()
        .register::<program::Program>()
        .register::<Finalise>()
        .register::<Gather>()
        .register::<Spend>()
        .register::<SpendWithin>()
        .register::<Hold>()
        .register_responder::<Answer>()
        .register_responder::<OfferOne>()
        .register_responder::<Sign>()
        .register_responder::<SignAndWait>()
        .register_responder::<OfferTwo>()
        .register_responder::<program::ProgramAnswer>();
    registry
}

pub async fn ask(ctx: &FlowContext, what: &str) -> Result<String, FlowError> {
    let bytes = ctx.external(what, Vec::new()).await?;
    Ok(String::from_bytes(&bytes)?)
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct AskArgs {
    pub amount: u64,
    pub currency: String,
}
primitives::record!(AskArgs { amount, currency });

/// One question.
pub struct Ask;
impl Flow for Ask {
    const NAME: &'static str = "test.ask";
    const VERSION: u32 = 3;
    type Args = AskArgs;
    type Output = String;

    async fn run(ctx: FlowContext, args: AskArgs) -> Result<String, FlowError> {
        let answer = ask(&ctx, "rate").await?;
        Ok(format!("{} {} {answer}", args.amount, args.currency))
    }
}

/// Two questions, one after the other, with a time and a random number between.
pub struct Greet;
impl Flow for Greet {
    const NAME: &'static str = "test.greet";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, args: String) -> Result<String, FlowError> {
        ctx.progress("asking");
        let first = ask(&ctx, "first").await?;
        let at = ctx.now().as_ms();
        let random = ctx.random32()?[0];
        let second = ask(&ctx, &format!("second {first}")).await?;
        Ok(format!("{args} {first} {second} {at} {random}"))
    }
}

/// A question, a sub-flow, a question.
pub struct Outer;
impl Flow for Outer {
    const NAME: &'static str = "test.outer";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, args: String) -> Result<String, FlowError> {
        let before = ask(&ctx, "before").await?;
        let within = match ctx.sub_flow::<Inner>(args).await {
            Ok(text) => text,
            Err(error) => error.code.into_owned(),
        };
        let after = ask(&ctx, "after").await?;
        Ok(format!("{before} {within} {after}"))
    }
}

pub struct Inner;
impl Flow for Inner {
    const NAME: &'static str = "test.inner";
    const VERSION: u32 = 7;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, args: String) -> Result<String, FlowError> {
        if args == "at once" {
            return Ok("nothing".into());
        }
        let one = ask(&ctx, "one").await?;
        let two = ask(&ctx, "two").await?;
        if args == "fail" {
            return Err(FlowError::new(
                "test.failed",
                "as told",
                "tell it otherwise",
            ));
        }
        Ok(format!("{one}{two}"))
    }
}

/// Sleeps, then ends.
pub struct Nap;
impl Flow for Nap {
    const NAME: &'static str = "test.nap";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = u64;

    async fn run(ctx: FlowContext, ms: u64) -> Result<u64, FlowError> {
        let before = ctx.now();
        ctx.sleep_ms(ms).await?;
        Ok(ctx.now().since_ms(before).unwrap_or(0))
    }
}

/// A question with a time limit.
pub struct Race;
impl Flow for Race {
    const NAME: &'static str = "test.race";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = String;

    async fn run(ctx: FlowContext, ms: u64) -> Result<String, FlowError> {
        match ctx.timeout_ms(ms, ask(&ctx, "slow")).await {
            Ok(answer) => Ok(answer),
            Err(error) => ask(&ctx, &error.code).await,
        }
    }
}

/// Waits for a counterparty twice.
pub struct Patient;
impl Flow for Patient {
    const NAME: &'static str = "test.patient";
    const VERSION: u32 = 1;
    type Args = u64;
    type Output = String;

    async fn run(ctx: FlowContext, ms: u64) -> Result<String, FlowError> {
        let wait = Deadline::AfterMs(ms);
        ctx.within(wait, "the first", ask(&ctx, "first")).await?;
        ctx.within(wait, "the second", ask(&ctx, "second")).await
    }
}

pub struct Panics;
impl Flow for Panics {
    const NAME: &'static str = "test.panics";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, args: String) -> Result<String, FlowError> {
        let session = ctx.open_session(&party('B').id())?;
        session.send(&args).await?;
        let _held = Bomb(args == "on drop");
        ask(&ctx, "anything").await?;
        panic!("at {args}");
    }
}

/// Has arguments and a result whose own code panics, in memory ("encode") and on bytes and JSON ("decode").
pub struct Brittle;
impl Flow for Brittle {
    const NAME: &'static str = "test.brittle";
    const VERSION: u32 = 1;
    type Args = Glass;
    type Output = Glass;

    async fn run(_: FlowContext, args: Glass) -> Result<Glass, FlowError> {
        Ok(args)
    }
}

/// A text with broken codecs.
#[derive(Serialize, JsonSchema)]
pub struct Glass(pub String);

impl primitives::Encode for Glass {
    fn encode(&self, e: &mut primitives::Encoder) {
        assert!(self.0 != "encode", "it broke while encoding");
        self.0.encode(e);
    }
}

impl Decode for Glass {
    fn decode(d: &mut primitives::Decoder<'_>) -> Result<Self, primitives::DecodeError> {
        let text = String::decode(d)?;
        assert!(text != "decode", "it broke while decoding");
        Ok(Self(text))
    }
}

impl<'de> Deserialize<'de> for Glass {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        assert!(text != "decode", "it broke while decoding");
        Ok(Self(text))
    }
}

/// Asks twice, and once more for each "again" that it hears.
pub struct Flaky;
impl Flow for Flaky {
    const NAME: &'static str = "test.flaky";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, args: String) -> Result<String, FlowError> {
        let now = ctx.now();
        if args == "panic at once" && PANICS.get() {
            panic!("at once");
        }
        let first = ask(&ctx, "first").await?;
        let second = ask(&ctx, "second").await?;
        let later = ctx.now();
        match second.as_str() {
            "again" => Err(FlowError::new("test.again", "not yet", "wait").transient()),
            "no" => Err(FlowError::new("test.no", "never", "give up")),
            "panic" => panic!("in the middle"),
            _ if later < now => Err(FlowError::new("test.time", "went back", "")),
            _ => Ok(format!("{first} {second}")),
        }
    }
}

thread_local! {
    /// Whether the code of a test flow panics; cleared to simulate a fix.
    pub static PANICS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

struct Bomb(bool);
impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 && !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

/// Talks to the parties named by its letters: sends hello and a second line, receives one answer from each.
pub struct Talk;
impl Flow for Talk {
    const NAME: &'static str = "test.talk";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, args: String) -> Result<String, FlowError> {
        let sessions: Vec<Session> = args
            .chars()
            .map(|letter| ctx.open_session(&party(letter).id()))
            .collect::<Result<_, _>>()?;
        ctx.send_all(&sessions, &"hello".to_owned()).await?;
        let answers: Vec<String> = ctx.receive_all(&sessions).await?;
        Ok(answers.join(" "))
    }
}

/// Answers by asking its own external effect; some words make it behave differently.
pub struct Answer;
impl Responder for Answer {
    const NAME: &'static str = Talk::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let word: String = session.receive().await?;
        match word.as_str() {
            "refuse" => Err(FlowError::new(
                "test.refused",
                "not this word",
                "say another",
            )),
            "panic" => panic!("secret text"),
            "twice" => {
                let next: String = session.receive().await?;
                session.send(&next).await
            }
            _ => {
                let answer = ask(&ctx, &word).await?;
                session.send(&answer).await
            }
        }
    }
}

/// Offers two versions of a conversation.
pub struct Offer;
impl Flow for Offer {
    const NAME: &'static str = "test.offer";
    const VERSION: u32 = 3;
    type Args = Vec<u32>;
    type Output = u32;

    async fn run(ctx: FlowContext, versions: Vec<u32>) -> Result<u32, FlowError> {
        let session = ctx.open_session_offering(&party('B').id(), &versions)?;
        session.version().await
    }
}

pub struct OfferOne;
impl Responder for OfferOne {
    const NAME: &'static str = Offer::NAME;
    const VERSION: u32 = 1;

    async fn run(_: FlowContext, session: Session) -> Result<(), FlowError> {
        session.receive::<String>().await.map(drop)
    }
}

pub struct OfferTwo;
impl Responder for OfferTwo {
    const NAME: &'static str = Offer::NAME;
    const VERSION: u32 = 2;

    async fn run(_: FlowContext, session: Session) -> Result<(), FlowError> {
        session.receive::<String>().await.map(drop)
    }
}

/// Makes an irrevocable request, calls `settled` if it is refused, then makes another request.
pub struct Pay;
impl Flow for Pay {
    const NAME: &'static str = "test.pay";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, _: String) -> Result<String, FlowError> {
        let answer = ctx
            .request(&party('N').id(), Service::Notarise, Vec::new(), true)
            .await;
        match answer.as_deref() {
            Ok(b"refused") => ctx.settled(),
            Ok(_) => {}
            Err(_) => return ask(&ctx, "failed").await,
        }
        ask(&ctx, "more").await
    }
}

/// Two concurrent branches, one of them with a sub-flow.
pub struct Split;
impl Flow for Split {
    const NAME: &'static str = "test.split";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, _: String) -> Result<String, FlowError> {
        let branch = async |left: bool| -> Result<String, FlowError> {
            if left {
                let within = ctx.sub_flow::<Inner>("go".into()).await?;
                Ok(format!("{within}{}", ask(&ctx, "left").await?))
            } else {
                let one = ask(&ctx, "right").await?;
                Ok(format!("{one}{}", ask(&ctx, "right again").await?))
            }
        };
        Ok(ctx
            .join_all(vec![branch(true), branch(false)])
            .await?
            .join("+"))
    }
}

pub struct FinaliseArgs {
    pub transaction: SignedTransaction,
    pub participants: Vec<PartyId>,
}
primitives::record!(FinaliseArgs {
    transaction,
    participants
});

/// Makes a transaction final.
pub struct Finalise;
impl Flow for Finalise {
    const NAME: &'static str = "test.finalise";
    const VERSION: u32 = 1;
    type Args = Vec<u8>;
    type Output = String;

    async fn run(ctx: FlowContext, args: Vec<u8>) -> Result<String, FlowError> {
        let args = FinaliseArgs::from_bytes(&args)?;
        flow::library::finality(&ctx, args.transaction, &args.participants).await?;
        Ok("final".into())
    }
}

/// Collects signatures for a transaction.
pub struct Gather;
impl Flow for Gather {
    const NAME: &'static str = "test.gather";
    const VERSION: u32 = 1;
    type Args = Vec<u8>;
    type Output = String;

    async fn run(ctx: FlowContext, args: Vec<u8>) -> Result<String, FlowError> {
        let args = FinaliseArgs::from_bytes(&args)?;
        let sessions: Vec<Session> = args
            .participants
            .iter()
            .map(|party| ctx.open_session(party))
            .collect::<Result<_, _>>()?;
        let signed = flow::library::collect_signatures(&ctx, args.transaction, &sessions).await?;
        Ok(format!("{} signatures", signed.signatures().len()))
    }
}

/// Signs a transaction with one output, and waits for it.
pub struct Sign;
impl Responder for Sign {
    const NAME: &'static str = Gather::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let check = |transaction: &SignedTransaction, _: &flow::library::Asked| match transaction
            .wire()
            .outputs()
            .len()
        {
            1 => Ok(()),
            n => Err(FlowError::new(
                "test.terms",
                format!("{n} outputs"),
                "make it one",
            )),
        };
        let id = flow::library::sign_transaction(&ctx, &session, check).await?;
        flow::library::receive_finality(&ctx, &id).await.map(drop)
    }
}

/// Signs a message, and waits for a last message.
pub struct SignAndWait;
impl Responder for SignAndWait {
    const NAME: &'static str = "test.sign_and_wait";
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let key = ctx.me().key.clone();
        let context = SignatureContext::Transaction;
        ctx.sign(&key, context, Hash::ZERO).await?;
        session.receive::<String>().await.map(drop)
    }
}

/// Selects states, records a transaction that consumes the first of them, and calls an external effect.
pub struct Spend;
impl Flow for Spend {
    const NAME: &'static str = "test.spend";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, _: String) -> Result<String, FlowError> {
        let token = TokenId::from_hash(Hash::ZERO);
        let request = SelectionRequest {
            token,
            quantity: 5,
            notary: None,
            deadline_ms: 1,
        };
        let states = ctx.select_states(request).await?;
        let transaction = crate::engine::transactions::spend(&states[..1]);
        let id = transaction.id();
        ctx.record(transaction, Vec::new()).await?;
        let found = ctx.transaction(&id).await?;
        let answer = ask(&ctx, "then").await?;
        Ok(format!("{answer} {}", found.is_some()))
    }
}

/// Runs the same as a sub-flow.
pub struct SpendWithin;
impl Flow for SpendWithin {
    const NAME: &'static str = "test.spend_within";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, args: String) -> Result<String, FlowError> {
        ctx.sub_flow::<Spend>(args).await?;
        ask(&ctx, "after").await
    }
}

/// Locks a state by its reference, and calls an external effect.
pub struct Hold;
impl Flow for Hold {
    const NAME: &'static str = "test.hold";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, _: String) -> Result<String, FlowError> {
        let wanted = crate::engine::transactions::coin(1).reference;
        let states = ctx.lock_states(vec![wanted]).await?;
        let answer = ask(&ctx, "then").await?;
        Ok(format!("{answer} {}", states.len()))
    }
}

/// Runs a talk as a sub-flow, with a time limit or into a panic.
pub struct Within;
impl Flow for Within {
    const NAME: &'static str = "test.within";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, args: String) -> Result<String, FlowError> {
        if args == "limit" {
            let talk = ctx.sub_flow::<Talk>("B".into());
            return match ctx.timeout_ms(10, talk).await {
                Ok(answer) => Ok(answer),
                Err(error) => ask(&ctx, &error.code).await,
            };
        }
        ctx.sub_flow::<TalkAndFall>(args).await
    }
}

pub struct TalkAndFall;
impl Flow for TalkAndFall {
    const NAME: &'static str = "test.talk_and_fall";
    const VERSION: u32 = 1;
    type Args = String;
    type Output = String;

    async fn run(ctx: FlowContext, _: String) -> Result<String, FlowError> {
        let _session = ctx.open_session(&party('B').id())?;
        ask(&ctx, "anything").await?;
        panic!("within");
    }
}
