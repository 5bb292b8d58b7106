import { readRecordings } from "./trace.js";

export async function play(element) {
  const runs = await readRecordings();
  element.textContent = runs.map(({ name, text }) => `${name}\n${text}`).join("\n");
}
