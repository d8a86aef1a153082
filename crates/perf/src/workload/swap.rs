//! `swap`: a coordinator swaps cash for stock between two, four, ... ten parties in one transaction.
//!
//! Half of the parties pay with cash that they issued, the others deliver stock that they issued. Each back chain is between the two parties of
//! a pair, so eight of ten parties and the coordinator lack it. Every party has given the coordinator a standing mandate. Without a back chain (`depth = 0`), a
//! later unit swaps the same states back, so a few hundred states are enough for any number of units. With one, each unit
//! consumes its own states.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::boxed::Boxed;
use super::chains::{Asset, Chains, Prepared, StateRef, flows};
use super::codes::{BAD_ANSWER, BAD_BOOKS, WORKER_PANICKED};
use super::ended::{Failed, Tried};
use super::registry::Make;
use super::traits::{Prepares, Worker, Workload};
use super::transfer::{DEPTH_MAX, used_up};
use super::{KnobError, Knobs, Site};

/// The kind, a one-line description, and the constructor.
pub(super) const REGISTERED: (&str, &str, Make) = (
    "swap",
    "A coordinator swaps cash for stock among 2 to 10 parties in one transaction.",
    Swap::make,
);

/// Minor units paid in each pair, and units of stock. Each batch of prepared states adds one.
const CASH: u64 = 1_000_000;
const STOCK: u64 = 1;
/// A mandate's limits: above any price that a batch can reach.
const PRICE_MAX: u64 = 1_000_000_000;
const QUANTITY_MAX: u64 = 1_000_000_000;
/// Units whose states are used in turn if there is no preparation per unit. No more may be outstanding at once.
const TURNS: u64 = 1_000;

#[derive(Clone)]
struct Swap {
    parties: u32,
    depth: u64,
    currency: String,
    symbol: String,
    tracked: bool,
    sessions: &'static str,
    resolution: &'static str,
    anonymous: bool,
    retry: bool,
}

/// The swap of one unit, stored until it runs.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// Whether the stock goes back to the parties that delivered it.
    back: bool,
    /// The pairs, in order.
    pairs: Vec<Pair>,
}

/// The swap of one pair.
#[derive(Serialize, Deserialize)]
struct Pair {
    /// Minor units.
    price: u64,
    /// Units of stock.
    quantity: u64,
    /// The states, unless vaults choose them.
    states: Option<PairStates>,
}

/// The states of one pair, as `swap.run` returns them.
#[derive(Serialize, Deserialize)]
struct PairStates {
    cash: StateRef,
    stock: StateRef,
}

/// The return value of `swap.mandate`.
#[derive(Deserialize)]
struct MandateReply {
    state: StateRef,
}

/// The return value of `swap.run`.
#[derive(Deserialize)]
struct Swapped {
    transaction: String,
    pairs: Vec<PairStates>,
}

impl Swap {
    fn make(knobs: &mut Knobs) -> Result<Arc<dyn Workload>, KnobError> {
        let parties = knobs.number("parties", 2, 2..=10)?;
        if !parties.is_multiple_of(2) {
            let message = format!("{parties}: an even number from 2 to 10 is allowed");
            return Err(KnobError::new("parties", message));
        }
        let symbol = knobs.text(
            "symbol",
            "TLY",
            "a symbol of 1 to 16 letters, digits, dots and dashes that begins with a capital letter",
            |text| {
                let bytes = text.as_bytes();
                let fits = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b".-".contains(b);
                (1..=16).contains(&bytes.len())
                    && bytes[0].is_ascii_uppercase()
                    && bytes.iter().all(fits)
            },
        )?;
        Ok(Arc::new(Self {
            parties: parties as u32,
            depth: knobs.number("depth", 0, 0..=DEPTH_MAX)?,
            currency: knobs.currency("JPY")?,
            symbol,
            tracked: knobs.word("selection", &["vault", "tracked"])? == "tracked",
            sessions: knobs.word("sessions", &["parallel", "sequential"])?,
            resolution: knobs.word("resolution", &["bulk", "single"])?,
            anonymous: knobs.flag("anonymous", false)?,
            retry: knobs.flag("retry", false)?,
        }))
    }

    /// Returns the store of the prepared units.
    fn store(&self) -> String {
        let how = if self.tracked { "tracked" } else { "vault" };
        format!(
            "swap {} {} {} {} {how}",
            self.parties, self.depth, self.currency, self.symbol
        )
    }

