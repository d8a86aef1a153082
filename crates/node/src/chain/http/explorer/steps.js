// A transaction's path: made, in the pool, in a child block, in a block, confirmed.

/** The texts of a step's state for screen readers. */
const STEP_STATES = { done: "done", now: "in progress", todo: "not yet", failed: "failed" };

/** Writes the steps as an ordered list. */
function pathOf(steps) {
  return make(
    "ol",
    { class: "path" },
    steps.map(step =>
      make(
        "li",
        { class: step.state, "aria-current": step.state === "now" ? "step" : null },
        make("b", {}, step.title),
        make("span", { class: "hidden" }, " (" + STEP_STATES[step.state] + ")"),
        step.lines.filter(line => line !== null && line !== undefined).map(line => make("div", {}, line)),
      ),
    ),
  );
}

/**
 * Returns the steps of a transaction. `known` has the API's `answer`, `seenMs` if this page saw it in the pool, the `block` that
 * includes it, its `childBlock`, and the code's `cause` if it left.
 */
function stepsOf(known) {
  const { answer } = known;
  const isChild = known.transaction ? known.transaction.chain !== PARENT : false;
  const steps = [madeStep(answer), poolStep(known, isChild)];
  if (answer.state === "left") return steps;
  if (isChild) steps.push(childBlockStep(known));
  steps.push(blockStep(known), confirmationStep(answer));
  return steps;
}

function madeStep(answer) {
  return { title: "Made", state: "done", lines: [clockTime(timeOfId(answer.id)), "by the sender's clock"] };
}

function poolStep(known, isChild) {
  const { answer, transaction } = known;
  const seen = known.seenMs
    ? ["seen here ", make("time", { title: utcText(known.seenMs) }, localText(known.seenMs))]
    : null;
  if (answer.state === "left") {
    return {
      title: "Left the pool",
      state: "failed",
      lines: [clockTime(answer.left_at), known.cause || null, make("code", {}, answer.reason), "No block includes it."],
    };
  }
  if (answer.state === "confirmed") return { title: "In the pool", state: "done", lines: [seen || "passed"] };
  const deadline = ["deadline ", relative("deadline", transaction.expires)];
  return {
    title: "In the pool",
    state: isChild ? "done" : "now",
    lines: [isChild ? null : "waits for a forger", seen, deadline],
  };
}

function childBlockStep(known) {
  const { answer, childBlock, transaction } = known;
  const title = "In a child block";
  if (answer.state === "unconfirmed") {
    const ready = known.waitingChildBlocks;
    const name = chainOf(transaction.chain).name;
    const hint = ready ? "in the pool: " + counted(ready, "child block") + " of " + name : null;
    return { title, state: "now", lines: ["waits for a bundler", hint] };
  }
  if (!childBlock) return { title, state: "done", lines: ["its child block is not known here"] };
  return {
    title,
    state: "done",
    lines: [
      [pageLink(["tx", childBlock.id], "Child block"), " of " + counted(childBlock.child_count, "transaction")],
      ["bundler ", accountLink(childBlock.sender)],
      ["pays the forger ", amount(childBlock.fee, PARENT)],
    ],
  };
}

function blockStep({ answer, block }) {
  const title = "In a block";
  if (answer.state === "unconfirmed") return { title, state: "todo", lines: [] };
  const lines = [blockLink(answer.height, "Block " + grouped(answer.height))];
  if (block) lines.push(clockTime(block.time), ["forger ", accountLink(block.forger)]);
  return { title, state: "done", lines };
}

function confirmationStep(answer) {
  const final = network.parameters.rollback_blocks_max;
  if (answer.state === "unconfirmed") return { title: "Confirmed", state: "todo", lines: [] };
  const count = Math.max(0, tipHeight() - answer.height);
  const isFinal = final !== undefined && count >= final;
  const lines = [relative("confirmations", answer.height), newestLine(count)];
  if (final !== undefined) {
    const rule = isFinal ? "No node" : "After " + counted(final, "block") + " no node";
    lines.push(
      make("progress", { max: final, value: Math.min(count, final), "aria-label": "Confirmations" }),
      rule + " takes it back by itself.",
    );
  }
  return { title: "Confirmed", state: isFinal ? "done" : "now", lines };
}

function newestLine(count) {
  if (!nodeStatus || count === 0) return "waits for the next block";
  return ["newest: block ", blockLink(nodeStatus.height), ", ", clockTime(nodeStatus.tip_time)];
}

/** An id begins with the time at which its transaction was made. */
const timeOfId = id => parseInt(id.slice(0, 8), 16);
