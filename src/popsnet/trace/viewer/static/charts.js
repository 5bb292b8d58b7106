// Over all slots: a timeline of deliveries and collisions, and packets delivered and pending.
import { largest } from "./trace.js";
import { svg } from "./shapes.js";

const WIDE = 640;

/** A bar up for packets delivered in a slot, a bar down for couplers with a collision. */
export class Timeline {
  /** @param {import("./trace.js").Run} run */
  constructor(run, slots, onjump) {
    this.run = run;
    this.slots = Math.max(1, slots);
    const high = 66;
    const middle = 36;
    const step = WIDE / this.slots;
    const most = largest(run.slots.map((slot) => slot.deliveries.length));
    const worst = largest(run.slots.map((slot) => slot.collided.length));
    const up = bars(run, (slot) => slot.deliveries.length / most, step, middle, -(middle - 4));
    const down = bars(run, (slot) => slot.collided.length / worst, step, middle, high - middle - 4);
    this.cursor = svg("rect", { class: "cursor", y: 0, height: high, width: Math.max(2, step), x: -10 });
    const end = (run.slots.length / this.slots) * WIDE;
    this.root = svg(
      "svg",
      {
        class: "timeline", viewBox: `0 0 ${WIDE} ${high}`, preserveAspectRatio: "none", role: "img",
        "aria-label": "Timeline: deliveries above, collisions below, one bar per slot",
        onclick: (event) => {
          const box = this.root.getBoundingClientRect();
          onjump(Math.min(this.slots, 1 + Math.floor(((event.clientX - box.left) / box.width) * this.slots)));
        },
      },
      this.cursor,
      svg("line", { class: "axis", x1: 0, x2: end, y1: middle, y2: middle }),
      svg("path", { class: "arrivals", d: up }),
      svg("path", { class: "collisions", d: down }),
    );
  }

  show(t) {
    this.cursor.setAttribute("x", t === 0 ? -10 : ((t - 1) / this.slots) * WIDE);
  }
}

function bars(run, value, step, middle, length) {
  return run.slots
    .map((slot, i) => {
      const high = value(slot) * length;
      return high === 0 ? "" : `M${i * step + step * 0.12},${middle} v${high} h${step * 0.76} v${-high} Z`;
    })
    .join("");
}

/** How many packets are delivered, and how many are not; of traffic, how many are inside. */
export class Progress {
  /** @param {import("./trace.js").Run} run */
  constructor(run, slots) {
    this.run = run;
    this.slots = Math.max(1, slots);
    this.wide = 320;
    this.high = 150;
    const delivered = [run.initial.delivered, ...run.slots.map((slot) => slot.delivered)];
    const lost = [0, ...run.slots.map((slot) => slot.lost ?? 0)];
    const arrived = [run.initial.arrived, ...run.slots.map((slot) => slot.arrived)];
    const pending = delivered.map((number, t) => arrived[t] - number - lost[t]);
    const loses = lost[lost.length - 1] > 0;
    const words = run.traffic ? "Packets inside after each slot" : "Packets delivered and pending after each slot";
    this.most = run.traffic ? largest([...pending, ...lost]) : Math.max(1, run.packets);
    this.top = run.traffic ? this.most : run.packets; // the highest number on the axis
    this.edge = { left: Math.max(40, 8 * `${this.top}`.length + 8), right: 62, top: 12, bottom: 26 };
    const lines = [...(run.traffic ? [] : [["delivered", delivered]]), ["pending", pending], ...(loses ? [["lost", lost]] : [])];
    this.cursor = svg("line", { class: "cursor", y1: this.edge.top, y2: this.high - this.edge.bottom });
    this.root = svg(
      "svg",
      { class: run.traffic ? "progress inside" : "progress", viewBox: `0 0 ${this.wide} ${this.high}`, role: "img", "aria-label": words },
      ...this.axes(),
      this.cursor,
      ...lines.map(([name, values]) => svg("path", { class: name, d: this.line(values) })),
      ...this.labels(lines),
    );
  }

  x(t) {
    return this.edge.left + (t / this.slots) * (this.wide - this.edge.left - this.edge.right);
  }

  y(packets) {
    const share = packets / this.most;
    return this.high - this.edge.bottom - share * (this.high - this.edge.top - this.edge.bottom);
  }

  line(values) {
    return values.map((value, t) => (t === 0 ? `M${this.x(0)},${this.y(value)}` : `H${this.x(t)} V${this.y(value)}`)).join(" ");
  }

  /** Names at the ends of the lines, from top to bottom, none on another. */
  labels(lines) {
    const ends = lines
      .map(([name, values]) => ({ name, y: this.y(values.at(-1)) }))
      .sort((one, other) => one.y - other.y);
    for (let i = ends.length - 2; i >= 0; i--) ends[i].y = Math.min(ends[i].y, ends[i + 1].y - 12);
    const x = this.x(this.run.slots.length) + 5;
    return ends.map(({ name, y }) => svg("text", { class: name, x, y, dy: "0.36em" }, name === "pending" && this.run.traffic ? "inside" : name));
  }

  axes() {
    const bottom = this.high - this.edge.bottom;
    const parts = [svg("line", { class: "axis", x1: this.x(0), x2: this.x(this.slots), y1: bottom, y2: bottom })];
    for (const packets of [0, this.top]) {
      parts.push(svg("text", { class: "tick beside", x: this.edge.left - 5, y: this.y(packets), dy: "0.36em" }, `${packets}`));
    }
    for (const t of [0, this.slots]) {
      parts.push(svg("text", { class: "tick", x: this.x(t), y: bottom + 17 }, t === 0 ? "0" : `slot ${t}`));
    }
    return parts;
  }

  show(t) {
    const x = this.x(Math.min(t, this.slots));
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
  }
}
