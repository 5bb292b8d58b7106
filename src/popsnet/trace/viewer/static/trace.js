// Reads a trace (docs/reference/trace-format.md) and replays it by the rules of the network.
import { Faults, wrongFaults } from "./faults.js";

export const MOST_GROUPS = 256;
export const MOST_PROCESSORS = 2 ** 17;
export const MOST_DRAWN = 64; // processors drawn one by one
export const MOST_WORDS = 2000; // characters of an explanation, and of a phase that is explained
const MOST_CHANNELS = 2 ** 24; // couplers times wavelengths
const MOST_PATTERNS = 200;
const MOST_PATTERN = 200; // characters
const MOST_NAMED = 20; // packets of a processor that are named; more are counted

const KINDS = ["packet", "ack", "control"];

export class TraceError extends Error {}

/**
 * @typedef {[processor: number, groups: number[], kind: string, packet: number | null, wavelength?: number]} Send
 * @typedef {[processor: number, group: number, wavelength?: number]} Listen
 * @typedef {[processor: number, packet: number]} Holding
 * @typedef {[processor: number, message: number]} Heard
 * @typedef {[processor: number, packet: number, destination: number]} Arrival
 * @typedef {{ slot: number, text: string }} Problem
 * @typedef {{ slots: number, delivered: number, lost: number, packets: number[], held?: number, refused?: number }} Outcome
 *
 * @typedef {object} State The state of the network between two slots.
 * @property {number} arrived packets that are or were in the network
 * @property {number} delivered packets that are at their destination to stay, or left there
 * @property {number | null} lost packets that no processor holds; null if the trace does not say
 * @property {number[][] | null} held the first packets of each processor; null if processors are not drawn
 * @property {number[] | null} loads how many packets each processor holds
 *
 * @typedef {object} SlotLine A slot as the trace has it.
 * @property {number} number counted from 1
 * @property {number} claimed the number in the trace
 * @property {string} phase
 * @property {number | null} step
 * @property {Send[]} sends
 * @property {Listen[]} listens
 * @property {Holding[]} keeps
 * @property {Holding[]} drops
 * @property {Arrival[]} arrives packets that arrive at the beginning of the slot
 * @property {Holding[]} delivers packets that leave at their destinations after it
 * @property {number[]} misses processors for which a message is lost
 *
 * @typedef {object} Replayed What happened in it.
 * @property {number} signals messages, one for each coupler
 * @property {number[]} used couplers that carry messages, on each wavelength one
 * @property {number[]} silent dead couplers that carry messages, on each wavelength one
 * @property {number[]} collided couplers with more on a wavelength
 * @property {Set<number>} clashes channels with more than one message; see channelOf
 * @property {number} destroyed messages on them
 * @property {Heard[]} heard
 * @property {Heard[]} missed what a fault kept from a listener
 * @property {number[]} gone packets that no processor holds any more
 * @property {number[]} deliveries packets that are delivered
 *
 * @typedef {SlotLine & Replayed & State} Slot
 *
 * @typedef {object} Run A trace that was read and replayed.
 * @property {string} name
 * @property {number} d
 * @property {number} g
 * @property {number} n
 * @property {number} wavelengths wavelengths per coupler
 * @property {string} router
 * @property {string} variant
 * @property {number} seed
 * @property {string} explanation what the router does
 * @property {[string, string][]} phases patterns of phases and what happens in them
 * @property {boolean} byResidue whether the conflict graph is drawn of destinations mod g
 * @property {Faults | null} faults what does not work
 * @property {boolean} traffic whether packets arrive during the run and leave when they are delivered
 * @property {number[]} destination
 * @property {number[]} start
 * @property {number[]} arrivedAt the slot at whose beginning a packet arrives; 0 if it is there at the start
 * @property {number} packets
 * @property {number | null} buffers
 * @property {boolean} told whether the trace says which processor holds which packet
 * @property {Slot[]} slots
 * @property {State} initial
 * @property {Outcome | null} outcome
 * @property {Problem[]} problems
 * @property {number[]} deliveredAt the slot in which a packet is delivered, or Infinity
 * @property {number[]} lostAt the slot after which no processor holds a packet, or Infinity
 */

