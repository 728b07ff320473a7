// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fineStep, readHeat, Refusal, type Heat, type StoreFacts } from "../src/api";
import { heatScale, heatTable } from "../src/colour";
import { decodeColumns } from "../src/columns";
import * as f from "../src/format";
import { merge, near, nearest, type Happening } from "../src/happening";
import { moved } from "../src/heat_cells";
import { isRead, merge as mergePart, steadySpan, unreadOf, wholeSeconds } from "../src/heat_parts";
import { shortName } from "../src/opening";
import { coverage, idlePart, machineSeconds } from "../src/panel";
import { nameSign, type Tree } from "../src/tree";
import { readTracks } from "../src/tracks";
import { against, headline, sentences, type Why } from "../src/why";
import { Undo } from "../src/undo";
import { whyCommand } from "../src/words";
import { baseline, DEFAULTS, readState, selectionQuery, treeQuery, writeState, type State } from "../src/state";

function pack(meta: Record<string, unknown>, columns: Record<string, [string, ArrayBufferView]>): ArrayBuffer {
	const places: Record<string, unknown> = {};
	let offset = 0;
	const parts: Uint8Array[] = [];
	for (const [name, [type, data]] of Object.entries(columns)) {
		const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
		const n = bytes.length / { u8: 1, u32: 4, f32: 4, f64: 8 }[type]!;
		places[name] = [type, offset, n];
		parts.push(bytes, new Uint8Array((8 - (bytes.length % 8)) % 8));
		offset += Math.ceil(bytes.length / 8) * 8;
	}
	const text = new TextEncoder().encode(JSON.stringify({ ...meta, columns: places }));
	const head = Math.ceil((8 + text.length) / 8) * 8;
	const out = new Uint8Array(head + offset);
	out.set([0x50, 0x43, 0x43, 0x31]);
	new DataView(out.buffer).setUint32(4, text.length, true);
	out.set(text, 8);
	let at = head;
	for (const p of parts) {
		out.set(p, at);
		at += p.length;
	}
	return out.buffer;
}

test("columns: what was packed comes out", () => {
	const a = decodeColumns(pack({ unit: "samples" }, {
		a: ["u8", Uint8Array.of(1, 2, 3)], b: ["u32", Uint32Array.of(7, 8)], c: ["f64", Float64Array.of(0.5)],
	}));
	assert.equal(a.meta.unit, "samples");
	assert.deepEqual([...a.columns.a], [1, 2, 3]);
	assert.deepEqual([...a.columns.b], [7, 8]);
	assert.deepEqual([...a.columns.c], [0.5]);
});

test("columns: every cut is refused, none is believed", () => {
	const whole = pack({}, { a: ["u32", Uint32Array.of(1, 2, 3, 4)] });
	for (let n = 0; n < whole.byteLength; n++)
		assert.throws(() => decodeColumns(whole.slice(0, n)), `cut at ${n}`);
});

test("state: a link reproduces what was shown", () => {
	const s: State = {
		span: { from: 1776222847254.125, to: 1776222967000 }, last: 120e3, mode: "cores", rows: 25, b: { from: 1776222840000, to: 1776222845000, cpus: null }, base: "minute", compare: true, flip: true,
		elided: true, paint: true, by: "cgroup", sandwich: "do_it", linear: true, tab: "table",
		a: { from: 1776222850000, to: 1776222855020, cpus: [0, 1, 2, 17] }, icicle: true, only: "kernel", search: "a+b&c=d é",
		zoom: ["x;y", "std::map<int, int>"], filters: [["comm", "re*dis"], ["match", "^a|b$"], ["match", "c"]], utc: true, event: "ev-0123456789ab", below: "pressure", colour: "module", frames: "package", collapse: true,
		source: "s-3", sort: "total", core: 7,
	};
	assert.deepEqual(readState(writeState(s)), s);
});

