// All couplers as a matrix: one row per listening group, one column per sending group.
import { channelOf } from "./trace.js";
import { count, couplerName, listed, messageName } from "./words.js";
import { html, svg } from "./shapes.js";

const LARGE = 7; // pixels of a cell that is large enough for a cross
const EDGE = 28; // pixels for the labels of rows and columns
const CAPTION = { wide: 44, narrow: 62 }; // pixels for the words below

export class MatrixView {
  /** @param {import("./trace.js").Run} run */
  constructor(run) {
    this.run = run;
    this.cell = LARGE;
    this.side = LARGE * run.g;
    this.scale = 1;
    this.cursor = null;
    this.followed = null;
    this.canvas = html("canvas", {
      class: "cells", tabindex: 0, role: "img",
      "aria-label": `Couplers of POPS(${run.d}, ${run.g}), one row per listening group, one column per sending group. Arrow keys move from coupler to coupler.`,
      onmousemove: (event) => this.point(event),
      onmouseleave: () => this.choose(null),
      onkeydown: (event) => this.walk(event),
    });
    this.words = html("p", { class: "cell-words", "aria-live": "polite" });
    this.root = html(
      "figure", { class: "matrix" },
      html("div", { class: "from" }, "from group 0 … ", `${run.g - 1} →`),
      html("div", { class: "to" }, `to group 0 … ${run.g - 1} →`),
      this.canvas,
      html("figcaption", {}, this.words),
    );
    this.slot = null;
    this.fit({ wide: 800, high: 600 });
  }

  /**
   * Fit into this room; an enlarged matrix may be larger, and scrolls.
   * @param {import("./network.js").Room} room
   */
  fit({ wide, high, enlarged = false }) {
    const { g } = this.run;
    const side = Math.floor(Math.min(wide - EDGE, high - EDGE - (wide < 560 ? CAPTION.narrow : CAPTION.wide)) / g);
    this.cell = enlarged ? Math.max(Math.min(24, Math.floor(3000 / g)), Math.round(side * 1.5)) : Math.max(1, Math.min(80, side));
    this.side = this.cell * g;
    this.scale = Math.min(3, window.devicePixelRatio || 1, 4096 / this.side);
    this.canvas.width = this.canvas.height = Math.ceil(this.side * this.scale);
    this.canvas.style.width = `${this.side}px`;
    this.root.style.minWidth = `${this.side + EDGE}px`;
  }

  follow(packet) {
    this.followed = packet;
  }

  advance() {} // nothing travels in this view

  show(t) {
    this.slot = t === 0 || t > this.run.slots.length ? null : this.run.slots[t - 1];
    this.draw();
    this.say();
  }

  draw() {
    const { run, cell, side, slot } = this;
    const look = getComputedStyle(this.canvas);
    const colour = (name) => look.getPropertyValue(name).trim();
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.fillStyle = colour("--cell-idle");
    pen.fillRect(0, 0, side, side);
    if (cell >= LARGE) {
      pen.strokeStyle = colour("--cell-line");
      pen.lineWidth = 1;
      pen.beginPath();
      for (let i = 0; i <= run.g; i++) {
        pen.moveTo(i * cell, 0);
        pen.lineTo(i * cell, side);
        pen.moveTo(0, i * cell);
        pen.lineTo(side, i * cell);
      }
      pen.stroke();
    }
    if (slot !== null) this.fill(pen, colour, slot);
    this.strike(pen, colour);
    this.frame(pen, colour);
  }