/**
 * Read a run; throw a TraceError that names the line if the trace is damaged.
 * @param {string} text
 * @param {string} name
 * @returns {Run}
 */
export function readTrace(text, name) {
  const lines = parseLines(text);
  const first = lines.next();
  if (first.done) throw new TraceError("The file is empty; a trace begins with a header.");
  const run = readHeader(...first.value, name);
  const replay = new Replay(run);
  for (const [number, line] of lines) {
    const ends = line.outcome !== undefined;
    const read = ends ? readOutcome(run, number, line.outcome) : readSlot(run, number, line);
    if (run.outcome !== null) {
      replay.problem("something follows the outcome");
      break;
    }
    if (ends) run.outcome = /** @type {Outcome} */ (read);
    else run.slots.push(replay.slot(/** @type {SlotLine} */ (read)));
  }
  replay.conclude();
  return run;
}

/**
 * @param {string} text
 * @returns {Generator<[number, any]>}
 */
function* parseLines(text) {
  const rows = text.split("\n");
  for (const [i, row] of rows.entries()) {
    if (row.trim() === "") continue;
    let line;
    try {
      line = JSON.parse(row);
    } catch {
      if (i === rows.length - 1 && i > 0) {
        fail(i + 1, "is cut off: the trace was not written to its end. Write it again");
      }
      fail(i + 1, "is not JSON. A trace has one JSON object per line");
    }
    if (!isObject(line)) fail(i + 1, "is not a JSON object");
    yield [i + 1, line];
  }
}

/**
 * @param {number} number
 * @param {any} line
 * @param {string} name
 * @returns {Run}
 */
function readHeader(number, line, name) {
  if (line.format !== "popsnet-trace") {
    throw new TraceError('This is not a popsnet trace: its first line does not have "format": "popsnet-trace".');
  }
  if (line.version !== 1) fail(number, `has version ${shown(line.version)}; this page reads 1`);
  const { d, g } = line;
  for (const [what, value] of [["d", d], ["g", g]]) {
    if (!isWhole(value, 1, 2 ** 31)) fail(number, `${what} is ${shown(value)}; it must be an integer of at least 1`);
  }
  if (g > MOST_GROUPS) fail(number, `g is ${g}; this page shows up to ${MOST_GROUPS} groups`);
  const { wavelengths = 1 } = line;
  if (!isWhole(wavelengths, 1) || g * g * wavelengths > MOST_CHANNELS) {
    fail(number, `wavelengths is ${shown(wavelengths)}; it must be an integer from 1 to ${Math.floor(MOST_CHANNELS / (g * g))}`);
  }
  const n = d * g;
  if (n > MOST_PROCESSORS) fail(number, `there are ${n} processors; this page reads up to ${MOST_PROCESSORS}`);
  const destination = numbers(number, line.destination, "destination", n);
  const start = line.start === undefined ? null : numbers(number, line.start, "start", n);
  const { traffic = false } = line;
  if (typeof traffic !== "boolean") fail(number, `traffic is ${shown(traffic)}, not true or false`);
  if (traffic && destination.length + (start?.length ?? 0) > 0) {
    fail(number, "the header has traffic, so packets arrive in slots, and it names packets");
  }
  if (start === null && !traffic && !isPermutation(destination, n)) {
    fail(number, `the destinations are not a permutation of 0 to ${n - 1}`);
  }
  if (start !== null && start.length !== destination.length) {
    fail(number, `there are ${start.length} starts and ${destination.length} destinations`);
  }
  if (line.buffers !== undefined && !isWhole(line.buffers, 1)) {
    fail(number, `buffers is ${shown(line.buffers)}; it must be an integer of at least 1`);
  }
  if (line.faults !== undefined) {
    const wrong = wrongFaults(line.faults, n, g);
    if (wrong !== "") fail(number, `faults ${wrong}`);
  }
  const { explanation = "", phases = {}, conflict_graph: by = "group" } = line;
  if (!Number.isInteger(line.seed)) fail(number, `seed is ${shown(line.seed)}, not a number`);
  if (by !== "group" && by !== "residue") fail(number, `conflict_graph is ${shown(by)}, not group or residue`);
  return {
    name, d, g, n, wavelengths,
    router: asText(number, line.router, "router"),
    variant: asText(number, line.variant, "variant"),
    seed: line.seed,
    faults: line.faults === undefined ? null : new Faults(line.faults, n, g),
    traffic,
    destination,
    start: start ?? [...destination.keys()],
    arrivedAt: [],
    packets: destination.length,
    buffers: line.buffers ?? null,
    told: traffic || line.buffers !== undefined,
    explanation: asText(number, explanation, "explanation").slice(0, MOST_WORDS),
    phases: readPhases(number, phases),
    byResidue: by === "residue",
    slots: [],
    outcome: null,
    problems: [],
    deliveredAt: [],
    lostAt: [],
    initial: { arrived: 0, delivered: 0, lost: null, held: null, loads: null },
  };
}

