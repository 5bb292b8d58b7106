// Puts the page together: a panel a run, one clock for all of them.
import { MOST_DRAWN, networkName, readTrace, stateAfter, TraceError } from "./trace.js";
import { count, explainPhase, historyOf, nameSlot, tellOutcome, tellSlot, tellStanding } from "./words.js";
import { groupColour, html, svg } from "./shapes.js";
import { NetworkView } from "./network.js";
import { MatrixView } from "./matrix.js";
import { ConflictView } from "./conflicts.js";
import { legend, Progress, Timeline } from "./charts.js";
import { Player, SPEEDS } from "./player.js";

/** @typedef {import("./trace.js").Run} Run */

const host = /** @type {Window & { popsnet?: Page }} */ (window); // for those who look at it from the console

/** One run: its picture, words and charts. */
class Panel {
  /**
   * @param {Run} run
   * @param {number} slots
   * @param {Page} page
   */
  constructor(run, slots, page) {
    this.run = run;
    this.words = html("p", { class: "slot-words", "aria-live": "polite" });
    this.why = html("p", { class: "why" });
    this.standing = html("p", { class: "standing" });
    this.timeline = new Timeline(run, slots, (slot) => page.player.jump(slot));
    this.progress = new Progress(run, slots);
    this.conflicts = new ConflictView(run, (packet) => page.follow(packet));
    this.matrix = new MatrixView(run);
    this.network = run.n <= MOST_DRAWN ? new NetworkView(run, page.runs, (packet) => page.follow(packet)) : null;
    this.place = html("div", { class: "picture" });
    this.history = html("ol", { class: "history" });
    this.historyTitle = html("h3", {});
    this.story = html("section", { class: "story", hidden: true }, this.historyTitle, this.history);
    this.page = page;
    this.root = html(
      "article", { class: "run", "aria-label": run.name },
      html("header", {},
        html("h2", {}, run.name),
        html("p", { class: "outcome" }, tellOutcome(run)),
      ),
      html("p", { class: "about" }, run.explanation),
      this.broken(),
      html("div", { class: "now" }, this.words, this.why),
      this.story,
      html("div", { class: "scene" }, this.place,
        html("p", { class: "caption" }, "up: packets that get home in a slot; down: couplers with a collision"),
        this.timeline.root),
      html("div", { class: "charts" },
        html("section", {}, html("h3", {}, "Home and pending"), this.standing, this.progress.root),
        html("section", {}, html("h3", {}, "Conflict graph"), this.conflicts.root),
      ),
    );
  }

  broken() {
    const { problems } = this.run;
    if (problems.length === 0) return null;
    return html("p", { class: "alarm broken", role: "alert" },
      `This trace breaks the rules of the network ${count(problems.length, "time")}; first ${problems[0].slot === 0 ? "at the start" : `in slot ${problems[0].slot}`}: ${problems[0].text}.`);
  }

  views() {
    const view = this.network !== null && !this.page.asMatrix ? this.network : this.matrix;
    if (view !== this.view) {
      this.view = view;
      this.place.replaceChildren(view.root);
    }
    return [view, this.conflicts];
  }

  follow(packet) {
    for (const view of [this.network, this.matrix, this.conflicts]) view?.follow(packet);
    this.story.hidden = packet === null;
    if (packet === null) return;
    this.historyTitle.textContent = `Packet ${packet}`;
    this.history.replaceChildren(...historyOf(this.run, packet).map(({ slot, text }) =>
      html("li", { "data-slot": slot },
        html("button", { type: "button", class: "link", onclick: () => this.page.player.jump(slot) }, slot === 0 ? "start" : `slot ${slot}`),
        ` ${text}`)));
  }

  show(t, moving) {
    const { run } = this;
    const over = t > run.slots.length;
    const at = Math.min(t, run.slots.length);
    for (const view of this.views()) view.show(t, moving && !over);
    this.root.classList.toggle("over", over);
    const slot = at === 0 ? null : run.slots[at - 1];
    const name = slot === null ? "Start." : over ? `Over after slot ${at}.` : nameSlot(slot);
    this.words.replaceChildren(html("b", {}, name), ` ${over ? `${tellOutcome(run)}.` : tellSlot(run, at)}`);
    this.why.textContent = slot === null || over ? "" : explainPhase(run, slot.phase);
    const here = run.problems.filter((problem) => problem.slot === at);
    if (here.length > 0) this.why.textContent += ` Against the rules: ${here.map((problem) => problem.text).join("; ")}.`;
    this.standing.textContent = tellStanding(run, stateAfter(run, at));
    this.timeline.show(t);
    this.progress.show(t);
    for (const item of this.history.children) {
      item.classList.toggle("current", Number(item.dataset.slot) === at);
      item.classList.toggle("later", Number(item.dataset.slot) > at);
    }
    const now = [...this.history.children].findLast((item) => Number(item.dataset.slot) <= at);
    if (now) this.history.scrollTop = now.offsetTop - this.history.offsetTop - this.history.clientHeight / 2;
  }