    /// Returns whether the same states are swapped back and forth. Otherwise each swap consumes states of its own.
    fn takes_turns(&self) -> bool {
        self.depth == 0
    }

    /// Returns the number of units that states are prepared for.
    fn units(&self, expected: u64) -> u64 {
        if self.takes_turns() { TURNS } else { expected }
    }

    /// Returns the bank of a party. The first bank coordinates. The parties are the banks after it. If there are too few
    /// banks, it is one of the parties.
    fn party(&self, site: &Site, number: u32) -> u32 {
        let more = site.banks() > self.parties as usize;
        number + u32::from(more)
    }

    /// Returns buyer and seller of a pair.
    fn pair(&self, site: &Site, pair: u32) -> (u32, u32) {
        (self.party(site, 2 * pair), self.party(site, 2 * pair + 1))
    }

    async fn mandates(&self, site: &Arc<Site>) -> Result<(), Failed> {
        let ways: &[bool] = if self.takes_turns() {
            &[false, true]
        } else {
            &[false]
        };
        site.preparation()
            .begin("mandates", u64::from(self.parties) * ways.len() as u64);
        for pair in 0..self.parties / 2 {
            let (buyer, seller) = self.pair(site, pair);
            for back in ways {
                for (party, buys) in [(buyer, !back), (seller, *back)] {
                    if party == 0 {
                        // The coordinator itself.
                        site.preparation().advance();
                        continue;
                    }
                    let arguments = json!({
                        "coordinator": site.name(0)?,
                        "side": if buys { "buy" } else { "sell" },
                        "cash": { "currency": self.currency, "issuer": site.name(buyer as usize)? },
                        "stock": { "symbol": self.symbol, "issuer": site.name(seller as usize)? },
                        "price": if buys { PRICE_MAX } else { 1 },
                        "quantity_max": QUANTITY_MAX,
                    });
                    mandate(site, party, &arguments).await?;
                    site.preparation().advance();
                }
            }
        }
        Ok(())
    }

    /// Makes each party's states, for all parties concurrently.
    async fn states(&self, site: &Arc<Site>, count: u64) -> Result<Vec<Vec<Prepared>>, Failed> {
        let each = flows(count, self.depth)?;
        site.preparation()
            .begin("back chains", each * u64::from(self.parties));
        let mut building = JoinSet::new();
        for number in 0..self.parties {
            let cash = number.is_multiple_of(2);
            let (asset, symbol, quantity) = if cash {
                (Asset::Cash, &self.currency, CASH)
            } else {
                (Asset::Stock, &self.symbol, STOCK)
            };
            let chains = Chains {
                asset,
                symbol: symbol.clone(),
                holder: self.party(site, number),
                // The other party of the pair.
                partner: Some(self.party(site, number ^ 1)),
                depth: self.depth,
            };
            let site = Arc::clone(site);
            building.spawn(async move {
                let built = chains.build(&site, count, quantity).await;
                (number as usize, built)
            });
        }
        let mut all: Vec<Vec<Prepared>> = (0..self.parties).map(|_| Vec::new()).collect();
        while let Some(built) = building.join_next().await {
            let (number, states) =
                built.map_err(|error| Failed::new(WORKER_PANICKED, error.to_string()))?;
            all[number] = states?;
        }
        Ok(all)
    }
}

/// Lets a party grant a mandate, unless it has done so, and notes how to revoke it.
async fn mandate(site: &Arc<Site>, party: u32, arguments: &Value) -> Result<(), Failed> {
    let what = format!("the mandate of {}, {arguments}", site.name(party as usize)?);
    if site.stands(&what) {
        return Ok(());
    }
    let start = site.start_of("swap.mandate", arguments)?;
    let delivered = site.run(party as usize, &start, true).await?;
    site.acknowledge(&delivered.transactions, &[party]);
    let given: MandateReply = delivered.returned()?;
    let revoke = site.start_of("swap.revoke", &json!({ "mandate": given.state }))?;
    site.stands_until(what, party, revoke);
    Ok(())
}

impl Workload for Swap {
    fn kind(&self) -> &str {
        REGISTERED.0
    }

    fn banks_min(&self) -> u32 {
        self.parties
    }

    fn prepares(&self, units_expected: u64) -> Prepares {
        Prepares::By(format!("{} {}", self.units(units_expected), self.store()))
    }