/**
 * Patterns of phases with their explanations, in order. Those beyond the limits are left out.
 * @param {number} number
 * @param {any} phases
 * @returns {[string, string][]}
 */
function readPhases(number, phases) {
  if (!isObject(phases)) fail(number, `phases is ${shown(phases)}, not a JSON object`);
  return Object.entries(phases).slice(0, MOST_PATTERNS)
    .map(/** @returns {[string, string]} */ ([pattern, words]) => [pattern, asText(number, words, "a text of phases").slice(0, MOST_WORDS)])
    .filter(([pattern]) => pattern.length <= MOST_PATTERN);
}

/**
 * @param {Run} run
 * @param {number} number
 * @param {any} line
 * @returns {SlotLine}
 */
function readSlot(run, number, line) {
  if (line.slot === undefined) fail(number, 'has neither "slot" nor "outcome"');
  if (!Number.isInteger(line.slot)) fail(number, `slot is ${shown(line.slot)}, not a number`);
  requireHoldings(run, number, line, ["keeps", "drops"]);
  for (const part of ["sends", "listens"]) {
    if (!Array.isArray(line[part])) fail(number, `${part} is ${shown(line[part])}, not a list`);
  }
  for (const send of line.sends) {
    const fits =
      Array.isArray(send) && send.length === 4 && Number.isInteger(send[0]) &&
      Array.isArray(send[1]) && send[1].every(Number.isInteger) &&
      typeof send[2] === "string" && (send[3] === null || Number.isInteger(send[3]));
    if (!fits) fail(number, `${shown(send)} is not [processor, [groups], kind, packet]`);
  }
  const { keeps = [], drops = [] } = line;
  const { arrives = [], delivers = [] } = run.traffic ? line : {};
  requireArrivals(run, number, arrives);
  for (const [what, pairs] of [["listens", line.listens], ["keeps", keeps], ["drops", drops], ["delivers", delivers]]) {
    if (!Array.isArray(pairs)) fail(number, `${what} is ${shown(pairs)}, not a list`);
    for (const pair of pairs) {
      const fits = Array.isArray(pair) && pair.length === 2 && pair.every(Number.isInteger);
      if (!fits) fail(number, `${shown(pair)} in ${what} is not a pair of numbers`);
    }
  }
  const { step = null, misses = [] } = line;
  if (!Array.isArray(misses) || !misses.every((processor) => isWhole(processor, 0, run.n))) fail(number, `misses is ${shown(misses)}, not a list of processors`);
  if (line.step !== undefined && !isWhole(step, 0)) fail(number, `step is ${shown(step)}; it must be an integer of at least 0`);
  return {
    number: run.slots.length + 1, claimed: line.slot, phase: asText(number, line.phase, "phase"), step,
    sends: tuned(run, number, line, "send"), listens: tuned(run, number, line, "listen"), keeps, drops, arrives, delivers, misses,
  };
}

