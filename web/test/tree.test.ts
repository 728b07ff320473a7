// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { lastWord } from "../src/frames";
import { compileSearch, findPath, functions, matchTree, nameOf, nameSign, nodeAt, parentOf, pathOf, processes, readTree, sandwich, visible, type Tree } from "../src/tree";

interface Node {
	name: string;
	self: number;
	children: Map<string, Node>;
}

/* Folded lines into the columns that the server sends, by a tree of maps. */
function make(lines: string[]): Tree {
	const root: Node = { name: "all", self: 0, children: new Map() };
	for (const line of lines) {
		const at = line.lastIndexOf(" ");
		let node = root;
		for (const name of line.slice(0, at).split(";")) {
			if (!node.children.has(name))
				node.children.set(name, { name, self: 0, children: new Map() });
			node = node.children.get(name)!;
		}
		node.self += Number(line.slice(at + 1));
	}
	const names: string[] = [], frame: number[] = [], end: number[] = [], total: number[] = [], self: number[] = [], depth: number[] = [];
	const visit = (node: Node, d: number): number => {
		const i = frame.length;
		if (!names.includes(node.name))
			names.push(node.name);
		frame.push(names.indexOf(node.name));
		depth.push(d);
		self.push(node.self);
		total.push(0);
		end.push(0);
		let sum = node.self;
		for (const child of [...node.children.values()].sort((p, q) => (p.name < q.name ? -1 : 1)))
			sum += visit(child, d + 1);
		total[i] = sum;
		end[i] = frame.length;
		return sum;
	};
	visit(root, 0);
	const text = new TextEncoder();
	const bytes = names.map((n) => text.encode(n));
	const ends: number[] = [];
	bytes.reduce((at, b) => (ends.push(at + b.length), at + b.length), 0);
	const first = names.map((n) => (n === "all" ? 0 : depth[frame.indexOf(names.indexOf(n))] === 1 ? 1 : 3));
	return readTree({ meta: { unit: "samples" }, columns: {
		frame: Uint32Array.from(frame), end: Uint32Array.from(end), module: new Uint32Array(frame.length),
		total: Float64Array.from(total), self: Float64Array.from(self), kind: Uint8Array.from(first),
		names: Uint8Array.from(bytes.flatMap((b) => [...b])), name_ends: Uint32Array.from(ends),
		modules: new Uint8Array(0), module_ends: new Uint32Array(0),
	} });
}

const LINES = ["redis;main;a;b 3", "redis;main;a 1", "redis;main;c;a;b 2", "java;run;a 4", "java;run 0", "é\u{1F525};x 1"];

test("tree: depth, order by weight, names of any script", () => {
	const t = make(LINES);
	assert.equal(t.maxDepth, 5);
	assert.deepEqual(processes(t).map((p) => [p.name, p.total]), [["redis", 6], ["java", 4], ["é\u{1F525}", 1]]);
	for (let i = 1; i < t.n; i++) {
		const p = parentOf(t, i);
		assert.equal(t.depth[p] + 1, t.depth[i]);
		assert.ok(t.x[i] >= t.x[p] - 1e-12 && t.x[i] + t.total[i] / t.total[0] <= t.x[p] + t.total[p] / t.total[0] + 1e-12);
	}
});

test("tree: search counts a stack once", () => {
	const t = make(LINES);
	assert.equal(matchTree(t, /^a$/).weight, 10);
	assert.equal(matchTree(t, /^(a|b)$/).weight, 10);
	assert.equal(matchTree(t, /nothing/).weight, 0);
	assert.ok(compileSearch("(").why);
	assert.equal(compileSearch("MAIN").re!.test("main"), false);
	assert.equal(compileSearch("main").re!.test("MAIN"), true);
});

test("tree: functions as counted by hand; recursion counts once", () => {
	const rows = functions(make([...LINES, "redis;main;a;x;a 5"]));
	const t = make([...LINES, "redis;main;a;x;a 5"]);
	const row = (name: string) => rows.find((r) => t.names[r.frame] === name)!;
	assert.deepEqual([row("a").self, row("a").total], [10, 15]);
	assert.deepEqual([row("b").self, row("b").total], [5, 5]);
	assert.equal(rows.some((r) => t.names[r.frame] === "redis"), false);
});

test("tree: what is drawn is what is found under the pointer, at any zoom", () => {
	const lines: string[] = [];
	let seed = 7;
	const random = (n: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
	for (let i = 0; i < 3000; i++)
		lines.push(Array.from({ length: 1 + random(12) }, () => "f" + random(9)).join(";") + " " + (1 + random(5)));
	const t = make(lines);
	for (const zoom of [0, 1, random(t.n), random(t.n)]) {
		let drawn = 0;
		visible(t, zoom, 1 / 2000, (node, x, w) => {
			drawn++;
			assert.ok(x >= -1e-9 && x + w <= 1 + 1e-9);
			assert.equal(nodeAt(t, zoom, Math.min(0.999999, x + w / 2), t.depth[node]), node);
		});
		assert.ok(drawn > t.depth[zoom]);
		assert.equal(findPath(t, pathOf(t, zoom).map((i) => nameOf(t, i))), zoom);
		assert.equal(findPath(t, pathOf(t, zoom).map((i) => nameSign(nameOf(t, i)))), zoom);
	}
	assert.equal(nodeAt(t, 0, 0.5, t.maxDepth + 1), -1);
});

test("frames: a label loses its packages, not its beginning", () => {
	for (const [name, short] of [["java/lang/Thread.run", "run"], ["fs.(*MemoryGroup).GetStats", "GetStats"], ["Envoy::Http::onData", "onData"], ["[kernel.kallsyms]", "[kernel.kallsyms]"],
		["std::set<ns::T>", "std::set<ns::T>"], ["std::set<T>::insert", "insert"], ["main", "main"]])
		assert.equal(lastWord(name), short);
});

test("tree: a sandwich has the function's total on both sides, and each stack once", () => {
	const t = make([...LINES, "redis;main;a;x;a 5"]);
	const frame = t.names.indexOf("a");
	const { callers, callees } = sandwich(t, frame);
	assert.equal(callers.total[0], 15);
	assert.equal(callees.total[0], 15);
	const below = (s: Tree, path: string[]) => s.total[findPath(s, path)];
	assert.equal(below(callees, ["b"]), 5);
	assert.equal(below(callees, ["x", "a"]), 5);
	assert.equal(below(callers, ["run", "java"]), 4);
	assert.equal(below(callers, ["main", "redis"]), 4);
	assert.equal(below(callers, ["c", "main", "redis"]), 2);
	assert.equal(below(callers, ["x", "a", "main", "redis"]), 5);
});

test("tree: a damaged one is refused", () => {
	const t = make(LINES);
	const broken = (change: (end: Uint32Array) => void) => {
		const end = t.end.slice();
		change(end);
		return () => readTree({ meta: {}, columns: { frame: t.frame, end, module: t.module, total: t.total, self: t.self, kind: t.kind,
			names: new Uint8Array(0), name_ends: new Uint32Array(0), modules: new Uint8Array(0), module_ends: new Uint32Array(0) } });
	};
	assert.throws(broken((e) => (e[0] = 3)));
	assert.throws(broken((e) => (e[1] = 1)));
	assert.throws(broken((e) => (e[1] = 99)));
});
