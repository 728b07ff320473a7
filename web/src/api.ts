// SPDX-License-Identifier: Apache-2.0
/* Questions to the server. One question of a kind at a time: a newer one ends the one before. */
import { decodeColumns, type Answer } from "./columns";
import { readChart, type Chart } from "./chart";
import { cutBytes } from "./format";
import { selectionQuery, treeQuery, type Mode, type Part, type State } from "./state";
import type { Happening, Happenings } from "./happening";
import { readMoments, type Unusual, type Why } from "./why";
import { readTracks, type Tracks } from "./tracks";
import { processes, readTree, serverSearch, type Tree } from "./tree";

export interface StoreFacts {
	version: string;
	host: string;
	from: number; /* ms; NaN: there is nothing */
	to: number;
	now: number;
	cpus: number;
	kernel: string | null; /* as uname says */
	cpu_model: string | null;
	nodes: number[] | null; /* of each CPU its NUMA node */
	windows: number;
	unreadable: number;
	samples: number;
	unslotted: number; /* of them, those that hours by parts of a second take the time of: each is read */
	bytes: number;
	recording: boolean;
	period: number; /* ms between two samples of a busy CPU; 0: not known */
}

export interface Timeline {
	from: number;
	step: number;
	busy: Float32Array; /* share of the machine, mean of the bin */
	peak: Float32Array; /* its busiest second */
	unseen: Float32Array; /* share not observed */
	pinned: Uint8Array;
}

export interface Heat {
	mode: "sub" | "cores";
	from: number; /* of the first column */
	step: number; /* ms a column */
	columns: number;
	rows: number;
	cpus: number[]; /* cores: of each row */
	nodes: number[] | null; /* cores: of each row its NUMA node, where there are several; rows stand by node */
	cells: Float32Array; /* row by row, the lowest first: samples (sub), share of the CPU (cores) */
	most: number; /* the largest of them */
	counts: Uint32Array; /* samples of each cell, of the busiest where it is merged */
	unseen: Uint8Array; /* of each cell; 255: nothing of it was observed */
	damaged: boolean; /* part of it can no longer be read */
	anyUnseen: boolean; /* a quarter of some cell was not observed */
	full: number; /* what a cell has that is always busy; 0: not known */
	painted: Float32Array | null; /* share of each cell whose stacks match */
	busiest: Float32Array | null; /* cores, of each column: how busy all CPUs together were in its busiest 20 ms; NaN: not known */
	behind: Float32Array | null; /* cells of all that ran, where what was asked for is still being read … */
	unread: Uint8Array | null; /* … of each column: it has not been */
	merged: number; /* a column stands for so many of the finest ones, and shows the busiest */
	fine: number; /* ms of those */
}

const SLOT_MS = 20, UNKNOWN = 0xffffffff;

/* Of a cell with less than that nothing is said but that it was not observed. */
export const LEAST_SEEN = 1 / 5;

export class Refusal extends Error {
	/* again: the server asks to come again later. */
	constructor(readonly status: number, message: string, readonly again = false) {
		super(message);
	}

	/* Nothing was recorded then, or it has no times; no answer about a source that is not there. */
	get isNothing(): boolean {
		return this.status === NOT_FOUND && !this.message.startsWith("no such ");
	}
}

const NOT_FOUND = 404;
const MOST_TRIES = 3; /* of a question for which there was no place */

function pause(ms: number, signal?: AbortSignal): Promise<void> {
	return new Promise((done, failed) => {
		const timer = setTimeout(done, ms);
		signal?.addEventListener("abort", () => {
			clearTimeout(timer);
			failed(new DOMException("stopped", "AbortError"));
		});
	});
}