/** Messages or listeners, with the wavelength of each at the end if there are several. */
function tuned(run, number, line, what) {
  const rows = line[`${what}s`];
  if (run.wavelengths === 1) return rows;
  const name = `${what}_wavelengths`;
  const { [name]: given = rows.map(() => 0) } = line;
  if (!Array.isArray(given) || given.length !== rows.length || !given.every(Number.isInteger)) {
    fail(number, `${name} is ${shown(given)}, not a list of ${rows.length} numbers`);
  }
  return rows.map((row, i) => [...row, given[i]]);
}

/**
 * The number of a coupler with a wavelength, for a message to a group.
 * @param {Run} run
 * @param {Send} send
 * @param {number} group
 */
export function channelOf(run, [processor, , , , wavelength = 0], group) {
  return (group * run.g + Math.floor(processor / run.d)) * run.wavelengths + wavelength;
}

/** Packets that arrive are numbered in order, and both of their processors exist. */
function requireArrivals(run, number, arrives) {
  if (!Array.isArray(arrives)) fail(number, `arrives is ${shown(arrives)}, not a list`);
  arrives.forEach((row, i) => {
    const fits =
      Array.isArray(row) && row.length === 3 && isWhole(row[0], 0, run.n) &&
      row[1] === run.packets + i && isWhole(row[2], 0, run.n);
    if (!fits) fail(number, `${shown(row)} in arrives is not [processor, packet, destination] of packet ${run.packets + i}, with processors 0 to ${run.n - 1}`);
  });
}

/** Either all lines say which processor holds which packet, or none does. */
function requireHoldings(run, number, line, parts) {
  const none = !run.told;
  for (const part of parts) {
    if ((line[part] === undefined) !== none) {
      fail(number, `${part} is ${none ? "there" : "missing"}, and the header has ${none ? "no " : ""}${run.traffic ? "traffic" : "buffers"}; they come together or not at all`);
    }
  }
}

/**
 * @param {Run} run
 * @param {number} number
 * @param {any} outcome
 * @returns {Outcome}
 */
function readOutcome(run, number, outcome) {
  if (!isObject(outcome)) fail(number, `outcome is ${shown(outcome)}, not a JSON object`);
  requireHoldings(run, number, outcome, ["lost_packets"]);
  for (const what of ["slots", "delivered", "lost", ...(run.traffic ? ["held", "refused"] : [])]) {
    if (!Number.isInteger(outcome[what])) fail(number, `${what} is ${shown(outcome[what])}, not a number`);
  }
  const { lost_packets: packets = [] } = outcome;
  if (!Array.isArray(packets) || !packets.every(Number.isInteger)) {
    fail(number, `lost_packets is ${shown(packets)}, not a list of numbers`);
  }
  return { ...outcome, packets };
}

/** The state of the network while slots are replayed. Each slot is completed with what happened in it. */
class Replay {
  /** @param {Run} run */
  constructor(run) {
    this.run = run;
    /** @type {Problem[]} */
    this.problems = [];
    this.held = Array.from({ length: run.n }, () => /** @type {number[]} */ ([]));
    /** @type {number[]} */
    this.copies = []; // copies of each packet
    /** @type {number[]} */
    this.atDestination = []; // copies of each packet at its destination
    /** @type {number[]} */
    this.since = []; // the slot of the first of these
    /** @type {SlotLine | null} */
    this.current = null;
    this.step = 0;
    this.lost = 0;
    this.delivered = 0; // packets that have left
    this.load = new Int32Array(run.g * run.g * run.wavelengths); // of each channel
    this.message = new Int32Array(run.g * run.g * run.wavelengths);
    this.heardOf = Array.from({ length: run.n }, () => /** @type {Set<number>} */ (new Set())); // packets that may be acknowledged
    for (let p = 0; p < run.packets; p++) this.enter(p, 0);
    this.held.forEach((packets, processor) => this.crowded(processor, packets));
    Object.assign(run.initial, this.state());
  }

