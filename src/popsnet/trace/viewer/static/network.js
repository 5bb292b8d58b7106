// The network as the paper draws it: processors, couplers, the same processors again.
import { channelOf, largest, stateAfter, stateBefore } from "./trace.js";
import { couplerName, listed, messageName } from "./words.js";
import { standalone } from "./save.js";
import { chip, chipWidth, svg } from "./shapes.js";

const LEAST_BOX = 21; // of a coupler with something written on it
const COLUMN = 8; // up to this many groups the couplers can stand in one column, as in the paper
const MOST_CHIPS = 3; // per processor; the rest is given as a number
const MOST_FILES = 5; // columns of processors on a side
const TOP = 34; // for headings
const CLEAR_ROW = 17; // pixels of a row whose numbers are easy to read
const LARGE_ROW = 26; // pixels of a row in an enlarged figure, whose numbers are as large as text

/** @typedef {{ wide: number, high: number, enlarged?: boolean }} Room pixels that a figure may take */

/**
 * Where everything stands, in units of the figure. It is the same for all runs side by side. The
 * figure fits into the room: as the paper draws it if its numbers can be read then, else with the
 * processors of a side staggered in several columns, whichever number of columns makes them largest.
 * @param {import("./trace.js").Run} run
 * @param {number} most packets that a processor holds
 * @param {Room} room
 */
function layoutOf(run, most, room) {
  const asInPaper = run.g <= COLUMN ? [layoutWith(run, most, room, { files: 1, chips: MOST_CHIPS, inColumn: true })] : [];
  const plain = [...asInPaper, layoutWith(run, most, room, { files: 1, chips: MOST_CHIPS, inColumn: false })];
  const clear = plain.find(({ row, box, inColumn, scale }) => Math.min(row, inColumn ? box : row) * scale >= CLEAR_ROW);
  if (clear) return clear;
  for (let files = 1; files <= Math.min(MOST_FILES, run.n); files++) {
    for (let chips = Math.min(2, most); chips > 0; chips--) plain.push(layoutWith(run, most, room, { files, chips, inColumn: false }));
  }
  const worth = ({ row, box, inColumn, scale, files, chips }) => Math.min(row, inColumn ? box : row) * scale * (1 - 0.04 * files + 0.04 * chips);
  return plain.reduce((best, one) => (worth(one) > worth(best) ? one : best));
}

/**
 * @param {import("./trace.js").Run} run
 * @param {number} most packets that a processor holds
 * @param {Room} room
 * @param {{ files: number, chips: number, inColumn: boolean }} choice
 */
function layoutWith(run, most, room, { files, chips, inColumn }) {
  const { d, g, n } = run;
  const row = n <= 16 ? 32 : n <= 36 ? 26 : 22;
  const pitch = row / files; // from processor to processor; those of one column are a row apart
  const gap = Math.min(12, 96 / g); // between groups
  const radius = row * 0.42;
  const size = row * 0.62;
  const digits = `${Math.max(n, run.packets) - 1}✓`;
  const store = Math.min(most, chips) * (chipWidth(digits, size) + 3) + (most > chips ? 2 * restWidth(most, size) + 2 : 0);
  const file = store + 2 * radius + 8; // from column to column
  const processorsHigh = n * pitch + row - pitch + (g - 1) * gap;
  const box = inColumn ? Math.max(LEAST_BOX, Math.min(row, (n * row) / (g * g))) : Math.min(g <= COLUMN ? row : 22, d * pitch + gap);
  const couplersHigh = inColumn ? g * g * box + (g - 1) * gap : 0;
  const high = Math.max(couplersHigh, processorsHigh);
  const fitting = Math.min(1.5, room.high / (TOP + high + 8));
  const large = (scale) => Math.max(scale * 1.5, LARGE_ROW / row);
  const tight = room.wide < 560;
  const words = Math.max(8.5, Math.min(17, 12 / (room.enlarged ? large(fitting) : fitting))); // the size of headings and labels
  const label = tight ? words + 6 : words * 4.4 + 4;
  const boxWide = inColumn ? Math.max(34, row * 1.5, digits.length * box * 0.31 + 4) : box * 0.9;
  const middleWide = inColumn ? boxWide : g * box;
  const rest = label + 2 * store + 4 * radius + middleWide + 22 + 2 * (files - 1) * file;
  const span = Math.max(56, Math.min(n <= 16 ? 190 : 150, (room.wide / fitting - rest) / 2));
  const fitted = Math.min(fitting, room.wide / (rest + 2 * span));
  const left = label + store + radius + 8 + (files - 1) * file; // of the column next to the couplers
  const middle = left + radius + span + middleWide / 2;
  const right = middle + middleWide / 2 + span + radius;
  const wide = right + radius + store + 14 + (files - 1) * file;
  const spread = (high - processorsHigh) / Math.max(1, g);
  const processorY = (p) => TOP + row / 2 + p * pitch + Math.floor(p / d) * (gap + spread) + spread / 2;
  const coupler = (c) => {
    const to = Math.floor(c / g);
    const from = c % g;
    if (inColumn) {
      const rest = (high - couplersHigh) / Math.max(1, g);
      return { x: middle, y: TOP + c * box + to * (gap + rest) + rest / 2 + box / 2 };
    }
    const y = (processorY(to * d) + processorY((to + 1) * d - 1)) / 2; // level with the listeners
    return { x: middle - middleWide / 2 + (from + 0.5) * box, y };
  };
  return {
    row, pitch, radius, size, box, boxWide, inColumn, files, chips, left, middle, right, wide, tight, words,
    scale: room.enlarged ? large(fitted) : fitted,
    high: TOP + high + 8, processorY, coupler,
    before: (p) => left - (files - 1 - (p % files)) * file,
    after: (p) => right + (p % files) * file,
  };
}