test("state: however deep a zoom is, a link of it is short", () => {
	const zoom = Array.from({ length: 127 }, (_, i) => `std::__detail::_Executor<std::basic_string<char> >::_M_handle_${i % 5}`), text = writeState({ ...DEFAULTS, zoom });
	assert.ok(text.length < 1200, String(text.length));
	const s = readState(text);
	assert.equal(s.zoom.length, zoom.length);
	assert.deepEqual(s.zoom, zoom.map(nameSign));
	assert.equal(writeState(s), text);
	assert.deepEqual(readState("zooms=a..b"), DEFAULTS);
});

test("state: defaults are not written, nonsense is ignored", () => {
	assert.equal(writeState(DEFAULTS), "");
	assert.deepEqual(readState("from=9&to=3&rows=51&mode=x&a=1~z&tab=no&only=me&last=-4&cpu=9&source=../etc&core=1-3&sort=size"), DEFAULTS);
});

test("state: the same grammar as the command line", () => {
	const q = selectionQuery({ ...DEFAULTS, only: "user", filters: [["pid", "7"]] }, { from: 1000.5, to: 2000, cpus: [0, 1, 2, 5] });
	assert.equal(q.toString(), "from=%401.0005&to=%402&cpu=0-2%2C5&pid=7&user-only=1");
});

test("state: hidden frames shape the tree, and leave the samples alone", () => {
	const s: State = { ...DEFAULTS, filters: [["comm", "x"], ["hide", "^a$"]], frames: "module", collapse: true };
	const part = { from: 1000, to: 2000, cpus: null };
	assert.equal(selectionQuery(s, part).get("hide"), null);
	const q = treeQuery(s, part, null);
	assert.deepEqual([q.get("hide"), q.get("group"), q.get("recursion"), q.get("comm")], ["^a$", "module", "collapse", "x"]);
});

test("state: what a selection is compared with", () => {
	const a = { from: 100e3, to: 105e3, cpus: [3] };
	const of = (base: State["base"]) => baseline({ ...DEFAULTS, base, b: { from: 1, to: 2, cpus: null } }, a);
	assert.deepEqual(of("before"), { from: 95e3, to: 100e3, cpus: [3] });
	assert.deepEqual(of("minute"), { from: 40e3, to: 100e3, cpus: [3] });
	assert.deepEqual(of("around"), { from: 72.5e3, to: 132.5e3, cpus: [3] });
	assert.deepEqual(of("hour"), { from: 100e3 - 3600e3, to: 105e3 - 3600e3, cpus: [3] });
	assert.deepEqual(of("b"), { from: 1, to: 2, cpus: null });
	const q = treeQuery({ ...DEFAULTS, by: "cpu" }, a, of("before"));
	assert.equal(q.toString(), "from=%40100&to=%40105&cpu=3&by=cpu&before-from=%4095&before-to=%40100&before-cpu=3");
});

test("numbers and durations read well", () => {
	assert.equal(f.count(1234567), "1\u2009234\u2009567");
	/* No number stands apart from its unit. */
	const read = (s: string) => s.replace(/\u00a0/g, " "), whole = (s: string) => assert.doesNotMatch(s, / /);
	[0.1214, 0.00062, 0, 1].map(f.percent).concat([0.5, 20, 1900, 30e3, 120e3, 43200e3, 864e5 * 9].map(f.duration), [0.001, 1, 9000].map(f.cpuTime), f.bytes(5e6)).forEach(whole);
	assert.deepEqual([0.1214, 0.00062, 0, 0.9999, 1].map(f.percent).map(read), ["12.1 %", "0.062 %", "0 %", "100 %", "100 %"]);
	assert.deepEqual([0.5, 20, 490, 1900, 5000, 30e3, 120e3, 43200e3].map(f.duration).map(read),
		["500 µs", "20 ms", "490 ms", "1.90 s", "5.00 s", "30 s", "2 min", "12 h"]);
	assert.deepEqual([0.004, 0.31, 47.8, 266400].map(f.cpuTime).map(read), ["4.0 CPU·ms", "310 CPU·ms", "47.8 CPU·s", "74 CPU·h"]);
	assert.equal(f.cpuNames([17]), "CPU 17");
	assert.equal(f.cpuNames([3, 1, 2, 9]), "CPUs 1–3, 9");
	assert.deepEqual(f.parseCpuList("0-2,5"), [0, 1, 2, 5]);
	assert.equal(f.parseCpuList("2-1"), null);
});

