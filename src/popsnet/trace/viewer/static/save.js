// A slot as a file: the figure of a run with its title, text and legend, as SVG or PNG.
import { html, svg } from "./shapes.js";

const EDGE_OF_FILE = 16; // pixels around everything
const LINE = 19; // pixels from line to line
const FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const DENSITY = 2; // dots of a PNG per pixel

/** Properties that the style sheet sets, with the values that need not be written down. */
const LOOK = {
  fill: "rgb(0, 0, 0)", stroke: "none", "stroke-width": "1px", "stroke-dasharray": "none", "stroke-linecap": "butt",
  "stroke-opacity": "1", opacity: "1", "font-size": "", "font-weight": "400", "text-anchor": "start", "paint-order": "normal",
};

/**
 * @typedef {object} Picture
 * @property {string} title
 * @property {string} text what happens in the slot
 * @property {SVGSVGElement} figure its style in attributes
 * @property {{ mark: SVGSVGElement, text: string }[]} legend
 */

/**
 * A copy of a drawing on the page that looks the same without the page's style sheet.
 * @param {SVGSVGElement} drawing
 * @returns {SVGSVGElement}
 */
export function standalone(drawing) {
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  const copies = copy.querySelectorAll("*");
  drawing.querySelectorAll("*").forEach((element, i) => {
    const style = getComputedStyle(element);
    const written = element.tagName === "text" ? Object.keys(LOOK) : Object.keys(LOOK).filter((name) => !/font|anchor/.test(name));
    for (const name of element.tagName === "g" ? ["opacity"] : element.tagName === "title" ? [] : written) {
      const value = style.getPropertyValue(name);
      if (value !== LOOK[name]) copies[i].setAttribute(name, value);
    }
    copies[i].removeAttribute("style");
  });
  return copy;
}

/**
 * The whole file as an element, with its size in pixels.
 * @param {Picture} picture
 * @returns {SVGSVGElement}
 */
export function compose({ title, text, figure, legend }) {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [wide, high] = ["width", "height"].map((side) => Number.parseFloat(figure.getAttribute(side) ?? "0"));
  const width = Math.max(wide, 420);
  const write = (words, x, y, look) => svg("text", { x, y, "font-size": 14, fill: colour("--text"), ...look }, words);
  const lines = wrapped(text, width / 7.4);
  let y = EDGE_OF_FILE + 14;
  const parts = wrapped(title, width / 9).map((line, i) => write(line, EDGE_OF_FILE, y + i * LINE, { "font-size": 16, "font-weight": 600 }));
  y += (parts.length - 1) * LINE + 24;
  lines.forEach((line, i) => parts.push(write(line, EDGE_OF_FILE, y + i * LINE, {})));
  y += lines.length * LINE;
  figure.setAttribute("x", `${EDGE_OF_FILE + (width - wide) / 2}`);
  figure.setAttribute("y", `${y}`);
  y += high + 14;
  for (const { mark, text: meaning } of legend) {
    const rows = wrapped(meaning, (width - 42) / 6.6);
    mark.setAttribute("x", `${EDGE_OF_FILE}`);
    mark.setAttribute("y", `${y}`);
    parts.push(mark, ...rows.map((row, i) => write(row, EDGE_OF_FILE + 42, y + 14 + i * LINE, { "font-size": 12.5 })));
    y += rows.length * LINE + 4;
  }
  const size = { width: Math.ceil(width + 2 * EDGE_OF_FILE), height: Math.ceil(y + EDGE_OF_FILE) };
  return svg(
    "svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-family": FONT },
    svg("title", {}, title), svg("desc", {}, text),
    svg("rect", { width: size.width, height: size.height, fill: colour("--page") }),
    ...parts, figure,
  );
}

/** Break a text between words into lines of at most this many characters. */
function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ").filter((one) => one !== "")) {
    const line = lines[lines.length - 1];
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= most) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}

/**
 * The element as an XML file. Characters that XML cannot hold are replaced.
 * @param {SVGSVGElement} element
 */
function serialized(element) {
  const text = new XMLSerializer().serializeToString(element);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\u{fffd}")}\n`;
}

/**
 * @param {SVGSVGElement} element
 * @returns {Promise<Blob>}
 */
async function asPng(element) {
  const [wide, high] = ["width", "height"].map((side) => Number(element.getAttribute(side)));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(serialized(element))}`;
  await image.decode();
  const canvas = /** @type {HTMLCanvasElement} */ (html("canvas", { width: wide * DENSITY, height: high * DENSITY }));
  /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The figure is too large for a PNG."))), "image/png");
  });
}

/**
 * Save a picture to a file of this name.
 * @param {Picture} picture
 * @param {string} name
 * @param {"svg" | "png"} format
 */
export async function save(picture, name, format) {
  const element = compose(picture);
  const blob = format === "png" ? await asPng(element) : new Blob([serialized(element)], { type: "image/svg+xml" });
  const address = URL.createObjectURL(blob);
  html("a", { href: address, download: `${name}.${format}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