  advance(time) {
    if (!this.root.classList.contains("over")) this.view.advance(time);
  }
}

/** The whole page for some runs on the same packets. */
class Page {
  /** @param {Run[]} runs */
  constructor(runs) {
    this.runs = runs;
    this.asMatrix = false;
    this.followed = null;
    this.slots = Math.max(...runs.map((run) => run.slots.length));
    this.player = new Player(this.slots, {
      show: (t, moving) => this.panels.forEach((panel) => panel.show(t, moving)),
      advance: (time) => this.panels.forEach((panel) => panel.advance(time)),
      changed: () => this.changed(),
    });
    this.panels = runs.map((run) => new Panel(run, this.slots, this));
    this.score = runs.length > 1 ? html("table", { class: "score" }) : null;
  }

  mount() {
    const [run] = this.runs;
    document.title = `${networkName(run)}: ${this.runs.map((one) => one.name).join(", ")}`;
    byId("network-name").textContent = `${networkName(run)}: ${count(run.n, "processor")} in ${count(run.g, "group")} of ${run.d.toLocaleString("en")}`;
    byId("runs").replaceChildren(...this.panels.map((panel) => panel.root));
    byId("runs").classList.toggle("several", this.panels.length > 1);
    byId("score").replaceChildren(...(this.score ? [this.score] : []));
    this.controls();
    this.guide();
    this.player.go(0);
  }

  controls() {
    const { player } = this;
    const on = (id, event, act) => { byId(id)[`on${event}`] = act; };
    on("first", "click", () => player.jump(0));
    on("back", "click", () => player.jump(player.slot - 1));
    on("play", "click", () => this.toggle());
    on("forward", "click", () => player.jump(player.slot + 1));
    on("last", "click", () => player.jump(this.slots));
    on("collision", "click", () => this.nextCollision());
    on("scrub", "input", (event) => player.jump(Number(event.target.value)));
    on("slot", "change", (event) => player.jump(Number(event.target.value) || 0));
    on("speed", "change", (event) => player.setSpeed(Number(event.target.value)));
    for (const id of ["slot", "packet"]) {
      on(id, "keydown", (event) => { if (event.key === "Enter") event.target.blur(); }); // keys are the player's again
    }
    on("packet", "change", (event) => this.follow(event.target.value === "" ? null : Number(event.target.value)));
    on("unfollow", "click", () => this.follow(null));
    on("as-matrix", "change", (event) => this.setMatrix(event.target.checked));
    byId("scrub").max = byId("slot").max = this.slots;
    byId("of").textContent = `of ${this.slots}`;
    byId("packet").max = this.runs[0].packets - 1;
    byId("packet").value = "";
    byId("unfollow").hidden = true;
    byId("notice").textContent = "";
    const drawn = this.runs[0].n <= MOST_DRAWN;
    byId("as-matrix").checked = !drawn;
    byId("as-matrix").disabled = !drawn;
    byId("as-matrix").parentElement.title = drawn ? "" : `Only networks of up to ${MOST_DRAWN} processors are drawn one by one.`;
    byId("speed").replaceChildren(...SPEEDS.map((speed) => html("option", { value: speed, selected: speed === player.speed }, speed < 1 ? `a slot in ${1 / speed} s` : count(speed, "slot a second", "slots a second"))));
    document.onkeydown = (event) => this.key(event);
  }

  key(event) {
    const typing = event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
    if (event.ctrlKey || event.altKey || event.metaKey || byId("help").open) return;
    if (event.key === "Escape") {
      if (typing) this.leave(event.target);
      else this.follow(null);
      return;
    }
    if (typing) return;
    const { player } = this;
    const pressed = event.target.matches("button, summary, input[type=checkbox]") && [" ", "Enter"].includes(event.key);
    const act = {
      " ": () => this.toggle(), k: () => this.toggle(),
      ArrowRight: () => player.jump(player.slot + 1), ArrowLeft: () => player.jump(player.slot - 1),
      Home: () => player.jump(0), End: () => player.jump(this.slots),
      c: () => this.nextCollision(), "+": () => player.faster(1), "-": () => player.faster(-1),
      f: () => ask("packet"), j: () => ask("slot"),
      m: () => { if (!byId("as-matrix").disabled) this.setMatrix(!this.asMatrix); },
      "?": () => byId("help").showModal(),
    }[event.key];
    if (!act || pressed) return;
    event.preventDefault();
    act();
  }

