// SPDX-License-Identifier: Apache-2.0
/* A function between its callers, above, and its callees, below. */
import { el } from "./dom";
import type { FlameView } from "./flame_view";
import { ROW } from "./frames";
import { findPath, functions, sandwich, type Match, type Tree } from "./tree";

export class SandwichView {
	readonly root: HTMLElement;
	readonly halves: [callers: FlameView, callees: FlameView];
	private name = el("span", { class: "mono cut" });
	private zooms: [string[], string[]] = [[], []]; /* of each half, by names: it stays while the graph goes on */
	private shown: { of: Tree; frame: number; trees: Tree[] } | null = null;

	constructor(half: (id: string, label: string, icicle: boolean, zoomed: (path: string[]) => void) => FlameView) {
		this.halves = [half("callers", "Callers", false, (path) => (this.zooms[0] = path)), half("callees", "Callees", true, (path) => (this.zooms[1] = path))];
		this.root = el("div", { class: "sandwich" }, this.halves[0].layers.root,
			el("div", { class: "bar" }, el("span", { class: "quiet" }, "callers ▲   "), this.name, el("span", { class: "quiet" }, "   ▼ callees")), this.halves[1].layers.root);
	}

	/* The function that was asked for, or the heaviest. */
	show(t: Tree | null, wanted: string, match: Match | null): void {
		if (!t || !t.total[0]) {
			this.name.textContent = "";
			this.shown = null;
			for (const view of this.halves)
				view.show(null, 0);
			return;
		}
		const found = t.names.indexOf(wanted), frame = found >= 0 ? found : functions(t)[0]?.frame ?? 0;
		if (this.name.textContent !== t.names[frame])
			this.zooms = [[], []];
		this.name.textContent = t.names[frame];
		if (this.shown?.of !== t || this.shown.frame !== frame) {
			const { callers, callees } = sandwich(t, frame);
			this.shown = { of: t, frame, trees: [callers, callees] };
		}
		/* Each has as much room as it has rows to show, and two rows at least. */
		this.shown.trees.forEach((half, i) => {
			const { style } = this.halves[i].layers.root, rows = 1 + half.maxDepth;
			style.flexGrow = String(rows);
			style.minHeight = `${Math.min(2, rows) * ROW + 12}px`;
			this.halves[i].show(half, findPath(half, this.zooms[i]));
			this.halves[i].showMatch(match);
		});
	}

	/* True: a half was zoomed, and is not any more. */
	reset(): boolean {
		const zoomed = this.zooms.some((path) => path.length > 0);
		for (const view of this.halves)
			view.zoomTo(0);
		this.zooms = [[], []];
		return zoomed;
	}
}
