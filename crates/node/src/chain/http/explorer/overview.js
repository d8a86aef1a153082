// The overview: the node, the newest blocks, the next forgers, peers and events.

const BARS = 40;
const BLOCKS_SHOWN = 8;
const FORGERS_SHOWN = 6;
const PEERS_SHOWN = 20;

const SYNC_KINDS = { synced: "good", syncing: "warn", stuck: "bad" };

/** `#/` */
function overviewPage(page) {
  page.name("Overview");
  const parts = overviewParts();
  const showStatus = () => nodeStatus && renew(parts.status, statusFacts(nodeStatus));
  const showHappenings = () => renew(parts.happenings, happeningsList());
  page.on("status", showStatus);
  for (const name of ["forked", "left", "stuck"]) page.on(name, showHappenings);
  const load = async () => {
    const view = await readOverview(page);
    if (page.signal.aborted) return;
    if (!page.isShown) page.show(overviewFrame(parts));
    showStatus();
    showHappenings();
    renew(parts.bars, barsOf(view.blocks));
    renew(parts.blocks, blocksTable(view.blocks.slice(0, BLOCKS_SHOWN)));
    renew(parts.forgers, forgersTable(view.forgers));
    renew(parts.balances, balancesTable(view.balances));
    renew(parts.peers, peersTable(view.peers));
  };
  keepCurrent(page, load, { events: ["added", "popped"], everyMs: 10_000 });
}

function overviewParts() {
  const names = ["status", "bars", "blocks", "forgers", "balances", "peers", "happenings"];
  return Object.fromEntries(names.map(name => [name, make("div")]));
}

function overviewFrame(parts) {
  return [
    make("section", { "aria-label": "State of the node" }, parts.status),
    section("Transactions in the last " + BARS + " blocks", parts.bars),
    section("Newest blocks", parts.blocks, paragraph(pageLink(["blocks"], "All blocks"))),
    section("Next forgers", parts.forgers),
    section("Balances of the next forgers", parts.balances),
    section("Peers of this node", parts.peers),
    section("Events since this page was opened", parts.happenings),
  ];
}

async function readOverview(page) {
  const [{ blocks }, { forgers }, peers] = await Promise.all([
    page.read("blocks", {}, { limit: BARS }),
    page.read("forgers", {}, { limit: FORGERS_SHOWN }),
    page.read("peers"),
  ]);
  // A node without forgers knows none, and the API wants at least one account.
  const accounts = forgers.map(one => one.account).join(",");
  const balances = accounts ? (await page.read("balances", {}, { accounts })).accounts : [];
  return { blocks, forgers, peers, balances };
}

function statusFacts(status) {
  const rate = status.transactions_per_second.toLocaleString("en-GB", { maximumFractionDigits: 2 });
  const pool = [pageLink(["pool"], counted(status.pool_count, "transaction")), small(bytesText(status.pool_bytes))];
  const pruned = status.first_body > 1 ? small("bodies from block " + grouped(status.first_body)) : null;
  return facts(
    [
      ["Height", [blockLink(status.height), small("blocks after genesis")]],
      [
        "Last block",
        [relative("age", status.tip_time), small("one every " + durationText(status.block_seconds) + " on average")],
      ],
      ["Throughput", [rate + " transactions/s", small("in blocks of the last minute")]],
      ["Unconfirmed", pool],
      ["Peers", [counted(status.peers, "node"), small("connected")]],
      [
        "Forks since the start",
        [counted(status.forks, "fork"), small("deepest: " + counted(status.fork_depth_max, "block"))],
      ],
      [
        "Synchronisation",
        [
          make("span", { class: SYNC_KINDS[status.sync] }, status.sync),
          status.sync_target && small("to block " + grouped(status.sync_target)),
        ],
      ],
      ["Store on disk", [bytesText(status.store_bytes), pruned]],
      ["Forging here", [counted(status.forging, "account"), small(counted(status.bundlers, "bundler"))]],
    ],
    "figures",
  );
}

const small = text => make("small", {}, text);
const transactionCount = block => block.parent_count + block.child_count;

/** A bar for each block, the newest on the right. Readers without a mouse have the table of blocks. */
function barsOf(blocks) {
  const most = Math.max(1, ...blocks.map(transactionCount));
  const bar = block => {
    const count = counted(transactionCount(block), "transaction");
    const element = make("a", {
      href: "#/block/" + block.height,
      tabindex: "-1",
      title: "block " + grouped(block.height) + ": " + count,
    });
    // The policy of the page forbids style attributes, but not this.
    element.style.height = Math.max(2, (100 * transactionCount(block)) / most) + "%";
    return element;
  };
  const total = blocks.reduce((sum, block) => sum + transactionCount(block), 0);
  const largest = counted(total ? most : 0, "transaction");
  return [
    make("div", { class: "bars", "aria-hidden": "true" }, blocks.toReversed().map(bar)),
    note(counted(total, "transaction") + " in total, at most " + largest + " in a block, child blocks included."),
  ];
}

function forgersTable(forgers) {
  if (!forgers.length) return note("No account forges here, and none has forged lately. The chain stands still.");
  const columns = [["Account", "whole"], ["Turn", "n"], ["Stake", "n"], ["Forges here"]];
  const row = one => [
    accountLink(one.account),
    relative("turn", one.hit_time),
    wholeTokens(one.effective_tokens),
    one.here ? "yes" : "no",
  ];
  return table("Next forgers", columns, forgers.map(row));
}

function balancesTable(accounts) {
  if (!accounts.length) return note("No forgers are known.");
  const row = one => {
    const amounts = one.balances.map(each => amount(each.balance, each.chain));
    return [accountLink(one.account), make("div", { class: "amounts" }, amounts)];
  };
  return table("Balances", [["Account", "whole"], ["Balances on all chains"]], accounts.map(row));
}

function peersTable(view) {
  if (!view.peers.length) return note("No peers. This node listens on " + view.listen + ".");
  const columns = [["Key"], ["Address"], ["State"], ["Round trip", "n"], ["Penalty points", "n"]];
  const row = one => [
    identifier("key", one.id),
    [one.address || "unknown", one.software && make("div", { class: "dim" }, make("bdi", {}, one.software))],
    peerState(one),
    one.round_trip_ms === undefined ? "unknown" : one.round_trip_ms.toFixed(1) + " ms",
    one.points + " of 100",
  ];
  return table("Peers", columns, view.peers.slice(0, PEERS_SHOWN).map(row));
}

function peerState(peer) {
  if (peer.banned_for_ms) {
    const text = "banned for " + durationText(peer.banned_for_ms / 1000);
    return make("span", { class: "bad" }, text, peer.reason && note(peer.reason));
  }
  if (!peer.connected) return make("span", { class: "warn" }, "away");
  return make("span", { class: "good" }, "connected" + (peer.direction ? ", " + peer.direction : ""));
}

function happeningsList() {
  const lines = happenings.map(one => {
    const at = make("time", { class: "dim", title: utcText(one.atMs) }, localText(one.atMs));
    return [at, " ", happeningText(one)];
  });
  return plainList(lines, note("No forks and no lost transactions."));
}

function happeningText({ name, data }) {
  if (name === "left") {
    return ["A transaction left the pool (", make("code", {}, data.reason), "): ", transactionLink(data.id)];
  }
  const common = blockLink(data.common);
  if (name === "forked")
    return ["A branch won above block ", common, ": " + counted(data.depth, "block") + " rolled back."];
  return ["A better branch forks at block ", common, ", deeper than this node may follow. An operator must decide."];
}
