// Lists of transactions, as several pages show them.

// Rows of a list at first, and with each further page.
const LIST_ROWS = 25;
const MORE_ROWS = 100;
// Characters of a message in a list. The transaction's page has all of it.
const MESSAGE_PREVIEW = 60;

/** Writes the value of a transaction: an amount, the length of a lease, or the number of carried transactions. */
function valueOf(transaction) {
  if (transaction.kind === "lease") return counted(transaction.lease_blocks, "block");
  if (transaction.kind === "child_block") return counted(transaction.child_count, "transaction");
  return amount(transaction.amount, transaction.chain);
}

/** Writes the kind of a transaction, the chain that it concerns, and the time at which it was made. */
function kindLine(transaction) {
  const chain = chainOf(transaction.child_chain ?? transaction.chain);
  return make(
    "div",
    {},
    make("b", {}, kindText(transaction.kind)),
    " on " + chain.name + ", ",
    make("span", { class: "dim" }, "made ", clockTime(transaction.time)),
  );
}

function messagePreview(transaction) {
  if (transaction.message_hex) return note("message of " + counted(transaction.message_hex.length / 2, "byte"));
  if (!transaction.message) return null;
  const text = [...transaction.message];
  const shown = text.slice(0, MESSAGE_PREVIEW).join("") + (text.length > MESSAGE_PREVIEW ? "…" : "");
  return note("“", make("bdi", {}, shown), "”");
}

/** Writes sender and recipient. The account whose page this is has no link. */
function partiesOf(transaction, own) {
  const party = (label, text) =>
    make(
      "div",
      { class: "party" },
      make("span", { class: "dim" }, label),
      text === own ? make("span", {}, "this account") : accountLink(text),
    );
  const from = transaction.kind === "child_block" ? "bundler " : "from ";
  return [party(from, transaction.sender), transaction.recipient && party("to ", transaction.recipient)];
}

/** The columns of a list, by name. `own` is the account whose page it is. */
const TRANSACTION_COLUMNS = {
  transaction: [["Transaction"], one => [kindLine(one), transactionLink(one.id), messagePreview(one)]],
  parties: [["Accounts", "whole"], (one, own) => partiesOf(one, own)],
  value: [["Amount", "n"], (one, own) => [directionOf(one, own), valueOf(one)]],
  fee: [["Fee", "n"], one => amount(one.fee, one.chain)],
  block: [
    ["Block", "whole"],
    one => [blockLink(one.height), make("div", { class: "dim" }, relative("confirmations", one.height))],
  ],
  expires: [
    ["Deadline"],
    one => [clockTime(one.expires), make("div", { class: "dim" }, relative("deadline", one.expires))],
  ],
};

function directionOf(transaction, own) {
  if (!own || transaction.kind !== "payment") return null;
  if (transaction.sender === own && transaction.recipient === own) return make("span", { class: "dim" }, "to itself ");
  return transaction.sender === own
    ? make("span", { class: "dim" }, "sent ")
    : make("span", { class: "good" }, "received ");
}

function transactionTable(label, transactions, columnNames, own) {
  const columns = columnNames.map(name => TRANSACTION_COLUMNS[name]);
  return table(
    label,
    columns.map(([column]) => column),
    transactions.map(one => columns.map(([, cell]) => cell(one, own))),
  );
}

/**
 * A list that grows page by page. `load(limit, next)` reads a page, and `render(items)` makes the list. `reload` starts again at the
 * first page. `refresh` puts items that the first page has and the list lacks in front. `rollBack` follows a rollback of blocks.
 */
function growingList(page, { load, render, empty, more }) {
  let items = [];
  let next;
  let version = 0;
  let isGrowing = false;
  const problem = new ProblemArea(page.signal);
  const list = make("div", { tabindex: "-1" });
  const button = make("button", { type: "button", class: "more" }, more);
  const content = () => (items.length ? render(items) : note(empty));
  // A reader asked for these rows: they are shown even if text of the list is selected.
  const show = () => {
    list.replaceChildren(content());
    button.hidden = next === undefined;
  };
  async function reload() {
    const mine = ++version;
    const first = await load(LIST_ROWS);
    if (mine !== version) return;
    [items, next] = [first.transactions, first.next];
    show();
  }
  async function refresh() {
    if (!items.length) return reload();
    const mine = version;
    const first = await load(LIST_ROWS);
    if (mine !== version) return;
    const known = new Set(items.map(one => one.id));
    const fresh = first.transactions.filter(one => !known.has(one.id));
    // With more new items than a page has, a gap would remain.
    if (fresh.length === first.transactions.length) return reload();
    if (!fresh.length) return;
    items = [...fresh, ...items];
    renew(list, content());
  }
  /** Takes out the transactions of blocks from a height on. A read that has begun may still have them, so it is dropped. */
  async function rollBack(height) {
    version += 1;
    items = items.filter(one => one.height < height);
    await refresh();
    renew(list, content());
  }
  async function grow() {
    const mine = version;
    const further = await load(MORE_ROWS, next);
    if (mine !== version) return;
    [items, next] = [[...items, ...further.transactions], further.next];
    show();
    // The button goes, and the focus must not go with it.
    if (next === undefined) list.focus({ preventScroll: true });
  }
  button.addEventListener("click", async () => {
    // A disabled button would lose the focus.
    if (isGrowing) return;
    isGrowing = true;
    await problem.watch(grow);
    isGrowing = false;
  });
  button.hidden = true;
  return {
    element: make("div", {}, problem.element, list, button),
    reload: () => problem.watch(reload),
    refresh: () => problem.watch(refresh),
    rollBack: height => problem.watch(() => rollBack(height)),
  };
}
