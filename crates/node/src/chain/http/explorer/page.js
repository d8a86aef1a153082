// The life of a page: it is opened for a route, keeps itself current, and ends when another one is opened.

// Pause between two loads of a page, however fast the events come.
const RELOAD_PAUSE_MS = 400;

/** A place that shows the error of the last load, until a load succeeds. */
class ProblemArea {
  constructor(signal) {
    this.signal = signal;
    this.shown = "";
    this.element = make("div", { role: "alert" });
  }

  /** Runs a load and shows its error. Returns whether it succeeded. */
  async watch(load) {
    try {
      await load();
      if (!this.signal.aborted) this.show("");
      return true;
    } catch (error) {
      if (!this.signal.aborted) this.show(error.message, problemNotice(error));
      return false;
    }
  }

  /** An unchanged error must not be read out again. */
  show(text, ...notices) {
    if (this.shown === text) return;
    this.shown = text;
    this.element.replaceChildren(...notices);
  }
}

/** A page that is open. `signal` is aborted when it is left. */
class Page {
  constructor(query, signal) {
    this.query = query;
    this.signal = signal;
    this.heading = make("h1", { tabindex: "-1" });
    this.problem = new ProblemArea(signal);
    this.body = make("div", { class: "body" }, note("Loading."));
    this.isShown = false;
    this.root = make("div", { class: "page" }, this.heading, this.problem.element, this.body);
  }

  /** Sets the heading. The window's title adds the network, and differs from the heading if `title` is given. */
  name(heading, title = heading) {
    this.heading.textContent = heading;
    document.title = title + " · " + network.network;
  }

  show(...children) {
    this.isShown = true;
    this.body.replaceChildren(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  }

  read(operation, segments, query) {
    return read(operation, { segments, query, signal: this.signal });
  }

  on(name, run) {
    live.addEventListener(name, run, { signal: this.signal });
  }
}

function problemNotice(error) {
  if (error instanceof ApiError && error.isNoAnswer) {
    return badNotice(paragraph("The node does not answer. The page connects again by itself."));
  }
  const code = error.code && note(make("code", {}, error.code));
  return badNotice(paragraph(error.message), error.hint && note(error.hint), code);
}

/**
 * Runs `load` at once, at the named events, after an outage, and at an interval if one is given. Two loads never overlap. An error
 * is shown until a load succeeds. Returns a function that loads again.
 */
function keepCurrent(page, load, { events = [], everyMs = 0 } = {}) {
  let isRunning = false;
  let isAsked = false;
  async function run() {
    isAsked = true;
    if (isRunning) return;
    isRunning = true;
    while (isAsked && !page.signal.aborted) {
      isAsked = false;
      const isLoaded = await page.problem.watch(load);
      if (!isLoaded && !page.isShown) page.body.replaceChildren();
      await new Promise(done => setTimeout(done, RELOAD_PAUSE_MS));
    }
    isRunning = false;
  }
  for (const name of ["back", ...events]) page.on(name, run);
  if (everyMs) every(everyMs, page.signal, run);
  run();
  return run;
}
