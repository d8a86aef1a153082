// The page of a transaction: its path and its fields, or the little that follows from the id of an unknown one.

// Time between two looks at a transaction that no event announces: its arrival in the pool.
const LOOK_EVERY_MS = 3_000;
// A page of the pool that is read to count child blocks. A larger pool is not read.
const POOL_READ_MAX = 500;
// Pages of parent transactions that are read to find a child block, and their rows. The node may give fewer rows.
const CHILD_BLOCK_PAGES = 10;
const CHILD_BLOCK_ROWS = 1_000;
// A sender's clock may be ahead by less than this.
const FUTURE_SECONDS_MAX = 3_600;

/** `#/tx/ID` */
function transactionPage(page, id) {
  page.name("Transaction", "Transaction " + shortened(id));
  // Fields and facts of earlier answers: the API no longer has the fields of a transaction that left.
  const known = {
    answer: null,
    transaction: null,
    block: null,
    childBlock: null,
    seenMs: 0,
    cause: "",
    waitingChildBlocks: 0,
  };
  const path = make("section", { "aria-label": "Path of the transaction" });
  const fields = make("div");
  const unknown = make("div");
  let shownFields = "";
  const head = paragraph(identifier("transaction id", id));
  const load = async () => {
    const answer = await readTransaction(page, id);
    if (page.signal.aborted) return;
    if (!answer) {
      known.answer = null;
      if (!unknown.isConnected) page.show(head, unknown);
      showChange(unknown, unknownTransaction(id));
      return;
    }
    await learn(page, known, answer);
    if (page.signal.aborted) return;
    if (!path.isConnected) page.show(head, path, fields);
    renew(path, make("h2", {}, STATE_TITLES[answer.state]), pathOf(stepsOf(known)));
    const shown = JSON.stringify([known.transaction, answer.bytes, answer.height]);
    if (shown !== shownFields) fields.replaceChildren(...fieldsOf(known));
    shownFields = shown;
  };
  const look = keepCurrent(page, load, { events: ["added", "popped", "left"] });
  // Once a block includes it, only events of blocks change its state.
  every(LOOK_EVERY_MS, page.signal, () => known.answer?.state === "confirmed" || look());
}

/** Replaces the content of an element if its text differs: a look that finds nothing new must not disturb a reader. */
function showChange(element, content) {
  if (element.textContent !== content.textContent) element.replaceChildren(content);
}

const STATE_TITLES = {
  unconfirmed: "Unconfirmed: waits for a block",
  confirmed: "In a block",
  left: "Left the pool without a block",
};

/** Reads a transaction, or `null` if the node knows none with this id. */
const readTransaction = (page, id) => nullIfUnknown(page.read("transaction", { transaction_id: id }));

/** Takes an answer, and reads the further facts that the steps show. */
async function learn(page, known, answer) {
  if (known.answer && known.answer.state !== answer.state) announce(STATE_TITLES[answer.state]);
  known.answer = answer;
  known.transaction = answer.transaction || known.transaction;
  if (answer.state === "unconfirmed") {
    known.seenMs = known.seenMs || Date.now();
    known.waitingChildBlocks = await countChildBlocks(page, known.transaction.chain);
  }
  if (answer.state === "left") known.cause = await causeOf(page, answer.reason);
  if (answer.state === "confirmed" && known.block?.hash !== answer.block) {
    known.childBlock = null;
    known.block = await page.read("block", { block: answer.block });
    known.childBlock = await findChildBlock(page, answer, known.transaction);
  }
}

/** Counts the child blocks of a chain in the pool. The API does not tell which transactions they carry. */
async function countChildBlocks(page, chain) {
  if (chain === PARENT || !nodeStatus || nodeStatus.pool_count > POOL_READ_MAX) return 0;
  const pool = await page.read("unconfirmed", {}, { chain: PARENT, limit: POOL_READ_MAX });
  return pool.transactions.filter(one => one.child_chain === chain).length;
}

/** Finds the child block that carries a transaction: a block has at most one for each chain. */
async function findChildBlock(page, answer, transaction) {
  if (!transaction || transaction.chain === PARENT) return null;
  let after;
  for (let count = 0; count < CHILD_BLOCK_PAGES; count += 1) {
    const query = { chain: PARENT, after, limit: CHILD_BLOCK_ROWS };
    const part = await page.read("blockTransactions", { block: answer.block }, query);
    const found = part.transactions.find(one => one.child_chain === transaction.chain);
    if (found || part.next === undefined) return found || null;
    after = part.next;
  }
  return null;
}