    /// Prepares mandates, and states with their back chains for each unit.
    fn prepare<'a>(
        &'a self,
        site: &'a Arc<Site>,
        units_expected: u64,
    ) -> Boxed<'a, Result<(), Failed>> {
        Box::pin(async move {
            let count = self.units(units_expected);
            self.mandates(site).await?;
            let all = self.states(site, count).await?;
            let mut states: Vec<_> = all.into_iter().map(Vec::into_iter).collect();
            for _ in 0..count {
                let mut pairs = Vec::with_capacity(self.parties as usize / 2);
                for pair in states.chunks_exact_mut(2) {
                    let (Some(cash), Some(stock)) = (pair[0].next(), pair[1].next()) else {
                        return Err(used_up());
                    };
                    pairs.push(Pair {
                        price: cash.quantity,
                        quantity: stock.quantity,
                        states: self.tracked.then_some(PairStates {
                            cash: cash.state,
                            stock: stock.state,
                        }),
                    });
                }
                let entry = Entry { back: false, pairs };
                site.put(&self.store(), value(&entry)?)?;
            }
            Ok(())
        })
    }

    fn worker<'a>(
        &'a self,
        site: &'a Arc<Site>,
        _number: u32,
    ) -> Boxed<'a, Result<Box<dyn Worker>, Failed>> {
        Box::pin(async move {
            let mut participants = vec![0];
            participants.extend((0..self.parties).map(|number| self.party(site, number)));
            participants.sort_unstable();
            participants.dedup();
            for party in &participants {
                site.bank(*party as usize)?;
            }
            Ok(Box::new(Swapping {
                swap: self.clone(),
                store: self.store(),
                participants,
                site: Arc::clone(site),
            }) as Box<dyn Worker>)
        })
    }

    /// Counts cash and stock of each pair.
    fn states_per_unit(&self) -> f64 {
        f64::from(self.parties)
    }
}

struct Swapping {
    site: Arc<Site>,
    swap: Swap,
    store: String,
    participants: Vec<u32>,
}

impl Swapping {
    fn arguments(&self, entry: &Entry) -> Result<Value, Failed> {
        let (site, swap) = (&self.site, &self.swap);
        let mut pairs = Vec::with_capacity(entry.pairs.len());
        for (number, pair) in (0..).zip(&entry.pairs) {
            let (buyer, seller) = swap.pair(site, number);
            let (buyer, seller) = (site.name(buyer as usize)?, site.name(seller as usize)?);
            let (pays, delivers) = if entry.back {
                (seller, buyer)
            } else {
                (buyer, seller)
            };
            let mut arguments = json!({
                "buyer": pays, "seller": delivers,
                "cash": { "currency": swap.currency, "issuer": buyer }, "price": pair.price,
                "stock": { "symbol": swap.symbol, "issuer": seller }, "quantity": pair.quantity,
            });
            if let Some(states) = &pair.states {
                arguments["cash_states"] = json!([states.cash]);
                arguments["stock_states"] = json!([states.stock]);
            }
            pairs.push(arguments);
        }
        Ok(json!({
            "pairs": pairs, "anonymous": swap.anonymous,
            "sessions": swap.sessions, "resolution": swap.resolution,
        }))
    }
}

impl Worker for Swapping {
    fn invoke(&self, _unit: u64) -> Boxed<'_, Result<Tried, Failed>> {
        Box::pin(async move {
            let taken = self.site.take(&self.store).ok_or_else(used_up)?;
            let mut entry: Entry = serde_json::from_value(taken.clone())
                .map_err(|error| Failed::new(BAD_BOOKS, error.to_string()))?;
            let start = self.site.start_of("swap.run", &self.arguments(&entry)?)?;
            let swapped = self.site.run(0, &start, self.swap.retry).await;
            let delivered =
                swapped.or_else(|failed| self.site.put_back(&self.store, taken, failed))?;
            // The parties' earlier transactions, which this node had to fetch, are not part of its own output.
            let swapped: Swapped = delivered.returned()?;
            let id = swapped
                .transaction
                .parse()
                .map_err(|error| Failed::new(BAD_ANSWER, format!("{error}")))?;
            self.site.acknowledge(&[id], &self.participants);
            if self.swap.takes_turns() {
                entry.back = !entry.back;
                if self.swap.tracked {
                    for (pair, states) in entry.pairs.iter_mut().zip(swapped.pairs) {
                        pair.states = Some(states);
                    }
                }
                self.site.put(&self.store, value(&entry)?)?;
            }
            Ok(delivered.tried())
        })
    }
}

fn value(entry: &Entry) -> Result<Value, Failed> {
    serde_json::to_value(entry).map_err(|error| Failed::new(BAD_BOOKS, error.to_string()))
}
