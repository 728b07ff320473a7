// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { boxAt, boxesOf, coresOf, readChart } from "../src/chart";
import type { Answer } from "../src/columns";

/* all → p → {a → {b, c}, d}: nodes 0…5 in depth-first order. */
const names = ["all", "p", "a", "b", "c", "d"], text = names.join("");
function answer(samples: [ms: number, cpu: number, node: number][]): Answer {
	let to = 0;
	return { meta: { from: "100", to: "101", unit: "samples" }, columns: {
		frame: Uint32Array.of(0, 1, 2, 3, 4, 5), end: Uint32Array.of(6, 6, 5, 4, 5, 6), module: new Uint32Array(6),
		total: Float64Array.of(6, 6, 4, 2, 2, 2), self: Float64Array.of(0, 0, 0, 2, 2, 2), kind: Uint8Array.of(0, 1, 3, 3, 3, 3),
		names: new TextEncoder().encode(text), name_ends: Uint32Array.from(names, (n) => (to += n.length)), modules: new Uint8Array(0), module_ends: Uint32Array.of(0),
		time: Float64Array.from(samples, (s) => s[0] * 1e6), cpu: Uint32Array.from(samples, (s) => s[1]), node: Uint32Array.from(samples, (s) => s[2]),
	} };
}

test("chart: samples that follow each other in a frame are one box, an idle time ends it", () => {
	const c = readChart(answer([[30, 1, 4], [0, 1, 3], [10, 1, 3], [20, 1, 3], [40, 1, 5], [5, 0, 5], [100, 1, 3]]), 10);
	assert.deepEqual(coresOf(c), [[0, 1], [1, 6]]);
	const b = boxesOf(c, 1);
	const seen = b.byDepth.map((row) => [...row].map((i) => [names[c.tree.frame[b.node[i]]], b.start[i], b.end[i], b.samples[i]]));
	assert.deepEqual(seen, [
		[["p", 0, 50, 5], ["p", 100, 110, 1]],
		[["a", 0, 40, 4], ["d", 40, 50, 1], ["a", 100, 110, 1]],
		[["b", 0, 30, 3], ["c", 30, 40, 1], ["b", 100, 110, 1]],
	]);
	assert.equal(names[c.tree.frame[b.node[boxAt(b, 1, 39.9)]]], "a");
	assert.equal(names[c.tree.frame[b.node[boxAt(b, 1, 40)]]], "d");
	assert.deepEqual([boxAt(b, 1, 60), boxAt(b, 2, 45), boxAt(b, 9, 5), boxAt(b, 0, 111)], [-1, -1, -1, -1]);
});

test("chart: a frame that comes again below another one is another box", () => {
	const c = readChart(answer([[0, 0, 3], [10, 0, 5], [20, 0, 3]]), 10);
	const b = boxesOf(c, 0);
	assert.deepEqual(b.byDepth.map((row) => row.length), [1, 3, 2]);
});

test("chart: without a period it is taken from the samples; a damaged one is refused", () => {
	const c = readChart(answer([[0, 0, 3], [10, 0, 3], [20, 0, 3], [200, 0, 3]]), 0);
	assert.deepEqual(boxesOf(c, 0).byDepth[0].length, 2);
	assert.throws(() => readChart(answer([[0, 0, 6]]), 10));
	const cut = answer([[0, 0, 3], [1, 0, 3]]);
	cut.columns.cpu = Uint32Array.of(0);
	assert.throws(() => readChart(cut, 10));
});
