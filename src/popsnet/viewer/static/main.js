import { play } from "./player.js";

await play(document.getElementById("shown"));