export class NetworkView {
  /** @param {import("./trace.js").Run} run */
  constructor(run, runs, onpick) {
    this.run = run;
    const states = runs.flatMap((one) => [one.initial, ...one.slots, ...one.slots.map((_, i) => stateBefore(one, i + 1))]);
    this.most = largest(states.map((state) => largest(state.loads)));
    this.onpick = onpick;
    this.followed = null;
    /** @type {{ line: Element, chip: Element | null, x1: number, y1: number, x2: number, y2: number, begin: number, end: number }[]} */
    this.moving = []; // messages on their way
    /** @type {Element[]} */
    this.finals = []; // shown once the messages have arrived
    this.slotLayer = svg("g");
    this.root = svg("svg", {
      class: "network", role: "img",
      "aria-label": `Processors, couplers and processors of POPS(${run.d}, ${run.g}). The text says what happens in the slot`,
    });
    this.layout = layoutOf(run, this.most, { wide: 800, high: 600 });
    this.fit({ wide: 800, high: 600 });
  }

  /**
   * Lay the network out for this room; the slot has to be shown again.
   * @param {Room} room
   */
  fit(room) {
    const layout = (this.layout = layoutOf(this.run, this.most, room));
    this.root.setAttribute("viewBox", `0 0 ${layout.wide.toFixed(1)} ${layout.high.toFixed(1)}`);
    this.root.style.width = `${(layout.wide * layout.scale).toFixed(1)}px`;
    this.processors = this.circles();
    this.root.replaceChildren(this.still(), this.slotLayer);
  }

  /** What never changes and is below the messages: group frames, headings, couplers. */
  still() {
    const { run, layout } = this;
    const parts = [];
    for (const [x, text] of [[(layout.before(0) + layout.left) / 2, "before"], [layout.middle, "couplers"], [(layout.right + layout.after(layout.files - 1)) / 2, "after"]]) {
      parts.push(svg("text", { class: "heading", x, y: 14, "font-size": layout.words }, text));
    }
    const every = Math.ceil(layout.words / (layout.processorY(run.d % run.n) - layout.processorY(0) || layout.high)); // labels of low groups
    for (let group = 0; group < run.g; group++) {
      const first = layout.processorY(group * run.d);
      const last = layout.processorY((group + 1) * run.d - 1);
      const high = last - first + layout.pitch;
      const frame = { class: "group", y: first - layout.pitch / 2 - 2, rx: Math.min(8, high / 4), height: high + 4 };
      parts.push(
        svg("rect", { ...frame, x: 2, width: layout.left + layout.radius + 4 }),
        svg("rect", { ...frame, x: layout.right - layout.radius - 6, width: layout.wide - layout.right + layout.radius + 4 }),
        group % every === 0 ? this.label(group, (first + last) / 2, high) : "",
      );
    }
    if (!layout.inColumn) {
      parts.push(svg("text", { class: "heading", x: layout.middle, y: 29, "font-size": layout.words * 0.8 }, `one row per listening group, from groups 0 to ${run.g - 1}`));
    }
    for (let c = 0; c < run.g * run.g; c++) parts.push(this.box(c, "idle", "idle", ""));
    return svg("g", {}, ...parts);
  }