let causes = null;

/** Returns the API's own text for a code. The description is large, and read once. */
async function causeOf(page, code) {
  try {
    causes = causes || (await page.read("openapi")).components.schemas.ErrorCode["x-codes"];
    return causes[code] || "";
  } catch {
    // The code alone must do.
    return "";
  }
}

function fieldsOf(known) {
  const { answer, transaction } = known;
  if (!transaction) {
    const text =
      answer.state === "left"
        ? "The node keeps no fields of a transaction that left its pool."
        : "The body of its block was pruned on this node. The fields are no longer here.";
    return [notice(paragraph(text))];
  }
  return [
    section("Fields", facts(mainFacts(transaction, answer.height))),
    messageSection(transaction),
    section("Signature and bytes", facts(signedFacts(known))),
  ].filter(Boolean);
}

function mainFacts(transaction, height) {
  const chain = chainOf(transaction.chain);
  const role = chain.id === PARENT ? "the parent chain" : "child chain " + chain.id;
  const isChildBlock = transaction.kind === "child_block";
  const child = isChildBlock ? chainOf(transaction.child_chain) : null;
  const length = durationText(transaction.expires - transaction.time);
  return [
    ["Type", kindText(transaction.kind)],
    ["Chain", chain.name + " (" + chain.symbol + "), " + role],
    [isChildBlock ? "Bundler" : "Sender", accountLink(transaction.sender)],
    ["Recipient", transaction.recipient && accountLink(transaction.recipient)],
    ["Amount", transaction.kind === "payment" ? amount(transaction.amount, transaction.chain) : null],
    ["Length of the lease", transaction.kind === "lease" ? counted(transaction.lease_blocks, "block") : null],
    ["Carries", child && carried(transaction, child, height)],
    ["Fee", amount(transaction.fee, transaction.chain)],
    ["Made", clockTime(transaction.time)],
    ["Deadline", [clockTime(transaction.expires), " (" + length + " after it was made)"]],
    ["Refers to block", anchorOf(transaction)],
  ];
}

function anchorOf(transaction) {
  if (!transaction.anchor_height) return "genesis";
  const hash = make("code", {}, transaction.anchor_id);
  return [blockLink(transaction.anchor_height), " (hash begins with ", hash, ")"];
}

function carried(transaction, child, height) {
  const count = counted(transaction.child_count, "transaction") + " of " + child.name + " (" + child.symbol + ")";
  // A block has at most one child block of a chain, so the block's list of that chain is the list of the child block.
  return height ? pageLink(["block", height], count, { chain: child.id }) : count;
}

function messageSection(transaction) {
  if (transaction.message) return section("Message", make("pre", {}, make("bdi", {}, transaction.message)));
  if (!transaction.message_hex) return null;
  return section("Message, as hexadecimal bytes", make("pre", {}, transaction.message_hex));
}

function signedFacts({ answer, transaction }) {
  return [
    ["Sender's key", identifier("key", transaction.sender_key)],
    ["Signature", identifier("signature", transaction.signature)],
    ["Size", answer.bytes && counted(answer.bytes.length / 2, "byte")],
    ["Bytes", answer.bytes && identifier("transaction's bytes", answer.bytes)],
  ];
}

/** Explains an unknown transaction: its id tells when it was made, and so the latest possible deadline. */
function unknownTransaction(id) {
  const text =
    "This node knows no transaction with this id: it is in no block, not in the pool, and did not leave it lately.";
  const unknown = paragraph(text);
  if (!/^[0-9a-f]{64}$/.test(id)) return notice(unknown, note("An id has 64 hexadecimal digits."));
  const advice = "Ask the node that it was submitted to, or submit the same bytes again, which does no harm.";
  return notice(
    unknown,
    paragraph("By its id it was made at ", clockTime(timeOfId(id)), ". ", prospectOf(id)),
    note(advice),
  );
}

/** Tells whether an unknown transaction can still get into a block. */
function prospectOf(id) {
  const madeAt = timeOfId(id);
  const latest = madeAt + (network.parameters.deadline_minutes_max || 0) * 60;
  if (madeAt > presentSeconds() + FUTURE_SECONDS_MAX) return "That is in the future: check the id.";
  if (latest > presentSeconds()) {
    return "It may still be on its way to this node. This page shows it as soon as it arrives.";
  }
  return ["Its deadline was at the latest ", clockTime(latest), ". It has expired: no block can include it any more."];
}
