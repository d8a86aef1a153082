//! The second driver: servers of the Ardor/Nxt family by their HTTP API.
//!
//! Such a server signs transactions. Either it receives a test account's passphrase with `sendMoney`. Or it first makes
//! the unsigned bytes for a public key, then signs and broadcasts them in separate calls, like clients that keep their
//! passphrase elsewhere. The driver calls `sendMoney`, `signTransaction`, `broadcastTransaction` and `getAccountId`. It
//! reads with `getBlockchainStatus`, `getBlock`, `getTransaction`, `getBalances` (or `getBalance`),
//! `getUnconfirmedTransactions` and `getPeers`. It controls forging with `startForging`, `stopForging` and
//! `startBundler`.
//!
//! The requests have the form of recorded exchanges with a real node, and its recorded answers test the driver:
//! `crates/perf/tests/data/ardor-recorded`.

pub mod fake;
mod http;
mod pool;
mod queries;
mod read;

use std::time::Duration;

use primitives::SecretText;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use self::http::{Http, fault};
use super::codes::{MALFORMED, SLOW};
use super::{
    BlockSeen, Boxed, Chain, ChainId, ChainStatus, ChainTarget, Detail, Fate, Payment, TxKey,
};
use crate::load::Fault;

/// `errorCode` for an object that the server does not know.
const UNKNOWN: &str = "nxt.error_5";
/// Time limit for counting the unconfirmed transactions of all chains, in time limits of one answer.
const COUNT_PATIENCES: u32 = 5;

/// How transactions are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signing {
    /// `sendMoney` with the passphrase: one call, and the server signs and broadcasts.
    #[default]
    Passphrase,
    /// `sendMoney` with the public key, then `signTransaction`, then `broadcastTransaction`.
    Prepared,
}

/// Options of the driver.
#[derive(Clone, Debug)]
pub struct Options {
    /// `http://host:port`.
    pub url: String,
    /// Its name in results.
    pub name: String,
    /// Its chains, parent first.
    pub chains: Vec<Chain>,
    /// Passphrases of the test accounts.
    pub passphrases: Vec<SecretText>,
    /// Indices into the test accounts of those that forge and bundle on this server.
    pub forgers: Vec<usize>,
    /// How transactions are signed.
    pub signing: Signing,
    /// Validity of transactions, in minutes.
    pub deadline_minutes: u16,
    /// Time limit for one answer.
    pub patience: Duration,
}

/// A server of the Ardor/Nxt family.
pub struct NxtTarget {
    http: Http,
    options: Options,
    accounts: Vec<Account>,
    /// Entries of a full list, if the server limits its lists. Read once, when the first list is needed.
    page: OnceCell<Option<u64>>,
}

/// A test account with the server's names for it.
#[derive(Clone, Debug)]
struct Account {
    id: String,
    public_key: String,
}

impl NxtTarget {
    /// Connects, and reads the server's ids of the test accounts.
    ///
    /// # Errors
    /// Fails if the URL is invalid, or with the error of a call.
    pub async fn connect(options: Options) -> Result<Self, Fault> {
        let http = Http::new(&options.url, options.patience).ok_or_else(|| {
            fault(
                MALFORMED,
                format!("`{}` is not of the form http://host:port", options.url),
            )
        })?;
        let mut accounts = Vec::with_capacity(options.passphrases.len());
        for passphrase in &options.passphrases {
            let answer = http
                .post("getAccountId", &[("secretPhrase", passphrase.expose())])
                .await?;
            accounts.push(Account {
                id: read::id(&answer, "account")?,
                public_key: read::text(&answer, "publicKey")?.to_owned(),
            });
        }
        Ok(Self {
            http,
            options,
            accounts,
            page: OnceCell::new(),
        })
    }

    /// Starts a bundler on every child chain for the accounts that forge here.
    ///
    /// # Errors
    /// Fails with the error of a call.
    pub async fn bundle(&self) -> Result<(), Fault> {
        for forger in &self.options.forgers {
            for chain in self
                .options
                .chains
                .iter()
                .filter(|chain| chain.id != ChainId::PARENT)
            {
                let id = chain.id.0.to_string();
                let secret = self.passphrase(*forger)?;
                let form = [
                    ("secretPhrase", secret),
                    ("chain", &id),
                    ("minRateNQTPerFXT", "0"),
                ];
                self.http.post("startBundler", &form).await?;
            }
        }
        Ok(())
    }

