// Puts the page together: one panel per run, one clock for all of them.
import { MOST_DRAWN, networkName, readTrace, stateAfter, TraceError } from "./trace.js";
import { count, noPacket, tellStanding } from "./words.js";
import { html } from "./shapes.js";
import { legend, legendOfMatrix, legendOfNetwork } from "./guide.js";
import { Player, SPEEDS } from "./player.js";
import { Panel } from "./panel.js";
import { firstTraffic, playOnce } from "./opening.js";
import { copyLink, fragmentOf, hasAddress, momentOf, writeFragment } from "./link.js";

/** @typedef {import("./trace.js").Run} Run */

const host = /** @type {Window & { popsnet?: Page }} */ (window); // for use from the browser's console
const ROOM_FOR_WORDS = 126; // pixels, where they are below a figure
const LEAST_HIGH = 240; // pixels of a figure in a low window

/** The whole page, for some runs on the same packets. */
class Page {
  /**
   * @param {Run[]} runs
   * @param {boolean} own whether the runs are those of the page, and not opened by the reader
   */
  constructor(runs, own) {
    this.runs = runs;
    this.linked = own && hasAddress(); // whether the address of the page leads to these runs
    this.drawable = runs[0].n <= MOST_DRAWN;
    this.asMatrix = !this.drawable;
    this.followed = null;
    this.shown = 0; // the run that a phone shows
    this.phone = window.matchMedia("(max-width: 640px)");
    this.slots = Math.max(...runs.map((run) => run.slots.length));
    this.first = firstTraffic(runs, this.slots);
    this.opened = false; // from then on it is the reader who moves
    this.enlarged = false;
    this.room = { wide: 0, high: 0 };
    this.window = 0; // the height of the window that the figures are fitted to
    this.player = new Player(this.slots, {
      show: (t, moving) => this.panels.forEach((panel) => panel.show(t, moving, !this.player.automatic)),
      advance: (time) => this.panels.forEach((panel) => panel.advance(time)),
      changed: () => this.changed(),
    });
    this.panels = runs.map((run) => new Panel(run, runs, this.slots, {
      jump: (slot) => this.player.jump(slot),
      follow: (packet) => this.follow(packet),
      tap: () => { if (this.phone.matches) this.enlarge(!this.enlarged); },
      rest: () => this.player.jump(this.player.slot),
      complain: (error) => { byId("notice").textContent = `The figure could not be saved: ${error.message}`; },
    }));
    this.score = runs.length > 1 ? html("table", { class: "score" }) : null;
  }

  mount() {
    const [run] = this.runs;
    document.title = `${networkName(run)}: ${this.runs.map((one) => one.name).join(", ")}`;
    byId("network-name").textContent = `${networkName(run)}: ${count(run.n, "processor")} in ${count(run.g, "group")} of ${run.d.toLocaleString("en")}`;
    byId("runs").replaceChildren(...this.panels.map((panel) => panel.root));
    byId("runs").classList.toggle("several", this.panels.length > 1);
    byId("score").replaceChildren(...(this.score ? [this.score] : []));
    byId("tabs").hidden = this.panels.length < 2;
    byId("tabs").replaceChildren(...this.runs.map((one, i) => html("button", { type: "button", onclick: () => this.choose(i) }, one.name)));
    this.choose(0);
    this.controls();
    this.setMatrix(this.asMatrix);
    this.player.go(this.first);
    this.fit();
  }

  /** Open on the moment that the address names; if it names none, play once from the first traffic. */
  open() {
    const moment = this.moment();
    if (moment) this.visit(moment);
    else playOnce(this.player, this.panels[0].place, this.first);
  }

  /** The moment that the address names. */
  moment() {
    if (!this.linked) return null;
    return momentOf(window.location.hash, { first: this.first, slots: this.slots, packets: this.runs[0].packets, runs: this.runs.length });
  }

