// The connection to the node: server-sent events, and the status every few seconds.

/** Sends `status`, `added`, `popped`, `forked`, `left` and `stuck` with the API's data as `detail`, and `back` after an outage. */
const live = new EventTarget();

/** The node's last status, with the height and the time of the newest block that was told since. */
let nodeStatus = null;
/** Forks, lost transactions and other events since the page was opened, the newest first. */
let happenings = [];

const STATUS_EVERY_MS = 5_000;
const RETRY_FIRST_MS = 1_000;
const RETRY_LAST_MS = 10_000;
const HAPPENINGS_MAX = 20;

let retryMs = RETRY_FIRST_MS;
let isLost = false;
let source = null;

const tipHeight = () => (nodeStatus ? nodeStatus.height : 0);

function tell(name, detail) {
  live.dispatchEvent(new CustomEvent(name, { detail }));
}

/** Shows the state of the connection in the header. */
function showConnection(text, kind) {
  const element = byId("connection");
  // An unchanged text must not be read out again.
  if (element.textContent !== text) element.textContent = text;
  element.className = kind;
}

/** Follows the events of the node, and connects again after each end. */
function follow() {
  source = new EventSource(OPERATIONS.follow);
  source.onerror = lost;
  source.addEventListener("cut", lost);
  for (const name of ["status", "added", "popped", "forked", "left", "stuck"]) {
    source.addEventListener(name, event => receive(name, parseExact(event.data)));
  }
}

/** Ends the stream and opens another one later. The browser's own retries end for good at the first HTTP error. */
function lost() {
  if (!source) return;
  source.close();
  source = null;
  isLost = true;
  showConnection("connecting again", "warn");
  setTimeout(follow, retryMs);
  retryMs = Math.min(retryMs * 2, RETRY_LAST_MS);
}

function receive(name, data) {
  const handle = { status: useStatus, added: useAdded, popped: usePopped }[name];
  handle?.(data);
  if (name !== "status" && name !== "added" && name !== "popped") remember(name, data);
  if (name === "status") connected();
  tell(name, data);
}

function connected() {
  retryMs = RETRY_FIRST_MS;
  showConnection("live", "good");
  if (isLost) tell("back");
  isLost = false;
}

function useStatus(status) {
  // The node was set up again with another network: nothing that is shown holds any more.
  if (network.genesis && status.genesis !== network.genesis) location.reload();
  nodeStatus = status;
  useClock(status.now);
  tick();
}

function useAdded(block) {
  if (!nodeStatus) return;
  nodeStatus = { ...nodeStatus, height: block.height, tip: block.hash, tip_time: block.time };
  tick();
}

function usePopped(block) {
  if (!nodeStatus) return;
  nodeStatus = { ...nodeStatus, height: block.height - 1 };
  tick();
}

function remember(name, data) {
  // A bundler replaces its child blocks all the time. That loses no transaction.
  if (data.reason === "chain_pool.superseded") return;
  happenings = [{ name, data, atMs: Date.now() }, ...happenings].slice(0, HAPPENINGS_MAX);
}

/** Asks for the status. It has figures that no event tells, and a stream that hangs does not show by itself. */
async function pollStatus() {
  if (document.hidden) return;
  try {
    const status = await read("status");
    useStatus(status);
    tell("status", status);
  } catch (error) {
    if (error.isNoAnswer) lost();
  }
}

/** Calls a function at an interval while a page is open and visible. */
function every(ms, signal, run) {
  const timer = setInterval(() => document.hidden || run(), ms);
  signal.addEventListener("abort", () => clearInterval(timer));
  document.addEventListener("visibilitychange", () => document.hidden || run(), { signal });
}