  /** Out of a field, which has its number again. */
  leave(field) {
    if (field.id === "slot") field.value = this.player.slot;
    if (field.id === "packet") field.value = this.followed ?? "";
    field.blur();
  }

  nextCollision() {
    const collides = (t) => this.runs.some((run) => run.slots[t - 1]?.collided.length > 0);
    const later = [...Array(this.slots).keys()].map((i) => i + 1).filter(collides);
    const next = later.find((t) => t > this.player.slot) ?? later[0];
    const again = next <= this.player.slot;
    if (next !== undefined) this.player.jump(next);
    byId("notice").textContent = next === undefined ? "There is no collision in any slot." : again ? "That was the last collision; this is the first." : "";
  }

  /** Play or pause; who plays has read the guide, and wants to see the picture. */
  toggle() {
    byId("guide").open &&= this.player.playing;
    this.player.toggle();
  }

  /** The words and marks of the view that is shown. */
  guide() {
    const matrix = byId("as-matrix").checked;
    byId("drawn").hidden = matrix;
    byId("cells").hidden = !matrix;
    byId("legend").replaceChildren(matrix ? legendOfMatrix() : legendOf());
  }

  setMatrix(wanted) {
    this.asMatrix = wanted;
    byId("as-matrix").checked = wanted;
    this.guide();
    this.player.go(this.player.slot);
  }

  follow(packet) {
    const { packets } = this.runs[0];
    const known = packet === null || (Number.isInteger(packet) && packet >= 0 && packet < packets);
    byId("notice").textContent = known ? "" : `There are packets 0 to ${packets - 1}.`;
    if (!known) return;
    this.followed = packet;
    byId("packet").value = packet ?? "";
    byId("unfollow").hidden = packet === null;
    for (const panel of this.panels) panel.follow(packet);
    this.player.pause();
    this.player.go(this.player.slot);
  }

  changed() {
    const { player } = this;
    byId("scrub").value = byId("slot").value = player.slot;
    byId("scrub").setAttribute("aria-valuetext", `slot ${player.slot} of ${this.slots}`);
    byId("play").classList.toggle("playing", player.playing);
    byId("play").setAttribute("aria-label", player.playing ? "Pause" : "Play");
    byId("play").title = player.playing ? "Pause (space)" : "Play (space)";
    byId("back").disabled = byId("first").disabled = player.slot === 0;
    byId("forward").disabled = byId("last").disabled = player.slot === this.slots;
    byId("speed").value = player.speed;
    if (this.score) this.tally(player.slot);
  }