  fill(pen, colour, slot) {
    const { run, cell } = this;
    const inset = cell >= LARGE ? Math.round(cell * 0.22) : 0;
    pen.fillStyle = colour("--cell-used");
    for (const c of slot.used) {
      pen.fillRect((c % run.g) * cell + inset, Math.floor(c / run.g) * cell + inset, cell - 2 * inset, cell - 2 * inset);
    }
    pen.fillStyle = colour("--cell-collided");
    for (const c of slot.collided) pen.fillRect((c % run.g) * cell, Math.floor(c / run.g) * cell, cell, cell);
    if (cell >= LARGE) {
      pen.strokeStyle = colour("--cell-cross");
      pen.lineWidth = Math.max(1.5, cell / 9);
      pen.beginPath();
      for (const c of slot.collided) {
        const x = (c % run.g) * cell;
        const y = Math.floor(c / run.g) * cell;
        const edge = cell * 0.22;
        pen.moveTo(x + edge, y + edge);
        pen.lineTo(x + cell - edge, y + cell - edge);
        pen.moveTo(x + cell - edge, y + edge);
        pen.lineTo(x + edge, y + cell - edge);
      }
      pen.stroke();
    }
  }

  /** The couplers that are dead now. */
  dead() {
    return this.run.faults?.couplersIn(this.slot?.claimed ?? 1) ?? [];
  }

  /** Strike dead couplers through. */
  strike(pen, colour) {
    const { run, cell } = this;
    pen.strokeStyle = colour("--text");
    pen.lineWidth = Math.max(1, cell / 9);
    pen.beginPath();
    for (const c of this.dead()) {
      const [x, y] = [(c % run.g) * cell, Math.floor(c / run.g) * cell];
      pen.moveTo(x, y + cell);
      pen.lineTo(x + cell, y);
    }
    pen.stroke();
  }

  /** The same as SVG, its colours written out. */
  drawing() {
    const { run, cell, side, slot } = this;
    const look = getComputedStyle(this.canvas);
    const colour = (name) => look.getPropertyValue(name).trim();
    const squares = (couplers, inset) => couplers
      .map((c) => `M${(c % run.g) * cell + inset},${Math.floor(c / run.g) * cell + inset}h${cell - 2 * inset}v${cell - 2 * inset}h${2 * inset - cell}z`)
      .join("");
    const crosses = (couplers, edge) => couplers.map((c) => {
      const [x, y, arm] = [(c % run.g) * cell + edge, Math.floor(c / run.g) * cell + edge, cell - 2 * edge];
      return `M${x},${y}l${arm},${arm}m0,${-arm}l${-arm},${arm}`;
    }).join("");
    const { used = [], collided = [] } = slot ?? {};
    const large = cell >= LARGE;
    const lines = Array.from({ length: run.g + 1 }, (_, i) => `M${i * cell},0V${side}M0,${i * cell}H${side}`).join("");
    const outline = { fill: "none", stroke: colour("--cell-line"), "stroke-width": 1 };
    const followed = (slot?.sends ?? []).filter((send) => this.followed !== null && send[3] === this.followed)
      .flatMap(([processor, groups]) => groups.map((group) => group * run.g + Math.floor(processor / run.d)));
    const words = { fill: colour("--text"), "font-size": 12 };
    return svg(
      "svg", { viewBox: `0 0 ${side + EDGE} ${side + EDGE}`, width: side + EDGE, height: side + EDGE, class: "couplers" },
      svg("text", { ...words, x: EDGE, y: 14 }, `from group 0 … ${run.g - 1} →`),
      svg("text", { ...words, transform: `translate(10,${EDGE}) rotate(90)` }, `to group 0 … ${run.g - 1} →`),
      svg("g", { transform: `translate(${EDGE - 2},${EDGE - 6})` },
        svg("rect", { class: "idle", width: side, height: side, fill: colour("--cell-idle"), stroke: colour("--cell-line") }),
        large ? svg("path", { ...outline, d: lines }) : null,
        used.length === 0 ? null : svg("path", { class: "used", fill: colour("--cell-used"), d: squares(used, large ? Math.round(cell * 0.22) : 0) }),
        collided.length === 0 ? null : svg("path", { class: "collided", fill: colour("--cell-collided"), d: squares(collided, 0) }),
        large && collided.length > 0 ? svg("path", { class: "crosses", fill: "none", stroke: colour("--cell-cross"), "stroke-width": Math.max(1.5, cell / 9), d: crosses(collided, cell * 0.22) }) : null,
        this.dead().length === 0 ? null : svg("path", { class: "dead", fill: "none", stroke: colour("--text"), "stroke-width": Math.max(1, cell / 9), d: this.dead().map((c) => `M${(c % run.g) * cell},${(Math.floor(c / run.g) + 1) * cell}l${cell},${-cell}`).join("") }),
        followed.length === 0 ? null : svg("path", { class: "followed", fill: "none", stroke: colour("--text"), "stroke-width": 3, d: squares(followed, 0) }),
      ),
    );
  }