async function answerOf(path: string, signal?: AbortSignal, change?: object): Promise<Response> {
	for (let tries = 1; ; tries++) {
		const r = await answered(path, signal, change);
		const later = r.status === 503 ? Number(r.headers.get("Retry-After")) : 0;
		if (later > 0 && tries < MOST_TRIES && !change) {
			await pause(Math.min(later, 10) * 1000, signal);
			continue;
		}
		if (!r.ok) {
			const words = await r.json().then((j) => String(j.error), () => r.statusText);
			throw new Refusal(r.status, words, later > 0);
		}
		return r;
	}
}

function answered(path: string, signal?: AbortSignal, change?: object): Promise<Response> {
	return fetch(path, { signal, credentials: "same-origin", headers: change ? { "Content-Type": "application/json" } : { Accept: "*/*" },
		...(change ? { method: "POST", body: JSON.stringify(change) } : {}) });
}

const seconds = (v: unknown) => (v === undefined || v === null ? NaN : Number(v) * 1000);

/* Rows in order of their NUMA nodes, where there are several: CPUs of one are often numbered apart. */
function byNode(a: Answer): Answer {
	const nodes = a.meta.nodes as number[] | null | undefined, cpus = a.meta.cpus as number[] | undefined;
	if (!nodes || !cpus || nodes.length !== cpus.length || !nodes.some((n) => n !== nodes[0]))
		return { meta: { ...a.meta, nodes: null }, columns: a.columns };
	const order = cpus.map((_, i) => i).sort((p, q) => nodes[p] - nodes[q] || p - q), n = Number(a.meta.columns_n);
	const columns: Answer["columns"] = {};
	for (const [name, from] of Object.entries(a.columns)) {
		const to = from.slice();
		if (!order.every((row, i) => row === i))
			order.forEach((row, i) => to.set(from.subarray(row * n, (row + 1) * n) as never, i * n));
		columns[name] = to;
	}
	return { meta: { ...a.meta, nodes: order.map((i) => nodes[i]), cpus: order.map((i) => cpus[i]) }, columns };
}

/* Of an answer about samples: files that they were to come from are damaged. */
export function isDamaged(meta: Record<string, unknown>): boolean {
	const seen = (meta.seen ?? {}) as { damaged?: number; unreadable?: number };
	return Number(seen.damaged ?? 0) + Number(seen.unreadable ?? 0) > 0;
}

/* Of a column that lies in the time asked about by a part only: what is beside it was not asked for, which is not that nobody observed it. */
function forgetBeside(unseen: Uint8Array, column: number, columns: number, inside: number): void {
	if (inside > 0.999)
		return;
	for (let i = column; i < unseen.length; i += columns)
		unseen[i] = inside < 0.02 ? 0 : Math.max(0, Math.min(255, Math.round((255 * inside - (255 - unseen[i])) / inside)));
}

/*
 * A column of a long span stands for several of the finest ones, and shows the busiest: 20 ms in twelve
 * hours must still be seen.
 */
