// SPDX-License-Identifier: Apache-2.0
/* A function between its callers, above, and its callees, below. */
import { el } from "./dom";
import type { FlameView } from "./flame_view";
import { functions, sandwich, type Match, type Tree } from "./tree";

export class SandwichView {
	readonly root: HTMLElement;
	readonly halves: [callers: FlameView, callees: FlameView];
	private name = el("span", { class: "mono cut" });

	constructor(half: (id: string, label: string, icicle: boolean) => FlameView) {
		this.halves = [half("callers", "Callers", false), half("callees", "Callees", true)];
		this.root = el("div", { class: "sandwich" }, this.halves[0].layers.root,
			el("div", { class: "bar" }, el("span", { class: "quiet" }, "callers ▲   "), this.name, el("span", { class: "quiet" }, "   ▼ callees")), this.halves[1].layers.root);
	}

	/* The function that was asked for, or the heaviest. */
	show(t: Tree | null, wanted: string, match: Match | null): void {
		if (!t || !t.total[0]) {
			this.name.textContent = "";
			for (const view of this.halves)
				view.show(null, 0);
			return;
		}
		const found = t.names.indexOf(wanted), frame = found >= 0 ? found : functions(t)[0]?.frame ?? 0;
		const { callers, callees } = sandwich(t, frame);
		this.name.textContent = t.names[frame];
		/* Each has as much room as it has rows to show. */
		[callers, callees].forEach((half, i) => (this.halves[i].layers.root.style.flexGrow = String(1 + half.depth.reduce((most, d) => Math.max(most, d), 0))));
		this.halves[0].show(callers, 0);
		this.halves[1].show(callees, 0);
		for (const view of this.halves)
			view.showMatch(match);
	}
}
