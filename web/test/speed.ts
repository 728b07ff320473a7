// SPDX-License-Identifier: Apache-2.0
/*
 * The page's views by themselves, with as much as there will ever be to draw; for tests/browser/test_speed.py,
 * which loads this in a browser and measures each call.
 */
import type { Heat } from "../src/api";
import type { Answer } from "../src/columns";
import { readTheme, Tip } from "../src/dom";
import { FlameView } from "../src/flame_view";
import { HeatView } from "../src/heat_view";
import { readTree, visible, type Tree } from "../src/tree";

const NAMES = 5000;

/* `n` nodes in depth-first order, most of them wide enough to be drawn: up to 60 deep, families of one to three. */
function makeColumns(n: number): Answer {
	const frame = new Uint32Array(n), end = new Uint32Array(n), total = new Float64Array(n), self = new Float64Array(n);
	let at = 0, seed = 7;
	const draw = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) >> 8;
	/* `room`: so many nodes are to be made here. */
	const grow = (depth: number, weight: number, room: number): void => {
		const i = at++;
		frame[i] = i ? 1 + (draw() % (NAMES - 1)) : 0;
		total[i] = weight;
		let left = room - 1;
		const family = depth ? (draw() % 4 ? 1 : 2 + (draw() % 2)) : 24;
		for (let c = 0; c < family && left > 0; c++) {
			const mine = c === family - 1 || depth > 60 ? left : Math.max(1, Math.floor(left / (family - c)));
			grow(depth + 1, (weight * mine) / (room - 1), mine);
			left -= mine;
		}
		self[i] = room === 1 ? weight : 0;
		end[i] = at;
	};
	grow(0, 1e6, n);
	const names = Array.from({ length: NAMES }, (_, i) => `some::name_space::function_${i}`), text = new TextEncoder().encode(names.join(""));
	let to = 0;
	const nameEnds = Uint32Array.from(names, (s) => (to += s.length));
	const kind = Uint8Array.from(names, (_, i) => (i ? 2 + (i % 4) : 0));
	return { meta: { unit: "samples" }, columns: { frame, end, total, self, kind, names: text, name_ends: nameEnds,
		module: new Uint32Array(n), modules: new Uint8Array(0), module_ends: Uint32Array.of(0) } };
}

function makeHeat(columns: number, rows: number): Heat {
	const cells = new Float32Array(columns * rows);
	for (let i = 0, seed = 3; i < cells.length; i++)
		cells[i] = ((seed = (seed * 1103515245 + 12345) & 0x7fffffff) >> 8) % 90;
	return { mode: "sub", from: 1776222847000, step: 1000, columns, rows, cpus: [], nodes: null, cells, most: 89, counts: new Uint32Array(0), unseen: new Uint8Array(cells.length), anyUnseen: false, full: 0, painted: null, merged: 1, fine: 1000 };
}

const tip = new Tip(), theme = readTheme(), dark = { ...theme, color: (name: string) => theme.color(name) || "#445566" };
const flame = new FlameView({ theme: () => dark, icicle: () => false, colour: () => "kind", zoomed: () => undefined, follows: () => false, walked: () => undefined,
	cpuSeconds: () => ({ each: 0.01, machine: 1e6, of: "the machine" }), menu: () => undefined }, tip);
const heat = new HeatView({ theme: () => dark, zone: () => ({ utc: true }), linear: () => false, select: () => undefined, dragsBaseline: () => false,
	zoomSpan: () => undefined, openEvent: () => undefined, walked: () => undefined, busiest: () => Promise.resolve(null) }, tip);
for (const view of [flame, heat]) {
	view.layers.root.style.height = "400px";
	document.body.append(view.layers.root);
}

declare global {
	interface Window { speed: Record<string, (n: number) => number> }
}
let columns: Answer | null = null, tree: Tree | null = null, map: Heat | null = null;

function leftmost(deep: number): number {
	let node = 0;
	for (let d = 0; d < deep && node + 1 < tree!.end[node]; d++)
		node++;
	return node;
}

window.speed = {
	make: (n) => (columns = makeColumns(n)).columns.end.length,
	/* From the answer's bytes to the picture; how many frames are in it. */
	paint: () => {
		tree = readTree(columns!);
		flame.show(tree, 0);
		let drawn = 0;
		visible(tree, 0, 0.5 / 1076, () => drawn++);
		return drawn;
	},
	/* In and out again, to a frame that is to be seen. */
	zoom: (deep) => {
		const node = leftmost(deep);
		flame.zoomTo(node);
		flame.zoomTo(0);
		return node;
	},
	/* To the frame that stands so deep along the left edge; 0: out. */
	zoomIn: (deep) => {
		const node = leftmost(deep);
		flame.zoomTo(node);
		return node;
	},
	makeHeat: (cells) => (map = makeHeat(8000, cells / 8000)).cells.length,
	paintHeat: () => {
		heat.show({ ...map! }, Infinity); /* as of another answer: what is there already is not painted again */
		return map!.cells.length;
	},
};
