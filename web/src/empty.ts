// SPDX-License-Identifier: Apache-2.0
/* No samples: idle, not observed, or filtered away are three answers. */
import { el, fill } from "./dom";
import { count, duration } from "./format";
import type { Tree } from "./tree";

export function fillEmpty(box: HTMLElement, t: Tree, filtered: boolean, unfilter: () => void): void {
	const seen = (t.meta.seen ?? {}) as { idle?: number; observed_ns?: number };
	if (filtered)
		fill(box, el("h3", {}, "No sample matches the filters"), el("button", { class: "framed", type: "button", onclick: unfilter }, "Remove the filters"));
	else if (!seen.observed_ns)
		fill(box, el("h3", {}, "Not observed"), el("div", {}, "The recorder did not see this time. This is not idle time."));
	else
		fill(box, el("h3", {}, "Idle"), el("div", {}, `Observed for ${duration(seen.observed_ns / 1e6)}; nothing ran${seen.idle ? `: ${count(seen.idle)} idle samples` : ""}.`));
}

/* No cells: nothing is kept at all, nothing of that time, or nothing that has a time. */
export function fillNoHeat(box: HTMLElement, none: boolean, timeless: boolean, recording: boolean): void {
	if (timeless)
		fill(box, el("h3", {}, "There is no wall clock in this file: the graph below is of all of it"));
	else if (none)
		fill(box, el("h3", {}, "Nothing has been recorded yet"),
			el("div", {}, recording ? "The first seconds appear here as they come." : "`perfcam run` records this machine; `perfcam import FILE` takes what you have."));
	else
		fill(box, el("h3", {}, "Nothing was recorded at that time"), el("div", {}, "The timeline shows what is kept."));
}

/* Frames to come: nothing is said about them, but that they are on their way. */
export function makeSkeleton(): HTMLElement {
	const rows = [[5, 0, 4, 0, 3], [8, 6, 3, 2, 1], [9, 7, 5, 2, 1], [24]];
	const box = el("div", { class: "skeleton", "aria-hidden": "true" });
	for (const row of rows) {
		let at = 1;
		for (const wide of row) {
			const frame = el("i");
			frame.style.gridColumn = `${at} / span ${Math.max(1, wide)}`;
			frame.style.visibility = wide ? "visible" : "hidden";
			at += Math.max(1, wide);
			box.append(frame);
		}
	}
	return box;
}