test("ticks lie on round times of the zone, apart enough", () => {
	const from = Date.UTC(2026, 3, 15, 3, 12, 57), to = from + 120e3;
	const step = f.tickStep(11e3);
	assert.equal(step, 15e3);
	const at = f.ticks(from, to, step, { utc: true });
	assert.deepEqual(at.map((t) => f.tickLabel(t, step, { utc: true })).slice(0, 3), ["03:13:00", "03:13:15", "03:13:30"]);
	for (const apart of [86400e3, 3600e3, 60e3, 15e3])
		assert.equal(f.tickLabel(Date.UTC(2026, 3, 15), apart, { utc: true }), "Wed 15 Apr");
	assert.equal(f.tickLabel(Date.UTC(2026, 3, 15), 100, { utc: true }), "00:00:00.000");
	assert.equal(f.tickLabel(Date.UTC(2026, 3, 15, 0, 1), 60e3, { utc: true }), "00:01");
});

test("a clock is the page's own, of what is kept", () => {
	const utc = { utc: true }, newest = Date.UTC(2026, 3, 15, 3, 14, 57), at = (...t: [number, number, number, number, number, number?]) => `@${Date.UTC(...t) / 1000}`;
	assert.equal(f.typedTime("03:14:07", utc, newest), at(2026, 3, 15, 3, 14, 7) + ".0");
	assert.equal(f.typedTime("03:14:07.254", utc, newest), at(2026, 3, 15, 3, 14, 7) + ".254");
	assert.equal(f.typedTime("03:15", utc, newest), at(2026, 3, 14, 3, 15) + ".0");
	assert.equal(f.typedTime("2025-12-31 23:59", utc, newest), at(2025, 11, 31, 23, 59) + ".0");
	/* In the zone that this runs in: what is shown there leads back, in both. */
	for (const zone of [utc, { utc: false }])
		for (const ms of [newest, newest - 80e6, Date.UTC(2026, 11, 24, 12, 30, 1)])
			assert.equal(f.typedTime(f.clock(ms, zone), zone, ms), `@${ms / 1000}.0`);
	/* What says its zone, is no clock, or was never on one is for the server to read. */
	for (const other of ["03:14:07Z", "2026-04-15T03:14:07+02:00", "-90s", "boot+12.5", "@17", "now", "03:99", "24:00", "2026-02-30 03:00", "ena"])
		assert.equal(f.typedTime(other, utc, newest), other);
	assert.equal(f.typedTime("03:14:07", utc, NaN), "03:14:07");
});

test("days are said where there are several", () => {
	const from = Date.UTC(2026, 3, 14, 23, 59), to = from + 120e3;
	assert.equal(f.clocks(from, to, { utc: true }), "23:59:00 – 00:01:00");
	assert.equal(f.clocks(from, to, { utc: true, dated: true }), "Tue 14 Apr 23:59:00 – Wed 15 Apr 00:01:00");
	assert.equal(f.clocks(to, to + 500, { utc: true, dated: true }, 3), "Wed 15 Apr 00:01:00.000 – 00:01:00.500");
});

test("recordings are told apart by as much of their paths as it takes", () => {
	const all = ["/a/x/perf.data", "/b/x/perf.data", "/b/x/other", "/var/lib/perfcam/", "perf.data"];
	assert.deepEqual(all.map((p) => shortName(p, all)), ["a/x/perf.data", "b/x/perf.data", "other", "perfcam/", "perf.data"]);
	assert.equal(shortName("/a/x/perf.data", ["/a/x/perf.data", "/a/x/perf.data"]), "perf.data");
});

