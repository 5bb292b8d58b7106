// The clock of all runs on the page: the slot that is shown, whether it plays, and how fast.

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32]; // slots per second

export class Player {
  /**
   * `show(t, moving)` draws slot t; `advance(time)` moves its messages, with time from 0 to 1.
   * @param {number} slots
   * @param {{ show: (t: number, moving: boolean) => void, advance: (time: number) => void, changed: () => void }} acts
   */
  constructor(slots, { show, advance, changed }) {
    this.slots = slots;
    this.show = show;
    this.advance = advance;
    this.changed = changed;
    this.slot = 0;
    this.speed = 1;
    this.playing = false;
    this.automatic = false; // whether it plays because the page was opened, and not for the reader
    this.began = 0;
    this.frame = 0;
    this.still = window.matchMedia("(prefers-reduced-motion: reduce)");
  }

  /** Messages travel only at speeds that the eye can follow. */
  get moves() {
    return this.playing && this.speed <= 2 && !this.still.matches;
  }

  go(slot) {
    this.slot = Math.max(0, Math.min(this.slots, Math.round(slot)));
    this.began = performance.now();
    this.show(this.slot, this.moves);
    this.changed();
  }

  jump(slot) {
    this.automatic = false;
    this.pause();
    this.go(slot);
  }

  play() {
    this.playFrom(this.slot >= this.slots ? 1 : this.slot + 1);
  }

  playFrom(slot) {
    if (this.playing || this.slots === 0) return;
    this.playing = true;
    this.go(slot);
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    cancelAnimationFrame(this.frame);
    this.advance(1);
    this.changed();
  }

  toggle() {
    this.automatic = false;
    if (this.playing) this.pause();
    else this.play();
  }

  faster(by) {
    const place = SPEEDS.indexOf(this.speed) + by;
    this.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, place))]);
  }

  setSpeed(speed) {
    this.speed = speed;
    this.changed();
  }

  tick(now) {
    if (!this.playing) return;
    const time = Math.max(0, ((now - this.began) / 1000) * this.speed);
    if (time < 1) {
      if (this.moves) this.advance(Math.min(1, time * 1.15)); // and a moment of rest at the end
    } else if (this.slot >= this.slots) {
      this.pause();
      this.automatic = false;
      return;
    } else this.go(this.slot + 1);
    this.frame = requestAnimationFrame((later) => this.tick(later));
  }
}
