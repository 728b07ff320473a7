// SPDX-License-Identifier: Apache-2.0
/* No samples: idle, not observed, or filtered away are three answers. */
import { el, fill } from "./dom";
import { count, duration } from "./format";
import type { Tree } from "./tree";

export function fillEmpty(box: HTMLElement, t: Tree, filtered: boolean, unfilter: () => void): void {
	const seen = (t.meta.seen ?? {}) as { idle?: number; observed_ns?: number }, [here, there] = t.flipped ? ["selection", "baseline"] : ["baseline", "selection"];
	if (t.elided)
		fill(box, el("h3", {}, "Nothing is elided"), el("div", {}, `Whatever the ${here} has, the ${there} has as well.`));
	else if (filtered)
		fill(box, el("h3", {}, "No sample matches the filters"), el("button", { class: "framed", type: "button", onclick: unfilter }, "Remove the filters"));
	else if (!seen.observed_ns)
		fill(box, el("h3", {}, "Not observed"), el("div", {}, "The recorder did not see this time. This is not idle time."));
	else
		fill(box, el("h3", {}, "Idle"), el("div", {}, `Observed for ${duration(seen.observed_ns / 1e6)}; nothing ran${seen.idle ? `: ${count(seen.idle)} idle samples` : ""}.`));
}

export function fillFailed(box: HTMLElement): void {
	fill(box, el("h3", {}, "This could not be read"), el("div", {}, "Why is said above."));
}

/* A comparison of which one side was not recorded. */
export function fillNoOther(box: HTMLElement, plain: () => void): void {
	fill(box, el("h3", {}, "Nothing to compare with"), el("div", {}, "Nothing was recorded at the time of the one or the other. Another baseline can be chosen above."),
		el("button", { class: "framed", type: "button", onclick: plain }, "Show plain"));
}

/* Nothing is recorded yet: what will stand there. */
export function fillToCome(box: HTMLElement): void {
	fill(box, el("div", {}, "The flame graph of what is selected: who ran, and in what"));
}

/* No cells: nothing is kept at all, nothing of that time, or nothing that has a time. */
export function fillNoHeat(box: HTMLElement, none: boolean, timeless: boolean, recording: boolean, failed: boolean): void {
	if (failed)
		fillFailed(box);
	else if (timeless)
		fill(box, el("h3", {}, "There is no wall clock in this file: the graph below is of all of it"));
	else if (none)
		fill(box, el("h3", {}, "Nothing has been recorded yet"),
			recording ? el("div", {}, "The first seconds appear here as they come.")
				: el("div", {}, el("code", {}, "perfcam run"), " records this machine; ", el("code", {}, "perfcam import FILE"), " takes what you have, and so does this page: drop a file onto it."));
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
