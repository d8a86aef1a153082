// Lists of blocks.

const BLOCKS_PER_PAGE = 25;

function blocksTable(blocks) {
  if (!blocks.length) return note("There is no block yet.");
  const columns = [["Block"], ["Forged"], ["Forger", "whole"], ["Transactions", "n"], ["Body", "n"]];
  return table(
    "Blocks",
    columns,
    blocks.map(block => [
      [make("b", {}, blockLink(block.height)), make("div", {}, blockHash(block.hash, ["block", block.hash]))],
      [clockTime(block.time), make("div", { class: "dim" }, relative("age", block.time))],
      accountLink(block.forger),
      [
        make("div", {}, grouped(block.parent_count) + " on the parent chain"),
        make("div", {}, grouped(block.child_count) + " on child chains"),
      ],
      bytesText(block.body_bytes),
    ]),
  );
}

/** `#/blocks?before=HEIGHT`: blocks below a height, or the newest. */
function blocksPage(page) {
  const before = page.query.get("before");
  page.name(before ? "Blocks below " + grouped(before) : "Newest blocks");
  const list = make("div");
  const links = make("nav", { "aria-label": "Pages of blocks", class: "row" });
  const load = async () => {
    const view = await page.read("blocks", {}, { before, limit: BLOCKS_PER_PAGE });
    if (!list.isConnected) page.show(make("section", { "aria-label": "Blocks" }, list, links));
    renew(list, blocksTable(view.blocks));
    renew(
      links,
      before ? pageLink(["blocks"], "Newest blocks") : null,
      view.next === undefined ? null : pageLink(["blocks"], "Older blocks", { before: view.next }),
    );
  };
  keepCurrent(page, load, { events: before ? ["popped"] : ["added", "popped"] });
}