  /** @param {import("./link.js").LinkedMoment} moment */
  visit({ slot, follow, run, matrix, unknown }) {
    this.choose(run);
    this.setMatrix(matrix || !this.drawable);
    this.follow(follow);
    this.player.jump(slot);
    if (unknown !== null) byId("notice").textContent = noPacket(unknown, this.runs[0].packets);
    writeFragment(this.fragment()); // of what is shown, which need not be what the link asked for
    if (run > 0) this.panels[run].root.scrollIntoView({ block: "nearest" });
  }

  fragment() {
    const matrix = this.asMatrix && this.drawable;
    return fragmentOf({ slot: this.player.slot, follow: this.followed, run: this.shown, matrix });
  }

  async copy() {
    this.player.jump(this.player.slot);
    const copied = await copyLink(this.fragment());
    byId("notice").textContent = copied ? "The link is copied." : "The link could not be copied. Take it from the address bar.";
  }

  /** Choose the run that a phone shows. */
  choose(place) {
    this.shown = place;
    this.panels.forEach((panel, i) => panel.root.classList.toggle("shown", i === place));
    [...byId("tabs").children].forEach((tab, i) => tab.setAttribute("aria-pressed", `${i === place}`));
    if (this.opened) this.changed();
  }

  /** Show figures that are as large as text, and scroll; or that fit into the window. */
  enlarge(wanted) {
    byId("enlarged").checked = this.enlarged = wanted;
    this.window = 0; // to be fitted again
    this.fit();
  }

  /** Fit the figures to the window. */
  fit() {
    const { place, now } = this.panels[this.phone.matches ? this.shown : 0];
    if (place.clientWidth === 0) return; // it is not on the screen
    if (place.clientWidth === this.room.wide && window.innerHeight === this.window) return;
    this.window = window.innerHeight;
    const top = place.getBoundingClientRect().top + window.scrollY;
    const below = now.getBoundingClientRect().left < place.getBoundingClientRect().right ? ROOM_FOR_WORDS : 12;
    const high = Math.max(LEAST_HIGH, window.innerHeight - top - byId("player").offsetHeight - below);
    this.room = { wide: place.clientWidth, high: Math.round(high), enlarged: this.enlarged };
    for (const panel of this.panels) panel.fit(this.room);
    this.player.show(this.player.slot, this.player.moves);
    if (this.score) this.tally(this.player.slot);
  }

