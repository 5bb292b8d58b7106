// What happens, in words: phases, slots, the history of a packet. Text only, never markup.

const PHASES = [
  [/groups object/, "One of each group says that all is well, and whoever still waits destroys that word on purpose: here a collision is the message."],
  [/within groups/, "Within each group one passes the good word on, and whoever missed it destroys it, so that all know whether it is over."],
  [/^1 to intermediate group/, "Each packet that takes part is sent to a group drawn at random. Two of one group that draw the same coupler destroy each other."],
  [/^2 to temporary group/, "Packets that came through are sent on towards their temporary groups (destination number modulo g). They can collide a second time here."],
  [/^3 ack to intermediate group/, "Whoever heard a packet in the slot before says so, back along its way."],
  [/^4 ack to source/, "The good news is passed on to the source, which gives its packet up. A source that hears nothing tries again in the next step."],
  [/^5 to destination/, lastHop],
  [/^seed/, "Processor 0 tells everybody one random number. From it everybody can compute by way of which group each packet will travel."],
  [/^sweep.*attempt, slot/, "Each waiting packet is sent to the relay group computed for its destination, in the slot of its class. Only in attempts can packets of this stage collide."],
  [/^park.*attempt, slot/, "Each waiting packet is sent to the relay group computed for its destination, in one of the slots of this window, drawn by its source. Only in attempts can packets of this stage collide."],
  [/^(park|sweep).*attempt/, "Every waiting packet is sent to the relay group computed for its destination. Only here can packets of this stage collide."],
  [/^(park|sweep|census).*delivery/, "Relays send on what they store. Destinations know where to listen, and no two packets want one coupler: nothing can collide."],
  [/^(park|sweep).*acks/, "Relays say which packets they stored; those sources are done, the others try again."],
  [/^fold: attempt/, "All packets that wait are sent to their relay groups at once, whatever their class."],
  [/^fold: delivery/, foldHop],
  [/^fold: destinations confirm/, "Destinations that have their packet tell the relay."],
  [/^fold: acks/, "Relays tell the sources, which are done."],
  [/^shower: attempt/, "Packets that still wait are sent to several relay groups at once: one copy that comes through is enough."],
  [/^shower: delivery/, "Relays send on the copies they heard; destinations listen to one relay group after another."],
  [/^grid: attempt/, "A waiting packet is sent in the slot in which the relay group computed for it listens to its group."],
  [/^grid: delivery/, "Relays send on what they store: nothing can collide."],
  [/^grid: acks/, "Relays say which packets they stored; those sources are done."],
  [/^census: spread/, "Packets are spread over the groups by a computed permutation: nothing can collide."],
  [/^census: prefix sums/, "Counts of packets are added up over the groups, so that each packet gets a rank among those for the same relay group."],
  [/^census: rank/, "Packets of one rank at a time go to their relay groups: nothing can collide."],
  [/^roll call: collect/, "One processor of each group at a time sends its packet to a relay group: nothing can collide."],
  [/^roll call: hand out/, "Relays hand out what they collected: each coupler carries one packet."],
  [/^reserve/, "Processors tell each other how many sorted packets of each class there are, to agree on who sends when."],
  [/neighbours: /, "Neighbours in the sorted order tell each other what they have, by way of a relay."],
  [/stage \d+: to relay/, "A stage of a sorting network: partners compare what they have; first hop, to a relay."],
  [/stage \d+: to destination/, "A stage of a sorting network: second hop, to the partner. The lower place keeps what sorts first."],
  [/^to class groups/, "Sorted packets go to the groups of their classes, each on a coupler of its own."],
  [/to relay$/, "Packets go to their relays, each on a coupler of its own: the schedule was computed beforehand."],
  [/to destination$/, "Packets go to their destinations, each on a coupler of its own."],
];

const OTHERS = {
  offline: "All that is to be sent was known beforehand: it goes in two hops, or one, without a collision.",
  batcher: "Sorts the packets by destination with Batcher's network, two slots a stage.",
  datta: "Sorts the packets by class, sends classes to their groups, and from there everything home without a collision.",
  aks: "Sorts the packets by destination with a network of depth O(log n).",
  direct: "One hop, at a time computed from the numbers: nothing collides, but max(d, g) slots are needed.",
};

/** Slot 5 of mei-rizzi, which is safe for d = g, and in the repair. */
function lastHop(run) {
  if (run.variant.startsWith("deferred")) return "Copies for one block of g destinations in every group go home; nothing can collide. Copies for the other blocks wait in their temporary groups.";
  if (run.d === run.g) return "Packets that reached their temporary group go on to their destinations. For d = g no two want the same coupler.";
  return "Packets that reached their temporary group go on to their destinations. Because d > g, two may want the same coupler: both are destroyed, and they are lost, for their sources have given them up.";
}

