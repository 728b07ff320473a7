// SPDX-License-Identifier: Apache-2.0
/* What the page's two menus offer: the selection for other programs, and what can be done with a frame. */
import type { Server } from "./api";
import type { FlameView } from "./flame_view";
import { openMenu, type Item } from "./menu";
import { escapeExpression } from "./panel";
import { selectionQuery, treeQuery, type Filter, type Part, type State } from "./state";
import { nameOf, type Tree } from "./tree";

const EXPORTS = [["svg", "Flame graph (SVG)"], ["folded", "Folded stacks"], ["perf-script", "perf script"], ["pprof", "pprof"], ["speedscope", "speedscope"],
	["firefox", "Firefox Profiler"], ["csv", "CSV, a row a sample"], ["json", "JSON, a line a sample"]] as const;

export interface MenuHost {
	readonly server: Server;
	speedscope(): boolean; /* the server has it */
	partName(p: Part): string;
	readonly state: State;
	readonly tree: Tree | null;
	readonly flame: FlameView;
	part(): Part;
	change(by: Partial<State>, step: boolean): void;
	setSearch(text: string): void;
	addFilter(name: Filter, value: string): void;
}

/* What is selected, under the same filters, for other programs. */
export function exportMenu(app: MenuHost, at: HTMLElement): void {
	const box = at.getBoundingClientRect(), tree = treeQuery(app.state, app.part(), null), plain = selectionQuery(app.state, app.part());
	const href = (format: string) => {
		const q = new URLSearchParams(format === "svg" ? tree : plain);
		q.set("format", format);
		return app.server.path("export", q);
	};
	const items: Item[] = EXPORTS.map(([format, words]) => ({ words, href: href(format) }));
	if (app.speedscope())
		items.splice(EXPORTS.findIndex(([format]) => format === "speedscope") + 1, 0, { words: "Open in speedscope", page: true,
			href: "/speedscope/#profileURL=" + encodeURIComponent(href("speedscope")) + "&title=" + encodeURIComponent(app.partName(app.part())) });
	openMenu("Export", box.left, box.bottom + 4, items);
}

export function frameMenu(app: MenuHost, t: Tree, node: number, x: number, y: number): void {
	const name = nameOf(t, node), exactly = `^${escapeExpression(name)}$`;
	const items: Item[] = [
		["Callers and callees", () => app.change({ tab: "sandwich", sandwich: name }, true)],
		["When did it run", () => app.change({ search: exactly, paint: true }, true)],
		["Search for this function", () => app.setSearch(exactly)],
		["Only stacks with this function", () => app.addFilter("match", exactly)],
		["Without this function's stacks", () => app.addFilter("exclude", exactly)],
		["Hide its frames", () => app.addFilter("hide", exactly)],
		["Begin the stacks at it", () => app.addFilter("focus", exactly)],
		["Copy the name", () => void navigator.clipboard?.writeText(name)],
	];
	if (t === app.tree)
		items.unshift(["Zoom to this frame", () => app.flame.zoomTo(node)]);
	openMenu(name, x, y, items);
}