test("heat: nothing has no colour, one sample shows, the most is the brightest", () => {
	for (const light of [false, true]) {
		const cells = new Float32Array(1000).fill(0);
		cells.fill(10, 0, 500);
		cells[600] = 1;
		cells[700] = 40;
		const s = heatScale(cells, 40, false, light);
		assert.equal(s.max, 40);
		assert.equal(s.median, 10);
		assert.ok(s.at(1) > 0.15 && s.at(1) < s.at(10) && s.at(10) < 0.3 && s.at(40) === 1);
		const t = heatTable(light), y = (i: number) => 0.2126 * t[i * 3] + 0.7152 * t[i * 3 + 1] + 0.0722 * t[i * 3 + 2];
		for (let i = 1; i < 256; i++)
			assert.ok(light ? y(i) <= y(i - 1) + 1 : y(i) >= y(i - 1) - 1, `lightness at ${i}`);
	}
	assert.equal(heatScale([0, 5, 10], 0, true, false).at(5), 0.5);
	/* One spike among a hundred thousand cells that differ by little, none of which is looked at but every other one. */
	const many = new Float32Array(100000);
	for (let i = 0; i < many.length; i++)
		many[i] = 100 + (i * 7919) % 17;
	many[33333] = 190;
	const far = heatScale(many, 0, false, false, 190);
	assert.deepEqual([far.max > 150, far.at(190)], [true, 1]);
	assert.ok(far.at(116) < 0.4 && Math.abs(far.at(far.median) - 0.24) < 1e-9 && far.at(50) < far.at(100), `${far.at(116)}`);
	/* One that is out of all reason leaves the others their contrast. */
	assert.ok(heatScale(many, 0, false, false, 1e6).at(116) > 0.28);
	/* All but equal: none is made to glow. */
	assert.ok(heatScale(Float32Array.from({ length: 99 }, (_, i) => 100 + (i % 2)), 0, false, false, 101).at(101) < 0.3);
	assert.equal(heatScale([], 0, false, false).max, 1);
});

test("heat: a column of many seconds shows the busiest of them", () => {
	const answer = decodeColumns(pack(
		{ from: "1776222847.000000000", step: "4.000000000", fine: "1.000000000", period_ns: 10000000, columns_n: 2, rows_n: 1, cpus: [3] },
		{ samples: ["u32", Uint32Array.of(100, 8)], peak: ["u32", Uint32Array.of(90, 5)], seen: ["u8", Uint8Array.of(255, 0)] }));
	const cores = readHeat("cores", answer);
	assert.deepEqual([...cores.cells].map((v) => Math.round(v * 1000)), [900, 50]);
	assert.deepEqual([...cores.unseen], [0, 255]);
	assert.deepEqual([cores.merged, cores.full, cores.from], [4, 1, 1776222847000]);
	assert.deepEqual([...cores.counts], [90, 5]);
	assert.deepEqual([...readHeat("sub", answer).cells], [90, 5]);
});

test("heat: of a cell that was observed in part, busy is of that part", () => {
	const answer = decodeColumns(pack(
		{ from: "1776222847.000000000", step: "1.000000000", fine: "1.000000000", period_ns: 10000000, columns_n: 3, rows_n: 1, cpus: [3] },
		{ samples: ["u32", Uint32Array.of(40, 100, 3)], peak: ["u32", Uint32Array.of(40, 100, 3)], seen: ["u8", Uint8Array.of(127, 255, 0)] }));
	const cells = readHeat("cores", answer).cells;
	assert.ok(Math.abs(cells[0] - 0.803) < 0.001);
	assert.equal(cells[1], 1);
	assert.ok(cells[2] < 0.2);
});

const event = (id: string, time: number, severity = 6): Happening => ({ id, time, severity, uncertainty: 0, source: "kmsg", text: id });

