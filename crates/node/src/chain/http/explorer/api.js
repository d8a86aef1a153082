// Requests to the API of the chain node. No other file knows a path or the form of an error.

// The operations that the explorer uses: the id of each in the API's description, and its path. Keep the list plain: a test
// can read it line by line and compare it with `api::chain::operations`.
const OPERATIONS = {
  constants: "/v1/chain/constants",
  status: "/v1/chain/status",
  follow: "/v1/chain/events",
  blocks: "/v1/chain/blocks",
  block: "/v1/chain/blocks/{block}",
  blockTransactions: "/v1/chain/blocks/{block}/transactions",
  transaction: "/v1/chain/transactions/{transaction_id}",
  unconfirmed: "/v1/chain/unconfirmed",
  account: "/v1/chain/accounts/{account}",
  accountTransactions: "/v1/chain/accounts/{account}/transactions",
  balances: "/v1/chain/balances",
  forgers: "/v1/chain/forgers",
  peers: "/v1/chain/peers",
  openapi: "/v1/chain/openapi.json",
};

// Time after which a request counts as unanswered.
const TIMEOUT_MS = 20_000;

/** A refusal of the API, or, with `status` 0, a node that does not answer. */
class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || "The node answered with status " + status + ".");
    this.status = status;
    this.code = problem.code || "";
    this.hint = problem.hint || "";
  }

  get isNotFound() {
    return this.status === 404;
  }
  get isNoAnswer() {
    return this.status === 0;
  }
}

/** Parses JSON. Integers that a JavaScript number cannot hold exactly become strings of digits. Balances need this. */
function parseExact(text) {
  const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  return JSON.parse(text.replace(tokens, token => (/^-?\d{16,}$/.test(token) ? '"' + token + '"' : token)));
}

/** Returns the address of an operation with its segments and its query. Empty parameters are left out. */
function addressOf(operation, segments = {}, query = {}) {
  const path = OPERATIONS[operation].replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(segments[name]));
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? path + "?" + new URLSearchParams(given) : path;
}

function problemOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    // A proxy in between may answer with a page of its own.
    return {};
  }
}

/** Reads an operation's answer. Throws an `ApiError`. If `signal` is aborted, throws the error of the abort instead. */
async function read(operation, { segments, query, signal } = {}) {
  const stop = new AbortController();
  const abort = () => stop.abort();
  const timer = setTimeout(abort, TIMEOUT_MS);
  signal?.addEventListener("abort", abort);
  try {
    const response = await fetch(addressOf(operation, segments, query), { signal: stop.signal });
    const text = await response.text();
    if (!response.ok) throw new ApiError(response.status, problemOf(text));
    return parseExact(text);
  } catch (error) {
    if (error instanceof ApiError || signal?.aborted) throw error;
    throw new ApiError(0, { detail: "The node does not answer." });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** Waits for an answer, and turns a refusal as unknown into `null`. */
async function nullIfUnknown(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.isNotFound) return null;
    throw error;
  }
}