/** The delivery of a fold, which is safe for d = g: then no relay group has two for one group. */
function foldHop(run) {
  if (run.d === run.g) return "Relays send on what they have. For d = g no two want the same coupler.";
  return "Relays send on what they have; packets that share a relay group and a destination group can collide here.";
}

function explainMeiRizzi(run) {
  const five = "Five slots a try: to a random group, on to the temporary group, two for the acknowledgement, and home.";
  if (run.variant.startsWith("deferred")) return `${five} The repair for d > g: a copy waits in its temporary group until the last hop is safe, so that what was acknowledged cannot be lost.`;
  if (run.d === run.g) return `${five} A packet can be destroyed in the first two of them, and each failure costs five slots.`;
  return `${five} A packet can be destroyed in the first two, and is sent again. Because d > g it can also be destroyed in the fifth, after its source was told that it is safe: then it is lost.`;
}

function explainRelay(run) {
  const stages = run.variant.replace(/\+or$/, "");
  if (stages === "direct") return OTHERS.direct;
  if (stages === "roll-call") return "Every group's packets are collected in relay groups, one processor at a time, and handed out: at most 2g slots, no collision.";
  const common = "A common random number, told in slot 1, decides by way of which group each packet travels.";
  if (stages === "census") return `${common} Groups count and rank what they have, so that nothing collides.`;
  if (run.d === run.g && /^(S|P1|\s|\|)+$/.test(stages)) {
    return `Three slots a try: to a relay, home, acknowledgement. ${common} So the second hop cannot collide, and nobody has to ask where to listen.`;
  }
  if (/^[SP\d(),\s|]+$/.test(stages)) return `${common} A try is some slots to relays, in which packets can collide, then home, where they cannot, and acknowledgements. Nobody has to ask where to listen.`;
  return `${common} Relays and destinations compute from it where to listen, and nobody has to ask.`;
}

/**
 * "Slot 7, step 2: to temporary group."
 * @param {import("./trace.js").Slot} slot
 */
export function nameSlot(slot) {
  const step = slot.step === null ? "" : `, step ${slot.step + 1}`;
  return `Slot ${slot.number}${step}: ${slot.phase.replace(/^\d+ /, "")}.`;
}

/**
 * @param {import("./trace.js").Run} run
 * @param {string} phase
 */
export function explainPhase(run, phase) {
  const words = /** @type {[RegExp, any][]} */ (PHASES).find(([pattern]) => pattern.test(phase))?.[1] ?? "";
  return typeof words === "function" ? words(run) : words;
}

/**
 * @param {import("./trace.js").Run} run
 */
export function explainRouter(run) {
  const words = explainRouting(run);
  return words && run.variant.endsWith("+or") ? `${words} After every step all are asked whether they have their packets.` : words;
}

function explainRouting(run) {
  if (run.router === "mei-rizzi") return explainMeiRizzi(run);
  if (run.router === "relay") return explainRelay(run);
  return Object.hasOwn(OTHERS, run.router) ? OTHERS[run.router] : "";
}

/**
 * @param {import("./trace.js").Run} run
 * @param {number} coupler
 */
export function couplerName(run, coupler) {
  return `c(${Math.floor(coupler / run.g)},${coupler % run.g})`;
}

/**
 * @param {number} number
 * @param {string} one
 */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** "a", "a and b", "a, b and c", and so on; of many only the first. */
