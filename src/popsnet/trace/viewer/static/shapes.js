// Elements of the page and of its figures. Text is added as text: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A colour for a group: neighbours far apart on the circle, light enough for dark text. */
export function groupColour(group) {
  return `hsl(${hue(group)} 72% ${group % 2 ? 69 : 77}%)`;
}

/** The colour of a group for lines, which have to stand out from the page. */
export function lineColour(group) {
  return `hsl(${hue(group)} 72% var(--line-lightness))`;
}

function hue(group) {
  return ((group * 137.508) % 360).toFixed(1);
}

/**
 * A packet: its number on the colour of the group it must reach; a tick once it is delivered.
 * @param {import("./trace.js").Run} run
 * @param {number} packet
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {{ delivered?: boolean, followed?: boolean, onpick?: ((packet: number) => void) | null }} look
 */
export function chip(run, packet, x, y, size, { delivered = false, followed = false, onpick = null } = {}) {
  const text = delivered ? `${packet}✓` : `${packet}`;
  const width = chipWidth(text, size);
  const group = Math.floor(run.destination[packet] / run.d);
  return svg(
    "g",
    {
      class: `chip${delivered ? " delivered" : ""}${followed ? " followed" : ""}`,
      transform: `translate(${x},${y})`,
      "data-packet": packet,
      ...(onpick === null ? {} : { onclick: () => onpick(packet) }),
    },
    svg("title", {}, `Packet ${packet}, for processor ${run.destination[packet]} in group ${group}${delivered ? "; delivered" : ""}`),
    svg("rect", { x: -width / 2, y: -size / 2, width, height: size, rx: size * 0.3, fill: groupColour(group) }),
    svg("text", { "font-size": size * 0.72, dy: "0.36em" }, text),
  );
}

export function chipWidth(text, size) {
  return size * (0.45 + 0.46 * [...text].length);
}