test("heat: of a short span a cell is one sample, where they fit", () => {
	assert.deepEqual([1000, 9000, 11e3, 60e3, 120e3].map((span) => fineStep(span, 950, 10.3)), [10, 10, 20, 0, 0]);
	assert.deepEqual([fineStep(900, 950, 1.001), fineStep(1000, 950, 20.4), fineStep(1000, 950, 0)], [1, 20, 0]);
});

test("heat: a live picture goes on, and what was begun with it", () => {
	const at = (from: number, rows = 4): Heat => ({ ...readHeat("sub", decodeColumns(pack({ from: String(from), step: "1", fine: "1", columns_n: 9, rows_n: rows, period_ns: 1e7 },
		{ samples: ["u32", new Uint32Array(9 * rows)], peak: ["u32", new Uint32Array(9 * rows)], seen: ["u8", new Uint8Array(9 * rows)] }))) });
	assert.deepEqual(moved({ c: 5, r: 2 }, at(100), at(103)), { c: 2, r: 2 });
	assert.equal(moved({ c: 2, r: 2 }, at(100), at(103)), null);
	assert.equal(moved({ c: 5, r: 2 }, at(100), at(103, 8)), null);
});

test("heat: of hours it is read in parts, the newest first, and the rest is not taken for nothing", () => {
	const heat = (from: number, columns: number, cpus: number[], value: (c: number, cpu: number) => number, painted?: number) => readHeat("cores", decodeColumns(pack(
		{ from: String(from), step: "10", fine: "1", columns_n: columns, rows_n: cpus.length, cpus, period_ns: 1e7 },
		Object.fromEntries(["samples", "peak", ...(painted === undefined ? [] : ["painted", "painted_peak"])].map((name) => [name, ["u32",
			Uint32Array.from({ length: columns * cpus.length }, (_, i) => (name.startsWith("p") && name !== "peak" ? painted! : value(i % columns, cpus[Math.floor(i / columns)])))] as [string, Uint32Array]])
			.concat([["seen", ["u8", new Uint8Array(columns * cpus.length).fill(255)] as never]])))));
	const all = heat(1000, 6, [0, 1, 2], () => 100), none = unreadOf(all, false);
	assert.deepEqual([[...none.unread!], Math.max(...none.cells), none.behind![0]], [[1, 1, 1, 1, 1, 1], 0, 1]);
	/* Of the last two columns, where CPU 1 ran nothing that was asked for; then a part of which nothing is kept. */
	const some = mergePart(none, heat(1040, 2, [0, 2], (c, cpu) => 10 * (c + 1) + cpu), 4, 2);
	assert.deepEqual([...some.counts], [0, 0, 0, 0, 10, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 22]);
	assert.deepEqual([[...some.unread!], Math.round(some.most * 100)], [[1, 1, 1, 1, 0, 0], 22]);
	assert.equal(Math.max(...none.counts), 0); /* the picture before is another */
	const rest = mergePart(mergePart(some, null, 2, 2), heat(1000, 3, [0, 1, 2], () => 7), 0, 2); /* one column more than was asked for */
	assert.deepEqual([[...rest.counts.slice(0, 6)], [...rest.unread!]], [[7, 7, 0, 0, 10, 20], [0, 0, 0, 0, 0, 0]]);
	assert.deepEqual([...mergePart(unreadOf(all, true), heat(1020, 1, [1], () => 10, 5), 2, 1).painted!].filter((v) => v > 0), [0.5]);
	const store = { samples: 400e6, period: 10, cpus: 96 } as StoreFacts, day = { from: 0, to: 43200e3 };
	assert.equal(isRead(DEFAULTS, day, store), false);
	assert.equal(isRead({ ...DEFAULTS, only: "user" }, day, store), true);
	assert.equal(isRead({ ...DEFAULTS, only: "user" }, { from: 0, to: 60e3 }, store), false);
	assert.equal(isRead({ ...DEFAULTS, filters: [["hide", "x"]] }, day, store), false);
	/* A live span that goes on is asked for anew now and then, not every other second. */
	assert.deepEqual(steadySpan({ from: 1000e3, to: 44200e3 }), steadySpan({ from: 1004e3, to: 44204e3 }));
});

