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
