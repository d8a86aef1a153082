// Elements of the pages. Text from the chain only ever becomes text nodes: names and messages come from strangers.

/** Makes an element. Children that are null, undefined or empty are left out. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  }
  const shown = children.flat(Infinity).filter(child => child !== undefined && child !== null && child !== "");
  element.append(...shown.map(child => (typeof child === "string" ? visible(child) : child)));
  return element;
}

/** Writes characters that are not seen as escapes: controls, marks without width, and changes of the direction of writing. */
function visible(text) {
  const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  return text.replace(unseen, character => "\\u{" + character.codePointAt(0).toString(16) + "}");
}

const byId = id => document.getElementById(id);

/** Makes a link to a page of the explorer. */
function pageLink(segments, text, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  const path = segments.map(encodeURIComponent).join("/");
  return make("a", { href: "#/" + path + (given.length ? "?" + new URLSearchParams(given) : "") }, text);
}

const blockLink = (height, text = grouped(height)) => pageLink(["block", height], text);

/** Writes an account, a hash or an id in full, with a copy button. */
function identifier(noun, text, segments) {
  const code = make("code", {}, text);
  const shown = segments ? pageLink(segments, code) : code;
  return make("span", { class: "identifier" }, shown, copyButton(noun, text));
}

const accountLink = text => identifier("account", text, ["account", text]);
const transactionLink = text => identifier("transaction id", text, ["tx", text]);
const blockHash = (hash, segments) => identifier("block hash", hash, segments);

function copyButton(noun, text) {
  const button = make(
    "button",
    { type: "button", class: "copy", "aria-label": "Copy " + noun + " " + text, title: "Copy" },
    copyIcon(),
  );
  button.addEventListener("click", () => copy(button, noun, text));
  return button;
}

function copyIcon() {
  const space = "http://www.w3.org/2000/svg";
  const icon = document.createElementNS(space, "svg");
  icon.setAttribute("viewBox", "0 0 16 16");
  icon.setAttribute("aria-hidden", "true");
  for (const path of ["M5.5 5.5h8v8h-8z", "M10.5 5.5v-3h-8v8h3"]) {
    const line = document.createElementNS(space, "path");
    line.setAttribute("d", path);
    icon.append(line);
  }
  return icon;
}

async function copy(button, noun, text) {
  const isCopied = await toClipboard(text);
  button.classList.add(isCopied ? "copied" : "failed");
  setTimeout(() => button.classList.remove("copied", "failed"), 1_500);
  announce(
    isCopied ? "Copied the " + noun + "." : "The browser refused to copy. Select the " + noun + " and copy it by hand.",
  );
}

async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers offer `navigator.clipboard` only to secure origins, and may refuse it.
    return copyBySelection(text);
  }
}

function copyBySelection(text) {
  const before = document.activeElement;
  const area = make("textarea", { class: "hidden", readonly: true, "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  let isCopied = false;
  try {
    isCopied = document.execCommand("copy");
  } catch {
    // Some browsers throw instead of returning false.
  }
  area.remove();
  before?.focus({ preventScroll: true });
  return isCopied;
}

/** Tells screen readers, without moving the focus. Only a change is read out, so the same text comes after an empty one. */
function announce(text) {
  byId("announcement").textContent = "";
  setTimeout(() => {
    byId("announcement").textContent = text;
  }, 50);
}

/** An amount of a chain's token. The switch of the header changes all of them in place. */
function amount(minor, chainId) {
  const element = make("span", { class: "amount", "data-minor": minor, "data-chain": chainId });
  writeAmount(element);
  return element;
}

/** An amount of whole parent tokens, such as a stake. */
const wholeTokens = tokens => amount(BigInt(tokens) * 10n ** BigInt(chainOf(PARENT).decimals), PARENT);

function writeAmount(element) {
  const chain = chainOf(Number(element.dataset.chain));
  const [shown, other] = [wholeText, smallestText].map(write => write(element.dataset.minor, chain));
  element.textContent = showsSmallest ? other : shown;
  element.title = (showsSmallest ? shown : other) + " (" + chain.name + ")";
}

/** A time in local time. Its title has the same time in UTC. */
function clockTime(seconds) {
  const ms = msOf(seconds);
  return make("time", { datetime: new Date(ms).toISOString(), title: utcText(ms) }, localText(ms));
}

// Texts that depend on the present or on the tip. `tick` writes them again.
const RELATIVE = {
  age: seconds => durationText(presentSeconds() - seconds) + " ago",
  turn: seconds => (seconds > presentSeconds() ? "in " + durationText(seconds - presentSeconds() + 0.999) : "due"),
  deadline: seconds => (seconds > presentSeconds() ? "in " + durationText(seconds - presentSeconds()) : "over"),
  confirmations: height => counted(Math.max(0, tipHeight() - height), "confirmation"),
};

/** A text that follows the present: `age`, `turn` and `deadline` of seconds since genesis, `confirmations` of a height. */
function relative(kind, value) {
  return make("span", { "data-relative": kind, "data-value": value }, RELATIVE[kind](Number(value)));
}

function tick() {
  for (const element of document.querySelectorAll("[data-relative]")) {
    const text = RELATIVE[element.dataset.relative](Number(element.dataset.value));
    if (element.textContent !== text) element.textContent = text;
  }
}

/** A name and a value for each fact. Facts without a value are left out. */
function facts(list, kind = "facts") {
  const given = list.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return make(
    "dl",
    { class: kind },
    given.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
  );
}

/** A table. On a narrow screen each row becomes a card, so roles and column names are written out. */
function table(label, columns, rows) {
  const head = columns.map(([name, kind]) => make("th", { scope: "col", role: "columnheader", class: kind }, name));
  const cell = (value, [name, kind]) => make("td", { role: "cell", class: kind, "data-label": name }, value);
  const line = cells =>
    make(
      "tr",
      { role: "row" },
      cells.map((value, index) => cell(value, columns[index])),
    );
  return make(
    "div",
    { class: "box" },
    make(
      "table",
      { role: "table", "aria-label": label },
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, head)),
      make("tbody", { role: "rowgroup" }, rows.map(line)),
    ),
  );
}

function section(title, ...children) {
  return make("section", {}, make("h2", {}, title), ...children);
}

const paragraph = (...children) => make("p", {}, ...children);
/** A remark in small print. */
const note = (...children) => make("p", { class: "note" }, ...children);
/** A box with a message. */
const notice = (...children) => make("div", { class: "notice" }, ...children);
const badNotice = (...children) => make("div", { class: "notice bad" }, ...children);

/** A list without marks, or a text if there are no items. */
function plainList(items, none) {
  if (!items.length) return none;
  const lines = items.map(item => make("li", {}, item));
  return make("ul", { class: "plain" }, lines);
}

/** Replaces the children of an element, and keeps the focus on the same link or button, or at the same place. */
function renew(element, ...children) {
  const selection = getSelection();
  // A reader who selects text would lose the selection. The next renewal comes soon.
  if (!selection.isCollapsed && element.contains(selection.anchorNode)) return;
  const keyOf = one => one.getAttribute("href") || one.getAttribute("aria-label") || one.textContent;
  const stops = () => [...element.querySelectorAll("a[href]:not([tabindex]), button")];
  const index = stops().indexOf(document.activeElement);
  const held = index < 0 ? "" : keyOf(document.activeElement);
  element.replaceChildren(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  if (index < 0) return;
  // A link that is gone leaves the focus to the one at its place.
  const now = stops();
  (now.find(one => keyOf(one) === held) || now[Math.min(index, now.length - 1)])?.focus({ preventScroll: true });
}
