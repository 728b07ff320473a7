// SPDX-License-Identifier: Apache-2.0
/*
 * The tree of a flame graph as flat columns, in depth-first order: the children of node i begin at
 * i + 1, and end[c] is c's next sibling, or the end of the family. Node 0 is the root.
 */
import type { Answer } from "./columns";

export const CHANGE = { chance: 0, more: 1, less: 2 } as const;
export const KIND = { root: 0, process: 1, kernel: 2, user: 3, jit: 4, inlined: 5, mark: 6 } as const;

export interface Tree {
	n: number;
	frame: Uint32Array;
	end: Uint32Array;
	depth: Uint16Array;
	total: Float64Array;
	self: Float64Array;
	kind: Uint8Array; /* of a frame */
	note: Uint8Array; /* of a frame; not 0: the notes are about it */
	names: string[]; /* of a frame */
	hash: Uint32Array; /* of a frame's name, once asked for: hashOf() */
	modules: string[];
	module: Uint32Array; /* of a node: index, 0: none */
	moduleHash: Uint32Array;
	maxDepth: number;
	unit: string;
	meta: Record<string, unknown>;
	/* Of a comparison: the same before; and of a frame whether its change exceeds chance. */
	before: Float64Array | null;
	change: Uint8Array | null;
	flipped: boolean; /* the baseline was asked for, beside the selection … */
	elided: boolean; /* … and this is what only the other one has, as if it had lasted as long as the one that was asked for */
	x: Float64Array; /* 0…1 of the root's width: siblings by weight, heaviest first */
}

function hashName(s: string): number {
	let h = 2166136261;
	for (let i = 0; i < s.length; i++)
		h = Math.imul(h ^ s.charCodeAt(i), 16777619);
	return h >>> 0;
}

export const SIGN = "\0"; /* no name begins with it: they are text from C */

/* Stands for a name where that is too long. */
export function nameSign(name: string): string {
	return name.startsWith(SIGN) ? name : SIGN + hashName(name).toString(36);
}

/* Names come as UTF-8 in one column, and where each ends. All at once where every byte is a letter by itself, as nearly always. */
function readNames(text: Uint8Array, ends: Uint32Array): string[] {
	const decoder = new TextDecoder();
	const names: string[] = new Array(ends.length), all = decoder.decode(text), plain = all.length === text.length;
	for (let i = 0, at = 0; i < ends.length; at = ends[i++])
		names[i] = plain ? all.slice(at, ends[i]) : decoder.decode(text.subarray(at, ends[i]));
	return names;
}

export function readTree(a: Answer): Tree {
	const c = a.columns;
	const names = readNames(c.names as Uint8Array, c.name_ends as Uint32Array);
	const modules = readNames(c.modules as Uint8Array, c.module_ends as Uint32Array);
	const end = c.end as Uint32Array, frame = c.frame as Uint32Array;
	const n = end.length;
	const tree: Tree = {
		n, frame, end, names,
		depth: new Uint16Array(n),
		total: c.total as Float64Array,
		self: c.self as Float64Array,
		kind: c.kind as Uint8Array,
		note: (c.note as Uint8Array | undefined) ?? new Uint8Array(names.length),
		hash: new Uint32Array(names.length),
		modules, moduleHash: new Uint32Array(modules.length),
		module: c.module as Uint32Array,
		maxDepth: 0,
		unit: String(a.meta.unit ?? "samples"),
		meta: a.meta,
		before: (c.before_total as Float64Array | undefined) ?? null,
		change: (c.change as Uint8Array | undefined) ?? null,
		flipped: false, elided: false,
		x: new Float64Array(n),
	};
	if (!n || end[0] !== n)
		throw new Error("the tree is damaged");
	place(tree);
	return tree;
}

/* What a comparison was asked for. Whichever side has the widths: more is what the selection has more of. */
export function asCompared(t: Tree, flipped: boolean, elided: boolean): Tree {
	if (flipped)
		t.change?.forEach((how, i) => (t.change![i] = how === CHANGE.more ? CHANGE.less : how === CHANGE.less ? CHANGE.more : how));
	return { ...t, flipped, elided };
}

/* How much longer what it is of seems to have lasted. */
export function scaledBy(t: Tree): number {
	const d = t.meta.diff as { observed_ns: number; before_observed_ns: number } | undefined;
	return t.elided && d?.before_observed_ns ? d.observed_ns / d.before_observed_ns : 1;
}

/* Whether its widths are the baseline's. */
export function isBaseline(t: Tree): boolean {
	return t.flipped !== t.elided;
}

/* What the selection has, and the baseline. */
export function nowAndThen(t: Tree, of: { total: number; before: number }): [number, number] {
	return isBaseline(t) ? [of.before, of.total] : [of.total, of.before];
}

const FEW = 12;

/* The heaviest first, of equals the first. */
function sortFamily(family: Uint32Array, size: number, total: Float64Array): void {
	if (size > FEW) {
		family.subarray(0, size).sort((p, q) => total[q] - total[p] || p - q);
		return;
	}
	for (let i = 1; i < size; i++) {
		const c = family[i], weight = total[c];
		let k = i;
		for (; k > 0 && total[family[k - 1]] < weight; k--)
			family[k] = family[k - 1];
		family[k] = c;
	}
}