  controls() {
    const { player } = this;
    const on = (id, event, act) => { byId(id)[`on${event}`] = act; };
    on("first", "click", () => player.jump(0));
    on("back", "click", () => player.jump(player.slot - 1));
    on("play", "click", () => player.toggle());
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
    on("link", "click", () => this.copy());
    on("more", "click", () => more(byId("more").getAttribute("aria-expanded") !== "true"));
    on("unfollow", "click", () => this.follow(null));
    on("as-matrix", "change", (event) => this.setMatrix(event.target.checked));
    on("enlarged", "change", (event) => this.enlarge(event.target.checked));
    byId("scrub").max = byId("slot").max = this.slots;
    byId("of").textContent = `of ${this.slots}`;
    byId("packet").max = this.runs[0].packets - 1;
    byId("packet").value = "";
    byId("unfollow").hidden = true;
    byId("notice").textContent = "";
    byId("as-matrix").disabled = !this.drawable;
    byId("as-matrix").parentElement.title = this.drawable ? "" : `Processors are drawn one by one only in networks of up to ${MOST_DRAWN}.`;
    byId("link").hidden = !hasAddress();
    byId("link").disabled = !this.linked;
    byId("speed").replaceChildren(...SPEEDS.map((speed) => html("option", { value: speed, selected: speed === player.speed }, count(speed, "slot/s", "slots/s"))));
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
      " ": () => player.toggle(), k: () => player.toggle(),
      ArrowRight: () => player.jump(player.slot + 1), ArrowLeft: () => player.jump(player.slot - 1),
      Home: () => player.jump(0), End: () => player.jump(this.slots),
      c: () => this.nextCollision(), "+": () => player.faster(1), "-": () => player.faster(-1),
      p: () => ask("packet"), j: () => ask("slot"),
      m: () => { if (!byId("as-matrix").disabled) this.setMatrix(!this.asMatrix); },
      z: () => this.enlarge(!this.enlarged),
      f: fillScreen,
      "?": () => byId("help").showModal(),
    }[event.key];
    const scrolls = event.target.matches(".figure") && event.key.startsWith("Arrow"); // a figure larger than its room
    if (!act || pressed || scrolls) return;
    event.preventDefault();
    act();
  }

  /** Leave a field with the number that it had. */
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
    byId("notice").textContent = next === undefined ? "There is no collision in any slot." : again ? "That was the last collision. This is the first again." : "";
  }

  /** The text and marks of the view that is shown. */
  guide() {
    byId("drawn").hidden = this.asMatrix;
    byId("cells").hidden = !this.asMatrix;
    byId("aim").hidden = this.runs[0].traffic;
    byId("flow").hidden = !this.runs[0].traffic;
    byId("legend").replaceChildren(legend(this.asMatrix ? legendOfMatrix(this.runs[0]) : legendOfNetwork(this.runs[0])));
  }

  setMatrix(wanted) {
    this.asMatrix = wanted;
    byId("as-matrix").checked = wanted;
    for (const panel of this.panels) panel.asMatrix = wanted;
    this.guide();
    this.player.go(this.player.slot);
  }

  follow(packet) {
    const { packets } = this.runs[0];
    const known = packet === null || (Number.isInteger(packet) && packet >= 0 && packet < packets);
    if (!known) {
      byId("notice").textContent = noPacket(packet, packets);
      return;
    }
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
    byId("notice").textContent = "";
    if (this.score) this.tally(player.slot);
    if (this.opened && this.linked && !player.playing && !player.automatic) writeFragment(this.fragment());
  }

  /** Compare the runs up to slot t; a phone has room for one column per run. */
  tally(t) {
    const columns = ["packets", "messages on couplers", "of these destroyed", "collisions", "slots in total"];
    const rows = this.runs.map((run) => {
      const past = run.slots.slice(0, t);
      const sum = (of) => past.reduce((total, slot) => total + of(slot), 0).toLocaleString("en");
      return [
        tellStanding(run, stateAfter(run, t)),
        sum((slot) => slot.signals),
        sum((slot) => slot.destroyed),
        sum((slot) => slot.clashes.size),
        `${run.slots.length}`,
      ];
    });
    const names = this.runs.map((run) => run.name);
    const [across, down, cells] = this.phone.matches ? [names, columns, columns.map((_, i) => rows.map((row) => row[i]))] : [columns, names, rows];
    this.score.replaceChildren(
      html("thead", {}, html("tr", {}, html("th", { scope: "col", class: "after" }, `After slot ${t}`), ...across.map((name) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, ...cells.map((row, i) => html("tr", {}, html("th", { scope: "row" }, down[i]), ...row.map((text) => html("td", {}, text))))));
  }
}

/**
 * An element of the page, of the kind that page.html gives it.
 * @param {string} id
 * @returns {any}
 */
function byId(id) {
  return document.getElementById(id);
}

/** Show or hide the settings, where the screen has no room for all controls. */
function more(wanted) {
  byId("more").setAttribute("aria-expanded", `${wanted}`);
  byId("player").classList.toggle("unfolded", wanted);
}

/** Let a number be typed, in place of the present one. */
function ask(id) {
  more(true);
  byId(id).focus();
  byId(id).select();
}

/** Fill the whole screen with the page, or leave that. */
function fillScreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else if (document.fullscreenEnabled) document.documentElement.requestFullscreen();
}

function refuse(name, error) {
  if (!(error instanceof TraceError)) console.error(error);
  const why = error instanceof TraceError ? error.message : `It cannot be read (${error.message}).`;
  byId("problem").textContent = `${name} is not shown. ${why}`;
  byId("problem").hidden = false;
}