export function readHeat(mode: "sub" | "cores", a: Answer, asked: { from: number; to: number } | null = null): Heat {
	const { meta, columns: c } = byNode(a);
	const step = seconds(meta.step), fine = seconds(meta.fine), period = Number(meta.period_ns) / 1e6;
	const merged = Math.max(1, Math.round(step / fine));
	const counts = (merged > 1 ? c.peak : c.samples) as Uint32Array;
	const seen = c.seen as Uint8Array;
	/* What one CPU has in a cell: of a second's part, the same on each. */
	const due = period ? (merged > 1 ? fine : step) / period : 0;
	const paint = (merged > 1 ? c.painted_peak : c.painted) as Uint32Array | undefined;
	const painted = paint ? new Float32Array(paint.length) : null;
	for (let i = 0; painted && i < counts.length; i++)
		painted[i] = counts[i] ? Math.min(1, paint![i] / counts[i]) : 0;
	let anyUnseen = false, most = 0;
	const cells = new Float32Array(counts.length), unseen = new Uint8Array(seen.length);
	for (let i = 0; i < counts.length; i++) {
		/* Busy of what was observed: half of the ticks shed is no idle time. (Of which of several nobody knows.) */
		const share = merged > 1 ? 1 : Math.max(LEAST_SEEN, seen[i] / 255);
		cells[i] = mode === "cores" && due ? Math.min(1, counts[i] / (due * share)) : counts[i];
		most = Math.max(most, cells[i]);
		unseen[i] = 255 - seen[i];
	}
	const from = seconds(meta.from), columns = Number(meta.columns_n);
	if (asked)
		for (let k = 0; k < columns; k++)
			forgetBeside(unseen, k, columns, (Math.min(from + (k + 1) * step, asked.to) - Math.max(from + k * step, asked.from)) / step);
	for (let i = 0; i < unseen.length && !anyUnseen; i++)
		anyUnseen = unseen[i] > 63;
	const slots = c.busiest as Uint32Array | undefined, dueOfAll = period ? (SLOT_MS / period) * Number(meta.rows_n) : 0;
	return {
		busiest: slots && dueOfAll ? Float32Array.from(slots, (n) => (n === UNKNOWN ? NaN : Math.min(1, n / dueOfAll))) : null,
		behind: null, unread: null, damaged: isDamaged(meta), mode, from, step, fine, merged, cells, most, counts, unseen, anyUnseen, painted,
		columns, rows: Number(meta.rows_n), cpus: (meta.cpus ?? []) as number[], nodes: (meta.nodes ?? null) as number[] | null,
		full: mode === "cores" && due ? 1 : 0,
	};
}

/* Of a short span: cells down to single samples, where they fit. 0: as the server thinks best. Round ones, in ms. */
export function fineStep(span: number, columns: number, period: number): number {
	return period ? [1, 2, 5, 10, 20, 50].find((s) => 2 * s > period && span / s < columns - 1) ?? 0 : 0;
}

/* One of the recordings that the server has. */
export interface Source {
	id: string;
	label: string;
	kind: "store" | "file" | "opened";
	from: number; /* ms; NaN: not known */
	to: number;
	samples: number;
	bytes: number;
	notes?: string[]; /* of one that was just opened: what could not be read */
}

export interface Sources {
	list: Source[];
	open: { bytes: number; most: number } | null; /* null: nothing can be opened, and why */
	why: string;
	speedscope: boolean;
}

interface SourceAnswer extends Omit<Source, "from" | "to"> {
	from: string | null;
	to: string | null;
}

const readSource = (j: SourceAnswer): Source => ({ ...j, from: seconds(j.from), to: seconds(j.to) });

/* How good the stacks are of what is shown. */
export interface Quality {
	samples: number;
	user: number;
	complete: number;
	guessed: number;
	incomplete: { words: string; samples: number }[];
	frames: Record<"user" | "jit" | "kernel", number>;
	unnamed: Record<"user" | "jit" | "kernel", number>;
	worst: { file: string; unnamed: number }[];
}

function heatQuery(s: State, mode: Mode, part: Part, columns: number): URLSearchParams {
	const q = selectionQuery(s, part);
	q.set("mode", mode === "sub" ? "subsecond" : "cores");
	q.set("columns", String(columns));
	if (mode === "sub")
		q.set("rows", String(s.rows));
	if (s.paint && s.search)
		q.set("paint", serverSearch(s.search));
	return q;
}

export class Server {
	private running = new Map<string, AbortController>();
	source = ""; /* every question is about that one; empty: the first */

	/* With the source that is meant. */
	path(route: string, q = new URLSearchParams()): string {
		if (this.source)
			q.set("source", this.source);
		const text = q.toString();
		return "/api/" + route + (text ? "?" + text : "");
	}

	private async ask<T>(kind: string, path: string, read: (r: Response) => Promise<T>): Promise<T> {
		this.running.get(kind)?.abort();
		const control = new AbortController();
		this.running.set(kind, control);
		return read(await answerOf(path, control.signal));
	}