  /** The runs beside each other, up to slot t. */
  tally(t) {
    const cell = (text) => html("td", {}, text);
    const rows = this.runs.map((run) => {
      const past = run.slots.slice(0, t);
      const sum = (of) => past.reduce((total, slot) => total + of(slot), 0).toLocaleString("en");
      const state = stateAfter(run, t);
      return html("tr", {},
        html("th", { scope: "row" }, run.name),
        cell(tellStanding(run, state)),
        cell(sum((slot) => slot.signals)),
        cell(sum((slot) => slot.destroyed)),
        cell(`${past.filter((slot) => slot.collided.length > 0).length} of ${past.length}`),
        cell(`${run.slots.length}`));
    });
    this.score.replaceChildren(
      html("caption", {}, `After slot ${t}`),
      html("thead", {}, html("tr", {}, ...["", "packets", "messages on couplers", "of them destroyed", "slots with collisions", "slots in all"].map((name) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, ...rows));
  }
}

function mark(...parts) {
  return svg("svg", { viewBox: "0 0 34 20", class: "mark", "aria-hidden": "true" }, ...parts);
}

function legendOfMatrix() {
  const cell = (name, ...parts) => mark(svg("rect", { class: `cell ${name}`, x: 9, y: 2, width: 16, height: 16 }), ...parts);
  return legend([
    [cell("idle"), "an idle coupler"],
    [cell("idle", svg("rect", { class: "cell used", x: 13, y: 6, width: 8, height: 8 })), "a coupler that carries one message to all who listen"],
    [cell("collided", svg("path", { d: "M13,6 L21,14 M21,6 L13,14" })), "a collision: two or more messages on one coupler, all destroyed; small cells are dark, without a cross"],
  ]);
}

function legendOf() {
  const box = (name, text) => svg("g", { class: `coupler ${name}` },
    svg("rect", { x: 4, y: 2, width: 26, height: 16, rx: 3 }),
    name === "collided" ? svg("path", { class: "cross", d: "M12,5 L22,15 M22,5 L12,15" }) : svg("text", { class: "cargo", x: 17, y: 10, "font-size": 11, dy: "0.36em" }, text));
  const packet = (text, name) => svg("g", { class: `chip ${name}`, transform: "translate(17,10)" },
    svg("rect", { x: -14, y: -8, width: 28, height: 16, rx: 5, fill: groupColour(1) }),
    svg("text", { "font-size": 11, dy: "0.36em" }, text));
  return legend([
    [mark(packet("7", "")), "a packet; its colour is the group it must reach"],
    [mark(packet("7✓", "home")), "a packet that is home, to stay"],
    [mark(box("used packet", "7")), "a coupler that carries packet 7 to all who listen"],
    [mark(box("collided", "")), "a collision: two or more messages on one coupler, all destroyed"],
    [mark(svg("line", { class: "beam packet collided", x1: 2, y1: 10, x2: 32, y2: 10 })), "light that is destroyed; nobody hears anything"],
    [mark(box("used ack", "↩7")), "an acknowledgement of packet 7; • is another control message"],
    [mark(svg("path", { class: "ear hears", d: "M6,5 L14,10 L6,15 Z" }), svg("path", { class: "ear", d: "M20,5 L28,10 L20,15 Z" })), "listens and hears; listens and hears nothing"],
  ]);
}

/**
 * An element of the page, of the kind that page.html gives it.
 * @param {string} id
 * @returns {any}
 */
function byId(id) {
  return document.getElementById(id);
}

/** Let a number be typed, in place of the one that is there. */
function ask(id) {
  byId(id).focus();
  byId(id).select();
}

function refuse(name, error) {
  if (!(error instanceof TraceError)) console.error(error);
  const why = error instanceof TraceError ? error.message : `It cannot be read (${error.message}).`;
  byId("problem").textContent = `${name} is not shown. ${why}`;
  byId("problem").hidden = false;
}

/** Show these runs; if one cannot be read, say so and keep what is on the page. */
function present(texts) {
  byId("problem").hidden = true;
  const runs = [];
  for (const { name, text, file } of texts) {
    try {
      const run = readTrace(text, name);
      if (file) run.name = `${run.router} (${run.variant}), ${name}`;
      runs.push(run);
    } catch (error) {
      refuse(name, error);
      return;
    }
  }
  if (runs.length === 0) return;
  const other = runs.find((run) => !sameTask(run, runs[0]));
  if (other) {
    refuse(other.name, new TraceError(`Runs are played side by side on the same network and packets; ${runs[0].name} has others.`));
    return;
  }
  let page;
  try {
    page = new Page(runs);
  } catch (error) {
    refuse(runs[0].name, error);
    return;
  }
  byId("player").hidden = false;
  host.popsnet?.player.pause();
  page.mount();
  host.popsnet = page;
}

function sameTask(a, b) {
  return a.d === b.d && a.g === b.g && a.packets === b.packets &&
    a.destination.every((to, packet) => to === b.destination[packet] && a.start[packet] === b.start[packet]);
}

async function unpack({ name, gzip }) {
  try {
    const letters = atob(gzip);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i); // from() takes ten times as long
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return { name, text: await new Response(stream).text() };
  } catch {
    throw new TraceError(`The data of ${name} are damaged: they cannot be unpacked. Make the page again.`);
  }
}

async function openFiles(files) {
  if (files.length === 0) return;
  const texts = [];
  for (const file of files) {
    try {
      texts.push({ name: file.name, text: await file.text(), file: true });
    } catch (error) {
      refuse(file.name, error);
      return;
    }
  }
  present(texts);
}

function setTheme(theme) {
  if (theme === "") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  host.popsnet?.player.go(host.popsnet.player.slot); // the matrix takes its colours from the page
}

async function begin() {
  byId("theme").onchange = (event) => setTheme(event.target.value);
  byId("open").onchange = async (event) => {
    await openFiles(event.target.files);
    event.target.value = ""; // so that the same file can be opened again once it is mended
  };
  if (window.parent !== window) byId("guide").open = false; // a cell of a notebook is small
  byId("keys").onclick = () => byId("help").showModal();
  byId("close").onclick = () => byId("help").close(); // no form: a notebook's frame sends none
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(byId("theme").value));
  document.ondragover = (event) => event.preventDefault();
  document.ondrop = (event) => {
    event.preventDefault();
    openFiles(event.dataTransfer?.files ?? []);
  };
  try {
    const { runs } = JSON.parse(byId("recordings").textContent);
    present(await Promise.all(runs.map(unpack)));
  } catch (error) {
    refuse("The run of this page", error);
  }
  document.documentElement.dataset.ready = "yes";
}

begin();
