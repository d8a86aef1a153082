//! Attackers who hold a part of the stake. Each forges a secret branch. Once the branch has left the honest chain for longer than
//! stake can be judged, the attacker extends it with keys without stake and claims it as the best chain.

use std::sync::Arc;

use chain::block::{CarriedBlock, CheckedBlock};
use chain::core::Event;
use chain::message::{Answer, HEADERS_MAX, Question, Status};
use chain::state::{
    MemoryStore, Overlay, Point, apply_block, carried_block, next_header, read, turn,
};
use chain::{BlockTimestamp, ChainTime, Genesis, Header, Height, Seconds, pos};
use primitives::{Hash, KeyPair, SignatureChecker};

use super::plan::{ACCOUNTS, key, public};
use super::world::{Coming, World};
use crate::chance::Chance;

/// Maximum number of headers by keys without stake: enough to outweigh the honest chain if they counted.
const INVENTED_MAX: u32 = 300;

/// The stake age in blocks divided by this number gives the number of looks between two claims.
const CLAIM_PART: u32 = 100;
/// Keys without stake. The one with the lowest hit forges each header.
const NOBODIES: usize = 64;

/// One attacker. All attackers forge with the same account, each on its own branch.
pub(super) struct Siege {
    n: usize,
    chance: Chance,
    branch: Option<Secret>,
    nobodies: Vec<KeyPair>,
    /// Looks at the network since the branch is old enough.
    looks: u32,
    tickets: u64,
}

/// A secret branch.
struct Secret {
    overlay: Overlay<MemoryStore>,
    /// The height of the last block that the branch shares with the honest chain.
    common: Height,
    /// The headers above that height. Headers forged with stake come first.
    headers: Vec<(Header, Hash)>,
    /// Number of headers forged with stake.
    real: usize,
    /// Number of those that the honest chain has adopted.
    joined: usize,
    /// Hashes of the whole chain up to the fork, for locators.
    below: Vec<Hash>,
}

impl Siege {
    pub(super) fn new(n: usize, chance: &mut Chance) -> Self {
        let mut chance = chance.fork();
        let nobody = |_| chain::key_of_passphrase(&chance.next().to_string());
        Self {
            n,
            nobodies: (0..NOBODIES).map(nobody).collect(),
            chance,
            branch: None,
            looks: 0,
            tickets: 0,
        }
    }

    /// Forges on the secret branch, and claims it once it can be extended without stake.
    pub(super) fn attack(&mut self, world: &mut World, at: usize) {
        let genesis = world.plan.genesis.clone();
        let block_ms = genesis.params.block_seconds.as_ms();
        if world.now_ms > world.plan.attacks_ms {
            return;
        }
        world.later(world.now_ms + 2 * block_ms, Coming::Attack(at));
        let Some(tip) = tip_of(world) else { return };
        let reach = genesis.params.rollback_blocks_max * 2;
        if self.branch.as_ref().is_none_or(|branch| {
            let depth = tip.blocks_since(branch.common);
            depth.is_some_and(|depth| depth > 4 * reach)
        }) {
            // Give up a branch that is far too deep. Begin another one at the tip or somewhat below it.
            let back = self
                .chance
                .below(genesis.params.rollback_blocks_max as usize) as u32;
            self.branch = Secret::begin(world, tip.minus_or_genesis(back / 2));
        }
        let clock_ms = world.nodes[0].clock_ms(world.now_ms);
        let now = BlockTimestamp::at(ChainTime::from_ms(clock_ms));
        let Some(branch) = &mut self.branch else {
            return;
        };
        branch.count_joined(world);
        branch.forge(&genesis, now);
        if !branch.is_old_enough(&genesis) {
            return;
        }
        // Judging a claim costs each node one signature check per header, so an old branch is claimed only now and then.
        self.looks += 1;
        let every = (genesis.params.effective_age_blocks / CLAIM_PART).max(1);
        if !self.looks.is_multiple_of(every) {
            return;
        }
        branch.invent(&genesis, now, &self.nobodies);
        let Some((header, hash)) = branch.headers.last() else {
            return;
        };
        let status = Status {
            height: header.height,
            tip: *hash,
            difficulty: header.difficulty,
        };
        let bytes = Question::Status(status).to_bytes();
        for target in 0..world.nodes.len() {
            world.tally.attacks += 1;
            self.tickets += 1;
            world.ask(self.n, target, self.tickets, bytes.clone(), 5_000);
        }
    }

    /// Answers for its branch as an honest peer would.
    pub(super) fn hear(&mut self, world: &mut World, event: Event) {
        let Event::Asked { ticket, bytes, .. } = event else {
            return;
        };
        let answer = match Question::read(&bytes) {
            Ok(Question::Status(_)) => Answer::Status(self.status()),
            Ok(Question::Headers { locator }) => self.headers(&locator),
            Ok(Question::PoolIds { .. }) => Answer::PoolIds(Vec::new()),
            _ => Answer::Busy,
        };
        world.answer(self.n, ticket, answer.to_bytes());
    }

    fn status(&self) -> Status {
        let last = self
            .branch
            .as_ref()
            .and_then(|branch| branch.headers.last());
        last.map_or_else(Status::default, |(header, hash)| Status {
            height: header.height,
            tip: *hash,
            difficulty: header.difficulty,
        })
    }

    fn headers(&self, locator: &[Hash]) -> Answer {
        let nothing = Answer::Headers {
            common: Hash::ZERO,
            headers: Vec::new(),
        };
        let Some(branch) = &self.branch else {
            return nothing;
        };
        for hash in locator {
            let own = branch.headers.iter().position(|(_, own)| own == hash);
            let from = match own {
                Some(at) => at + 1,
                // If the block of the locator is below the fork, both chains share the blocks between it and the fork.
                // `headers_from_below` adds those.
                None if branch.below.last() == Some(hash) => 0,
                None if branch.below.contains(hash) => return branch.headers_from_below(hash),
                None => continue,
            };
            let headers = branch.headers[from..].iter().take(HEADERS_MAX);
            return Answer::Headers {
                common: *hash,
                headers: headers.map(|(header, _)| header.clone()).collect(),
            };
        }
        nothing
    }
}