	/* All that is under way is about another source. */
	stop(): void {
		for (const control of this.running.values())
			control.abort();
		this.running.clear();
	}

	sources(): Promise<Sources> {
		return this.ask("sources", "/api/sources", async (r) => {
			const j = await r.json() as { sources: SourceAnswer[]; open: { most_bytes: number; most: number } | null; open_why?: string; speedscope: boolean };
			return { list: j.sources.map(readSource), open: j.open ? { bytes: j.open.most_bytes, most: j.open.most } : null, why: j.open_why ?? "", speedscope: j.speedscope === true };
		});
	}

	/* Hands a file over; `sent` hears how much has gone. An XMLHttpRequest, as fetch does not tell. */
	open(file: File, sent: (share: number) => void): { answer: Promise<Source>; stop: () => void } {
		const q = new URLSearchParams({ name: cutBytes(file.name, 255) });
		if (file.lastModified > 0)
			q.set("modified", String(Math.floor(file.lastModified / 1000)));
		const r = new XMLHttpRequest();
		const answer = new Promise<Source>((done, failed) => {
			r.open("POST", "/api/open?" + q);
			r.setRequestHeader("Content-Type", "application/octet-stream");
			r.responseType = "json";
			r.upload.onprogress = (e) => sent(e.lengthComputable && e.total ? e.loaded / e.total : 0);
			r.upload.onload = () => sent(1);
			r.onload = () => r.status === 200 && r.response ? done(readSource(r.response as SourceAnswer))
				: failed(new Refusal(r.status, String((r.response as { error?: unknown } | null)?.error ?? r.statusText)));
			r.onerror = () => failed(new TypeError("no answer"));
			r.onabort = () => failed(new DOMException("stopped", "AbortError"));
			r.send(file);
		});
		return { answer, stop: () => r.abort() };
	}

	store(): Promise<StoreFacts> {
		return this.ask("store", this.path("store"), async (r) => {
			const j = await r.json();
			return { ...j, nodes: j.nodes ?? null, from: seconds(j.from), to: seconds(j.to) + 0.001 /* ranges are half-open, and the last sample is at the end */, now: seconds(j.now), period: Number(j.period_ns) / 1e6 };
		});
	}

	timeline(from: number, to: number, bins: number): Promise<Timeline> {
		const q = new URLSearchParams({ from: "@" + from / 1000, to: "@" + to / 1000, bins: String(bins) });
		return this.ask("timeline", this.path("timeline", q), async (r) => {
			const { meta, columns: c } = decodeColumns(await r.arrayBuffer());
			return {
				from: seconds(meta.from), step: seconds(meta.step), busy: c.busy as Float32Array,
				peak: c.peak as Float32Array, unseen: c.unseen as Float32Array, pinned: c.pinned as Uint8Array,
			};
		});
	}

	/* null: nothing was recorded at that time. */
	heat(s: State, mode: Mode, part: Part, columns: number, period: number): Promise<Heat | null> {
		const q = heatQuery(s, mode, part, columns);
		const step = mode === "cores" ? fineStep(part.to - part.from, columns, period) : 0;
		if (step)
			q.set("step", `${step}ms`);
		return this.ask("heat", this.path("heatmap", q), async (r) => readHeat(mode, decodeColumns(await r.arrayBuffer()), part)).catch((e: unknown) => {
			if (e instanceof Refusal && e.isNothing)
				return null;
			throw e;
		});
	}

	/* Columns of that width, of a part of the axis. */
	heatPart(s: State, mode: Mode, part: Part, columns: number, step: number): Promise<Answer> {
		const q = heatQuery(s, mode, part, columns);
		q.set("step", `${step}ms`);
		return this.ask("heat", this.path("heatmap", q), async (r) => decodeColumns(await r.arrayBuffer()));
	}