    fn passphrase(&self, account: usize) -> Result<&str, Fault> {
        let found = self.options.passphrases.get(account);
        found
            .map(|text| text.expose().as_str())
            .ok_or_else(|| no_account(account))
    }

    fn account(&self, account: usize) -> Result<&Account, Fault> {
        self.accounts
            .get(account)
            .ok_or_else(|| no_account(account))
    }

    async fn pay(&self, payment: &Payment) -> Result<TxKey, Fault> {
        let secret = self.passphrase(payment.from)?;
        let (from, to) = (self.account(payment.from)?, self.account(payment.to)?);
        let chain = self
            .options
            .chains
            .iter()
            .find(|chain| chain.id == payment.chain);
        let fee = chain.map_or(0, |chain| chain.fee).to_string();
        let (id, amount) = (payment.chain.0.to_string(), payment.amount.to_string());
        let deadline = self.options.deadline_minutes.to_string();
        let signer = match self.options.signing {
            Signing::Passphrase => ("secretPhrase", secret),
            Signing::Prepared => ("publicKey", from.public_key.as_str()),
        };
        let mut form = vec![
            ("chain", id.as_str()),
            ("recipient", &to.id),
            ("amountNQT", &amount),
            ("feeNQT", &fee),
            ("deadline", &deadline),
            signer,
        ];
        if self.options.signing == Signing::Prepared {
            form.push(("broadcast", "false"));
        }
        let sent = self.http.post("sendMoney", &form).await?;
        if self.options.signing == Signing::Passphrase {
            return read::key(&sent, "fullHash");
        }
        let unsigned = read::text(&sent, "unsignedTransactionBytes")?;
        let form = [
            ("unsignedTransactionBytes", unsigned),
            ("secretPhrase", secret),
        ];
        let signed = self.http.post("signTransaction", &form).await?;
        let bytes = read::text(&signed, "transactionBytes")?;
        let form = [("transactionBytes", bytes)];
        let broadcast = self.http.post("broadcastTransaction", &form).await?;
        read::key(&broadcast, "fullHash")
    }
}

fn no_account(account: usize) -> Fault {
    fault(
        UNKNOWN,
        format!("there is no test account number {account}"),
    )
}

impl ChainTarget for NxtTarget {
    fn name(&self) -> &str {
        &self.options.name
    }

    fn submit<'a>(&'a self, payments: &'a [Payment]) -> Boxed<'a, Vec<Result<TxKey, Fault>>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(payments.len());
            for payment in payments {
                answers.push(self.pay(payment).await);
            }
            answers
        })
    }

    fn status(&self) -> Boxed<'_, Result<ChainStatus, Fault>> {
        Box::pin(self.where_it_stands())
    }

    fn waiting(&self) -> Boxed<'_, Result<u64, Fault>> {
        Box::pin(async {
            let limit = self.options.patience * COUNT_PATIENCES;
            let late = |_| {
                let message = format!(
                    "{}: the unconfirmed transactions were not read within {limit:?}",
                    self.options.url
                );
                fault(SLOW, message)
            };
            timeout(limit, self.count_waiting()).await.map_err(late)?
        })
    }

    fn blocks(
        &self,
        from: u64,
        most: u32,
        _detail: Detail,
    ) -> Boxed<'_, Result<Vec<BlockSeen>, Fault>> {
        Box::pin(self.blocks_from(from, most))
    }

    fn balances(&self, account: usize) -> Boxed<'_, Result<Vec<(ChainId, u64)>, Fault>> {
        Box::pin(self.balances_of(account))
    }

    fn account_name(&self, account: usize) -> String {
        let found = self.accounts.get(account);
        found.map_or_else(String::new, |account| account.id.clone())
    }

    fn fate(&self, key: TxKey) -> Boxed<'_, Result<Fate, Fault>> {
        Box::pin(self.fate_of(key))
    }

    fn forge(&self, on: bool) -> Boxed<'_, Result<(), Fault>> {
        Box::pin(async move {
            let request = if on { "startForging" } else { "stopForging" };
            for forger in &self.options.forgers {
                let form = [("secretPhrase", self.passphrase(*forger)?)];
                self.http.post(request, &form).await?;
            }
            Ok(())
        })
    }

    /// Returns `None`: the family has no state hash.
    fn state_hash(&self) -> Boxed<'_, Result<Option<(u64, String)>, Fault>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}
