// The text of the page: phases, slots, the history of a packet. Text only, never markup.
import { MOST_WORDS } from "./trace.js";

/**
 * "Slot 7, step 2: to temporary group."
 * @param {import("./trace.js").Slot} slot
 */
export function nameSlot(slot) {
  const step = slot.step === null ? "" : `, step ${slot.step + 1}`;
  return `Slot ${slot.number}${step}: ${slot.phase.replace(/^\d+ /, "")}.`;
}

/**
 * What the trace says about a phase: the text of the first pattern that matches.
 * @param {import("./trace.js").Run} run
 * @param {string} phase
 */
export function explainPhase(run, phase) {
  if (phase.length > MOST_WORDS) return "";
  return run.phases.find(([pattern]) => matches(pattern, phase))?.[1] ?? "";
}

/**
 * Whether a pattern matches all of a text; * stands for any characters. It takes linear time.
 * @param {string} pattern
 * @param {string} text
 */
function matches(pattern, text) {
  const [first, ...pieces] = pattern.split("*");
  if (pieces.length === 0) return text === first;
  const last = pieces.pop() ?? "";
  const end = text.length - last.length;
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}

/**
 * @param {import("./trace.js").Run} run
 * @param {number} coupler
 */
export function couplerName(run, coupler) {
  return `${coupler % run.g}→${Math.floor(coupler / run.g)}`;
}

/**
 * @param {number} number
 * @param {string} one
 */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/**
 * @param {number} packet one that does not exist
 * @param {number} packets how many there are
 */
export function noPacket(packet, packets) {
  return `There is no packet ${packet}; ${packets === 0 ? "there are none" : `packets are numbered 0 to ${packets - 1}`}.`;
}

