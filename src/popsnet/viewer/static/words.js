// What happens, in words: phases, slots, the history of a packet. Text only, never markup.

const PHASES = [
  [/^1 to intermediate group/, "Each packet that takes part is sent to a group drawn at random. Two of one group that draw the same coupler destroy each other."],
  [/^2 to temporary group/, "Packets that came through are sent on towards their temporary groups (destination number modulo g). They can collide a second time here."],
  [/^3 ack to intermediate group/, "Whoever heard a packet in slot 2 says so, back along its way."],
  [/^4 ack to source/, "The good news is passed on to the source, which stops trying. A source that hears nothing tries again in the next step."],
  [/^5 to destination/, "Packets that reached their temporary group go on to their destinations."],
  [/^seed/, "Processor 0 tells everybody one random number. From it everybody can compute by way of which group each packet will travel."],
  [/^(park|sweep).*attempt/, "Every waiting packet is sent to the relay group computed for its destination. Only here can packets of this stage collide."],
  [/^(park|sweep).*delivery/, "Relays send on what they store. Destinations know where to listen, and no two packets want one coupler: nothing can collide."],
  [/^(park|sweep).*acks/, "Relays say which packets they stored; those sources are done, the others try again."],
  [/^fold: attempt/, "The few packets that are left are sent to their relay groups, all classes at once."],
  [/^fold: delivery/, "Relays send on what they have; packets that share a relay group and a destination group can collide here."],
  [/^fold: destinations confirm/, "Destinations that have their packet tell the relay."],
  [/^fold: acks/, "Relays tell the sources, which are done."],
  [/^shower: attempt/, "The last packets are sent to several relay groups at once: one copy that comes through is enough."],
  [/^shower: delivery/, "Relays send on the copies they heard; destinations listen to one relay group after another."],
  [/^grid: attempt/, "Every waiting packet is sent when the relay group computed for it listens to its group."],
  [/^grid: delivery/, "Relays send on what they store: nothing can collide."],
  [/^grid: acks/, "Relays say which packets they stored; those sources are done."],
  [/^census/, "Groups count what they have to send, so that everything can be sent without a collision."],
  [/^roll call: collect/, "One processor of each group at a time sends its packet to a relay group: nothing can collide."],
  [/^roll call: hand out/, "Relays hand out what they collected: each coupler carries one packet."],
  [/groups object/, "One of each group says that all is well, and whoever still waits destroys that word on purpose: here a collision is the message."],
  [/within groups/, "Within each group one passes the good word on, and whoever missed it destroys it, so that all know whether it is over."],
  [/^reserve/, "Processors that hold sorted packets agree on who sends when, so that nothing collides afterwards."],
  [/stage \d+: to relay|neighbours: to relay/, "A stage of a sorting network: partners exchange packets, first hop, to a relay."],
  [/stage \d+: to destination|neighbours: to destination/, "A stage of a sorting network: second hop, to the partner. The lower place keeps the packet with the lower destination."],
  [/^to class groups/, "Sorted packets are spread over groups so that each coupler gets one."],
  [/^to relay|: to relay/, "Packets go to their relays, each on a coupler of its own: the schedule was computed beforehand."],
  [/^to destination|: to destination/, "Packets go to their destinations, each on a coupler of its own."],
];

const ROUTERS = {
  "mei-rizzi": "Five slots a try: to a random group, on to the temporary group, two for the acknowledgement, and home. A packet can be destroyed in the first two of them, and each failure costs five slots.",
  relay: "Three slots a try: to a relay, home, acknowledgement. A common random number decides by way of which group each packet travels, so the second hop cannot collide, and nobody has to ask where to listen.",
  direct: "One hop, at a time computed from the numbers: nothing collides, but max(d, g) slots are needed.",
  offline: "The whole permutation was known beforehand: everything goes in two hops without a collision.",
  batcher: "Sorts the packets by destination with Batcher's network, two slots a stage.",
  datta: "Sorts within groups of groups, then sends everything home without a collision.",
  aks: "Sorts the packets by destination with a network of depth O(log n).",
};

/** "Slot 7, step 2: to temporary group." */
export function nameSlot(slot) {
  const step = slot.step === null ? "" : `, step ${slot.step + 1}`;
  return `Slot ${slot.number}${step}: ${slot.phase.replace(/^\d+ /, "")}.`;
}

export function explainPhase(phase) {
  return PHASES.find(([pattern]) => pattern.test(phase))?.[1] ?? "";
}

export function explainRouter(run) {
  if (run.router === "relay" && run.variant === "direct") return ROUTERS.direct;
  if (run.router === "relay" && ["census", "roll-call"].includes(run.variant)) return "";
  return Object.hasOwn(ROUTERS, run.router) ? ROUTERS[run.router] : "";
}

export function couplerName(run, coupler) {
  return `c(${Math.floor(coupler / run.g)},${coupler % run.g})`;
}

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

/** One sentence of what came of a slot. */
export function tellSlot(run, t) {
  if (t === 0) {
    const there = run.initial.home;
    return `Every packet is at its source${there === 0 ? "" : `; ${there} of ${run.packets} ${there === 1 ? "is" : "are"} home already`}.`;
  }
  const slot = run.slots[t - 1];
  const parts = [`${count(slot.sends.length, "message")} sent`];
  if (slot.collided.length > 0) {
    parts.push(`${count(slot.collided.length, "collision")} (${slot.destroyed.toLocaleString("en")} destroyed)`);
  } else if (slot.sends.length > 0) parts.push("no collision");
  if (slot.arrivals.length > 0) {
    parts.push(`${slot.arrivals.length === 1 ? "packet" : "packets"} ${listed(slot.arrivals)} ${slot.arrivals.length === 1 ? "gets" : "get"} home`);
  }
  if (slot.gone.length > 0) {
    parts.push(`${slot.gone.length === 1 ? "packet" : "packets"} ${listed(slot.gone)} ${slot.gone.length === 1 ? "is" : "are"} lost: nobody holds a copy any more`);
  }
  return `${parts.join(", ")}.`;
}

/** How a run stands after slot t. */
export function tellStanding(run, state) {
  const lost = state.lost > 0 ? `, ${state.lost.toLocaleString("en")} lost` : "";
  return `${state.home.toLocaleString("en")} of ${run.packets.toLocaleString("en")} home${lost}`;
}

export function tellOutcome(run) {
  const last = run.slots.at(-1) ?? run.initial;
  const slots = count(run.slots.length, "slot");
  if (run.outcome === null) return `${slots}; the trace has no outcome, it ends too early`;
  if (last.lost > 0) return `${slots}, ${count(last.lost, "packet")} lost`;
  if (last.home < run.packets) return `${slots}, ${count(run.packets - last.home, "packet")} not home`;
  return `${slots}, every packet home`;
}

/** What happens to a packet: [{slot, text}], the start as slot 0. */
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
