//! Flows that swap fresh keys, honest ones and one that lies.

use flow::library::{Identities, swap_identities};
use flow::{Flow, FlowContext, FlowError, FlowRegistry, Responder, Session};
use ledger::OwnershipProof;
use primitives::{Hash, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name;

pub fn register(flows: &mut FlowRegistry) {
    flows.register::<Swap>();
    flows.register_responder::<Swaps>();
}

/// The behaviour of the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Lie {
    /// No lie: the behaviour of the library.
    None,
    /// A proof that was made for node 3.
    OtherAudience,
    /// The counterparty's own proof, presented as this node's.
    Theirs,
    /// Bytes that are no proof.
    Nonsense,
    /// A proof with a bit of a signature changed.
    Forged,
    /// The key of the network map.
    NotFresh,
    /// The same proof a second time, to the party that it was made for.
    Again,
}

primitives::variants!(Lie {
    0 => None, 1 => OtherAudience, 2 => Theirs, 3 => Nonsense, 4 => Forged, 5 => NotFresh, 6 => Again
});

/// The other party, and the lie.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SwapArgs {
    pub with: u64,
    pub lie: Lie,
}

primitives::record!(SwapArgs { with, lie });

/// The key that the other side says it has received.
type Told = PublicKey;

/// Swaps keys; returns its own and the other's.
pub struct Swap;

impl Flow for Swap {
    const NAME: &'static str = "test.swap";
    const VERSION: u32 = 1;
    type Args = SwapArgs;
    type Output = Vec<PublicKey>;

    async fn run(ctx: FlowContext, args: SwapArgs) -> Result<Vec<PublicKey>, FlowError> {
        let peer = name(args.with).party_id();
        let session = ctx.open_session(&peer)?;
        if args.lie == Lie::None {
            let Identities { mine, theirs } = swap_identities(&ctx, &session).await?;
            let told: Told = session.receive().await?;
            assert_eq!(told, mine);
            return Ok(vec![mine, theirs]);
        }
        let good = ctx.fresh_key_for(&peer).await?;
        let lie = match args.lie {
            Lie::OtherAudience => ctx.fresh_key_for(&name(3).party_id()).await?,
            Lie::Forged => OwnershipProof {
                by_key: good.by_owner,
                ..good.clone()
            },
            Lie::NotFresh => OwnershipProof {
                key: ctx.me().key.clone(),
                ..good.clone()
            },
            _ => good.clone(),
        };
        match args.lie {
            Lie::Nonsense => session.send(&Hash::ZERO).await?,
            Lie::Theirs => {}
            _ => session.send(&lie).await?,
        }
        let theirs: OwnershipProof = session.receive().await?;
        if args.lie == Lie::Theirs {
            session.send(&theirs).await?;
        }
        let told: Told = session.receive().await?;
        if args.lie == Lie::Again {
            let second = ctx.open_session(&peer)?;
            second.send(&lie).await?;
            let _: OwnershipProof = second.receive().await?;
            let again: Told = second.receive().await?;
            assert_eq!(again, told);
        }
        Ok(vec![told, theirs.key])
    }
}

/// The responder, which reports the key that it has received.
pub struct Swaps;

impl Responder for Swaps {
    const NAME: &'static str = Swap::NAME;
    const VERSION: u32 = 1;

    async fn run(ctx: FlowContext, session: Session) -> Result<(), FlowError> {
        let Identities { theirs, .. } = swap_identities(&ctx, &session).await?;
        session.send(&theirs).await
    }
}