test("coverage: of what was asked for, not of what there is", () => {
	const of = (seen: object, asked: number) => {
		const c = coverage({ meta: { seen: { samples: 90, idle: 10, idle_by_ledger: 0, lost: 0, damaged: 0, unreadable: 0, gap_ns: 0, observed_ns: 4e9, windows: 1, ...seen } } } as unknown as Tree, asked);
		return [Math.round(c.observed * 1000) / 1000, Math.round(c.outside), c.good];
	};
	assert.deepEqual(of({}, 4000), [1, 0, true]);
	assert.deepEqual(of({}, NaN), [1, 0, true]);
	assert.deepEqual(of({}, 4001), [1, 0, true]);
	assert.deepEqual(of({}, 10e3), [0.4, 6000, false]);
	assert.deepEqual(of({ gap_ns: 1e9 }, 10e3), [0.4, 5000, false]);
	assert.deepEqual(of({ lost: 100 }, 8000), [0.25, 4000, false]);
	assert.deepEqual(of({ lost: 100, idle_by_ledger: 800 }, 8000), [0.45, 4000, false]);
	assert.deepEqual(of({ windows: 0, observed_ns: 0, samples: 0, idle: 0 }, 10e3), [0, 10e3, false]);
});

test("idle: by samples of the idle task, or by the ledger; a file that has neither does not say", () => {
	const of = (seen: object, busy: number) => idlePart({ meta: { seen } } as unknown as Tree, busy);
	assert.equal(of({ samples: 90, idle: 10, idle_by_ledger: 0 }, 0.9), f.percent(0.1));
	assert.equal(of({ samples: 20, idle: 0, idle_by_ledger: 180 }, 0.1), f.percent(0.9));
	assert.equal(of({ samples: 0, idle: 0, idle_by_ledger: 0 }, 0), "–");
	assert.equal(of({ samples: 48, idle: 0, idle_by_ledger: 0 }, 0.48), "–");
	assert.equal(of({ samples: 48, idle: 0, idle_by_ledger: 0 }, NaN), "–");
	assert.equal(of({ samples: 100, idle: 0, idle_by_ledger: 0 }, 1), f.percent(0));
	assert.equal(idlePart(null, NaN), "–");
});

test("shares are of what was observed: samples that were due and not taken are nobody's idle time", () => {
	const of = (seen: object, used: number) => machineSeconds({ meta: { seen: { observed_ns: 10e9, lost: 0, damaged: 0, ...seen } } } as unknown as Tree, 2, 10, used);
	assert.equal(of({}, 5), 20);
	assert.equal(of({ lost: 500 }, 5), 15);
	assert.equal(of({ lost: 300, damaged: 200 }, 5), 15);
	assert.equal(of({ lost: 500 }, 16), 16); /* more than all of it nobody used … */
	assert.equal(of({ lost: 5000 }, 25), 20); /* … nor had */
	assert.equal(machineSeconds(null, 2, 10, 0), 0);
});

test("a heatmap's first and last column: what lies beside the time asked about is not what nobody observed", () => {
	const cells = (seen: number[], from: number, to: number) => {
		const answer = { meta: { from: "100", step: "10", fine: "10", columns_n: 3, rows_n: 1, cpus: [0], period_ns: 1e7 },
			columns: { samples: new Uint32Array(3).fill(5), peak: new Uint32Array(3), seen: Uint8Array.from(seen) } };
		return [...readHeat("cores", answer as never, { from, to }).unseen];
	};
	assert.deepEqual(cells([255, 255, 0], 100e3, 130e3), [0, 0, 255]);
	assert.deepEqual(cells([51, 255, 26], 108e3, 121e3), [0, 0, 0]);
	assert.deepEqual(cells([51, 255, 13], 108e3, 121e3), [0, 0, 125]); /* half of the second in it */
	assert.deepEqual(cells([0, 0, 0], 108e3, 121e3), [255, 255, 255]);
	assert.deepEqual(cells([0, 255, 0], 109.9e3, 120.1e3), [0, 0, 0]); /* too little of it to say anything */
	assert.deepEqual(wholeSeconds({ from: 1998, to: 3002 }), { from: 1000, to: 4000 });
	assert.deepEqual(wholeSeconds({ from: 1999.5, to: 3000.001 }), { from: 2000, to: 3000 });
	assert.deepEqual(wholeSeconds({ from: 1500, to: 1500.5 }), { from: 1000, to: 2000 });
	assert.deepEqual(wholeSeconds({ from: 1000, to: 3000 }), { from: 1000, to: 3000 });
});