/**
 * Show these runs. If one cannot be read, say so and keep what is on the page.
 * @param {{ name: string, text: string }[]} texts
 * @param {boolean} own whether they are the runs of the page
 */
function present(texts, own) {
  byId("problem").hidden = true;
  const runs = [];
  for (const { name, text } of texts) {
    try {
      const run = readTrace(text, name);
      if (!own) run.name = `${run.router}${run.variant === "" ? "" : ` (${run.variant})`}, ${name}`;
      runs.push(run);
    } catch (error) {
      refuse(name, error);
      return;
    }
  }
  if (runs.length === 0) return;
  const other = runs.find((run) => !sameTask(run, runs[0]));
  if (other) {
    refuse(other.name, new TraceError(`Runs side by side must have the same network and packets, and ${runs[0].name} has others.`));
    return;
  }
  let page;
  try {
    page = new Page(runs, own);
  } catch (error) {
    refuse(runs[0].name, error);
    return;
  }
  byId("player").hidden = false;
  if (host.popsnet) {
    host.popsnet.player.automatic = false;
    host.popsnet.player.pause();
  }
  host.popsnet = page;
  page.mount();
  if (own) page.open();
  else writeFragment("");
  page.opened = true;
}

function sameTask(a, b) {
  return a.d === b.d && a.g === b.g && a.packets === b.packets && a.traffic === b.traffic &&
    a.destination.every((to, packet) => to === b.destination[packet] && a.start[packet] === b.start[packet] && a.arrivedAt[packet] === b.arrivedAt[packet]);
}

async function unpack({ name, gzip }) {
  try {
    const letters = atob(gzip);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i); // from() takes ten times as long
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return { name, text: await new Response(stream).text() };
  } catch {
    throw new TraceError(`The data of ${name} are damaged and cannot be unpacked. Make the page again.`);
  }
}

async function openFiles(files) {
  if (files.length === 0) return;
  const texts = [];
  for (const file of files) {
    try {
      texts.push({ name: file.name, text: await file.text() });
    } catch (error) {
      refuse(file.name, error);
      return;
    }
  }
  present(texts, false);
}

function setTheme(theme) {
  if (theme === "") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const player = host.popsnet?.player;
  player?.show(player.slot, player.moves); // the matrix takes its colours from the page
}

async function begin() {
  byId("theme").onchange = (event) => setTheme(event.target.value);
  byId("open").onchange = async (event) => {
    await openFiles(event.target.files);
    event.target.value = ""; // so that the same file can be opened again after a change
  };
  byId("full").hidden = !document.fullscreenEnabled;
  byId("full").onclick = fillScreen;
  document.onfullscreenchange = () => { byId("full").textContent = document.fullscreenElement ? "Leave full screen" : "Full screen"; };
  byId("keys").onclick = () => byId("help").showModal();
  byId("close").onclick = () => byId("help").close(); // not a form: the frame of a notebook may not send one
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(byId("theme").value));
  const fit = () => host.popsnet?.fit();
  window.onresize = fit;
  new ResizeObserver(fit).observe(byId("runs")); // a cell of a notebook may become visible later
  new ResizeObserver(() => {
    document.documentElement.style.setProperty("--player", `${byId("player").offsetHeight}px`);
  }).observe(byId("player"));
  window.onhashchange = () => {
    const moment = host.popsnet?.moment();
    if (moment) host.popsnet?.visit(moment);
  };
  document.ondragover = (event) => event.preventDefault();
  document.ondrop = (event) => {
    event.preventDefault();
    openFiles(event.dataTransfer?.files ?? []);
  };
  try {
    const { runs } = JSON.parse(byId("recordings").textContent);
    present(await Promise.all(runs.map(unpack)), true);
  } catch (error) {
    refuse("The run of this page", error);
  }
  document.documentElement.dataset.ready = "yes";
}

begin();
