//! What the driver reads: the status, the pool, blocks, balances and the fate of transactions.

use serde_json::Value;

use super::pool::PoolCount;
use super::{NxtTarget, UNKNOWN, read};
use crate::chain::{ANSWER_TRANSACTIONS_MAX, BlockSeen, ChainId, ChainStatus, Fate, TxKey};
use crate::load::Fault;

/// `errorCode` for a request type that the server does not have.
const NO_SUCH_REQUEST: &str = "nxt.error_1";
/// Upper limit on blocks requested at a time: each is a call of its own.
const BLOCKS_MAX: u32 = 50;

impl NxtTarget {
    /// Counts the payments that wait on all chains.
    pub(super) async fn count_waiting(&self) -> Result<u64, Fault> {
        let page = *self
            .page
            .get_or_try_init(|| async {
                let status = self.http.get("getBlockchainStatus", &[]).await?;
                // Members of the family without this limit do not name it.
                Ok::<_, Fault>(read::whole(&status, "maxAPIRecords").ok())
            })
            .await?;
        let mut waiting = 0;
        for chain in &self.options.chains {
            let id = chain.id.0.to_string();
            let mut count = PoolCount::new(page);
            loop {
                let first = count.next().to_string();
                let mut form = vec![("chain", id.as_str())];
                if count.next() > 0 {
                    form.push(("firstIndex", first.as_str()));
                }
                let answer = self.http.get("getUnconfirmedTransactions", &form).await?;
                if !count.add(read::list(&answer, "unconfirmedTransactions")?)? {
                    break;
                }
            }
            waiting += count.payments();
        }
        Ok(waiting)
    }

    /// Returns the height, the tip and the number of peers.
    pub(super) async fn where_it_stands(&self) -> Result<ChainStatus, Fault> {
        let answer = self.http.get("getBlockchainStatus", &[]).await?;
        let peers = self.http.get("getPeers", &[("state", "CONNECTED")]).await?;
        Ok(ChainStatus {
            // The server's count includes genesis, so it is at least 1.
            height: read::height(&answer, "numberOfBlocks")?
                .checked_sub(1)
                .ok_or_else(|| read::missing("numberOfBlocks"))?,
            tip: read::id(&answer, "lastBlock")?,
            peers: read::list(&peers, "peers")?.len() as u64,
        })
    }

    /// Returns blocks from a height on, fewer than `most` if they are large or the tip is near.
    pub(super) async fn blocks_from(&self, from: u64, most: u32) -> Result<Vec<BlockSeen>, Fault> {
        let mut blocks = Vec::new();
        let mut transactions = 0u64;
        for height in (from..).take(most.min(BLOCKS_MAX) as usize) {
            let height = height.to_string();
            let form = [
                ("height", height.as_str()),
                ("includeTransactions", "true"),
                ("includeExecutedPhased", "false"),
            ];
            match self.http.get("getBlock", &form).await {
                Ok(answer) => {
                    let block = read::block(&answer)?;
                    transactions += block.transactions();
                    blocks.push(block);
                    if transactions > ANSWER_TRANSACTIONS_MAX {
                        break;
                    }
                }
                // Above the tip, the height is unknown or invalid.
                Err(fault) if [UNKNOWN, "nxt.error_4"].contains(&fault.code.as_str()) => break,
                Err(fault) => return Err(fault),
            }
        }
        Ok(blocks)
    }

    /// Returns the balances of an account on all chains.
    pub(super) async fn balances_of(&self, account: usize) -> Result<Vec<(ChainId, u64)>, Fault> {
        let account = self.account(account)?;
        let ids: Vec<String> = self
            .options
            .chains
            .iter()
            .map(|chain| chain.id.0.to_string())
            .collect();
        let mut form = vec![("account", account.id.as_str())];
        form.extend(ids.iter().map(|id| ("chain", id.as_str())));
        let chains = self.options.chains.iter().zip(&ids);
        let mut found = Vec::new();
        match self.http.get("getBalances", &form).await {
            Ok(answer) => {
                for (chain, id) in chains {
                    found.push((
                        chain.id,
                        read::whole(&answer["balances"][id.as_str()], "balanceNQT")?,
                    ));
                }
            }
            // Members of the family with one chain only have `getBalance`.
            Err(fault) if fault.code == NO_SUCH_REQUEST => {
                for (chain, id) in chains {
                    let form = [("account", account.id.as_str()), ("chain", id.as_str())];
                    let answer = self.http.get("getBalance", &form).await?;
                    found.push((chain.id, read::whole(&answer, "balanceNQT")?));
                }
            }
            Err(fault) => return Err(fault),
        }
        Ok(found)
    }

    /// Looks for a transaction on every chain.
    pub(super) async fn fate_of(&self, key: TxKey) -> Result<Fate, Fault> {
        let hash = key.to_string();
        for chain in &self.options.chains {
            let id = chain.id.0.to_string();
            let form = [("fullHash", hash.as_str()), ("chain", id.as_str())];
            match self.http.get("getTransaction", &form).await {
                // A waiting transaction has no block, and the greatest possible number as its height.
                Ok(answer) if answer["block"] == Value::Null => return Ok(Fate::Waiting),
                Ok(answer) => return Ok(Fate::InBlock(read::height(&answer, "height")?)),
                Err(fault) if fault.code == UNKNOWN => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(Fate::Unknown)
    }
}
