// Links to a moment of a run: what the reader looks at, as the last part of the page's address.

/**
 * @typedef {object} Moment
 * @property {number} slot
 * @property {number | null} follow the packet that is followed
 * @property {number} run the place of the run that a phone shows, from 0
 * @property {boolean} matrix whether couplers are shown as a matrix
 */

/** @typedef {Moment & { unknown: number | null }} LinkedMoment with the number of a packet that does not exist */

/**
 * "#slot=7&follow=3&run=2&view=matrix"; what is as usual is left out.
 * @param {Moment} moment
 */
export function fragmentOf({ slot, follow, run, matrix }) {
  const parts = [`slot=${slot}`];
  if (follow !== null) parts.push(`follow=${follow}`);
  if (run > 0) parts.push(`run=${run + 1}`);
  if (matrix) parts.push("view=matrix");
  return `#${parts.join("&")}`;
}

/**
 * The moment that a fragment names, or null if it names none. A slot or run out of range becomes
 * the nearest that exists, no packet is followed if there is none of that number, and what is not a
 * number is ignored.
 * @param {string} fragment
 * @param {{ first: number, slots: number, packets: number, runs: number }} limits
 * @returns {LinkedMoment | null}
 */
export function momentOf(fragment, { first, slots, packets, runs }) {
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  const number = (name) => {
    const text = values.get(name) ?? "";
    return /^-?\d+$/.test(text) ? Number(text) : null;
  };
  const nearest = (value, low, high) => (value === null ? null : Math.max(low, Math.min(high, value)));
  const slot = nearest(number("slot"), 0, slots);
  const run = nearest(number("run"), 1, runs);
  const packet = number("follow");
  const exists = packet !== null && packet >= 0 && packet < packets;
  const view = values.get("view");
  if (slot === null && packet === null && run === null && view !== "matrix" && view !== "network") return null;
  return {
    slot: slot ?? first, follow: exists ? packet : null, run: (run ?? 1) - 1, matrix: view === "matrix",
    unknown: exists ? null : packet,
  };
}

/** Whether the page has an address that a link can lead to; in a notebook it has none. */
export function hasAddress() {
  return window.location.protocol !== "about:";
}

/**
 * Write the fragment into the address, without an entry in the history.
 * @param {string} fragment
 */
export function writeFragment(fragment) {
  if (!hasAddress() || window.location.hash === fragment) return;
  try {
    window.history.replaceState(null, "", fragment);
  } catch {
    // a browser may refuse; Copy link makes the link by itself
  }
}

/**
 * Put a link with this fragment into the clipboard; says whether it is there.
 * @param {string} fragment
 */
export async function copyLink(fragment) {
  const link = window.location.href.replace(/#.*$/s, "") + fragment;
  try {
    await navigator.clipboard.writeText(link);
    return true;
  } catch {
    return copyByField(link);
  }
}

/** For browsers that give a page from a file no clipboard. */
function copyByField(text) {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  return copied;
}
