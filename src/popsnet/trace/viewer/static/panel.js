// One run on the page: its figure, text and charts.
import { MOST_DRAWN, networkName, stateAfter } from "./trace.js";
import { count, couplerName, explainPhase, historyOf, nameSlot, tellOutcome, tellSlot, tellStanding } from "./words.js";
import { html } from "./shapes.js";
import { NetworkView } from "./network.js";
import { MatrixView } from "./matrix.js";
import { ConflictView } from "./conflicts.js";
import { Progress, Timeline } from "./charts.js";
import { legendOfMatrix, legendOfNetwork } from "./guide.js";
import { save, standalone } from "./save.js";

/**
 * @typedef {object} Acts What a panel asks of the page.
 * @property {(slot: number) => void} jump
 * @property {(packet: number) => void} follow
 * @property {() => void} tap on the figure, beside its packets
 * @property {() => void} rest stop playing, with the slot drawn to its end
 * @property {(error: Error) => void} complain
 */

export class Panel {
  /**
   * @param {import("./trace.js").Run} run
   * @param {import("./trace.js").Run[]} runs
   * @param {number} slots
   * @param {Acts} acts
   */
  constructor(run, runs, slots, acts) {
    this.run = run;
    this.acts = acts;
    this.slot = 0;
    this.asMatrix = false;
    this.words = html("p", { class: "slot-words", "aria-live": "polite" });
    this.why = html("p", { class: "why" });
    this.now = html("div", { class: "now" }, this.words, this.why);
    this.standing = html("p", { class: "standing" });
    this.timeline = new Timeline(run, slots, acts.jump);
    this.progress = new Progress(run, slots);
    this.conflicts = new ConflictView(run, acts.follow);
    this.matrix = new MatrixView(run);
    this.network = run.n <= MOST_DRAWN ? new NetworkView(run, runs, acts.follow) : null;
    this.place = html("div", { class: "figure", onclick: (event) => { if (!event.target.closest(".chip")) acts.tap(); } });
    this.history = html("ol", { class: "history" });
    this.historyTitle = html("h3", {});
    this.story = html("section", { class: "story", hidden: true }, this.historyTitle, this.history);
    this.root = html(
      "article", { class: "run", "aria-label": run.name },
      html("header", {},
        html("h2", {}, run.name),
        html("p", { class: "outcome" }, tellOutcome(run)),
      ),
      html("p", { class: "about" }, run.explanation, this.faults()),
      this.broken(),
      html("div", { class: "stage" },
        this.place,
        html("div", { class: "time" },
          html("p", { class: "caption" }, "Up: packets delivered in a slot. Down: couplers with a collision."),
          this.timeline.root,
          this.saving())),
      html("div", { class: "side" },
        this.now,
        this.story,
        html("div", { class: "charts" },
          html("section", {}, html("h3", {}, run.traffic ? "Packets inside" : "Delivered and pending"), this.standing, this.progress.root),
          html("section", {}, html("h3", {}, "Conflict graph"), this.conflicts.root))),
    );
  }

  broken() {
    const { problems } = this.run;
    if (problems.length === 0) return null;
    return html("p", { class: "warning broken", role: "alert" },
      `This trace breaks the rules of the network ${count(problems.length, "time")}, first ${problems[0].slot === 0 ? "at the start" : `in slot ${problems[0].slot}`}: ${problems[0].text}.`);
  }

  faults() {
    const { faults } = this.run;
    if (faults === null) return null;
    return html("span", { class: "faults" }, faults.words((c) => couplerName(this.run, c)));
  }

  saving() {
    const button = (name, format) => html("button", { type: "button", class: `save-${format}`, onclick: () => this.save(format) }, name);
    return html("div", { class: "save", role: "group", "aria-label": `Save the figure of ${this.run.name}` }, button("Save as SVG", "svg"), button("Save as PNG", "png"));
  }

  /** @param {"svg" | "png"} format */
  async save(format) {
    const { run } = this;
    this.acts.rest();
    const figure = this.view.drawing();
    const marks = this.root.appendChild(html("div", { class: "marks" })); // to be seen by the style sheet
    const entries = (this.view === this.network ? legendOfNetwork(run) : legendOfMatrix(run)).filter(({ of }) => figure.querySelector(of));
    const legend = entries.map(({ mark, text }) => ({ mark: standalone(marks.appendChild(mark)), text }));
    marks.remove();
    const { followed } = this.matrix;
    const title = `${networkName(run)}, ${run.name}${followed === null ? "" : `: packet ${followed} is followed`}`;
    const name = `${networkName(run)} ${run.name} slot ${this.slot}`.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 100);
    try {
      await save({ title, text: this.words.textContent ?? "", figure, legend }, name, format);
    } catch (error) {
      this.acts.complain(/** @type {Error} */ (error));
    }
  }

  /**
   * Lay the figures out for this room.
   * @param {import("./network.js").Room} room
   */
  fit(room) {
    this.place.style.maxHeight = `${room.high}px`;
    this.network?.fit(room);
    this.matrix.fit(room);
  }

  views() {
    const view = this.network !== null && !this.asMatrix ? this.network : this.matrix;
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
        html("button", { type: "button", class: "link", onclick: () => this.acts.jump(slot) }, slot === 0 ? "start" : `slot ${slot}`),
        ` ${text}`)));
  }

  /** Show slot t; `aloud` if a screen reader should read it out. */
  show(t, moving, aloud) {
    const { run } = this;
    const over = t > run.slots.length;
    const at = Math.min(t, run.slots.length);
    this.slot = at;
    for (const view of this.views()) view.show(t, moving && !over);
    const larger = this.place.scrollWidth > this.place.clientWidth + 1 || this.place.scrollHeight > this.place.clientHeight + 1;
    if (larger) this.place.setAttribute("tabindex", "0");
    else this.place.removeAttribute("tabindex");
    this.root.classList.toggle("over", over);
    const slot = at === 0 ? null : run.slots[at - 1];
    const name = slot === null ? "Start." : over ? `Finished after slot ${at}.` : nameSlot(slot);
    this.words.setAttribute("aria-live", aloud ? "polite" : "off");
    this.words.replaceChildren(html("b", {}, name), ` ${over ? `${tellOutcome(run)}.` : tellSlot(run, at)}`);
    this.why.textContent = slot === null || over ? "" : explainPhase(run, slot.phase);
    const here = run.problems.filter((problem) => problem.slot === at);
    if (here.length > 0) this.why.textContent += ` Rules broken: ${here.map((problem) => problem.text).join("; ")}.`;
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
