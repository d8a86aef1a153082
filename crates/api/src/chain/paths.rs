//! The paths of the API. A `{name}` stands for one path segment; [`crate::paths::with`] fills it.

/// `GET`: the network's constants: genesis, parameters, chains.
pub const CONSTANTS: &str = "/v1/chain/constants";
/// `GET`: this node: height, tip, pool, peers, forging, progress of synchronisation.
pub const STATUS: &str = "/v1/chain/status";
/// `GET`: blocks, the newest first, paged by `before` and `limit`.
pub const BLOCKS: &str = "/v1/chain/blocks";
/// `GET`: a block by its height or its hash.
pub const BLOCK: &str = "/v1/chain/blocks/{block}";
/// `GET`: a block's transactions, paged by `after` and `limit`.
pub const BLOCK_TRANSACTIONS: &str = "/v1/chain/blocks/{block}/transactions";
/// `POST`: submit a signed transaction.
pub const TRANSACTIONS: &str = "/v1/chain/transactions";
/// `POST`: submit many, each answered separately; JSON, or their bytes one after another.
pub const TRANSACTION_BATCH: &str = "/v1/chain/transactions/batch";
/// `GET`: a transaction: in a block, in the pool, or the reason why it left.
pub const TRANSACTION: &str = "/v1/chain/transactions/{transaction_id}";
/// `GET`: unconfirmed transactions, paged by `after` and `limit`.
pub const UNCONFIRMED: &str = "/v1/chain/unconfirmed";
/// `POST`: the bytes of a transaction for its sender to sign.
pub const PREPARE: &str = "/v1/chain/prepare";
/// `POST`, test networks only: prepare, sign and submit with a passphrase.
pub const SIGN_AND_SEND: &str = "/v1/chain/sign-and-send";
/// `GET`: balances of several accounts, on all chains.
pub const BALANCES: &str = "/v1/chain/balances";
/// `GET`: an account: balances, forging, leases.
pub const ACCOUNT: &str = "/v1/chain/accounts/{account}";
/// `GET`: an account's transactions, the newest first, paged by `before` and `limit`.
pub const ACCOUNT_TRANSACTIONS: &str = "/v1/chain/accounts/{account}/transactions";
/// `GET`: the forgers of this node and their times. `POST`: start forging with an account.
pub const FORGING: &str = "/v1/chain/forging";
/// `DELETE`: stop forging with an account.
pub const FORGING_ACCOUNT: &str = "/v1/chain/forging/{account}";
/// `GET`: the candidates for the next blocks, as far as this node knows them.
pub const FORGERS: &str = "/v1/chain/forgers";
/// `GET`: the bundlers of this node. `POST`: start bundling with an account.
pub const BUNDLERS: &str = "/v1/chain/bundlers";
/// `DELETE`: stop bundling.
pub const BUNDLER: &str = "/v1/chain/bundlers/{account}/{chain}";
/// `GET`: the offers of bundlers of the whole network.
pub const RATES: &str = "/v1/chain/rates";
/// `GET`: evidence against forgers that signed two blocks on one parent.
pub const EQUIVOCATIONS: &str = "/v1/chain/equivocations";
/// `GET`: the peers of this node.
pub const PEERS: &str = "/v1/chain/peers";
/// `POST`: ban a peer. `DELETE`: lift its ban.
pub const PEER_BAN: &str = "/v1/chain/peers/{peer}/ban";
/// `GET`: events of the chain, as server-sent events.
pub const EVENTS: &str = "/v1/chain/events";
/// `GET`: a hash over the whole state at the tip.
pub const STATE_HASH: &str = "/v1/chain/state-hash";
/// `POST`: roll the chain back to a height.
pub const POP_OFF: &str = "/v1/chain/orders/pop-off";
/// `POST`: empty the pool.
pub const CLEAR_POOL: &str = "/v1/chain/orders/clear-pool";
/// `POST`: delete the bodies of old blocks.
pub const PRUNE: &str = "/v1/chain/orders/prune";
/// `POST`: accept a branch beyond the rollback limit.
pub const TRUST: &str = "/v1/chain/orders/trust";
/// `POST`: copy the store while it is in use.
pub const SNAPSHOT: &str = "/v1/chain/orders/snapshot";
/// `GET`: the description of this API, OpenAPI 3.1.
pub const OPENAPI: &str = "/v1/chain/openapi.json";
/// `GET`: a page that shows the chain as it grows.
pub const PAGE: &str = "/chain";
