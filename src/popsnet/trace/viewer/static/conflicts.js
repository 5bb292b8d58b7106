// The conflict graph of a step: an edge for each packet that is not delivered when the step begins.
import { channelOf, stepOf } from "./trace.js";
import { count } from "./words.js";
import { html, lineColour, svg } from "./shapes.js";

const MOST_EDGES = 128;
const MOST_NODES = 64; // on a side

/**
 * On the left the groups packets start from, on the right those they are for: the destination's
 * group, or its number mod g, as in the paper, if the trace says so. The colour of an
 * edge is the group its source sends the packet to in this step. Two edges of one colour that
 * leave the same node in one slot collide.
 */
export class ConflictView {
  /** @param {import("./trace.js").Run} run */
  constructor(run, onpick) {
    this.run = run;
    this.onpick = onpick;
    this.followed = null;
    this.figure = html("div", { class: "graph" });
    this.words = html("p", { class: "graph-words" });
    this.root = html("div", { class: "conflicts" }, this.figure, this.words);
  }

  follow(packet) {
    this.followed = packet;
  }

  show(t) {
    const { run } = this;
    const at = Math.min(Math.max(t, 1), run.slots.length);
    if (run.slots.length === 0) return;
    const [first, last] = stepOf(run, at);
    const edges = this.pending(first - 1);
    const right = run.byResidue ? "temporary groups" : "the groups of their destinations";
    const span = first === last ? `slot ${first}` : `slots ${first} to ${last}`;
    const step = run.traffic && first === last ? `Slot ${first}` : `The step of ${span}`;
    if (edges.length > MOST_EDGES || run.g > MOST_NODES) {
      this.figure.replaceChildren();
      this.words.textContent = `${step} begins with ${count(edges.length, "pending packet")}; the graph is drawn for up to ${MOST_EDGES} packets and ${MOST_NODES} groups.`;
      return;
    }
    const fates = this.fates(edges, first, t);
    this.figure.replaceChildren(this.draw(edges, fates));
    const dead = [...fates.values()].filter((fate) => fate.died).length;
    this.words.textContent = `${step} begins with ${count(edges.length, "pending packet")}, edges from the groups they start in (left) to ${right} (right). An edge has the colour of the group its source sends it to; edges of one colour that leave one node in the same slot collide. ${dead === 0 ? "None" : dead} ${dead > 1 ? "have" : "has"} collided so far.`;
  }

  /** The packets that are neither delivered nor lost when slot t + 1 begins. */
  pending(t) {
    const packets = [];
    this.run.deliveredAt.forEach((slot, packet) => {
      if (this.run.arrivedAt[packet] <= t + 1 && slot > t && this.run.lostAt[packet] > t) packets.push(packet);
    });
    return packets;
  }

  /** The node on the right that a packet's edge ends at. */
  target(packet) {
    const { d, g, destination, byResidue } = this.run;
    return byResidue ? destination[packet] % g : Math.floor(destination[packet] / d);
  }

  /** The state of each edge after the slots of the step, up to slot t. */
  fates(edges, first, t) {
    const { run } = this;
    const fates = new Map(edges.map((packet) => [packet, { state: "waiting", colour: null, died: false }]));
    for (const slot of run.slots.slice(first - 1, t)) {
      for (const send of slot.sends) {
        const [processor, groups, kind, packet] = send;
        if (kind !== "packet" || packet === null) continue;
        const fate = fates.get(packet);
        if (fate === undefined) continue;
        if (fate.colour === null && processor === run.start[packet]) fate.colour = groups[0] ?? null;
        const through = groups.some((group) => !slot.clashes.has(channelOf(run, send, group)));
        if (fate.state === "delivered") continue;
        fate.state = through ? "through" : "destroyed";
        fate.died ||= !through;
      }
      for (const packet of slot.deliveries) {
        if (fates.has(packet)) fates.get(packet).state = "delivered";
      }
    }
    return fates;
  }

  draw(edges, fates) {
    const { run } = this;
    const gap = Math.max(15, Math.min(40, 300 / run.g));
    const high = run.g * gap + 34;
    const wide = 340;
    const x = [56, wide - 56];
    const y = (group) => 26 + gap / 2 + group * gap;
    const parts = [
      svg("text", { class: "heading small", x: x[0], y: 14 }, "groups"),
      svg("text", { class: "heading small", x: x[1], y: 14 }, run.byResidue ? "temporary groups" : "destination groups"),
    ];
    const twins = new Map();
    const marks = [];
    for (const packet of edges) {
      const a = Math.floor(run.start[packet] / run.d);
      const b = this.target(packet);
      const key = a * run.g + b;
      const twin = twins.get(key) ?? 0;
      twins.set(key, twin + 1);
      const bend = twin === 0 ? 0 : (twin % 2 ? 1 : -1) * Math.ceil(twin / 2) * Math.min(16, gap * 0.6);
      const { state, colour } = fates.get(packet);
      const followed = packet === this.followed;
      const mid = { x: wide / 2, y: (y(a) + y(b)) / 2 + bend };
      const edge = svg("path", {
        class: `edge ${state}${followed ? " followed" : ""}`, "data-packet": packet,
        d: `M${x[0]},${y(a)} Q${mid.x},${mid.y + bend} ${x[1]},${y(b)}`,
        style: colour === null ? null : `stroke:${lineColour(colour)}`,
        onclick: () => this.onpick(packet),
      });
      edge.append(svg("title", {}, `Packet ${packet}: ${told(state)}${colour === null ? "" : `, sent to group ${colour}`}`));
      parts.push(edge);
      if (state === "destroyed" || state === "delivered") {
        const along = 0.22 + 0.5 * ((packet * 0.618) % 1);
        const at = quadratic({ x: x[0], y: y(a) }, { x: mid.x, y: mid.y + bend }, { x: x[1], y: y(b) }, along);
        marks.push(svg("text", { class: `mark ${state}`, x: at.x, y: at.y, dy: "0.36em" }, state === "delivered" ? "✓" : "✕"));
      }
    }
    const degrees = [new Map(), new Map()];
    for (const packet of edges) {
      const ends = [Math.floor(run.start[packet] / run.d), this.target(packet)];
      ends.forEach((end, side) => degrees[side].set(end, (degrees[side].get(end) ?? 0) + 1));
    }
    for (let group = 0; group < run.g; group++) {
      x.forEach((at, side) => {
        const degree = degrees[side].get(group) ?? 0;
        const node = svg("g", { class: `node${degree === 0 ? " bare" : ""}` });
        node.append(
          svg("title", {}, `Group ${group}: ${count(degree, "pending packet")}`),
          svg("circle", { cx: at, cy: y(group), r: Math.min(11, gap * 0.42) }),
          svg("text", { x: at, y: y(group), "font-size": Math.min(11, gap * 0.55), dy: "0.36em" }, `${group}`),
        );
        parts.push(node);
      });
    }
    return svg(
      "svg",
      { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": "Conflict graph of the current step" },
      ...parts, ...marks,
    );
  }
}

function told(state) {
  return { waiting: "not sent yet", destroyed: "destroyed", through: "not destroyed so far", delivered: "delivered" }[state];
}

function quadratic(a, b, c, t) {
  const mix = (p, q, r) => (1 - t) ** 2 * p + 2 * t * (1 - t) * q + t * t * r;
  return { x: mix(a.x, b.x, c.x), y: mix(a.y, b.y, c.y) };
}