  /** Frame the coupler at the cursor and those that carry the followed packet. */
  frame(pen, colour) {
    const { run, cell } = this;
    const around = (c, width) => {
      const edge = Math.max(cell, 8);
      const x = (c % run.g) * cell + cell / 2;
      const y = Math.floor(c / run.g) * cell + cell / 2;
      pen.lineWidth = width;
      pen.strokeRect(x - edge / 2 - 1, y - edge / 2 - 1, edge + 2, edge + 2);
    };
    pen.strokeStyle = colour("--text");
    if (this.followed !== null) {
      for (const [processor, groups, , packet] of this.slot?.sends ?? []) {
        if (packet === this.followed) {
          for (const group of groups) around(group * run.g + Math.floor(processor / run.d), 3);
        }
      }
    }
    if (this.cursor !== null) around(this.cursor, 1.5);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const at = (offset, length) => Math.floor((offset / length) * this.run.g);
    const column = at(event.clientX - box.left, box.width);
    const row = at(event.clientY - box.top, box.height);
    const inside = row >= 0 && column >= 0 && row < this.run.g && column < this.run.g;
    this.choose(inside ? row * this.run.g + column : null);
  }

  walk(event) {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const { g } = this.run;
    const now = this.cursor ?? 0;
    const row = Math.min(g - 1, Math.max(0, Math.floor(now / g) + (this.cursor === null ? 0 : move[0])));
    const column = Math.min(g - 1, Math.max(0, (now % g) + (this.cursor === null ? 0 : move[1])));
    this.choose(row * g + column);
  }

  choose(coupler) {
    if (coupler === this.cursor) return;
    this.cursor = coupler;
    this.draw();
    this.say();
  }

  say() {
    const { run, slot, cursor } = this;
    const couplers = run.g * run.g;
    if (cursor === null) {
      const used = slot?.used.length ?? 0;
      const collided = slot?.collided.length ?? 0;
      const dead = this.dead().length;
      this.words.textContent = `Of ${count(couplers, "coupler")}: ${used.toLocaleString("en")} carry a message, ${collided.toLocaleString("en")} have a collision, ${(couplers - used - collided).toLocaleString("en")} are idle${dead === 0 ? "" : ` or dead (${dead.toLocaleString("en")})`}.`;
      return;
    }
    const messages = (slot?.sends ?? []).filter(([processor, groups]) =>
      Math.floor(processor / run.d) === cursor % run.g && groups.includes(Math.floor(cursor / run.g)));
    const name = `Coupler ${couplerName(run, cursor)}, from group ${cursor % run.g} to group ${Math.floor(cursor / run.g)}`;
    if (this.dead().includes(cursor)) this.words.textContent = `${name}: dead${messages.length === 0 ? "" : `; ${listed(messages.map(messageName))} sent on it in vain`}.`;
    else if (messages.length === 0) this.words.textContent = `${name}: idle.`;
    else if (!slot?.collided.includes(cursor)) this.words.textContent = `${name}: carries ${listed(messages.map(messageName))}.`;
    else this.words.textContent = `${name}: ${listed(messages.filter((send) => slot.clashes.has(channelOf(run, send, Math.floor(cursor / run.g)))).map(messageName))} collide and are destroyed.`;
  }
}
