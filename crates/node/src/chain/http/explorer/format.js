// Amounts, numbers and times as text. The network's constants decide units and the time 0.

/** The network's constants; set once by `useNetwork`. */
let network = { network: "Chain", genesis: "", genesis_time_ms: 0, parameters: {}, chains: [] };
/** Milliseconds that the node's clock is ahead of this machine's. */
let clockSkewMs = 0;
/** Whether amounts are shown in the smallest units. */
let showsSmallest = false;

// The number of the parent chain.
const PARENT = 1;
// Below this difference the clocks count as equal: the node tells whole seconds only.
const SKEW_MIN_MS = 1_500;

function useNetwork(constants) {
  network = constants;
}

/** Takes the node's clock, in seconds since genesis, as the present. */
function useClock(nowSeconds) {
  const skewMs = msOf(nowSeconds) - Date.now();
  clockSkewMs = Math.abs(skewMs) < SKEW_MIN_MS ? 0 : skewMs;
}

const msOf = seconds => network.genesis_time_ms + seconds * 1000;
/** The present in seconds since genesis, by the node's clock. */
const presentSeconds = () => (Date.now() + clockSkewMs - network.genesis_time_ms) / 1000;

function chainOf(id) {
  // A chain that the constants lack would be a newer node's. Its amounts are shown in its smallest units.
  return (
    network.chains.find(chain => chain.id === id) || { id, name: "Chain " + id, symbol: "chain " + id, decimals: 0 }
  );
}

/** Writes digits in groups of three, with a comma between the groups. */
const grouped = digits => String(digits).replace(/\B(?=(\d{3})+$)/g, ",");

/** Writes a count with its noun: `1 block`, `2 blocks`. */
function counted(count, one, many = one + "s") {
  return grouped(count) + " " + (Number(count) === 1 ? one : many);
}

/** Writes an amount in whole tokens, with all its digits: `1.5 TLY`. */
function wholeText(minor, chain) {
  const digits = BigInt(minor)
    .toString()
    .padStart(chain.decimals + 1, "0");
  const point = digits.length - chain.decimals;
  const part = digits.slice(point).replace(/0+$/, "");
  return grouped(digits.slice(0, point)) + (part ? "." + part : "") + " " + chain.symbol;
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Writes an amount in the chain's smallest unit: `150,000,000 × 10⁻⁸ TLY`. */
function smallestText(minor, chain) {
  if (!chain.decimals) return wholeText(minor, chain);
  const power = [...String(chain.decimals)].map(digit => SUPERSCRIPTS[digit]).join("");
  return grouped(BigInt(minor)) + " × 10⁻" + power + " " + chain.symbol;
}

/** Writes a length of time with its two largest units: `2 min 5 s`. */
function durationText(seconds) {
  const left = Math.max(0, Math.floor(seconds));
  const parts = [
    [Math.floor(left / 86_400), "d"],
    [Math.floor(left / 3_600) % 24, "h"],
    [Math.floor(left / 60) % 60, "min"],
    [left % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => grouped(count) + " " + unit)
    .join(" ");
}

const localTime = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const localText = ms => localTime.format(new Date(ms));
const utcText = ms =>
  new Date(ms)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");

/** Writes bytes with three digits or fewer: `1.2 MB`. */
function bytesText(bytes) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let count = Number(bytes);
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) {
    count /= 1000;
    unit += 1;
  }
  return (unit && count < 10 ? count.toFixed(1) : String(Math.round(count))) + " " + units[unit];
}

const KINDS = { payment: "Payment", lease: "Lease", child_block: "Child block" };
const kindText = kind => KINDS[kind] || kind;
/** The first digits of a hash or an id, for titles only. Pages show all digits. */
const shortened = text => text.length > 13 ? text.slice(0, 12) + "…" : text;