/// Returns the height of the first node's chain, if that node runs.
fn tip_of(world: &World) -> Option<Height> {
    let core = world.nodes.first()?.core.as_ref()?;
    Some(core.overlay().tip().height)
}

impl Secret {
    /// Begins a branch that leaves the first node's chain after this height.
    fn begin(world: &World, common: Height) -> Option<Self> {
        let genesis = &world.plan.genesis;
        let store = world.nodes.first()?.store.clone();
        let mut overlay = Overlay::open(MemoryStore::new(), genesis).ok()?;
        let mut below = vec![genesis.hash];
        for height in Height::FIRST.through(common) {
            let block = carried_block(&store, genesis, height).ok()??;
            below.push(block.hash);
            let block = CheckedBlock::from_store(block);
            apply_block(&mut overlay, genesis, &block).ok()?;
        }
        Some(Self {
            overlay,
            common,
            headers: Vec::new(),
            real: 0,
            joined: 0,
            below,
        })
    }

    /// Returns the headers after a block below the fork. Headers of the honest chain come first.
    fn headers_from_below(&self, hash: &Hash) -> Answer {
        let at = self.below.iter().position(|own| own == hash);
        let at = at.expect("the caller has found it");
        let rows = read::headers(&self.overlay, Height::new(at as u32 + 1), HEADERS_MAX);
        // Without the headers of the honest chain, only the invented ones are sent.
        let shared = rows.unwrap_or_default().into_iter().map(|row| row.header);
        let invented = self.headers[self.real..]
            .iter()
            .map(|(header, _)| header.clone());
        Answer::Headers {
            common: *hash,
            headers: shared.chain(invented).take(HEADERS_MAX).collect(),
        }
    }

    /// Counts the first headers that the honest chain has adopted. It can adopt some because empty blocks need no bodies and the
    /// branch is sometimes better.
    fn count_joined(&mut self, world: &World) {
        let overlay = world.nodes[0].core.as_ref().map(|core| core.overlay());
        let is_joined = |(header, hash): &&(Header, Hash)| {
            overlay.is_some_and(|overlay| overlay.hash_at(header.height) == Ok(Some(*hash)))
        };
        self.joined = self.headers.iter().take_while(is_joined).count();
    }

    /// Returns whether the branch has left the honest chain for longer than stake can be judged.
    fn is_old_enough(&self, genesis: &Genesis) -> bool {
        (self.real - self.joined) as u32 > genesis.params.effective_age_blocks
    }

    /// Forges the blocks whose time has come with the attackers' account, up to the number that can be judged.
    fn forge(&mut self, genesis: &Arc<Genesis>, now: BlockTimestamp) {
        self.headers.truncate(self.real);
        let pair = key(ACCOUNTS - 1);
        while !self.is_old_enough(genesis)
            && let Ok(Some(time)) = turn(&self.overlay, genesis, &public(&pair))
            && time <= now
        {
            let Ok(mut header) = next_header(&self.overlay, genesis, &public(&pair), time) else {
                return;
            };
            header.root = chain::block::root_of(&[]);
            header.sign(&genesis.hash, &pair);
            let block = CarriedBlock::new(&genesis.hash, header.clone(), Vec::new());
            let Ok(block) = CheckedBlock::check(block, &mut SignatureChecker::new()) else {
                return;
            };
            if apply_block(&mut self.overlay, genesis, &block).is_err() {
                return;
            }
            self.headers.push((header, block.hash));
            self.real = self.headers.len();
        }
    }

    /// Extends the branch with keys without stake, one block per second, as far as the clock allows.
    fn invent(&mut self, genesis: &Genesis, now: BlockTimestamp, nobodies: &[KeyPair]) {
        let params = &genesis.params;
        let mut point = self.overlay.tip().clone();
        let mut times = vec![point.time];
        if let Some(below) = point.height.previous()
            && let Ok(Some(row)) = read::header(&self.overlay, below)
        {
            times.insert(0, row.header.time);
        }
        for _ in 0..INVENTED_MAX {
            let height = point.next_height();
            let Some(time) = point.time.next() else {
                return;
            };
            let hit =
                |pair: &&KeyPair| pos::Hit::of(&pos::generation(&point.generation, &public(pair)));
            let Some(pair) = nobodies.iter().min_by_key(hit).filter(|_| time <= now) else {
                return;
            };
            let start = times.len().checked_sub(params.base_target_span as usize);
            let base_target = match (pos::adjusts(params, height), start) {
                (true, Some(start)) => {
                    let elapsed = time
                        .since(times[start])
                        .expect("later than the span's first block");
                    pos::next_base_target(params, genesis.base_target, point.base_target, elapsed)
                }
                _ => point.base_target,
            };
            let mut header = Header {
                height,
                time,
                previous: point.hash,
                forger: public(pair),
                generation: pos::generation(&point.generation, &public(pair)),
                base_target,
                difficulty: point.difficulty
                    + pos::work(params, point.base_target, Seconds::new(1)),
                parent_count: 0,
                child_count: 0,
                body_bytes: 0,
                root: Hash::ZERO,
                signature: [0; 64],
            };
            header.sign(&genesis.hash, pair);
            let hash = header.hash(&genesis.hash);
            point = Point::of(&header, hash);
            times.push(time);
            self.headers.push((header, hash));
        }
    }
}