  /**
   * @param {SlotLine} line
   * @returns {Slot}
   */
  slot(line) {
    const { d, g, wavelengths } = this.run;
    const slot = /** @type {Slot} */ (line);
    this.inTurn(slot);
    this.current = slot;
    slot.deliveries = [];
    for (const [processor, , destination] of slot.arrives) this.arrive(processor, destination, slot.number);
    this.leaveOut(slot);
    const touched = this.transmit(slot);
    slot.signals = slot.sends.reduce((sum, [, groups]) => sum + groups.length, 0);
    const { faults } = this.run;
    slot.clashes = new Set(touched.filter((channel) => this.load[channel] > 1));
    const couplers = (channels) => [...new Set(channels.map((channel) => Math.floor(channel / wavelengths)))];
    slot.collided = couplers([...slot.clashes]);
    const met = new Set(slot.collided);
    const single = couplers(touched).filter((coupler) => !met.has(coupler));
    slot.silent = single.filter((coupler) => faults?.coupler(coupler, slot.claimed));
    slot.used = single.filter((coupler) => !faults?.coupler(coupler, slot.claimed));
    slot.destroyed = [...slot.clashes].reduce((sum, channel) => sum + this.load[channel], 0);
    slot.heard = []; // [processor, number of the message]
    slot.missed = [];
    const listening = new Set();
    const lost = new Set(slot.misses);
    const received = new Map();
    for (const [processor, group, wavelength = 0] of slot.listens) {
      if (listening.has(processor)) this.breach(processor, "listens to two couplers");
      listening.add(processor);
      const coupler = Math.floor(processor / d) * g + group;
      const channel = coupler * wavelengths + wavelength;
      if (this.load[channel] !== 1) continue;
      const message = this.message[channel];
      if (faults !== null && (faults.deaf(processor, slot.claimed) || faults.coupler(coupler, slot.claimed) || lost.has(processor))) {
        slot.missed.push([processor, message]);
        continue;
      }
      slot.heard.push([processor, message]);
      const [, , kind, packet] = slot.sends[message];
      if (packet === null) continue;
      this.heardOf[processor].add(packet);
      if (kind === "packet") received.set(processor, packet);
    }
    for (const channel of touched) this.load[channel] = 0;
    const before = new Set(slot.drops.map(([, packet]) => packet).filter((packet) => this.copies[packet] > 0));
    this.hold(slot, received);
    slot.gone = [...before].filter((packet) => this.isLost(packet)).sort((one, other) => one - other);
    for (const packet of slot.gone) this.run.lostAt[packet] = slot.number;
    return Object.assign(slot, this.state());
  }

  /** Check that slots are numbered in order, from 1 or from 0, and that steps do not go back. */
  inTurn(slot) {
    const first = this.current === null && slot.claimed === 0 ? 0 : (this.first ?? 1);
    this.first = first;
    const expected = first + slot.number - 1;
    const back = slot.step !== null && slot.step < this.step;
    this.step = slot.step ?? this.step;
    this.current = slot;
    if (slot.claimed !== expected) this.problem(`the slot has the number ${shown(slot.claimed)} instead of ${expected}`);
    if (back) this.problem(`its step ${slot.step} is lower than that of earlier slots`);
  }