/* Depth and x of every node; families are put in order of weight. Most are an only child: these take no sorting. */
function place(t: Tree): void {
	const { n, end, depth, total, x } = t, whole = total[0] || Infinity;
	let room = new Uint32Array(64), deepest = 0;
	for (let i = 0; i < n; i++) {
		const to = end[i], below = depth[i] + 1;
		let size = 0;
		for (let c = i + 1; c < to; c = end[c]) {
			if (end[c] <= c || end[c] > to)
				throw new Error("the tree is damaged");
			depth[c] = below;
			if (size === room.length) {
				const more = new Uint32Array(2 * size);
				more.set(room);
				room = more;
			}
			room[size++] = c;
		}
		if (!size)
			continue;
		deepest = Math.max(deepest, below);
		let at = x[i];
		if (size === 1) {
			x[i + 1] = at;
			continue;
		}
		sortFamily(room, size, total);
		for (let k = 0; k < size; k++) {
			x[room[k]] = at;
			at += total[room[k]] / whole;
		}
	}
	t.maxDepth = deepest;
}

/* Of what is drawn only: few of a large tree's names are. */
export function hashOf(t: Tree, frame: number): number {
	return t.hash[frame] || (t.hash[frame] = hashName(t.names[frame]));
}

export function moduleHashOf(t: Tree, module: number): number {
	return t.moduleHash[module] || (t.moduleHash[module] = hashName(t.modules[module] ?? ""));
}

export function nameOf(t: Tree, node: number): string {
	return t.names[t.frame[node]];
}

export function parentOf(t: Tree, node: number): number {
	/* The nearest node before it that is less deep. */
	let i = node;
	while (i > 0 && t.depth[i] >= t.depth[node])
		i--;
	return i;
}

export function pathOf(t: Tree, node: number): number[] {
	const path: number[] = [];
	for (let i = node; i > 0; i = parentOf(t, i))
		path.unshift(i);
	return path;
}

/* The node that a path of names, or of their signs, leads to, as far as it goes. */
export function findPath(t: Tree, names: string[]): number {
	let node = 0;
	for (const name of names) {
		let next = 0;
		for (let c = node + 1; c < t.end[node] && !next; c = t.end[c])
			if (nameOf(t, c) === name || (name.startsWith(SIGN) && nameSign(nameOf(t, c)) === name))
				next = c;
		if (!next)
			break;
		node = next;
	}
	return node;
}

/* The heaviest node below a process that ends with a path of functions, the leaf first; none: the process. -1: not there. */
export function findStack(t: Tree, process: string, functions: string[]): number {
	let best = -1;
	for (let c = 1; c < t.n; c = t.end[c]) {
		if (t.kind[t.frame[c]] !== KIND.process || nameOf(t, c) !== process)
			continue;
		if (!functions.length)
			return c;
		for (let i = c + 1; i < t.end[c]; i++)
			if (nameOf(t, i) === functions[0] && (best < 0 || t.total[i] > t.total[best]))
				best = i;
	}
	return best;
}

export interface Match {
	frames: Uint8Array; /* 1: the frame's name matches */
	weight: number; /* of stacks with a match: each once, however often it is in them */
}

export function matchTree(t: Tree, re: RegExp): Match {
	const frames = new Uint8Array(t.names.length);
	for (let i = 0; i < t.names.length; i++)
		frames[i] = re.test(t.names[i]) ? 1 : 0;
	let weight = 0;
	for (let i = 1; i < t.n;) {
		if (frames[t.frame[i]]) {
			weight += t.total[i];
			i = t.end[i];
		} else {
			i++;
		}
	}
	return { frames, weight };
}

/* null and why, where the text is no expression. */
export function compileSearch(text: string): { re: RegExp | null; why: string } {
	if (!text)
		return { re: null, why: "" };
	try {
		return { re: new RegExp(text, /[A-Z]/.test(text) ? "" : "i"), why: "" };
	} catch (e) {
		return { re: null, why: (e as Error).message.replace(/^.*: /, "") }; /* the expression itself is beside it */
	}
}

/* The same for the server, which tells capitals from small letters unless it is told not to. */
export function serverSearch(text: string): string {
	return /[A-Z]/.test(text) ? text : "(?i)" + text;
}

/* null: nothing is searched for, or it is no expression. */
export function matchOf(t: Tree, text: string): Match | null {
	const { re } = compileSearch(text);
	return re ? matchTree(t, re) : null;
}

export interface Row {
	frame: number;
	module: number;
	self: number;
	total: number; /* a stack counts once, however often the function is in it */
	before: number; /* the same of what is compared with */
}