test("the command asks what the page asks, filters and all, and no name is more than a word of it", () => {
	const part = { from: 1776222847250, to: 1776222849150, cpus: [4, 5, 6] };
	assert.equal(whyCommand(DEFAULTS, part), "perfcam why --from @1776222847.250 --to @1776222849.150 --cpu 4-6");
	const filtered: State = { ...DEFAULTS, only: "kernel", filters: [["comm", "a b"], ["match", "^it's$"], ["exclude", "x\u001b[2J\ny"], ["hide", "z"], ["exe", "$(reboot)"]] };
	assert.equal(whyCommand(filtered, { ...part, cpus: null }), "perfcam why --from @1776222847.250 --to @1776222849.150 --comm='a b' --match=$'^it\\'s$' " +
		"--exclude=$'x\\u001b[2J\\u000ay' --exe='$(reboot)' --kernel-only");
});

test("events: those in the span, and the nearest around it, the newest first", () => {
	const list = [1, 20, 30, 40, 90, 95].map((t) => event("e" + t, t));
	const few = near(list, 25, 45, 30);
	assert.equal(few.inside, 2);
	assert.deepEqual(few.shown.map((e) => e.time), [90, 40, 30, 20, 1]);
	assert.deepEqual(near(list, 0, 100, 30).shown.length, 6);
	/* Too many: an error never gives way to what is harmless. */
	const many = [event("bad", 3, 3), ...Array.from({ length: 50 }, (_, i) => event("x" + i, 10 + i))];
	const shown = near(many, 0, 100, 10).shown;
	assert.equal(shown.length, 10);
	assert.ok(shown.some((e) => e.id === "bad"));
});

test("events: each once, and the severe one under the pointer", () => {
	assert.deepEqual(merge([event("a", 1), event("b", 2)], [event("b", 2), event("c", 0)]).map((e) => e.id), ["c", "a", "b"]);
	const list = [event("info", 10), event("error", 12, 3), event("far", 40)];
	assert.equal(nearest(list, (t) => t, 10, 7)!.id, "error");
	assert.equal(nearest(list, (t) => t, 39, 7)!.id, "far");
	assert.equal(nearest(list, (t) => t, 25, 7), null);
});

test("tracks: one behind the other", () => {
	const t = readTracks(decodeColumns(pack({ from: "10.000000000", step: "0.500000000", bins: 2, waiters: [{ comm: "x", tid: 4, waited_ns: 5e6 }],
		tracks: [{ key: "user", unit: "machine" }, { key: "switches", unit: "second" }] },
	{ mean: ["f32", Float32Array.of(0.5, NaN, 7, 8)], peak: ["f32", Float32Array.of(1, NaN, 9, 9)], who: ["u32", Uint32Array.of(3, 0, 0, 0)] })));
	assert.equal(t.from, 10e3);
	assert.deepEqual([...t.by.get("switches")!.mean], [7, 8]);
	assert.ok(isNaN(t.by.get("user")!.mean[1]));
	assert.equal(t.by.get("user")!.who[0], 3);
	assert.deepEqual(t.waiters, [{ comm: "x", tid: 4, waited: 5 }]);
});

