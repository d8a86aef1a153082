//! Flows of dishonest nodes: under the names of honest flows they send the messages that a test has prepared.

use std::cell::{Cell, RefCell};

use flow::{Flow, FlowContext, FlowError, FlowRegistry, Responder, Session};
use primitives::{Decode, DecodeError, Decoder, Encode, Encoder};

use super::{Testnet, flows};

thread_local! {
    /// The messages that a dishonest node sends, and the number of answers that it then awaits.
    static LIES: RefCell<(Vec<Vec<u8>>, usize)> = const { RefCell::new((Vec::new(), 0)) };
    /// Whether the registry is that of a dishonest node.
    static FORGING: Cell<bool> = const { Cell::new(false) };
    /// Pause of a slow party before each message, in milliseconds.
    static PACE_MS: Cell<u64> = const { Cell::new(0) };
}

/// Any message, as it is.
struct Raw(Vec<u8>);

impl Encode for Raw {
    fn encode(&self, e: &mut Encoder) {
        e.raw(&self.0);
    }
}

impl Decode for Raw {
    fn decode(d: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        d.raw().map(|bytes| Self(bytes.to_vec()))
    }
}

/// Says all of it, and waits for the answers.
async fn lie(session: &Session) -> Result<(), FlowError> {
    let (said, answers) = LIES.with_borrow(Clone::clone);
    for message in said {
        session.send(&Raw(message)).await?;
    }
    for _ in 0..answers {
        let _: Raw = session.receive().await?;
    }
    Ok(())
}

macro_rules! forgers {
    ($($forger:ident as $name:literal $version:literal says $conversation:literal),*) => { $(
        struct $forger;

        impl Flow for $forger {
            const NAME: &'static str = $name;
            const VERSION: u32 = $version;
            type Args = u64;
            type Output = ();

            async fn run(ctx: FlowContext, node: u64) -> Result<(), FlowError> {
                let with = flows::name(node).party_id();
                lie(&ctx.open_session_offering(&with, &[$conversation])?).await
            }
        }
    )* };
}

forgers!(
    Reissues as "cash.reissue" 2 says 2,
    Redeems as "paper.redeem" 2 says 1,
    Nets as "obligation.net" 2 says 1,
    Sells as "trade.sell" 1 says 1,
    Swaps as "swap.run" 2 says 1
);

/// A buyer that answers an offer with the prepared messages.
struct Buys;

impl Responder for Buys {
    const NAME: &'static str = "trade.sell";
    const VERSION: u32 = 1;

    async fn run(_: FlowContext, session: Session) -> Result<(), FlowError> {
        let _: Raw = session.receive().await?;
        lie(&session).await
    }
}

/// A party of a swap that gives each prepared answer only after a while.
struct TakesPartSlowly;

impl Responder for TakesPartSlowly {
    const NAME: &'static str = "swap.run";
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        for message in LIES.with_borrow(|(said, _)| said.clone()) {
            let _: Raw = session.receive().await?;
            ctx.sleep_ms(PACE_MS.get()).await?;
            session.send(&Raw(message)).await?;
        }
        let _: Raw = session.receive().await?;
        Ok(())
    }
}

pub(super) fn register(registry: &mut FlowRegistry) {
    if FORGING.get() {
        registry.register::<Reissues>();
        registry.register::<Redeems>();
        registry.register::<Nets>();
        registry.register::<Sells>();
        registry.register::<Swaps>();
        registry.register_responder::<Buys>();
        registry.register_responder::<TakesPartSlowly>();
    }
}

impl Testnet {
    /// Makes a node dishonest: it sends the messages `said` in place of its flows' own, then awaits `answers` answers.
    pub fn forger(&mut self, node: usize, said: Vec<Vec<u8>>, answers: usize) {
        LIES.set((said, answers));
        self.down(node);
        FORGING.set(true);
        self.up(node);
        FORGING.set(false);
    }

    /// Makes a node a slow party of swaps: it answers with the messages `said`, each after a while.
    pub fn slow_party(&mut self, node: usize, said: Vec<Vec<u8>>, pace_ms: u64) {
        PACE_MS.set(pace_ms);
        self.forger(node, said, 0);
    }

    /// Starts a flow of a dishonest node with another node.
    pub fn forge_unsettled(&mut self, node: usize, flow: &str, with: usize) -> u64 {
        FORGING.set(true);
        let started = self.start(node, flow, &with.to_string(), None);
        FORGING.set(false);
        started
    }

    /// Runs a flow of a dishonest node with another node. Returns how it ended there.
    pub fn forge(&mut self, node: usize, flow: &str, with: usize) -> Result<bool, String> {
        let started = self.forge_unsettled(node, flow, with);
        self.settle();
        self.ended(started)
    }

    /// Restarts a dishonest node as an honest one.
    pub fn repent(&mut self, node: usize) {
        self.down(node);
        self.up(node);
        self.settle();
    }
}
