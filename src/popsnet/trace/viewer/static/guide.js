// The legend: what the marks of each view mean.
import { groupColour, html, svg } from "./shapes.js";

/** @typedef {{ mark: SVGSVGElement, text: string, of: string }} Entry `of` selects what it explains */

/**
 * @param {Entry[]} entries
 */
export function legend(entries) {
  return html("ul", { class: "legend" }, ...entries.map(({ mark, text }) => html("li", {}, mark, html("span", {}, text))));
}

function mark(...parts) {
  return svg("svg", { viewBox: "0 0 34 20", width: 34, height: 20, class: "mark", "aria-hidden": "true" }, ...parts);
}

/**
 * @param {import("./trace.js").Run} run
 * @returns {Entry[]}
 */
export function legendOfMatrix({ faults }) {
  const cell = (name, ...parts) => mark(svg("rect", { class: `cell ${name}`, x: 9, y: 2, width: 16, height: 16 }), ...parts);
  return [
    { of: ".idle", mark: cell("idle"), text: "an idle coupler" },
    { of: ".used", mark: cell("idle", svg("rect", { class: "cell used", x: 13, y: 6, width: 8, height: 8 })), text: "a coupler that carries one message to every listener" },
    { of: ".collided", mark: cell("collided", svg("path", { d: "M13,6 L21,14 M21,6 L13,14" })), text: "a collision: two or more messages on one coupler, all destroyed (small cells have no cross)" },
    ...(faults === null ? [] : [{ of: ".dead", mark: cell("idle", svg("path", { class: "strike", d: "M9,18 L25,2" })), text: "a dead coupler" }]),
    { of: ".followed", mark: cell("idle", svg("rect", { class: "cell followed", x: 9, y: 2, width: 16, height: 16 })), text: "a coupler with a message of the packet that is followed" },
  ];
}

/**
 * @param {import("./trace.js").Run} run
 * @returns {Entry[]}
 */
export function legendOfNetwork({ traffic, faults }) {
  const box = (name, text) => svg("g", { class: `coupler ${name}` },
    svg("rect", { x: 4, y: 2, width: 26, height: 16, rx: 3 }),
    name === "collided" ? svg("path", { class: "cross", d: "M12,5 L22,15 M22,5 L12,15" }) : svg("text", { class: "contents", x: 17, y: 10, "font-size": 11, dy: "0.36em" }, text));
  const packet = (text, name, x = 17, half = 14) => svg("g", { class: `chip ${name}`, transform: `translate(${x},10)` },
    svg("rect", { x: -half, y: -8, width: 2 * half, height: 16, rx: 5, fill: groupColour(1) }),
    svg("text", { "font-size": 11, dy: "0.36em" }, text));
  return [
    { of: ".chip:not(.delivered)", mark: mark(packet("7", "")), text: "packet 7; its colour is that of the group it must reach" },
    ...(traffic ? [] : [{ of: ".chip.delivered", mark: mark(packet("7✓", "delivered")), text: "a packet that is delivered" }]),
    { of: ".coupler.used.packet", mark: mark(box("used packet", "7")), text: "a coupler that carries packet 7 to every listener" },
    { of: ".coupler.collided", mark: mark(box("collided", "")), text: "a collision: two or more messages on one coupler, all destroyed" },
    { of: ".signal.collided", mark: mark(svg("line", { class: "signal packet collided", x1: 2, y1: 10, x2: 32, y2: 10 })), text: "a message that is destroyed; no processor hears it" },
    ...(faults === null ? [] : [
      { of: ".strike", mark: mark(box("dead", ""), svg("path", { class: "strike", d: "M4,18 L30,2" })), text: "a dead coupler, or a processor with a dead part" },
      { of: ".signal.stopped", mark: mark(svg("line", { class: "signal packet stopped", x1: 2, y1: 10, x2: 32, y2: 10 })), text: "a message on a dead coupler, or of a dead transmitter; no processor hears it" },
    ]),
    { of: ".coupler.used.ack, .coupler.used.control", mark: mark(box("used ack", "↩7")), text: "an acknowledgement of packet 7; • is another control message" },
    { of: ".listener", mark: mark(svg("path", { class: "listener hears", d: "M6,5 L14,10 L6,15 Z" }), svg("path", { class: "listener", d: "M20,5 L28,10 L20,15 Z" })), text: "listens and hears a message; listens and hears nothing" },
    { of: ".dimmed", mark: mark(svg("line", { class: "signal packet followed", x1: 16, y1: 10, x2: 34, y2: 10 }), packet("7", "followed", 10, 8)), text: "the packet that is followed, and its messages; all others are faded" },
  ];
}