/* Functions of the tree, or of what is below a node; the heaviest by self first. */
export function functions(t: Tree, root = 0): Row[] {
	const rows = new Map<number, Row>();
	const open = new Int32Array(t.names.length); /* how often a frame is above */
	const above: number[] = [];
	for (let i = root; i < t.end[root]; i++) {
		while (above.length && t.end[above[above.length - 1]] <= i)
			open[t.frame[above.pop()!]]--;
		const f = t.frame[i], kind = t.kind[f];
		if (kind !== KIND.root && kind !== KIND.process) {
			let row = rows.get(f);
			if (!row)
				rows.set(f, (row = { frame: f, module: t.module[i], self: 0, total: 0, before: 0 }));
			row.self += t.self[i];
			if (!open[f]) {
				row.total += t.total[i];
				row.before += t.before?.[i] ?? 0;
			}
		}
		open[f]++;
		above.push(i);
	}
	return [...rows.values()].sort((p, q) => q.self - p.self || q.total - p.total);
}

/* The first level: who ran, heaviest first. */
export function processes(t: Tree): { name: string; total: number; before: number; change: number }[] {
	const out: { name: string; total: number; before: number; change: number }[] = [];
	for (let c = 1; c < t.n; c = t.end[c])
		out.push({ name: nameOf(t, c), total: t.total[c], before: t.before?.[c] ?? 0, change: t.change?.[t.frame[c]] ?? 0 });
	return out.sort((p, q) => q.total - p.total);
}

/*
 * What is to be drawn: nodes at least `least` wide (as a share of the width) below `zoom`, and its
 * ancestors at full width. Calls back instead of making a list: 100,000 of them are usual.
 */
export function visible(t: Tree, zoom: number, least: number, draw: (node: number, x: number, w: number) => void): void {
	for (const i of zoom ? [0, ...pathOf(t, zoom).slice(0, -1)] : [])
		draw(i, 0, 1);
	const whole = t.total[zoom] / t.total[0] || 1;
	const x0 = t.x[zoom];
	for (let i = zoom; i < t.end[zoom];) {
		const w = t.total[i] / t.total[0] / whole;
		if (w < least) {
			i = t.end[i];
			continue;
		}
		draw(i, (t.x[i] - x0) / whole, w);
		i++;
	}
}

/* Which node lies at x (0…1) and depth, under a zoom. -1: none. */
export function nodeAt(t: Tree, zoom: number, x: number, depth: number): number {
	if (depth < t.depth[zoom])
		return [0, ...pathOf(t, zoom)][depth] ?? -1;
	const at = t.x[zoom] + x * (t.total[zoom] / t.total[0] || 1);
	let node = zoom;
	while (t.depth[node] < depth) {
		let next = -1;
		for (let c = node + 1; c < t.end[node]; c = t.end[c]) {
			if (at >= t.x[c] && at < t.x[c] + t.total[c] / t.total[0]) {
				next = c;
				break;
			}
		}
		if (next < 0)
			return -1;
		node = next;
	}
	return node;
}

/* Stacks merged into a tree of the same names; each as frames from the root, with a weight. */
class Growing {
	private children = [new Map<number, number>()];
	private frames = [0];
	private selfs = [0];

	add(stack: number[], weight: number): void {
		let node = 0;
		for (const frame of stack) {
			let next = this.children[node].get(frame);
			if (next === undefined) {
				next = this.children.length;
				this.children[node].set(frame, next);
				this.children.push(new Map());
				this.frames.push(frame);
				this.selfs.push(0);
			}
			node = next;
		}
		this.selfs[node] += weight;
	}

	/* root: the frame that everything hangs under. */
	finish(t: Tree, root: number): Tree {
		const n = this.frames.length;
		const out: Tree = {
			...t, n, frame: new Uint32Array(n), end: new Uint32Array(n), depth: new Uint16Array(n), total: new Float64Array(n),
			self: new Float64Array(n), module: new Uint32Array(n), x: new Float64Array(n), before: null, change: null, maxDepth: 0,
		};
		let at = 0;
		const visit = (node: number): number => {
			const i = at++;
			out.frame[i] = node ? this.frames[node] : root;
			out.self[i] = this.selfs[node];
			let sum = this.selfs[node];
			for (const child of this.children[node].values())
				sum += visit(child);
			out.total[i] = sum;
			out.end[i] = at;
			return sum;
		};
		visit(0);
		place(out);
		return out;
	}
}

/*
 * Who calls a function, and what it calls: two trees that begin with it. A stack counts once, at its
 * outermost occurrence (callees) and its innermost (callers), so that both have the function's total.
 */
export function sandwich(t: Tree, frame: number): { callers: Tree; callees: Tree } {
	const callers = new Growing(), callees = new Growing();
	const stack: number[] = [], above: number[] = [];
	for (let i = 0; i < t.n; i++) {
		while (above.length && t.end[above[above.length - 1]] <= i) {
			above.pop();
			stack.pop();
		}
		above.push(i);
		stack.push(t.frame[i]);
		if (!(t.self[i] > 0))
			continue;
		const first = stack.indexOf(frame), last = stack.lastIndexOf(frame);
		if (first < 0)
			continue;
		callees.add(stack.slice(first + 1), t.self[i]);
		callers.add(stack.slice(1, last).reverse(), t.self[i]);
	}
	return { callers: callers.finish(t, frame), callees: callees.finish(t, frame) };
}
