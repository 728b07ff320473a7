// SPDX-License-Identifier: Apache-2.0
/* What the page's two menus offer: the selection for other programs, and what can be done with a frame. */
import type { Server } from "./api";
import type { FlameView } from "./flame_view";
import { openMenu, type Item } from "./menu";
import { escapeExpression } from "./panel";
import { BELOW, COLOURS, FRAMES, GROUPS, ROWS, selectionQuery, treeQuery, type Filter, type Mode, type Part, type State } from "./state";
import type { Choice } from "./tracks";
import { nameOf, type Tree } from "./tree";

const EXPORTS = [["svg", "Flame graph (SVG)"], ["folded", "Folded stacks"], ["perf-script", "perf script"], ["pprof", "pprof"], ["speedscope", "speedscope"],
	["firefox", "Firefox Profiler"], ["capsule", "Capsule, all of it in one HTML file"], ["csv", "CSV, a row a sample"], ["json", "JSON, a line a sample"]] as const;

export const CAPSULE_MS = 600e3; /* of more than that there is none */

export interface MenuHost {
	readonly server: Server;
	speedscope(): boolean; /* the server has it */
	partName(p: Part): string;
	readonly state: State;
	readonly tree: Tree | null;
	readonly flame: FlameView;
	part(): Part;
	sides(): [Part, Part | null];
	change(by: Partial<State>, step: boolean): void;
	setSearch(text: string): void;
	addFilter(name: Filter, value: string): void;
	copy(text: string, what: string): void;
}

/* What is selected, under the same filters, for other programs. */
export function exportMenu(app: MenuHost, at: HTMLElement): void {
	const box = at.getBoundingClientRect(), tree = treeQuery(app.state, ...app.sides()), plain = selectionQuery(app.state, app.part());
	const href = (format: string) => {
		const q = new URLSearchParams(format === "svg" ? tree : plain);
		q.set("format", format);
		return app.server.path("export", q);
	};
	const short = app.part().to - app.part().from <= CAPSULE_MS;
	const items: Item[] = EXPORTS.filter(([format]) => format !== "capsule" || short).map(([format, words]) => ({ words, href: href(format) }));
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
		[app.state.collapse ? "Show each call of itself" : "Calls of itself as one frame", () => app.change({ collapse: !app.state.collapse, zoom: [] }, true)],
		["Copy the name", () => app.copy(name, "the name")],
	];
	if (t === app.tree)
		items.unshift(["Zoom to this frame", () => app.flame.zoomTo(node)]);
	openMenu(name, x, y, items);
}

/* What a narrow window has no room for in its bars. */
export function moreMenu(app: MenuHost & { heatMode(): Mode; comparing(): boolean; copyLink(): void; readonly around: { below(): Choice[] } }, at: HTMLElement): void {
	const box = at.getBoundingClientRect(), s = app.state;
	const choices = <T extends string | number>(what: string, of: readonly T[], chosen: T, act: (v: T) => void): Item[] =>
		of.map((v, i) => ({ words: String(v), title: what, detail: i ? "" : what, checked: v === chosen, act: () => act(v) }));
	const tracks = app.around.below(), track = (label: string) => BELOW.find((b) => b === tracks.find((c) => c.label === label)?.key);
	const comparison: Item[] = [
		[s.flip ? "Flip: widths of the selection" : "Flip: widths of the baseline", () => app.change({ flip: !s.flip, zoom: [] }, true)],
		[s.elided ? "Elided: show all again" : "Elided: only what is not on this side", () => app.change({ elided: !s.elided, zoom: [] }, true)]];
	openMenu("More", box.left, box.bottom + 4, [
		...(app.comparing() ? comparison : []),
		...choices("group by", GROUPS, s.by, (by) => app.change({ by, zoom: [] }, true)),
		...choices("a frame is", FRAMES, s.frames, (frames) => app.change({ frames, zoom: [] }, true)),
		...choices("colour by", COLOURS, s.colour, (colour) => app.change({ colour }, false)),
		...(app.heatMode() === "sub" ? choices("rows a second", ROWS, s.rows, (rows) => app.change({ rows }, false)) : []),
		...choices("under the heatmap", tracks.map((c) => c.label), tracks.find((c) => c.key === s.below)?.label ?? "", (label) => app.change({ below: track(label) ?? s.below }, false)),
		...(s.search ? [[s.paint ? "Heatmap: all that ran" : "Heatmap: when did it run", () => app.change({ paint: !s.paint }, false)] as Item] : []),
		["Copy link", () => app.copyLink()],
	]);
}
