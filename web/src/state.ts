// SPDX-License-Identifier: Apache-2.0
/*
 * All that a link must carry, and how it is written in the URL. Defaults are left out; what cannot be
 * understood is ignored. Times are seconds since 1970 with a fraction, as `@…` in the selection grammar.
 */
import { cpuList, parseCpuList } from "./format";
import { nameSign, SIGN } from "./tree";

/* A time range, on some CPUs or all (null). */
export interface Part {
	from: number;
	to: number;
	cpus: number[] | null;
}

export type Mode = "sub" | "cores";
export const TABS = ["flame", "table", "sandwich", "time"] as const;
export type Tab = (typeof TABS)[number];
/* What a selection is compared with: the same length before it, the minute before, the minute around, an hour ago, or B. */
export const BASES = ["before", "minute", "around", "hour", "b"] as const;
export type Base = (typeof BASES)[number];
export const GROUPS = ["comm", "process", "thread", "cgroup", "container", "cpu", "exe", "user"] as const;
export type Group = (typeof GROUPS)[number];
/* What is drawn under the heatmap. */
export const BELOW = ["cpu", "runnable", "delay", "pressure", "switches", "cgroups"] as const;
export type Below = (typeof BELOW)[number];
/* Frames are coloured by what they are, where they lie, or their names alone. */
export const COLOURS = ["kind", "module", "name"] as const;
export type Colour = (typeof COLOURS)[number];
/* What the table is in order of. */
export const SORTS = ["self", "total", "name", "change"] as const;
export type Sort = (typeof SORTS)[number];
export const ROWS = [10, 25, 49, 50, 99, 100];
/* Filters by their name in the selection grammar. */
export const FILTERS = ["comm", "pid", "tid", "exe", "cgroup", "container", "uid", "match", "exclude", "hide", "focus"] as const;
/* Those that change the tree alone, not which samples are meant. */
const SHAPES: readonly string[] = ["hide", "focus"];
/* What a frame stands for: a function, or its package or module. */
export const FRAMES = ["function", "package", "module"] as const;
export type Frames = (typeof FRAMES)[number];
export type Filter = (typeof FILTERS)[number];

export interface State {
	source: string; /* the id of one of the server's recordings; empty: its first */
	span: { from: number; to: number } | null; /* null: the newest */
	last: number; /* with span null: how much of it, ms */
	a: Part | null;
	b: Part | null;
	base: Base;
	compare: boolean;
	flip: boolean; /* widths are the baseline's */
	elided: boolean; /* only what the other side does not have */
	paint: boolean; /* the heatmap shows where the search ran */
	by: Group;
	sandwich: string; /* the function whose callers and callees are shown */
	mode: Mode | ""; /* empty: as suits what is shown */
	rows: number;
	linear: boolean;
	tab: Tab;
	icicle: boolean;
	only: "" | "user" | "kernel";
	search: string;
	zoom: string[]; /* names from the root on; in links that would be too long for a server a sign of each: nameSign() */
	filters: [Filter, string][];
	utc: boolean;
	event: string; /* the id of the event that the selection is around */
	below: Below;
	frames: Frames;
	collapse: boolean; /* a function that calls itself is one frame */
	colour: Colour;
	sort: Sort;
	core: number; /* whose samples are shown by time; -1: the busiest */
}

export const DEFAULTS: State = {
	source: "", span: null, last: 120e3, a: null, b: null, base: "before", compare: false, flip: false, elided: false, paint: false, by: "comm", sandwich: "", mode: "", rows: 50, linear: false, tab: "flame", icicle: false,
	only: "", search: "", zoom: [], filters: [], utc: false, event: "", below: "cpu", colour: "kind", frames: "function", collapse: false, sort: "self", core: -1,
};

const MAX_TEXT = 1024;
const MAX_ZOOM = 1024;
/* Names of it, and bytes, in a link: a server takes 64 parameters, and the whole has to fit into what it reads of a request. */
const LONG_ZOOM = 24, LONG_TEXT = 2000;

function seconds(ms: number): string {
	return (ms / 1000).toFixed(6).replace(/\.?0+$/, "");
}

