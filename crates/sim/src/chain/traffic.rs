//! Clients that send payments on all chains, and invalid transactions.

use chain::{
    Anchor, BlockTimestamp, Body, ChainId, ChainTime, Height, MinorUnits, Minutes, Seconds,
    Transaction,
};

use super::plan::{ACCOUNTS, CHILDREN, LITTLE, POOR, account, key, public};
use super::resign::resign;
use super::world::{Coming, World};

/// Number of latest payments from which repeated ones are drawn.
const REMEMBERED_MAX: usize = 50;

/// The latest payments that clients sent.
#[derive(Default)]
pub(super) struct Traffic {
    sent: Vec<Transaction>,
}

impl Traffic {
    /// Lets one client act and schedules the next action.
    pub(super) fn step(&mut self, world: &mut World) {
        if world.now_ms > world.plan.traffic_ms {
            return;
        }
        let pause_ms = world.plan.pause_ms;
        let after_ms = world.chance.between(1, pause_ms * 2);
        world.later(world.now_ms + after_ms, Coming::Client);
        let n = world.chance.below(world.nodes.len());
        if world.nodes[n].core.is_none() {
            return;
        }
        match world.chance.below(12) {
            0 => self.contradict(world),
            1 => self.again(world, n),
            2 => Self::invalid(world, n),
            3 => {
                let lease = lease(world, n);
                world.submit(n, vec![lease]);
            }
            _ => {
                let count = 1 + world.chance.below(3);
                let payments: Vec<_> = (0..count).map(|_| payment(world, n)).collect();
                self.remember(&payments);
                world.submit(n, payments);
            }
        }
    }

    fn remember(&mut self, payments: &[Transaction]) {
        self.sent.extend_from_slice(payments);
        // Clipped at 0: fewer are sent than are remembered.
        let surplus = self.sent.len().saturating_sub(REMEMBERED_MAX);
        self.sent.drain(..surplus);
    }

    /// Spends all tokens of the poor account at two nodes at once. At most one of the payments can be executed at a time.
    fn contradict(&mut self, world: &mut World) {
        let chain = ChainId(world.chance.between(1, u64::from(CHILDREN) + 2) as u8);
        for _ in 0..2 {
            let n = world.chance.below(world.nodes.len());
            if world.nodes[n].core.is_none() {
                continue;
            }
            let to = world.chance.below(ACCOUNTS);
            let payment = signed(world, n, POOR, chain, to, LITTLE / 2, 1_000);
            self.remember(std::slice::from_ref(&payment));
            world.submit(n, vec![payment]);
        }
        // Pay the same amount back, so that the account can pay again.
        let n = world.chance.below(world.nodes.len());
        if world.nodes[n].core.is_some() {
            let back = signed(world, n, 0, chain, POOR, LITTLE / 2, 1_000);
            world.submit(n, vec![back]);
        }
    }

    /// Sends an earlier payment again, at any node.
    fn again(&mut self, world: &mut World, n: usize) {
        if self.sent.is_empty() {
            return;
        }
        let at = world.chance.below(self.sent.len());
        let mut copy = self.sent[at].clone();
        // An unchanged copy and a copy with a new signature are the same transaction.
        let signer = (0..=POOR).find(|n| public(&key(*n)) == copy.sender);
        if let Some(signer) = signer
            && world.chance.per_mille(500)
        {
            let nonce = world.chance.between(0, 1_000);
            let genesis = world.plan.genesis.hash;
            resign(&mut copy, &genesis, &signer.to_string(), nonce);
            world.tally.resigned += 1;
        }
        world.submit(n, vec![copy]);
    }

    fn invalid(world: &mut World, n: usize) {
        let chain = ChainId(2);
        let mut payment = payment(world, n);
        match world.chance.below(6) {
            0 => payment.signature[5] ^= 1,
            1 => payment.anchor.id[0] ^= 1,
            2 => payment.time = payment.time.plus_or_last(Seconds::new(1_000)),
            3 => payment = signed(world, n, POOR, chain, 1, u64::MAX / 4, 100),
            4 => payment.chain = ChainId(99),
            _ => payment.deadline_minutes = Minutes::ZERO,
        }
        world.submit(n, vec![payment]);
    }
}

fn payment(world: &mut World, n: usize) -> Transaction {
    let chain = ChainId(world.chance.between(1, u64::from(CHILDREN) + 2) as u8);
    let from = world.chance.below(ACCOUNTS);
    let to = world.chance.below(ACCOUNTS + 1);
    let amount = world.chance.between(1, 5_000);
    let fee = world.chance.between(100, 300);
    signed(world, n, from, chain, to, amount, fee)
}

fn lease(world: &mut World, n: usize) -> Transaction {
    let from = world.chance.below(ACCOUNTS);
    let body = Body::Lease {
        to: account((from + 1) % ACCOUNTS),
        blocks: 5,
    };
    transaction(world, n, from, ChainId::PARENT, 150, body)
}

fn signed(
    world: &mut World,
    n: usize,
    from: usize,
    chain: ChainId,
    to: usize,
    amount: u64,
    fee: u64,
) -> Transaction {
    let body = Body::Payment {
        to: account(to),
        amount: MinorUnits::new(amount),
        message: if world.chance.per_mille(100) {
            b"rent".to_vec()
        } else {
            Vec::new()
        },
    };
    transaction(world, n, from, chain, fee, body)
}

/// Makes a transaction from a node's clock and chain. Some have the youngest anchor allowed.
pub(super) fn transaction(
    world: &mut World,
    n: usize,
    from: usize,
    chain: ChainId,
    fee: u64,
    body: Body,
) -> Transaction {
    let node = &world.nodes[n];
    let depth = world.plan.genesis.params.anchor_depth_min;
    let mut anchor = Anchor::at(Height::GENESIS, &world.plan.genesis.hash);
    if world.chance.per_mille(200)
        && let Some(core) = &node.core
    {
        // In the block after the tip, this anchor is exactly deep enough.
        let height = core.overlay().tip().next_height().minus_or_genesis(depth);
        if let Ok(Some(hash)) = core.overlay().hash_at(height) {
            anchor = Anchor::at(height, &hash);
        }
    }
    let mut transaction = Transaction {
        chain,
        time: BlockTimestamp::at(ChainTime::from_ms(node.clock_ms(world.now_ms))),
        deadline_minutes: Minutes::new(30),
        sender: public(&key(from)),
        fee: MinorUnits::new(fee),
        anchor,
        body,
        signature: [0; 64],
    };
    transaction.sign(&world.plan.genesis.hash, &key(from));
    transaction
}