  /** Leave out entries that name something that does not exist: they break the rules and cannot be drawn. */
  leaveOut(slot) {
    const { n, g, packets, wavelengths } = this.run;
    const there = (fits, entry) => {
      if (!fits) this.problem(`${shown(entry)} names something that ${networkName(this.run)} does not have`);
      return fits;
    };
    slot.sends = slot.sends.filter((send) => there(
      isWhole(send[0], 0, n) && send[1].every((group) => isWhole(group, 0, g)) &&
      (send[3] === null || isWhole(send[3], 0, packets)) && isWhole(send[4] ?? 0, 0, wavelengths), send));
    slot.listens = slot.listens.filter((listen) => there(
      isWhole(listen[0], 0, n) && isWhole(listen[1], 0, g) && isWhole(listen[2] ?? 0, 0, wavelengths), listen));
    for (const part of ["keeps", "drops", "delivers"]) {
      slot[part] = slot[part].filter((pair) => there(isWhole(pair[0], 0, n) && isWhole(pair[1], 0, packets), pair));
    }
  }

  /**
   * @param {SlotLine} slot
   * @returns {number[]}
   */
  transmit(slot) {
    /** @type {number[]} */
    const touched = [];
    const sending = new Set();
    slot.sends.forEach((send, i) => {
      const [processor, groups, kind, packet] = send;
      if (sending.has(processor)) this.breach(processor, "sends two messages");
      sending.add(processor);
      if (groups.length === 0) this.breach(processor, "sends to no group");
      else if (groups.length > 1 && new Set(groups).size < groups.length) this.breach(processor, "sends to a group twice");
      if (!KINDS.includes(kind)) this.breach(processor, `sends a message of the unknown kind ${shown(kind)}`);
      else if (kind === "packet" && packet === null) this.breach(processor, "sends a packet without a number");
      if (kind === "packet" && packet !== null && !this.held[processor].includes(packet)) {
        this.breach(processor, `sends packet ${packet}, which it does not hold`);
      }
      if (kind === "ack" && packet !== null && !this.heardOf[processor].has(packet)) {
        this.breach(processor, `acknowledges packet ${packet}, which it never heard of`);
      }
      if (this.run.faults?.mute(processor, slot.claimed)) return; // it reaches no coupler
      for (const to of groups) {
        const channel = channelOf(this.run, send, to);
        if (this.load[channel]++ === 0) touched.push(channel);
        this.message[channel] = i;
      }
    });
    return touched;
  }

  /**
   * @param {Slot} slot
   * @param {Map<number, number>} received
   */
  hold(slot, received) {
    if (!this.run.told) {
      for (const [processor, packet] of received) {
        if (!this.held[processor].includes(packet)) this.gain(processor, packet);
      }
      return;
    }
    for (const [processor, packet] of slot.delivers) this.deliver(slot, processor, packet, received);
    for (const [processor, packet] of slot.drops) {
      const place = this.held[processor].indexOf(packet);
      if (place < 0) this.breach(processor, `drops packet ${packet}, which it does not hold`);
      else this.lose(processor, packet, place);
    }
    for (const [processor, packet] of slot.keeps) {
      if (received.get(processor) !== packet) {
        this.breach(processor, `keeps packet ${packet}, which it did not hear`);
      }
      this.gain(processor, packet);
      this.crowded(processor, this.held[processor]);
    }
  }

  /**
   * A packet leaves at its destination, which hears it in the slot or holds it.
   * @param {Slot} slot
   * @param {number} processor
   * @param {number} packet
   * @param {Map<number, number>} received
   */
  deliver(slot, processor, packet, received) {
    const { deliveredAt, destination } = this.run;
    const has = received.get(processor) === packet || this.held[processor].includes(packet);
    if (deliveredAt[packet] < Infinity) this.breach(processor, `delivers packet ${packet}, which was delivered before`);
    else if (destination[packet] !== processor) this.breach(processor, `delivers packet ${packet}, which is for processor ${destination[packet]}`);
    else if (!has) this.breach(processor, `delivers packet ${packet}, which it neither hears nor holds`);
    else {
      if (this.isLost(packet)) this.lost--;
      deliveredAt[packet] = slot.number;
      slot.deliveries.push(packet);
      this.delivered++;
    }
  }