function readMs(text: string | null): number | null {
	const m = text === null ? null : /^\d{1,11}(\.\d{1,9})?$/.exec(text);
	return m ? Number(text) * 1000 : null;
}

function readRange(from: string | null, to: string | null): { from: number; to: number } | null {
	const f = readMs(from), t = readMs(to);
	return f !== null && t !== null && f < t ? { from: f, to: t } : null;
}

function readPart(text: string | null): Part | null {
	if (!text)
		return null;
	const [from, to, cpus] = text.split("~");
	const range = readRange(from, to ?? null);
	if (!range)
		return null;
	const list = cpus ? parseCpuList(cpus) : null;
	return { ...range, cpus: list };
}

function writePart(p: Part): string {
	return `${seconds(p.from)}~${seconds(p.to)}${p.cpus ? "~" + cpuList(p.cpus) : ""}`;
}

function oneOf<T extends string>(words: readonly T[], text: string | null): T | null {
	return words.find((w) => w === text) ?? null;
}

export function readState(query: string): State {
	const q = new URLSearchParams(query);
	const s: State = { ...DEFAULTS, zoom: [], filters: [] };
	s.span = readRange(q.get("from"), q.get("to"));
	const last = Number(q.get("last"));
	if (last >= 1 && last <= 1e8)
		s.last = last * 1000;
	s.a = readPart(q.get("a"));
	s.b = readPart(q.get("b"));
	s.base = oneOf(BASES, q.get("base")) ?? (s.b ? "b" : "before");
	s.compare = q.get("cmp") === "1";
	s.flip = q.get("flip") === "1";
	s.elided = q.get("elided") === "1";
	s.paint = q.get("paint") === "1";
	s.by = oneOf(GROUPS, q.get("by")) ?? "comm";
	s.sandwich = (q.get("sand") ?? "").slice(0, MAX_TEXT);
	s.source = /^[\w-]{1,64}$/.exec(q.get("source") ?? "")?.[0] ?? "";
	s.mode = oneOf(["sub", "cores"] as const, q.get("mode")) ?? "";
	if (ROWS.includes(Number(q.get("rows"))))
		s.rows = Number(q.get("rows"));
	s.linear = q.get("scale") === "linear";
	s.tab = oneOf(TABS, q.get("tab")) ?? "flame";
	s.icicle = q.get("dir") === "icicle";
	const only = q.get("only");
	if (only === "user" || only === "kernel")
		s.only = only;
	s.search = (q.get("q") ?? "").slice(0, MAX_TEXT);
	s.zoom = q.getAll("zoom").slice(0, MAX_ZOOM);
	if (/^[0-9a-z]{1,7}(\.[0-9a-z]{1,7})*$/.test(q.get("zooms") ?? ""))
		s.zoom = q.get("zooms")!.split(".").slice(0, MAX_ZOOM).map((sign) => SIGN + sign);
	for (const name of FILTERS)
		for (const value of q.getAll(name).slice(0, 15))
			if (value)
				s.filters.push([name, value.slice(0, MAX_TEXT)]);
	s.utc = q.get("tz") === "utc";
	s.event = /^(ev-)?[0-9a-f]{4,12}$/.exec(q.get("event") ?? "")?.[0] ?? "";
	s.below = oneOf(BELOW, q.get("below")) ?? "cpu";
	s.frames = oneOf(FRAMES, q.get("frames")) ?? "function";
	s.collapse = q.get("collapse") === "1";
	s.colour = oneOf(COLOURS, q.get("colour")) ?? "kind";
	s.sort = oneOf(SORTS, q.get("sort")) ?? "self";
	const core = parseCpuList(q.get("core") ?? "");
	s.core = core?.length === 1 ? core[0] : -1;
	return s;
}

function writeZoom(q: URLSearchParams, zoom: string[]): void {
	const names = new URLSearchParams(zoom.map((name) => ["zoom", name]));
	if (zoom.length > LONG_ZOOM || names.toString().length > LONG_TEXT || zoom.some((name) => name.startsWith(SIGN)))
		q.set("zooms", zoom.slice(0, MAX_ZOOM).map((name) => nameSign(name).slice(1)).join("."));
	else
		names.forEach((name) => q.append("zoom", name));
}