  /** The processors, which lines of others may pass below. */
  circles() {
    const { run, layout } = this;
    const parts = [];
    for (let p = 0; p < run.n; p++) {
      for (const x of [layout.before(p), layout.after(p)]) {
        parts.push(
          svg("circle", { class: "processor", cx: x, cy: layout.processorY(p), r: layout.radius }),
          svg("text", { class: "number", x, y: layout.processorY(p), "font-size": layout.radius * 1.02, dy: "0.36em" }, `${p}`),
        );
      }
    }
    return svg("g", {}, ...parts);
  }

  /** A copy for a file, as large as on the page. */
  drawing() {
    const copy = standalone(this.root);
    copy.setAttribute("width", `${Math.round(this.layout.wide * this.layout.scale)}`);
    copy.setAttribute("height", `${Math.round(this.layout.high * this.layout.scale)}`);
    for (const name of ["style", "role", "aria-label"]) copy.removeAttribute(name);
    return copy;
  }

  /** The name of a group, upright where there is little room. */
  label(group, y, high) {
    const { run, layout } = this;
    const whole = run.g <= 16 && (!layout.tight || high > layout.words * 4.2);
    const at = layout.tight && whole ? { transform: `translate(${layout.words + 2},${y}) rotate(-90)` } : { x: layout.tight ? layout.words / 2 + 5 : 8, y: y + 4 };
    return svg("text", { class: layout.tight ? "label upright" : "label", "font-size": layout.words, ...at }, whole ? `group ${group}` : `${group}`);
  }

  follow(packet) {
    this.followed = packet;
  }

  /** Draw slot t; with `moving`, its messages travel as `advance` is called. */
  show(t, moving) {
    const { run } = this;
    this.moving = [];
    this.finals = [];
    const slot = t === 0 || t > run.slots.length ? null : run.slots[t - 1];
    const before = slot === null ? stateAfter(run, t) : stateBefore(run, t);
    const after = stateAfter(run, t);
    const signals = [];
    const travellers = [];
    if (slot !== null) this.transmissions(slot, signals, travellers);
    const [couplers, strikes] = this.broken(Math.max(1, slot === null ? t : slot.claimed));
    const stored = this.store(before, this.layout.before, -1, slot === null ? t : t - 1);
    const settled = this.store(after, this.layout.after, 1, t);
    if (moving) for (const element of settled) this.finals.push(element);
    const dim = this.followed !== null ? "slot dimmed" : "slot";
    this.root.classList.toggle("following", this.followed !== null);
    this.slotLayer.replaceChildren(
      svg("g", { class: dim }, ...signals, ...couplers, ...this.boxes(slot), this.processors, ...strikes, ...stored, ...settled, ...(moving ? travellers : [])),
    );
    this.advance(moving ? 0 : 1);
  }

  /** Move the messages of the slot: at time 0 they are at the senders, at time 1 the slot is over. */
  advance(time) {
    for (const part of this.moving) {
      const far = Math.min(1, Math.max(0, (time - part.begin) / (part.end - part.begin)));
      const x = part.x1 + (part.x2 - part.x1) * far;
      const y = part.y1 + (part.y2 - part.y1) * far;
      part.line.setAttribute("x2", `${x}`);
      part.line.setAttribute("y2", `${y}`);
      if (part.chip) {
        part.chip.setAttribute("transform", `translate(${x},${y})`);
        part.chip.setAttribute("visibility", far > 0 && far < 1 ? "visible" : "hidden");
      }
    }
    for (const element of this.finals) {
      element.setAttribute("visibility", time >= 0.92 ? "visible" : "hidden");
    }
    this.root.classList.toggle("arrived", time >= 0.45);
    this.root.classList.toggle("settled", time >= 0.92);
  }

