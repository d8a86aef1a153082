// Flows over the HTTP API of a node: cash.issue and cash.issue_and_pay, waited for until every participant has recorded them.
// What can be set from outside, and what the results mean: interop/README.md.

import exec from 'k6/execution';
import http from 'k6/http';
import { check, fail, sleep } from 'k6';
import { Counter, Rate } from 'k6/metrics';

const HOST = __ENV.HOST || 'localhost';
const PORT = __ENV.PORT;
const TOKEN = (__ENV.TOKEN_FILE ? open(__ENV.TOKEN_FILE) : __ENV.TOKEN || '').trim();
const FLOWS = (__ENV.FLOWS || 'cash.issue,cash.issue_and_pay').split(',');
const MODE = __ENV.MODE || 'closed';
const VUS = Number(__ENV.VUS || 8);
const RATE = Number(__ENV.RATE || 50);
const DURATION_S = Number(__ENV.DURATION || 30);
const TIMEOUT_MS = Number(__ENV.TIMEOUT_MS || 30000);
const P99_MS = Number(__ENV.P99_MS || 1000);

const ARGS = { currency: __ENV.CURRENCY || 'GBP', quantity: Number(__ENV.QUANTITY || 100) };
const TO = Object.assign({ recipient: __ENV.RECIPIENT }, ARGS);
const BODIES = {};
for (const flow of FLOWS) {
  const args = flow === 'cash.issue' ? ARGS : TO;
  BODIES[flow] = JSON.stringify({ flow, args, wait: 'delivered', timeout_ms: TIMEOUT_MS });
}

// Every start counts once here, tagged with its flow and with what came of it: `delivered`, or the code that says why not.
const outcomes = new Counter('flow_outcomes');
// Of all starts, those that were delivered. No retry hides in it: the script never sends a start again.
const delivered = new Rate('flow_delivered');

// Accepted for later (202) is no success for a script that waits for delivery.
http.setResponseCallback(http.expectedStatuses(200));

const SCENARIOS = {
  // The closed loop: each of VUS clients starts a flow when its last one is delivered. A node that stalls is asked less.
  closed: { executor: 'constant-vus', exec: 'closed', vus: VUS, duration: `${DURATION_S}s`, tags: { loop: 'closed' } },
  // The open loop: RATE starts a second, whatever the node does. A start that finds no free client is dropped, and counted.
  open: {
    executor: 'constant-arrival-rate',
    exec: 'open_',
    rate: RATE,
    timeUnit: '1s',
    duration: `${DURATION_S}s`,
    preAllocatedVUs: VUS,
    maxVUs: Math.max(VUS, Math.ceil((RATE * TIMEOUT_MS) / 1000 / 10)),
    tags: { loop: 'open' },
  },
};

function scenarios() {
  if (MODE === 'both') {
    // One after the other: two loops at once would measure each other.
    const later = { startTime: `${DURATION_S + 1 + TIMEOUT_MS / 1000 / 10}s` };
    return { closed: SCENARIOS.closed, open: Object.assign(later, SCENARIOS.open) };
  }
  if (!SCENARIOS[MODE]) {
    throw new Error(`MODE is '${MODE}': closed, open or both`);
  }
  return { [MODE]: SCENARIOS[MODE] };
}

function thresholds() {
  const limits = { checks: ['rate==1'], flow_delivered: ['rate==1'], dropped_iterations: ['count==0'] };
  for (const flow of FLOWS) {
    // The second also makes the summary show each flow by itself.
    limits[`http_req_duration{flow:${flow}}`] = [`p(99)<${P99_MS}`];
    limits[`flow_outcomes{flow:${flow},outcome:delivered}`] = ['count>0'];
  }
  // Nothing is wrong with refusals as such, but whoever reads the summary should see them.
  limits['flow_outcomes{outcome:node.busy}'] = ['count>=0'];
  return limits;
}

export const options = {
  scenarios: scenarios(),
  thresholds: thresholds(),
  summaryTrendStats: ['min', 'avg', 'med', 'p(95)', 'p(99)', 'max'],
};

export function setup() {
  if (!PORT || !TOKEN) {
    fail('PORT and TOKEN_FILE (or TOKEN) are needed');
  }
  if (FLOWS.some((flow) => flow !== 'cash.issue') && !__ENV.RECIPIENT) {
    fail('RECIPIENT is needed: the name of the party that is paid, as the network map has it');
  }
}

/** Starts one flow. Gives how long the node asks to be left alone, in milliseconds. */
function start(flow) {
  const answer = http.post(`https://${HOST}:${PORT}/v1/flows`, BODIES[flow], {
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
    timeout: TIMEOUT_MS + 10000,
    tags: { flow, name: flow },
  });
  let said = {};
  try {
    said = answer.json();
  } catch (_) {
    // Not the node's own answer, or none: k6's own error code says what it was.
  }
  const [refusal] = said.refused || [];
  const flowStatus = refusal ? refusal.code : said.status;
  // Any other status is a problem: the flow was refused, or it failed.
  const outcome = answer.status === 200 || answer.status === 202 ? flowStatus : said.code;
  const good = answer.status === 200 && outcome === 'delivered';
  check(answer, { delivered: () => good }, { flow });
  delivered.add(good, { flow });
  outcomes.add(1, { flow, outcome: String(outcome || `k6.${answer.error_code}`) });
  return said.retry_after_ms || 0;
}

function one() {
  return FLOWS[exec.scenario.iterationInTest % FLOWS.length];
}

export function closed() {
  const asked = start(one());
  if (asked > 0) {
    // As long as the node says, and up to a third more, so that not all come back at once.
    sleep((asked * (1 + Math.random() / 3)) / 1000);
  }
}

export function open_() {
  // Nobody waits here: the next arrival comes when it is due.
  start(one());
}
