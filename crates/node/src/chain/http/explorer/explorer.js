// The routes, the header, and the start. Routes are in the fragment of the address, so that the server has one page only.

/** The routes: a pattern of the fragment, the page, and the entry of the header that it belongs to. */
const ROUTES = [
  [/^\/?$/, overviewPage, "overview"],
  [/^\/blocks$/, blocksPage, "blocks"],
  [/^\/block\/([^/]+)$/, blockPage, "blocks"],
  [/^\/tx\/([^/]+)$/, transactionPage, ""],
  [/^\/account\/([^/]+)$/, accountPage, ""],
  [/^\/pool$/, poolPage, "pool"],
  [/^\/search$/, searchPage, ""],
];
const UNITS_KEY = "tally.explorer.smallest";

let leave = new AbortController();

/** Opens the page of the address. The first page of a visit leaves the focus where it is. */
function openRoute(isFirst = false) {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?", 2);
  leave.abort();
  leave = new AbortController();
  const page = new Page(new URLSearchParams(query), leave.signal);
  const [open, parameters, entry] = routeOf(path);
  byId("main").replaceChildren(page.root);
  for (const link of document.querySelectorAll("[data-page]")) {
    if (link.dataset.page === entry) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  open(page, ...parameters);
  if (isFirst) return;
  scrollTo(0, 0);
  page.heading.focus({ preventScroll: true });
}

function routeOf(path) {
  for (const [pattern, open, entry] of ROUTES) {
    const found = pattern.exec(path);
    if (found) return [open, found.slice(1).map(decoded), entry];
  }
  return [unknownPage, [], ""];
}

function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A stray percent sign is text.
    return segment;
  }
}

function unknownPage(page) {
  page.name("No such page");
  const overview = make("a", { href: "#/" }, "Overview");
  page.show(notice(paragraph("The explorer has no page at this address."), paragraph(overview)));
}

/** Reads the choice of units. Storage may be forbidden, and then the choice lasts as long as the page. */
function storedUnits() {
  try {
    return localStorage.getItem(UNITS_KEY) === "yes";
  } catch {
    return false;
  }
}

function chooseUnits(isSmallest) {
  showsSmallest = isSmallest;
  try {
    localStorage.setItem(UNITS_KEY, isSmallest ? "yes" : "no");
  } catch {
    // See `storedUnits`.
  }
  for (const element of document.querySelectorAll(".amount")) writeAmount(element);
}

function startHeader() {
  const smallest = byId("smallest");
  showsSmallest = smallest.checked = storedUnits();
  smallest.addEventListener("change", () => chooseUnits(smallest.checked));
  byId("skip").addEventListener("click", () => byId("main").focus());
  byId("search").addEventListener("submit", event => {
    event.preventDefault();
    const target = "#/search?" + new URLSearchParams({ q: byId("query").value });
    // The same search again changes no address.
    if (location.hash === target) openRoute();
    else location.hash = target;
  });
}

function showNetwork() {
  byId("network").textContent = network.network;
  byId("about").replaceChildren(
    paragraph("Genesis ", identifier("genesis hash", network.genesis)),
    make("p", { id: "node" }),
  );
  live.addEventListener("status", () => {
    byId("node").replaceChildren(
      "This node: ",
      make("bdi", {}, nodeStatus.name),
      ", " + nodeStatus.software + ", started ",
      make("time", { title: utcText(nodeStatus.started_at_ms) }, localText(nodeStatus.started_at_ms)),
    );
  });
}

/** Reads the constants, which every page needs, as often as it takes. */
async function readConstants() {
  for (;;) {
    try {
      return await read("constants");
    } catch (error) {
      showConnection("connecting again", "warn");
      byId("main").replaceChildren(make("div", { class: "page" }, problemNotice(error)));
      await new Promise(done => setTimeout(done, RETRY_FIRST_MS * 2));
    }
  }
}

async function start() {
  startHeader();
  useNetwork(await readConstants());
  showNetwork();
  await pollStatus();
  follow();
  setInterval(pollStatus, STATUS_EVERY_MS);
  setInterval(tick, 500);
  addEventListener("hashchange", () => openRoute());
  openRoute(true);
}

start();