  transmissions(slot, signals, travellers) {
    const { run, layout } = this;
    const half = layout.boxWide / 2;
    const ray = (kind, from, to, begin, end, packet, title) => {
      const followed = packet !== null && packet === this.followed;
      const line = svg("line", { class: `signal ${kind}${followed ? " followed" : ""}`, x1: from.x, y1: from.y, x2: to.x, y2: to.y });
      line.append(svg("title", {}, title));
      signals.push(line);
      const traveller = packet === null || kind.startsWith("ack") ? null : chip(run, packet, from.x, from.y, layout.size, { followed });
      if (traveller) travellers.push(traveller);
      this.moving.push({ line, chip: traveller, x1: from.x, y1: from.y, x2: to.x, y2: to.y, begin, end });
    };
    slot.sends.forEach((send) => {
      const [processor, groups, kind, packet] = send;
      for (const group of groups) {
        const c = group * run.g + Math.floor(processor / run.d);
        const at = layout.coupler(c);
        const mute = run.faults?.mute(processor, slot.claimed);
        const met = slot.clashes.has(channelOf(run, send, group)) && !mute;
        const stopped = mute || run.faults?.coupler(c, slot.claimed);
        const fate = met ? ": destroyed" : mute ? ": its transmitter is dead" : stopped ? ", which is dead" : "";
        const title = `Processor ${processor} sends ${messageName(send)} on ${couplerName(run, c)}${fate}`;
        ray(`${className(kind)}${met ? " collided" : stopped ? " stopped" : ""}`,
          { x: layout.before(processor) + layout.radius, y: layout.processorY(processor) }, { x: at.x - half, y: at.y },
          0, 0.45, kind === "packet" ? packet : null, title);
        if (this.follows(send)) signals.at(-1).classList.add("followed");
      }
    });
    const hearing = new Map(slot.heard.map(([processor, message]) => [processor, message]));
    for (const [processor, group, wavelength] of slot.listens) {
      const c = Math.floor(processor / run.d) * run.g + group;
      const at = layout.coupler(c);
      const y = layout.processorY(processor);
      const from = { x: at.x + half, y: at.y };
      const to = { x: layout.after(processor) - layout.radius - 7, y };
      const message = hearing.get(processor);
      const missed = slot.missed.find(([listener]) => listener === processor);
      const what = missed !== undefined ? `misses ${messageName(slot.sends[missed[1]])} because of a fault`
        : message === undefined ? "hears nothing" : `hears ${messageName(slot.sends[message])}`;
      const tuned = wavelength === undefined ? "" : ` on wavelength ${wavelength}`;
      const title = `Processor ${processor} listens to ${couplerName(run, c)}${tuned} and ${what}`;
      if (message !== undefined) {
        const [, , kind, packet] = slot.sends[message];
        ray(className(kind), from, to, 0.5, 0.92, kind === "packet" ? packet : null, title);
        if (this.follows(slot.sends[message])) signals.at(-1).classList.add("followed");
      } else if (run.n <= 16) {
        signals.push(svg("line", { class: "silence", x1: from.x, y1: from.y, x2: to.x, y2: to.y }));
      }
      const x = layout.after(processor) - layout.radius;
      const followed = message !== undefined && this.follows(slot.sends[message]);
      const mark = svg("path", { class: `listener${message === undefined ? "" : " hears"}${followed ? " followed" : ""}`, d: `M${x - 8},${y - 4} L${x - 1},${y} L${x - 8},${y + 4} Z` });
      mark.append(svg("title", {}, title));
      signals.push(mark);
    }
  }

  /** The couplers in use; idle ones are part of the background. */
  boxes(slot) {
    const { run } = this;
    if (slot === null) return [];
    const collided = new Set(slot.collided);
    /** @type {Map<number, import("./trace.js").Send[]>} */
    const used = new Map();
    const followed = new Set();
    for (const send of slot.sends) {
      if (run.faults?.mute(send[0], slot.claimed)) continue;
      for (const group of send[1]) {
        const c = group * run.g + Math.floor(send[0] / run.d);
        used.set(c, [...(used.get(c) ?? []), send]);
        if (this.follows(send)) followed.add(c);
      }
    }
    return Array.from(used, ([c, sends]) => {
      const box = run.faults?.coupler(c, slot.claimed)
        ? this.box(c, "dead", `dead, and ${sends.length > 1 ? "several messages are" : `${messageName(sends[0])} is`} sent on it`, "")
        : collided.has(c)
        ? this.box(c, "collided", "messages collide and are destroyed", "")
        : this.box(c, `used ${className(sends[0][2])}`, `carries ${listed(sends.map(messageName))}`, sends.map(contents).join(" "));
      if (followed.has(c)) box.classList.add("followed");
      return box;
    });
  }