export function listed(items, most = 6) {
  const shown = items.slice(0, most).map(String);
  const rest = items.length - shown.length;
  if (rest > 0) return `${shown.join(", ")} and ${rest} more`;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

/** The name of a message: its packet, or what it says. */
export function messageName([processor, , kind, packet]) {
  if (kind === "packet") return `packet ${packet}`;
  if (kind === "ack") return packet === null ? "an ack" : `the ack of packet ${packet}`;
  return `a control message of processor ${processor}`;
}

/**
 * One sentence of what came of a slot.
 * @param {import("./trace.js").Run} run
 * @param {number} t
 */
export function tellSlot(run, t) {
  if (t === 0) {
    if (run.packets === 0) return "There is nothing to send.";
    const there = run.start.filter((processor, packet) => processor === run.destination[packet]).length;
    return `Every packet is at its source${there === 0 ? "" : `; for ${there} of ${run.packets} that is the destination, too`}.`;
  }
  const slot = run.slots[t - 1];
  const parts = [`${count(slot.sends.length, "message")} sent`];
  if (slot.collided.length > 0) {
    const destroyed = slot.destroyed.toLocaleString("en");
    const several = slot.signals > slot.sends.length; // messages sent to several groups at once
    parts.push(`${count(slot.collided.length, "collision")} (${several ? `${destroyed} of ${slot.signals.toLocaleString("en")} copies` : destroyed} destroyed)`);
  } else if (slot.sends.length > 0) parts.push("no collision");
  if (slot.arrivals.length > 0) {
    parts.push(`${slot.arrivals.length === 1 ? "packet" : "packets"} ${listed(slot.arrivals)} ${slot.arrivals.length === 1 ? "gets" : "get"} home`);
  }
  if (slot.gone.length > 0) {
    parts.push(`${slot.gone.length === 1 ? "packet" : "packets"} ${listed(slot.gone)} ${slot.gone.length === 1 ? "is" : "are"} lost: nobody holds a copy any more`);
  }
  return `${parts.join(", ")}.`;
}

/**
 * How a run stands after slot t.
 * @param {import("./trace.js").Run} run
 * @param {import("./trace.js").State} state
 */
export function tellStanding(run, state) {
  const lost = state.lost !== null && state.lost > 0 ? `, ${state.lost.toLocaleString("en")} lost` : "";
  return `${state.home.toLocaleString("en")} of ${run.packets.toLocaleString("en")} home${lost}`;
}

/**
 * @param {import("./trace.js").Run} run
 */
export function tellOutcome(run) {
  const last = run.slots.at(-1) ?? run.initial;
  const slots = count(run.slots.length, "slot");
  if (run.outcome === null) return `${slots}; the trace has no outcome, it ends too early`;
  const missing = run.packets - last.home - (last.lost ?? 0);
  const parts = [slots];
  if (last.lost !== null && last.lost > 0) parts.push(`${count(last.lost, "packet")} lost`);
  if (missing > 0) parts.push(`${count(missing, "packet")} not home`);
  return parts.length > 1 ? parts.join(", ") : `${slots}, every packet home`;
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
  const told = [{ slot: 0, text: `Starts at processor ${from} (group ${group(from)}); it must reach processor ${to} (group ${group(to)}).` }];
  const copies = new Map([[from, 1]]);
  let lost = false;
  if (from === to) told.push({ slot: 0, text: "It is there already." });
  for (const slot of run.slots) {
    const tell = (text) => told.push({ slot: slot.number, text });
    slot.sends.forEach((send, i) => {
      if (send[3] === packet) for (const target of send[1]) tell(tellMessage(run, slot, i, target));
    });
    for (const [processor, dropped] of slot.drops) {
      if (dropped !== packet) continue;
      copies.set(processor, (copies.get(processor) ?? 0) - 1);
      tell(`Processor ${processor} gives up its copy.`);
    }
    for (const [processor, kept] of slot.keeps) {
      if (kept === packet) copies.set(processor, (copies.get(processor) ?? 0) + 1);
    }
    if (run.homeAt[packet] === slot.number) tell(`It is home, at processor ${to}.`);
    if (run.buffers !== null && [...copies.values()].every((number) => number < 1) && !lost) {
      tell("Nobody holds it any more: it is lost.");
      lost = true;
    }
  }
  if (run.homeAt[packet] === Infinity && !lost) told.push({ slot: run.slots.length, text: "The run ends, and it is not home." });
  return told;
}

function tellMessage(run, slot, i, target) {
  const [processor, , kind] = slot.sends[i];
  const coupler = target * run.g + Math.floor(processor / run.d);
  const what = kind === "packet" ? "sends it" : kind === "ack" ? "sends an ack of it" : "sends word of it";
  const way = `Processor ${processor} ${what} to group ${target} on coupler ${couplerName(run, coupler)}`;
  const source = coupler % run.g;
  const others = slot.sends.filter(([sender, groups], j) =>
    j !== i && Math.floor(sender / run.d) === source && groups.includes(target));
  if (others.length > 0) {
    return `${way}, where it meets ${listed(others.map(messageName))}: ${others.length === 1 ? "both" : "all"} are destroyed.`;
  }
  const hearers = slot.heard
    .filter(([listener, message]) => message === i && Math.floor(listener / run.d) === target)
    .map(([listener]) => listener);
  if (hearers.length === 0) return `${way}; nobody listens.`;
  const keepers = slot.keeps.filter(([who, kept]) => hearers.includes(who) && kept === slot.sends[i][3]);
  const who = `${hearers.length === 1 ? "processor" : "processors"} ${listed(hearers)} ${hearers.length === 1 ? "hears" : "hear"} it`;
  if (kind !== "packet" || run.buffers === null) return `${way}; ${who}.`;
  if (keepers.length === 0) return `${way}; ${who}, and nobody keeps it.`;
  return hearers.length === 1 ? `${way}; ${who} and keeps it.` : `${way}; ${who}, and ${listed(keepers.map(([k]) => `processor ${k}`))} ${keepers.length === 1 ? "keeps" : "keep"} it.`;
}