/** "a", "a and b", "a, b and c", and so on. Of a long list only the first items are named. */
export function listed(items, most = 6) {
  const shown = items.slice(0, most).map(String);
  const rest = items.length - shown.length;
  if (rest > 0) return `${shown.join(", ")} and ${rest} more`;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

/**
 * The name of a message: its packet, or its kind, and its wavelength if there are several.
 * @param {import("./trace.js").Send} send
 */
export function messageName(send) {
  return `${kindName(send)}${send[4] === undefined ? "" : ` on wavelength ${send[4]}`}`;
}

/** @param {import("./trace.js").Send} send */
function kindName([processor, , kind, packet]) {
  if (kind === "packet") return `packet ${packet}`;
  if (kind === "ack") return packet === null ? "an ack" : `the ack of packet ${packet}`;
  return `a control message from processor ${processor}`;
}

/**
 * One sentence on what happened in a slot.
 * @param {import("./trace.js").Run} run
 * @param {number} t
 */
export function tellSlot(run, t) {
  if (t === 0) {
    if (run.traffic) return "The network is empty. Packets arrive at the beginning of slots.";
    if (run.packets === 0) return "There is nothing to send.";
    const there = run.start.filter((processor, packet) => processor === run.destination[packet]).length;
    return `Every packet is at its source${there === 0 ? "" : `; ${there} of ${run.packets} ${there === 1 ? "is" : "are"} already at the destination`}.`;
  }
  const slot = run.slots[t - 1];
  const parts = [`${count(slot.sends.length, "message")} sent`];
  if (slot.arrives.length > 0) {
    parts.unshift(`${count(slot.arrives.length, "packet")} ${slot.arrives.length === 1 ? "arrives" : "arrive"} (${listed(slot.arrives.map(([, packet]) => packet))})`);
  }
  if (slot.clashes.size > 0) {
    const destroyed = slot.destroyed.toLocaleString("en");
    const several = slot.signals > slot.sends.length; // messages sent to several groups at once
    parts.push(`${count(slot.clashes.size, "collision")} (${several ? `${destroyed} of ${slot.signals.toLocaleString("en")} copies` : destroyed} destroyed)`);
  } else if (slot.sends.length > 0) parts.push("no collision");
  const { faults } = run;
  if (faults !== null) {
    const mute = slot.sends.filter(([processor]) => faults.mute(processor, slot.claimed)).length;
    if (mute > 0) parts.push(`${count(mute, "message")} from ${mute === 1 ? "a dead transmitter" : "dead transmitters"}`);
    if (slot.missed.length > 0) parts.push(`${count(slot.missed.length, "listener")} ${slot.missed.length === 1 ? "misses a message" : "miss messages"} because of faults`);
  }
  if (slot.deliveries.length > 0) {
    parts.push(`${slot.deliveries.length === 1 ? "packet" : "packets"} ${listed(slot.deliveries)} ${slot.deliveries.length === 1 ? "is" : "are"} delivered`);
  }
  if (slot.gone.length > 0) {
    parts.push(`${slot.gone.length === 1 ? "packet" : "packets"} ${listed(slot.gone)} ${slot.gone.length === 1 ? "is" : "are"} lost: no processor holds a copy any more`);
  }
  return `${parts.join(", ")}.`;
}

/**
 * The progress of a run after slot t.
 * @param {import("./trace.js").Run} run
 * @param {import("./trace.js").State} state
 */
export function tellStanding(run, state) {
  const lost = state.lost !== null && state.lost > 0 ? `, ${state.lost.toLocaleString("en")} lost` : "";
  const inside = state.arrived - state.delivered - (state.lost ?? 0);
  return `${state.delivered.toLocaleString("en")} of ${state.arrived.toLocaleString("en")} delivered${run.traffic ? `, ${inside.toLocaleString("en")} inside` : ""}${lost}`;
}

/**
 * @param {import("./trace.js").Run} run
 */
export function tellOutcome(run) {
  const last = run.slots.at(-1) ?? run.initial;
  const slots = count(run.slots.length, "slot");
  if (run.outcome === null) return `${slots}; the trace ends without an outcome`;
  const missing = run.packets - last.delivered - (last.lost ?? 0);
  const parts = [slots];
  if (run.traffic) parts.push(`${count(run.packets, "packet")} arrived`, `${last.delivered.toLocaleString("en")} delivered`);
  if (last.lost !== null && last.lost > 0) parts.push(`${count(last.lost, "packet")} lost`);
  if (missing > 0) parts.push(run.traffic ? `${missing.toLocaleString("en")} inside` : `${count(missing, "packet")} not delivered`);
  if (run.outcome.refused) parts.push(`${count(run.outcome.refused, "packet")} refused`);
  return parts.length > 1 ? parts.join(", ") : `${slots}, every packet delivered`;
}

/**
 * What happens to a packet: [{slot, text}], the start as slot 0.
 * @param {import("./trace.js").Run} run
 * @param {number} packet
 */
export function historyOf(run, packet) {
  const from = run.start[packet];
  const to = run.destination[packet];
  const group = (processor) => Math.floor(processor / run.d);
  const begins = run.arrivedAt[packet];
  const told = [{ slot: begins, text: `${run.traffic ? "Arrives" : "Starts"} at processor ${from} (group ${group(from)}); it must reach processor ${to} (group ${group(to)}).` }];
  const copies = new Map([[from, 1]]);
  let lost = false;
  if (from === to && !run.traffic) told.push({ slot: 0, text: "It is already there." });
  for (const slot of run.slots.slice(Math.max(0, begins - 1))) {
    const tell = (text) => told.push({ slot: slot.number, text });
    slot.sends.forEach((send, i) => {
      if (send[3] === packet) for (const target of send[1]) tell(tellMessage(run, slot, i, target));
    });
    for (const [processor, dropped] of slot.drops) {
      if (dropped !== packet) continue;
      copies.set(processor, (copies.get(processor) ?? 0) - 1);
      tell(`Processor ${processor} drops its copy.`);
    }
    for (const [processor, kept] of slot.keeps) {
      if (kept === packet) copies.set(processor, (copies.get(processor) ?? 0) + 1);
    }
    if (run.deliveredAt[packet] === slot.number) tell(`It is delivered to processor ${to}.`);
    const left = run.traffic && run.deliveredAt[packet] <= slot.number;
    if (run.told && !left && [...copies.values()].every((number) => number < 1) && !lost) {
      tell("No processor holds it any more: it is lost.");
      lost = true;
    }
  }
  if (run.deliveredAt[packet] === Infinity && !lost) told.push({ slot: run.slots.length, text: "The run ends before it is delivered." });
  return told;
}

function tellMessage(run, slot, i, target) {
  const [processor, , kind, , wavelength] = slot.sends[i];
  const coupler = target * run.g + Math.floor(processor / run.d);
  const what = kind === "packet" ? "sends it" : kind === "ack" ? "sends an ack of it" : "sends a control message about it";
  const way = `Processor ${processor} ${what} to group ${target} on coupler ${couplerName(run, coupler)}${wavelength === undefined ? "" : `, wavelength ${wavelength}`}`;
  const source = coupler % run.g;
  const mute = (sender) => run.faults !== null && run.faults.mute(sender, slot.claimed);
  if (mute(processor)) return `${way}; its transmitter is dead, so it reaches no coupler.`;
  const others = slot.sends.filter(([sender, groups, , , tuned], j) =>
    j !== i && tuned === wavelength && Math.floor(sender / run.d) === source && groups.includes(target) && !mute(sender));
  if (others.length > 0) {
    return `${way}, where it meets ${listed(others.map(messageName))}: ${others.length === 1 ? "both" : "all"} are destroyed.`;
  }
  const hearers = slot.heard
    .filter(([listener, message]) => message === i && Math.floor(listener / run.d) === target)
    .map(([listener]) => listener);
  const missing = slot.missed
    .filter(([listener, message]) => message === i && Math.floor(listener / run.d) === target)
    .map(([listener]) => listener);
  if (run.faults?.coupler(coupler, slot.claimed)) return `${way}, which is dead.`;
  if (hearers.length === 0 && missing.length > 0) return `${way}; ${missing.length === 1 ? "processor" : "processors"} ${listed(missing)} ${missing.length === 1 ? "misses" : "miss"} it because of a fault.`;
  if (hearers.length === 0) return `${way}; no processor listens.`;
  const keepers = slot.keeps.filter(([who, kept]) => hearers.includes(who) && kept === slot.sends[i][3]);
  const who = `${hearers.length === 1 ? "processor" : "processors"} ${listed(hearers)} ${hearers.length === 1 ? "hears" : "hear"} it`;
  if (kind !== "packet" || !run.told) return `${way}; ${who}.`;
  const taken = slot.delivers.some(([listener, packet]) => packet === slot.sends[i][3] && hearers.includes(listener));
  if (keepers.length === 0 && taken) return `${way}; ${who}.`;
  if (keepers.length === 0) return `${way}; ${who}, and no processor keeps it.`;
  return hearers.length === 1 ? `${way}; ${who} and keeps it.` : `${way}; ${who}, and ${listed(keepers.map(([k]) => `processor ${k}`))} ${keepers.length === 1 ? "keeps" : "keep"} it.`;
}