  /** A processor of a run with traffic may have this many packets of its own, and as many of others. */
  crowded(processor, packets) {
    const buffers = this.run.buffers === null ? null : this.run.buffers * (this.run.traffic ? 2 : 1);
    if (buffers !== null && packets.length > buffers) this.breach(processor, `holds more than ${buffers} ${buffers === 1 ? "packet" : "packets"}`);
  }

  /** Let a new packet arrive at the beginning of a slot. */
  arrive(processor, destination, slot) {
    const { run } = this;
    run.start.push(processor);
    run.destination.push(destination);
    this.enter(run.packets++, slot);
    this.crowded(processor, this.held[processor]);
  }

  /** Put a packet where it starts. */
  enter(packet, slot) {
    const { run } = this;
    const processor = run.start[packet];
    run.arrivedAt.push(slot);
    run.deliveredAt.push(Infinity);
    run.lostAt.push(Infinity);
    this.held[processor].push(packet);
    this.heardOf[processor].add(packet);
    this.copies.push(1);
    this.atDestination.push(run.destination[packet] === processor ? 1 : 0);
    this.since.push(0);
  }

  isLost(packet) {
    return this.copies[packet] === 0 && this.run.deliveredAt[packet] === Infinity;
  }

  gain(processor, packet) {
    const { run } = this;
    this.held[processor].push(packet);
    if (this.isLost(packet)) {
      this.lost--;
      run.lostAt[packet] = Infinity;
    }
    this.copies[packet]++;
    if (run.destination[packet] === processor && this.atDestination[packet]++ === 0) {
      this.since[packet] = this.current?.number ?? 0;
    }
  }

  lose(processor, packet, place) {
    this.held[processor].splice(place, 1);
    this.copies[packet]--;
    if (this.isLost(packet)) this.lost++;
    if (this.run.destination[packet] === processor) this.atDestination[packet]--;
  }

  state() {
    const drawn = this.run.n <= MOST_DRAWN;
    return {
      arrived: this.run.packets,
      delivered: this.delivered,
      lost: this.run.told ? this.lost : null,
      held: drawn ? this.held.map((packets) => packets.slice(0, MOST_NAMED)) : null,
      loads: drawn ? this.held.map((packets) => packets.length) : null,
    };
  }

  /**
   * A packet is delivered in the slot from which its destination holds it until the end. An earlier
   * copy there may have been waiting to be relayed; a trace does not tell these apart.
   */
  conclude() {
    this.run.problems = this.problems;
    if (!this.run.traffic) this.concludeDeliveries();
    this.compare();
  }

  concludeDeliveries() {
    const { run } = this;
    run.deliveredAt = Array.from(this.since, (slot, packet) => (this.atDestination[packet] > 0 ? slot : Infinity));
    run.initial.delivered = 0;
    run.deliveredAt.forEach((slot, packet) => {
      if (slot === 0) run.initial.delivered++;
      else if (slot < Infinity) run.slots[slot - 1].deliveries.push(packet);
    });
    let { delivered } = run.initial;
    for (const slot of run.slots) slot.delivered = delivered += slot.deliveries.length;
  }

  /** Compare the outcome with the replay. A run that was capped may have delivered less. */
  compare() {
    const { run } = this;
    if (run.outcome === null) return;
    const { slots, delivered, lost, packets, held, refused } = run.outcome;
    const last = run.slots.at(-1) ?? run.initial;
    if (slots !== run.slots.length) this.problem(`the outcome gives ${slots} slots instead of ${run.slots.length}`);
    if (delivered < 0 || delivered > last.delivered) this.problem(`the outcome gives ${delivered} as delivered instead of ${last.delivered}`);
    if (run.traffic) {
      const inside = run.packets - last.delivered - this.lost;
      if (delivered < last.delivered) this.problem(`the outcome gives ${delivered} as delivered instead of ${last.delivered}`);
      if (held !== inside) this.problem(`the outcome gives ${held} as held instead of ${inside}`);
      if (refused !== 0 && (run.buffers === null || (refused ?? 0) < 0)) this.problem(`the outcome gives ${refused} as refused, and only full buffers refuse packets`);
    }
    if (run.told && lost !== this.lost) this.problem(`the outcome gives ${lost} as lost instead of ${this.lost}`);
    else if (run.told && !this.areLost(packets)) this.problem("the outcome names the wrong packets as lost");
    else if (lost < 0 || lost > run.packets - delivered) this.problem(`the outcome gives ${lost} as lost and ${delivered} as delivered of ${run.packets}`);
  }

