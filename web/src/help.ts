// SPDX-License-Identifier: Apache-2.0
/* The list of keys. */
import { el } from "./dom";

const KEYS: [string, string][] = [
	["drag", "select a time (heatmap), a span (timeline)"], ["click, click", "start and end of a selection"],
	["← →", "move the selection, or the span"], ["Shift ← →", "grow the selection"], ["+ −", "zoom the span"],
	["c", "compare with the baseline"], ["x", "flip the comparison"], ["b", "the next drag sets the baseline"], ["Ctrl drag", "the baseline"],
	["[ ]", "the event before, the next event"], ["u", "find unusual moments"], ["t", "what is drawn under the heatmap"], ["h", "colour the heatmap by the search"], ["n", "newest"], ["m", "sub-second or cores"], ["/", "search"], ["i", "flame or icicle"], ["r", "a function that calls itself is one frame"], ["e", "export"], ["1 2 3 4", "flame graph, table, sandwich, by time"], [", .", "by time: the core before, the next core"], ["Ctrl Z", "undo zoom, filters and search of the graph (with Shift: do it again)"],
	["o", "other recordings, open a file"], ["w", "to what was different"], ["Backspace", "back"],
	["g", "go to a time"], ["z", "local time or UTC"], ["d", "dark or light"], ["Shift F10", "what can be done with a frame"], ["Esc", "one step back"], ["?", "this list"],
];

export function makeHelp(): HTMLDialogElement {
	return el("dialog", { "aria-label": "Keys" }, el("h2", {}, "Keys"),
		el("div", { class: "keys" }, ...KEYS.flatMap(([k, w]) => [el("span", {}, el("kbd", {}, k)), el("span", {}, w)])),
		el("form", { method: "dialog" }, el("button", { class: "framed" }, "Close")));
}
