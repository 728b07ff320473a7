// SPDX-License-Identifier: Apache-2.0
/*
 * A heatmap of hours that no sums have: of a filter, or of a search. All of its samples are read, which takes seconds; so it is read
 * in parts, the newest first, and each is shown as it comes. What all CPUs did in the same time comes from sums, at once: its cells
 * stand there, veiled, until their part has been read.
 */
import { readHeat, Refusal, type Heat, type Server, type StoreFacts } from "./api";
import { samplesOf, takesSamples } from "./heat_reach";
import type { Mode, Part, State } from "./state";

const AT_ONCE = 16e6; /* samples that one answer may read: about half a second */
const LEAST_COLUMNS = 4;

export interface Reach {
	mode: Mode;
	span: { from: number; to: number };
	store: StoreFacts;
}

/* Whether it is worth it. */
export function isRead(s: State, span: { from: number; to: number }, store: StoreFacts): boolean {
	return takesSamples(s) && samplesOf(span, store) > AT_ONCE;
}

/* A live span goes on all the time: of a long one this much at once, or it would be read for ever. */
export function steadySpan(span: { from: number; to: number }): { from: number; to: number } {
	const by = Math.max(10e3, (span.to - span.from) / 240);
	return { from: Math.floor(span.from / by) * by, to: Math.floor(span.to / by) * by };
}

/*
 * Parts of a second are drawn of whole ones: what lies beside the span in its first and last is shown, too. A second of which it has
 * less than a millisecond is none of its own: what is kept ends a moment behind its last sample.
 */
export function wholeSeconds(span: { from: number; to: number }): { from: number; to: number } {
	const from = Math.floor((span.from + 1) / 1000) * 1000;
	return { from, to: Math.max(from + 1000, Math.ceil((span.to - 1) / 1000) * 1000) };
}

/* The cells of all that ran, of which nothing has been read. */
export function unreadOf(all: Heat, painted: boolean): Heat {
	const n = all.cells.length;
	return { ...all, behind: all.cells, unread: new Uint8Array(all.columns).fill(1), cells: new Float32Array(n), counts: new Uint32Array(n), most: 0, busiest: null,
		painted: painted ? new Float32Array(n) : null };
}

/* Columns from `at` on are those of a part; null: nothing was recorded then. */
export function merge(into: Heat, part: Heat | null, at: number, columns: number): Heat {
	const h: Heat = { ...into, cells: into.cells.slice(), counts: into.counts.slice(), unseen: into.unseen.slice(), painted: into.painted?.slice() ?? null, unread: into.unread!.slice() };
	h.unread!.fill(0, at, at + columns);
	if (!part)
		return h;
	const first = Math.round((part.from - into.from) / into.step), rowOf = new Map(into.cpus.map((c, r) => [c, r]));
	for (let r = 0; r < part.rows; r++) {
		const row = into.mode === "cores" ? rowOf.get(part.cpus[r]) : r;
		if (row === undefined || row >= into.rows)
			continue;
		for (let c = Math.max(0, at - first); c < part.columns && first + c < at + columns; c++) {
			const from = r * part.columns + c, to = row * h.columns + first + c;
			h.cells[to] = part.cells[from];
			h.counts[to] = part.counts[from];
			h.unseen[to] = part.unseen[from];
			if (h.painted && part.painted)
				h.painted[to] = part.painted[from];
			h.most = Math.max(h.most, part.cells[from]);
		}
	}
	return { ...h, damaged: h.damaged || part.damaged };
}

/* How many columns a part has, so that it reads no more than that; of a step of the axis. */
function columnsAPart(all: Heat, r: Reach): number {
	return Math.max(LEAST_COLUMNS, Math.floor((AT_ONCE / samplesOf(r.span, r.store)) * all.columns));
}

/*
 * Reads it. shown() has what is there so far, and how many parts of how many that is. Ends with an AbortError where somebody asks for
 * another heatmap, or for no more of this one: then the rest stays unread.
 */
export async function readParts(server: Server, s: State, r: Reach, all: Heat, shown: (h: Heat, done: number, of: number) => void): Promise<void> {
	const each = columnsAPart(all, r), of = Math.ceil(all.columns / each);
	let heat = unreadOf(all, s.paint && s.search !== "");
	shown(heat, 0, of);
	for (let k = of - 1; k >= 0; k--) {
		const at = k * each, n = Math.min(each, all.columns - at), from = all.from + at * all.step;
		const part: Part = { from: Math.max(from, r.span.from), to: Math.min(from + n * all.step, r.span.to), cpus: null };
		const got = await server.heatPart(s, r.mode, part, n + 2, all.step).catch((e: unknown) => {
			if (e instanceof Refusal && e.isNothing)
				return null;
			throw e;
		});
		heat = merge(heat, got && readHeat(r.mode, got, part), at, n);
		shown(heat, of - k, of);
	}
}