export function writeState(s: State): string {
	const q = new URLSearchParams();
	if (s.source)
		q.set("source", s.source);
	if (s.span) {
		q.set("from", seconds(s.span.from));
		q.set("to", seconds(s.span.to));
	} else if (s.last !== DEFAULTS.last) {
		q.set("last", String(s.last / 1000));
	}
	if (s.a)
		q.set("a", writePart(s.a));
	if (s.b)
		q.set("b", writePart(s.b));
	if (s.base !== (s.b ? "b" : "before"))
		q.set("base", s.base);
	for (const [name, on] of [["cmp", s.compare], ["flip", s.flip], ["elided", s.elided], ["paint", s.paint]] as const)
		if (on)
			q.set(name, "1");
	if (s.by !== "comm")
		q.set("by", s.by);
	if (s.sandwich)
		q.set("sand", s.sandwich);
	if (s.mode)
		q.set("mode", s.mode);
	if (s.rows !== DEFAULTS.rows)
		q.set("rows", String(s.rows));
	if (s.linear)
		q.set("scale", "linear");
	if (s.tab !== "flame")
		q.set("tab", s.tab);
	if (s.icicle)
		q.set("dir", "icicle");
	if (s.only)
		q.set("only", s.only);
	if (s.search)
		q.set("q", s.search);
	writeZoom(q, s.zoom);
	for (const [name, value] of s.filters)
		q.append(name, value);
	if (s.utc)
		q.set("tz", "utc");
	if (s.event)
		q.set("event", s.event);
	if (s.below !== "cpu")
		q.set("below", s.below);
	if (s.frames !== "function")
		q.set("frames", s.frames);
	if (s.collapse)
		q.set("collapse", "1");
	if (s.colour !== "kind")
		q.set("colour", s.colour);
	if (s.sort !== "self")
		q.set("sort", s.sort);
	if (s.core >= 0)
		q.set("core", String(s.core));
	return q.toString();
}

/* What the selection is compared with. */
export function baseline(s: State, a: Part): Part | null {
	const length = a.to - a.from;
	switch (s.base) {
	case "before": return { ...a, from: a.from - length, to: a.from };
	case "minute": return { ...a, from: a.from - 60e3, to: a.from };
	case "around": return { ...a, from: (a.from + a.to) / 2 - 30e3, to: (a.from + a.to) / 2 + 30e3 };
	case "hour": return { ...a, from: a.from - 3600e3, to: a.to - 3600e3 };
	case "b": return s.b;
	}
}

/* The parameters of the API for a part of the time and the filters of the page. */
export function selectionQuery(s: State, part: Part): URLSearchParams {
	const q = new URLSearchParams();
	/* What has no times at all is taken whole. */
	if (isFinite(part.from)) {
		q.set("from", "@" + seconds(part.from));
		q.set("to", "@" + seconds(part.to));
	}
	if (part.cpus)
		q.set("cpu", cpuList(part.cpus));
	for (const [name, value] of s.filters)
		if (!SHAPES.includes(name))
			q.append(name, value);
	if (s.only)
		q.set(s.only + "-only", "1");
	return q;
}

/* The same for a tree: what it begins with, and what it is compared with. */
export function treeQuery(s: State, part: Part, before: Part | null): URLSearchParams {
	const q = selectionQuery(s, part);
	for (const [name, value] of s.filters)
		if (SHAPES.includes(name))
			q.append(name, value);
	if (s.frames !== "function")
		q.set("group", s.frames);
	if (s.collapse)
		q.set("recursion", "collapse");
	if (s.by !== "comm")
		q.set("by", s.by);
	if (before) {
		q.set("before-from", "@" + seconds(before.from));
		q.set("before-to", "@" + seconds(before.to));
		if (before.cpus)
			q.set("before-cpu", cpuList(before.cpus));
		if (s.elided)
			q.set("show", "elided");
	}
	return q;
}
