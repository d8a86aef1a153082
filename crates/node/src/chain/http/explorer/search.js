// Search: decides by the form of the text, and asks the node if the form leaves a choice.

/** `#/search?q=TEXT` */
function searchPage(page) {
  const text = (page.query.get("q") || "").trim();
  page.name("Search", text ? "Search: " + text : "Search");
  byId("query").value = text;
  keepCurrent(page, async () => {
    const found = await find(page, text);
    if (page.signal.aborted) return;
    // The page of the search gives its place in the history to the page that was found.
    if (found.route) return location.replace("#/" + found.route.map(encodeURIComponent).join("/"));
    page.show(notFound(text, found));
  });
}

/** Returns the route of a text, or the reason why there is none. */
async function find(page, text) {
  const height = text.replace(/[,\s]/g, "");
  if (/^\d{1,10}$/.test(height)) return { route: ["block", String(Number(height))] };
  const digits = text.toLowerCase().replace(/^0x/, "");
  if (/^[0-9a-f]{64}$/.test(digits)) return findHash(page, digits);
  if (/^tly-/i.test(text)) return findAccount(page, text);
  return { reason: "" };
}

async function findHash(page, digits) {
  const [block, transaction] = await Promise.all([readBlock(page, digits), readTransaction(page, digits)]);
  if (block) return { route: ["block", digits] };
  if (transaction) return { route: ["tx", digits] };
  return {
    reason: "No block of the main chain has this hash, and this node knows no transaction with this id.",
    awaited: digits,
  };
}

async function findAccount(page, text) {
  try {
    return { route: ["account", (await page.read("account", { account: text })).account] };
  } catch (error) {
    if (error.status !== 400) throw error;
    return { reason: error.message };
  }
}

function notFound(text, { reason, awaited }) {
  const forms = [
    "a height of a block, such as 12",
    "a hash of a block, 64 hexadecimal digits",
    "an id of a transaction, 64 hexadecimal digits",
    "an account, such as TLY-XXXXX-XXXXX-XXXXX-XXXXX-XXXXX-XXXX",
  ];
  const items = forms.map(form => make("li", {}, form));
  return notice(
    text && paragraph("Nothing was found for ", make("bdi", { class: "quoted" }, text), "."),
    reason && paragraph(reason),
    awaited && awaitLink(awaited),
    paragraph("Search for one of these:"),
    make("ul", {}, items),
  );
}

function awaitLink(id) {
  const link = pageLink(["tx", id], "wait for it on its page");
  return paragraph("If the transaction was only just sent, ", link, ".");
}