test("why: what stands in the answer, and nothing where there is none", () => {
	const nothing: Why = { answer: "usual", asked_seconds: 5, asked_unobserved_seconds: 0, findings: [], closest: [], cores: [], waited: [], host: [], history: { seconds: 180, moments: 32, coarse: true } };
	assert.equal(headline(nothing), null);
	assert.deepEqual(sentences(nothing), []);
	const [host] = sentences({ ...nothing, host: [{ what: "stolen", value: 0.1, usual: 0, unit: "of CPU time", sentence: "stolen by the hypervisor 10 % of CPU time; in the rest of the window 0 %" }] });
	assert.deepEqual([host.text.join(""), host.evidence], ["The host: stolen by the hypervisor 10 % of CPU time", "in the rest of the window 0 %"]);
	assert.match(against(nothing), /^Nothing unusual: 32 other moments/);
	assert.match(against({ ...nothing, asked_unobserved_seconds: 5 }), /not idle time/);
	assert.match(against({ ...nothing, history: { seconds: 9, moments: 1, coarse: true } }), /^Too little is kept/);
});

test("undo: of the graph alone, and a search that was typed is one act", () => {
	const s: State = { ...DEFAULTS, zoom: [], filters: [] }, u = new Undo(s);
	const act = (by: Partial<State>) => u.note(Object.assign(s, by));
	act({ a: { from: 1, to: 2, cpus: null } });
	assert.equal(u.steps, 0);
	act({ zoom: ["x"] });
	act({ filters: [["hide", "y"]], zoom: [] });
	for (const search of ["a", "ab", "abc"])
		act({ search });
	assert.equal(u.steps, 3);
	const back = () => act(u.back() ?? {});
	back();
	assert.deepEqual([s.search, s.filters, s.a], ["", [["hide", "y"]], { from: 1, to: 2, cpus: null }]);
	back();
	assert.deepEqual([s.zoom, s.filters], [["x"], []]);
	act(u.again()!);
	assert.deepEqual([s.zoom, s.filters], [[], [["hide", "y"]]]);
	back();
	back();
	assert.deepEqual([s.zoom, u.back()], [[], null]);
	act({ only: "user" });
	assert.equal(u.again(), null);
});

test("heatmap: rows stand by NUMA node, each with its own cells", () => {
	const answer = (nodes: unknown) => readHeat("cores", decodeColumns(pack({ from: "10", step: "1", fine: "1", columns_n: 2, rows_n: 4, cpus: [0, 1, 2, 3], period_ns: 1e7, nodes },
		{ samples: ["u32", Uint32Array.of(0, 1, 10, 11, 20, 21, 30, 31)], peak: ["u32", new Uint32Array(8)], seen: ["u8", new Uint8Array(8).fill(255)] })));
	const h = answer([0, 1, 0, 1]);
	assert.deepEqual([h.cpus, h.nodes], [[0, 2, 1, 3], [0, 0, 1, 1]]);
	assert.deepEqual([...h.cells].map((v) => Math.round(v * 100)), [0, 1, 20, 21, 10, 11, 30, 31]);
	const flat = answer([2, 2, 2, 2]);
	assert.deepEqual([flat.cpus, flat.nodes], [[0, 1, 2, 3], null]);
	assert.equal(answer(null).nodes, null);
	assert.equal(answer([0, 1]).nodes, null);
});

test("a name is cut between characters, not within one", () => {
	assert.equal(f.cutBytes("short", 255), "short");
	assert.equal(f.cutBytes("aéé", 3), "aé");
	assert.equal(f.cutBytes("aéé", 4), "aé");
	assert.equal(f.cutBytes("aéé", 5), "aéé");
	assert.equal(f.cutBytes("𝄞".repeat(100), 255).length, 2 * 63);
});

test("a source that is gone is not a time without samples", () => {
	assert.ok(new Refusal(404, "nothing was recorded at that time").isNothing);
	assert.ok(!new Refusal(404, "no such source: it was dropped since, or the server is another one; /api/sources lists them").isNothing);
	assert.ok(!new Refusal(503, "this takes too long").isNothing);
});