	/* What is being asked of that kind is given up. */
	give(kind: string): void {
		this.running.get(kind)?.abort();
	}

	/* before: what to compare with; null: nothing. */
	flame(s: State, part: Part, before: Part | null, kind: "flame" | "usual" = "flame"): Promise<Tree> {
		return this.ask(kind, this.path(before ? "diff" : "flame", treeQuery(s, part, before)), async (r) =>
			readTree(decodeColumns(await r.arrayBuffer())));
	}

	/* The samples themselves, in order of time. */
	chart(s: State, part: Part, most: number, period: number): Promise<Chart> {
		const q = treeQuery(s, part, null);
		q.set("most", String(most));
		return this.ask("chart", this.path("chart", q), async (r) => readChart(decodeColumns(await r.arrayBuffer()), period));
	}

	quality(s: State, part: Part): Promise<Quality> {
		return this.ask("quality", this.path("quality", selectionQuery(s, part)), async (r) => await r.json() as Quality);
	}

	/* In a stretch of time, or around one event (its id). */
	events(what: { from: number; to: number } | { event: string }, most: number): Promise<Happenings> {
		const q = new URLSearchParams("event" in what ? { event: what.event, around: "1s" }
			: { from: "@" + what.from / 1000, to: "@" + what.to / 1000 });
		q.set("most", String(most));
		return this.ask("event" in what ? "event" : "events", this.path("events", q), async (r) => {
			const j = await r.json() as { all: number; events: { id: string; time: string; uncertainty_ns: number; severity: number; source: string; text: string }[] };
			return { all: j.all, list: j.events.filter((e) => e.time !== null).map((e): Happening => ({
				id: e.id, time: seconds(e.time), uncertainty: e.uncertainty_ns / 1e6, severity: e.severity, source: e.source, text: e.text,
			})) };
		});
	}

	/* kind: of the span's track, or of the selection as one bin. */
	tracks(kind: "tracks" | "host", from: number, to: number, bins: number): Promise<Tracks> {
		const q = new URLSearchParams({ from: "@" + from / 1000, to: "@" + to / 1000, bins: String(bins) });
		return this.ask(kind, this.path("counters", q), async (r) => readTracks(decodeColumns(await r.arrayBuffer())));
	}

	why(s: State, part: Part): Promise<Why> {
		return this.ask("why", this.path("why", selectionQuery(s, part)), async (r) => await r.json() as Why);
	}

	/* Keeps it, whatever retention says; the recorder does it. */
	async pin(part: Part, note: string): Promise<void> {
		await answerOf(this.path("pin"), undefined, { from: "@" + part.from / 1000, to: "@" + part.to / 1000, note });
	}

	/* The most unusual times of all that is kept. */
	moments(): Promise<Unusual[]> {
		return this.ask("moments", this.path("moments"), async (r) => readMoments(await r.json()));
	}

	/* Tells when something was added to the store; null: nobody does. */
	live(grown: () => void): EventSource | null {
		if (typeof EventSource === "undefined")
			return null;
		const stream = new EventSource(this.path("live"));
		stream.addEventListener("store", grown);
		return stream;
	}

	/* Who ran most in a cell: names and shares. */
	busiest(s: State, part: Part): Promise<{ name: string; share: number }[]> {
		return this.ask("cell", this.path("flame", selectionQuery(s, part)), async (r) => {
			const t = readTree(decodeColumns(await r.arrayBuffer()));
			return processes(t).slice(0, 3).map((p) => ({ name: p.name, share: p.total / (t.total[0] || 1) }));
		});
	}

	/* Where the grammar's time leads: "03:14:07", "-90s", "boot+12.5". */
	time(text: string): Promise<number> {
		return this.ask("time", this.path("time", new URLSearchParams({ at: text })), async (r) =>
			seconds((await r.json()).time));
	}
}

export function isAbort(e: unknown): boolean {
	return e instanceof DOMException && e.name === "AbortError";
}
