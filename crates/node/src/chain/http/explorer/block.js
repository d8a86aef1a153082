// The page of a block: its header, its child blocks and its transactions.

/** `#/block/HEIGHT` or `#/block/HASH`, with `?chain=` for the transactions of one chain. */
function blockPage(page, name) {
  const isHeight = /^\d{1,10}$/.test(name);
  page.name("Block " + (isHeight ? grouped(name) : shortened(name)));
  let shown = null;
  const load = async () => {
    const block = await readBlock(page, name);
    if (page.signal.aborted) return;
    if (!block) {
      shown = null;
      return page.show(unknownBlock(name, isHeight));
    }
    // Nothing in a block changes. Only a rollback puts another block at its height.
    if (shown?.hash === block.hash) return shown.onTip();
    page.name("Block " + grouped(block.height));
    shown = showBlock(page, block);
  };
  keepCurrent(page, load, { events: ["added", "popped"] });
}

/** Reads a block, or `null` if the main chain has none of that name. */
const readBlock = (page, name) => nullIfUnknown(page.read("block", { block: name }));

function unknownBlock(name, isHeight) {
  const tip = paragraph("The newest block is ", blockLink(tipHeight()), ".");
  if (!isHeight) {
    const reason = "The main chain has no block with this hash. Blocks of other branches are not kept.";
    return notice(paragraph(reason), paragraph(identifier("block hash", name)), tip);
  }
  if (Number(name) === 0) {
    const reason = "Genesis has height 0. It is no block: it has no forger and no transactions.";
    return notice(paragraph(reason), paragraph("The first block is ", blockLink(1), "."), tip);
  }
  const reason = "There is no block with height " + grouped(name) + " yet. This page shows it as soon as it is added.";
  return notice(paragraph(reason), tip);
}

function showBlock(page, block) {
  const links = make("nav", { "aria-label": "Neighbouring blocks", class: "row" });
  const onTip = () => renew(links, neighbours(block));
  onTip();
  page.show(links, section("Header", headerFacts(block)), ...bodyOf(page, block));
  return { hash: block.hash, onTip };
}

function neighbours(block) {
  const previous =
    block.height > 1
      ? blockLink(block.height - 1, "← Block " + grouped(block.height - 1))
      : note("This is the first block.");
  const next =
    block.height < tipHeight()
      ? blockLink(block.height + 1, "Block " + grouped(block.height + 1) + " →")
      : note("This is the newest block.");
  return [previous, next];
}

function headerFacts(block) {
  return facts([
    ["Hash", blockHash(block.hash)],
    [
      "Previous block",
      block.height > 1
        ? blockHash(block.previous, ["block", block.height - 1])
        : [identifier("genesis hash", block.previous), " (genesis)"],
    ],
    ["Forged", [clockTime(block.time), " (", relative("age", block.time), ")"]],
    ["Confirmations", relative("confirmations", block.height)],
    ["Forger", accountLink(block.forger)],
    ["Transactions of the parent chain", counted(block.parent_count, "transaction") + ", child blocks included"],
    ["Transactions of child chains", counted(block.child_count, "transaction")],
    ["Fees for the forger", amount(block.fees, PARENT)],
    ["Body", counted(block.body_bytes, "byte")],
    ["Forger's key", identifier("key", block.forger_key)],
    ["Generation signature", identifier("generation signature", block.generation)],
    ["Base target after it", grouped(block.base_target)],
    ["Cumulative difficulty", grouped(block.cumulative_difficulty)],
  ]);
}

/** The transactions, all of them or those of one chain. */
function bodyOf(page, block) {
  if (!transactionCount(block)) return [section("Transactions", note("The block has no transactions."))];
  let chain = Number(page.query.get("chain")) || 0;
  const list = growingList(page, {
    load: (limit, after) =>
      page.read("blockTransactions", { block: block.hash }, { chain: chain || undefined, after, limit }),
    render: items => transactionTable("Transactions of the block", items, ["transaction", "parties", "value", "fee"]),
    empty: "The block has no transactions of this chain.",
    more: "More transactions",
  });
  const filter = chainFilter(block, chain, chosen => {
    chain = chosen;
    // The address names the chain, so that it can be shared. No page is added to the history.
    history.replaceState(null, "", "#/block/" + block.height + (chain ? "?chain=" + chain : ""));
    return list.reload();
  });
  list.reload();
  return [section("Transactions", filter, list.element)];
}

/** Buttons that choose a chain, each with the number of its transactions. */
function chainFilter(block, chosen, choose) {
  const counts = [
    [0, "All chains", transactionCount(block)],
    [PARENT, chainOf(PARENT).name, block.parent_count],
    ...block.children.map(one => [one.chain, chainOf(one.chain).name, one.count]),
  ];
  const buttons = counts.map(([chain, name, count]) => {
    const button = make(
      "button",
      { type: "button", "aria-pressed": String(chain === chosen) },
      name + ": " + grouped(count),
    );
    button.addEventListener("click", () => {
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
      choose(chain);
    });
    return button;
  });
  return make("div", { role: "group", "aria-label": "Chain, with its number of transactions", class: "row" }, buttons);
}
