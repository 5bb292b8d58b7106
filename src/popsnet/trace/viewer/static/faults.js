// What does not work in a run: dead parts, and lost messages.

const PARTS = ["couplers", "transmitters", "receivers", "processors"];

/** The faults in the header of a trace. Slots are those that the trace gives. */
export class Faults {
  /**
   * @param {any} line the faults of the header
   * @param {number} n
   * @param {number} g
   */
  constructor(line, n, g) {
    /** @type {Map<number, number>[]} */
    const [couplers, transmitters, receivers, processors] = PARTS.map((part) => new Map((line[part] ?? []).map((dead) =>
      part === "couplers" ? [dead[0] * g + dead[1], dead[2]] : dead)));
    this.couplers = couplers;
    this.transmitters = transmitters;
    this.receivers = receivers;
    this.processors = processors;
    this.loss = line.loss ?? 0;
    this.n = n;
  }

  /** Whether a coupler is dead in a slot. */
  coupler(c, slot) {
    return isDead(this.couplers, c, slot);
  }

  /** Whether the messages of a processor reach no coupler. */
  mute(processor, slot) {
    return isDead(this.transmitters, processor, slot) || isDead(this.processors, processor, slot);
  }

  /** Whether a processor hears nothing. */
  deaf(processor, slot) {
    return isDead(this.receivers, processor, slot) || isDead(this.processors, processor, slot);
  }

  /** What is wrong with a processor in a slot, or an empty text. */
  of(processor, slot) {
    if (isDead(this.processors, processor, slot)) return "it is dead";
    const parts = [];
    if (isDead(this.transmitters, processor, slot)) parts.push("transmitter");
    if (isDead(this.receivers, processor, slot)) parts.push("receiver");
    return parts.length === 0 ? "" : `its ${parts.join(" and ")} ${parts.length === 1 ? "is" : "are"} dead`;
  }

  /** The couplers that are dead in a slot. */
  couplersIn(slot) {
    return [...this.couplers].filter(([, since]) => slot >= since).map(([c]) => c);
  }

  /** The processors with a dead part in a slot. */
  processorsIn(slot) {
    const broken = new Set([...this.transmitters, ...this.receivers, ...this.processors].filter(([, since]) => slot >= since).map(([p]) => p));
    return [...broken].sort((one, other) => one - other);
  }

  /** All of them in a sentence. */
  words(couplerName) {
    const since = (slot) => (slot > 1 ? ` from slot ${slot} on` : "");
    const parts = [...this.couplers].map(([c, slot]) => `coupler ${couplerName(c)}${since(slot)}`);
    for (const [what, dead] of [["transmitter", this.transmitters], ["receiver", this.receivers], ["processor", this.processors]]) {
      parts.push(...[.../** @type {Map<number, number>} */ (dead)].map(([p, slot]) => `${what} ${p}${since(slot)}`));
    }
    const shown = parts.slice(0, 8).join(", ") + (parts.length > 8 ? ` and ${parts.length - 8} more` : "");
    const lost = this.loss > 0 ? `A message is lost with probability ${this.loss}.` : "";
    return [parts.length > 0 ? `Dead: ${shown}.` : "", lost].filter(Boolean).join(" ");
  }
}

/**
 * What is wrong with the faults of a header, or an empty text.
 * @param {any} line
 * @param {number} n
 * @param {number} g
 */
export function wrongFaults(line, n, g) {
  if (typeof line !== "object" || line === null || Array.isArray(line)) return "is not a JSON object";
  for (const part of PARTS) {
    const { [part]: dead = [] } = line;
    const bounds = part === "couplers" ? [g, g, Infinity] : [n, Infinity];
    const fits = Array.isArray(dead) && dead.every((row) => Array.isArray(row) && row.length === bounds.length &&
      row.every((value, i) => Number.isInteger(value) && value >= 0 && value < bounds[i]));
    if (!fits) return `has ${part} that are not lists of ${part === "couplers" ? "[to group, from group, slot]" : "[processor, slot]"}`;
  }
  const { loss = 0 } = line;
  return typeof loss === "number" && loss >= 0 && loss <= 1 ? "" : "has a loss that is not from 0 to 1";
}

function isDead(parts, part, slot) {
  const since = parts.get(part);
  return since !== undefined && slot >= since;
}
