// The page of an account: balances, unconfirmed transactions, stake, leases and history.

/** `#/account/ACCOUNT` */
function accountPage(page, name) {
  page.name("Account", "Account " + name);
  const parts = { balances: make("div"), pool: make("div"), stake: make("div") };
  let canonical = name;
  const history = accountHistory(page, name, () => canonical);
  const load = async () => {
    const [view, pool] = await Promise.all([
      page.read("account", { account: name }),
      page.read("unconfirmed", {}, { account: name, limit: LIST_ROWS }),
    ]);
    if (page.signal.aborted) return;
    canonical = view.account;
    if (!page.isShown) showAccount(page, canonical, parts, history);
    renew(parts.balances, balanceTable(view, pool));
    renew(parts.pool, poolOf(pool, canonical));
    renew(parts.stake, stakeOf(view));
    await history.refresh();
  };
  keepCurrent(page, load, { events: ["added"], everyMs: 5_000 });
  // A rollback takes transactions out of the history.
  page.on("popped", event => history.rollBack(event.detail.height));
}

function showAccount(page, canonical, parts, history) {
  page.name("Account", "Account " + canonical);
  page.show(
    paragraph(identifier("account", canonical)),
    section("Balances", parts.balances),
    section("Unconfirmed transactions", parts.pool),
    section("Forging", parts.stake),
    section("History", history.filter, history.element, prunedNote()),
  );
}

/** The list of an account's transactions in blocks, with a choice of the chain. */
function accountHistory(page, name, ownAccount) {
  let chain;
  const list = growingList(page, {
    load: (limit, before) => page.read("accountTransactions", { account: name }, { chain, before, limit }),
    render: items =>
      transactionTable("History", items, ["transaction", "parties", "value", "fee", "block"], ownAccount()),
    empty: "No block has a transaction of this account on the chosen chains.",
    more: "Older transactions",
  });
  const filter = historyFilter(chosen => {
    chain = chosen || undefined;
    list.reload();
  });
  return { ...list, filter };
}

function balanceTable(view, pool) {
  const isComplete = pool.next === undefined;
  const rows = view.balances.map(({ chain, balance }) => {
    const waiting = isComplete ? unconfirmedSums(pool.transactions, view.account, chain) : "not added up: too many";
    return [chainOf(chain).name, amount(balance, chain), waiting];
  });
  return [
    table("Balances", [["Chain"], ["Balance", "n"], ["Unconfirmed", "n"]], rows),
    note("Balances by the blocks up to ", blockLink(view.height), "."),
  ];
}

/** Adds up the payments of an account that wait in the pool, with the fees that it pays. */
function unconfirmedSums(transactions, own, chain) {
  let incoming = 0n;
  let outgoing = 0n;
  for (const one of transactions) {
    if (one.chain !== chain) continue;
    const moved = one.kind === "payment" ? BigInt(one.amount) : 0n;
    if (one.sender === own) outgoing += moved + BigInt(one.fee);
    if (one.recipient === own) incoming += moved;
  }
  if (!incoming && !outgoing) return "none";
  return [
    incoming ? make("div", {}, amount(incoming, chain), " to receive") : null,
    outgoing ? make("div", {}, amount(outgoing, chain), " to pay, with fees") : null,
  ];
}

function poolOf(pool, own) {
  if (!pool.transactions.length) return note("None in the pool of this node.");
  const rest = pool.next === undefined ? null : paragraph(pageLink(["pool"], "More in the pool", { account: own }));
  return [poolTable(pool.transactions, own), rest];
}

function stakeOf(view) {
  const minimum = network.parameters.effective_tokens_min;
  const isBelow = minimum !== undefined && BigInt(view.forging.effective_tokens) < BigInt(minimum);
  const remark = isBelow ? [" (below the minimum of ", wholeTokens(minimum), ": it does not forge)"] : null;
  const leases = view.leases.map(lease => leaseLine(lease, view.height));
  const age = counted(network.parameters.effective_age_blocks ?? 0, "block");
  return [
    facts([
      ["Forging balance", [wholeTokens(view.forging.effective_tokens), remark]],
      ["Leases to others", plainList(leases, "none")],
      ["Leased to it by", plainList(view.lessors.map(accountLink), "no account")],
    ]),
    note(
      "The forging balance counts parent tokens that the account has held for " + age + ", and tokens leased to it.",
    ),
  ];
}

/** Writes a lease. `to` is the first block after it. */
function leaseLine(lease, height) {
  const state =
    height < lease.from
      ? "begins in " + counted(lease.from - height, "block")
      : "ends in " + counted(Math.max(0, lease.to - height), "block");
  return [
    accountLink(lease.lessee),
    " blocks " + grouped(lease.from) + " to " + grouped(lease.to - 1) + " (" + state + ")",
  ];
}

/** A choice of the chain whose transactions the history shows. */
function historyFilter(choose) {
  const options = [[0, "All chains"], ...network.chains.map(chain => [chain.id, chain.name])];
  const select = make(
    "select",
    {},
    options.map(([id, name]) => make("option", { value: id }, name)),
  );
  select.addEventListener("change", () => choose(Number(select.value)));
  return paragraph(make("label", {}, "Chain ", select));
}

function prunedNote() {
  if (!nodeStatus || nodeStatus.first_body <= 1) return null;
  return note(
    "This node keeps transactions from block " + grouped(nodeStatus.first_body) + " on. Older ones were pruned.",
  );
}
