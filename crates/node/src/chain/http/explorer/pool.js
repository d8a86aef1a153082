// The page of unconfirmed transactions.

/** `#/pool`, with `?account=` for the transactions of one account. */
function poolPage(page) {
  const account = page.query.get("account");
  page.name("Unconfirmed transactions");
  const figures = make("div");
  let pages = 1;
  const list = make("div");
  const button = make("button", { type: "button", class: "more" }, "More transactions");
  const load = async () => {
    const { transactions, view } = await readPool(page, account, pages);
    if (page.signal.aborted) return;
    if (!page.isShown) page.show(make("section", { "aria-label": "Unconfirmed transactions" }, figures, list, button));
    renew(figures, poolFigures(view, account));
    renew(list, poolTable(transactions));
    button.hidden = view.next === undefined;
  };
  button.addEventListener("click", () => {
    pages += 1;
    reload();
  });
  const reload = keepCurrent(page, load, { events: ["added", "popped", "left"], everyMs: 3_000 });
}

/** The list of the pool, or of an account's part of it. */
function poolTable(transactions, own) {
  if (!transactions.length) return note("No transaction waits for a block.");
  const columns = ["transaction", "parties", "value", "fee", "expires"];
  return transactionTable("Unconfirmed transactions", transactions, columns, own);
}

/** Reads the first pages again: transactions leave the pool in between, so the pages cannot be kept. */
async function readPool(page, account, pages) {
  let view;
  let after;
  let transactions = [];
  for (let count = 0; count < pages; count += 1) {
    view = await page.read("unconfirmed", {}, { account, after, limit: count ? MORE_ROWS : LIST_ROWS });
    transactions = [...transactions, ...view.transactions];
    after = view.next;
    if (after === undefined) break;
  }
  return { transactions, view };
}

function poolFigures(view, account) {
  return [
    facts([
      ["In the pool of this node", [counted(view.count, "transaction"), " (" + bytesText(view.bytes) + ")"]],
      ["Of this account only", account && accountLink(account)],
    ]),
    note("Ordered by the time at which they were made, the oldest first. Child blocks of bundlers wait here too."),
  ];
}