  /** The couplers and the processors that do not work in a slot. */
  broken(number) {
    const { run, layout } = this;
    if (run.faults === null) return [[], []];
    const couplers = run.faults.couplersIn(number).map((c) => this.box(c, "dead", "dead", ""));
    const strikes = [];
    for (const p of run.faults.processorsIn(number)) {
      for (const x of [layout.before(p), layout.after(p)]) {
        const [y, arm] = [layout.processorY(p), layout.radius * 0.75];
        const strike = svg("path", { class: "strike", d: `M${x - arm},${y + arm} L${x + arm},${y - arm}` });
        strike.append(svg("title", {}, `Processor ${p}: ${run.faults.of(p, number)}`));
        strikes.push(strike);
      }
    }
    return [couplers, strikes];
  }

  /** Whether a message is or names the packet that is followed. */
  follows([, , , packet]) {
    return packet !== null && packet === this.followed;
  }

  box(c, state, what, text) {
    const { run, layout } = this;
    const { x, y } = layout.coupler(c);
    const tall = layout.box * (layout.inColumn ? 0.74 : 0.82);
    const wide = layout.inColumn ? layout.boxWide : tall;
    const box = svg(
      "g", { class: `coupler ${state}`, "data-coupler": c },
      svg("title", {}, `Coupler ${couplerName(run, c)}: ${what}`),
      svg("rect", { x: x - wide / 2, y: y - tall / 2, width: wide, height: tall, rx: 3 }),
    );
    const write = (name, words, size) => box.append(svg("text", { class: name, x, y, "font-size": size, dy: "0.36em" }, words));
    if (state === "collided") {
      const arm = tall * 0.32;
      box.append(svg("path", { class: "cross", d: `M${x - arm},${y - arm} L${x + arm},${y + arm} M${x + arm},${y - arm} L${x - arm},${y + arm}` }));
    } else if (state === "dead") {
      box.append(svg("path", { class: "strike", d: `M${x - wide / 2},${y + tall / 2} L${x + wide / 2},${y - tall / 2}` }));
    } else if (state === "idle" && run.g <= 4 && layout.inColumn) write("name", couplerName(run, c), tall * 0.5);
    else if (tall > 15) write("contents", text, Math.min(tall * (layout.inColumn ? 0.62 : 0.5), (1.5 * wide) / text.length));
    return box;
  }

  /** The packets that processors hold after slot t, whose processor p is at x(p). */
  store(state, x, side, t) {
    const { run, layout } = this;
    const chips = [];
    state.held.forEach((packets, processor) => {
      const y = layout.processorY(processor);
      let at = x(processor) + side * (layout.radius + 4);
      packets.slice(0, layout.chips).forEach((packet) => {
        const delivered = !run.traffic && run.destination[packet] === processor && run.deliveredAt[packet] <= t;
        const width = chipWidth(delivered ? `${packet}✓` : `${packet}`, layout.size);
        chips.push(chip(run, packet, at + (side * width) / 2, y, layout.size, {
          delivered, followed: packet === this.followed, onpick: this.onpick,
        }));
        at += side * (width + 3);
      });
      const more = state.loads[processor] - layout.chips;
      const unnamed = state.loads[processor] - packets.length;
      if (more > 0) {
        const rest = svg("text", { class: "more", x: at + side * restWidth(more, layout.size), y, "font-size": layout.size * 0.75, dy: "0.36em" }, `+${more}`);
        rest.append(svg("title", {}, `And packets ${packets.slice(layout.chips).join(", ")}${unnamed > 0 ? ` and ${unnamed} more` : ""}`));
        chips.push(rest);
      }
    });
    return chips;
  }
}

/** Half the width of the number of packets that are not drawn. */
function restWidth(packets, size) {
  return size * Math.max(0.7, 0.24 * `+${packets}`.length);
}

function className(kind) {
  return kind === "packet" || kind === "ack" ? kind : "control";
}

/**
 * What a coupler's box shows: the packet's number, an arrow back for acks, a dot for other messages.
 * @param {import("./trace.js").Send} send
 */
function contents([, , kind, packet]) {
  if (kind === "packet") return `${packet}`;
  return kind === "ack" ? `↩${packet ?? ""}` : "•";
}
