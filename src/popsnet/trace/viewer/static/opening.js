// How a page opens: on a slot with traffic, which it plays from, once, if the reader lets it.

import { SPEEDS } from "./player.js";

const LONGEST = 20; // seconds that a page plays by itself
const ENOUGH = 300; // pixels of a tall figure that are enough to watch it

/**
 * The first slot in which a processor of any run sends; 0 if there is none.
 * @param {import("./trace.js").Run[]} runs
 * @param {number} slots
 */
export function firstTraffic(runs, slots) {
  for (let t = 1; t <= slots; t++) {
    if (runs.some((run) => (run.slots[t - 1]?.sends.length ?? 0) > 0)) return t;
  }
  return 0;
}

/**
 * One slot per second, or as many as are needed for the run to end in time.
 * @param {number} slots
 */
export function speedFor(slots) {
  return SPEEDS.find((speed) => speed >= 1 && slots <= LONGEST * speed) ?? SPEEDS[SPEEDS.length - 1];
}

/**
 * Play from a slot to the end, once, while the figure can be seen. It waits in a background tab and
 * in a cell of a notebook that is not on the screen. A click or a key ends it; scrolling does not.
 * @param {import("./player.js").Player} player
 * @param {Element} figure
 * @param {number} first
 */
export function playOnce(player, figure, first) {
  player.go(first);
  if (player.still.matches || first === 0) return;
  player.automatic = true;
  player.setSpeed(speedFor(player.slots - first + 1));
  let began = false;
  let seen = false;
  const observer = new IntersectionObserver((entries) => {
    const { intersectionRatio, intersectionRect } = entries[entries.length - 1];
    seen = intersectionRatio >= 0.5 || intersectionRect.height >= ENOUGH;
    update();
  }, { threshold: Array.from({ length: 21 }, (_, i) => i / 20) });
  const stop = (/** @type {any} */ event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const button = event.target instanceof Element ? event.target.closest("button, summary, input, select") : null;
    const toggles = event.type === "click" ? button?.id === "play" : !button && [" ", "k"].includes(event.key);
    end();
    if (toggles) return; // it pauses by itself
    player.automatic = false;
    player.pause();
  };
  function update() {
    if (!player.automatic) {
      end();
      return;
    }
    const visible = seen && !document.hidden;
    if (visible && !player.playing) {
      player.playFrom(began ? player.slot : first);
      began = true;
    } else if (!visible) player.pause();
  }
  function end() {
    observer.disconnect();
    document.removeEventListener("visibilitychange", update);
    for (const event of ["click", "keydown"]) document.removeEventListener(event, stop, true);
  }
  document.addEventListener("visibilitychange", update);
  for (const event of ["click", "keydown"]) document.addEventListener(event, stop, true);
  observer.observe(figure);
}
