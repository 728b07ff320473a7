// SPDX-License-Identifier: Apache-2.0
/*
 * Samples in order of time: what one core did, one thing behind the other. Samples that follow each
 * other in the same frames are one box; a core that has none for longer than a period was idle, or
 * ran what is filtered away.
 */
import type { Answer } from "./columns";
import { readTree, type Tree } from "./tree";

export interface Chart {
	tree: Tree;
	from: number; /* ms */
	to: number;
	period: number; /* ms; 0: not known */
	time: Float64Array; /* ms behind `from`, ascending */
	cpu: Uint32Array;
	node: Uint32Array;
}

export interface Boxes {
	n: number;
	start: Float64Array; /* ms behind `from` */
	end: Float64Array;
	node: Uint32Array;
	samples: Uint32Array;
	byDepth: Uint32Array[]; /* boxes of a depth, by time */
}

const ms = (v: unknown) => Number(v) * 1000;

/* period: of the recording, ms; 0: not known. */
export function readChart(a: Answer, period: number): Chart {
	const tree = readTree(a), time = a.columns.time as Float64Array, n = time.length;
	const cpu = a.columns.cpu as Uint32Array, node = a.columns.node as Uint32Array;
	if (cpu.length !== n || node.length !== n)
		throw new Error("the chart is damaged");
	const order = Uint32Array.from(time, (_, i) => i).sort((p, q) => time[p] - time[q] || p - q);
	for (const k of node)
		if (k >= tree.n)
			throw new Error("the chart is damaged");
	return {
		tree, from: ms(a.meta.from), to: ms(a.meta.to), period,
		time: Float64Array.from(order, (i) => time[i] / 1e6), cpu: Uint32Array.from(order, (i) => cpu[i]), node: Uint32Array.from(order, (i) => node[i]),
	};
}

/* [CPU, samples] of each core that has some, by number. */
export function coresOf(c: Chart): [number, number][] {
	const counts = new Map<number, number>();
	for (const cpu of c.cpu)
		counts.set(cpu, (counts.get(cpu) ?? 0) + 1);
	return [...counts].sort((p, q) => p[0] - q[0]);
}

/* The parent of each node; 0 of the root. */
function parents(t: Tree): Uint32Array {
	const out = new Uint32Array(t.n), above: number[] = [];
	for (let i = 0; i < t.n; i++) {
		while (above.length && t.end[above[above.length - 1]] <= i)
			above.pop();
		out[i] = above[above.length - 1] ?? 0;
		above.push(i);
	}
	return out;
}

/* The boxes of one core. A sample stands for the period that begins with it, or less where the next one is nearer. */
export function boxesOf(c: Chart, cpu: number): Boxes {
	const t = c.tree, parent = parents(t);
	const mine: number[] = [];
	for (let i = 0; i < c.cpu.length; i++)
		if (c.cpu[i] === cpu)
			mine.push(i);
	const period = c.period || usualGap(c, mine), most = period * 1.5;
	const start: number[] = [], end: number[] = [], node: number[] = [], samples: number[] = [], byDepth: number[][] = [];
	let open: number[] = []; /* by depth: the box that goes on */
	mine.forEach((i, k) => {
		const at = c.time[i], next = k + 1 < mine.length ? c.time[mine[k + 1]] : Infinity;
		const until = next - at <= most ? next : Math.min(at + period, Math.max(at, c.to - c.from));
		const path: number[] = [];
		for (let p = c.node[i]; p > 0; p = parent[p])
			path.unshift(p);
		const before = k ? c.time[mine[k - 1]] : -Infinity, goesOn = at - before <= most;
		const now: number[] = [];
		path.forEach((p, d) => {
			const box = goesOn && (!d || now[d - 1] === open[d - 1]) && node[open[d]] === p ? open[d] : start.length;
			if (box === start.length) {
				start.push(at);
				end.push(until);
				node.push(p);
				samples.push(0);
				(byDepth[d] ??= []).push(box);
			}
			end[box] = until;
			samples[box]++;
			now[d] = box;
		});
		open = now;
	});
	return { n: start.length, start: Float64Array.from(start), end: Float64Array.from(end), node: Uint32Array.from(node), samples: Uint32Array.from(samples),
		byDepth: byDepth.map((d) => Uint32Array.from(d)) };
}

/* Of samples whose period nobody knows: the median of the time between two. */
function usualGap(c: Chart, mine: number[]): number {
	const gaps = Float64Array.from(mine.slice(1), (i, k) => c.time[i] - c.time[mine[k]]).sort();
	return gaps.length ? gaps[gaps.length >> 1] : Math.max(1, (c.to - c.from) / 100);
}

/* The box of a depth at a time; -1: none. */
export function boxAt(b: Boxes, depth: number, at: number): number {
	const row = b.byDepth[depth];
	if (!row)
		return -1;
	let low = 0, high = row.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (b.end[row[middle]] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < row.length && b.start[row[low]] <= at ? row[low] : -1;
}