  areLost(packets) {
    return packets.length === this.lost && new Set(packets).size === this.lost &&
      packets.every((packet) => this.isLost(packet));
  }

  breach(processor, what) {
    this.problem(`processor ${processor} ${what}`);
  }

  problem(text) {
    this.problems.push({ slot: this.current?.number ?? 0, text });
  }
}

/**
 * The state before slot t + 1, that is after slot t; t = 0 is the start.
 * @param {Run} run
 * @param {number} t
 * @returns {State}
 */
export function stateAfter(run, t) {
  const at = Math.min(t, run.slots.length);
  return at === 0 ? run.initial : run.slots[at - 1];
}

/**
 * The state at the beginning of slot t, when packets have arrived.
 * @param {Run} run
 * @param {number} t
 * @returns {State}
 */
export function stateBefore(run, t) {
  const past = stateAfter(run, t - 1);
  const { arrives } = run.slots[t - 1];
  if (past.held === null || past.loads === null || arrives.length === 0) return past;
  const held = past.held.map((packets) => packets.slice());
  const loads = past.loads.slice();
  for (const [processor, packet] of arrives) {
    if (held[processor].length < MOST_NAMED) held[processor].push(packet);
    loads[processor]++;
  }
  return { ...past, held, loads, arrived: past.arrived + arrives.length };
}

/**
 * The largest of the values and 1. Math.max cannot take as many arguments.
 * @param {number[]} values
 */
export function largest(values) {
  return values.reduce((most, value) => Math.max(most, value), 1);
}

/** @param {Run} run */
export function networkName(run) {
  return `POPS(${run.d}, ${run.g})${run.wavelengths > 1 ? ` with ${run.wavelengths} wavelengths` : ""}`;
}

/**
 * The first and last slot of the step that slot t belongs to.
 * @param {Run} run
 * @param {number} t
 * @returns {[first: number, last: number]}
 */
export function stepOf(run, t) {
  const same = (a, b) => {
    if (a.step !== null && b.step !== null) return a.step === b.step;
    return !/^1\b/.test(b.phase) && /^\d/.test(b.phase);
  };
  let first = t;
  let last = t;
  while (first > 1 && same(run.slots[first - 2], run.slots[first - 1])) first--;
  while (last < run.slots.length && same(run.slots[last - 1], run.slots[last])) last++;
  return [first, last];
}

/**
 * @param {number} number
 * @param {string} what
 * @returns {never}
 */
function fail(number, what) {
  throw new TraceError(`Line ${number}: ${what}.`);
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isWhole(value, low, bound = Infinity) {
  return Number.isInteger(value) && value >= low && value < bound;
}

function isPermutation(values, n) {
  return values.length === n && new Set(values).size === n;
}

function numbers(number, values, what, bound) {
  if (!Array.isArray(values)) fail(number, `${what} is ${shown(values)}, not a list`);
  values.forEach((value, i) => {
    if (!isWhole(value, 0, bound)) {
      fail(number, `${what} ${i} is ${shown(value)}; there are processors 0 to ${bound - 1}`);
    }
  });
  return values;
}

function asText(number, value, what) {
  if (typeof value !== "string") fail(number, `${what} is ${shown(value)}, not a text`);
  return value;
}

function shown(value) {
  const text = value === undefined ? "missing" : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
