// SPDX-License-Identifier: Apache-2.0
/*
 * How far parts of a second reach. Hours of them come from sums of 20 ms: of all that ran, where windows have them. Else they take the
 * time of every sample, and hours of a large host would take minutes; cores come from sums in any case.
 */
import type { StoreFacts } from "./api";
import type { State } from "./state";

const MOST_TIMED = 40e6; /* samples whose times a heatmap may ask for */
const SUMMED_ROWS = 50;

interface Span {
	from: number;
	to: number;
}

/* How many samples it may have: no more than all CPUs had time for, nor than there are. */
export function samplesOf(span: Span, store: StoreFacts): number {
	return Math.min(store.samples, store.period > 0 ? ((span.to - span.from) / store.period) * store.cpus : 0);
}

/* Whether its cells are of some samples and not of all: no sums have that. */
export function takesSamples(s: State): boolean {
	return s.filters.some(([name]) => name !== "hide" && name !== "focus") || s.only !== "" || (s.paint && s.search !== "");
}

export function isTooLong(s: State, span: Span, store: StoreFacts): boolean {
	return (!takesSamples(s) ? Math.min(samplesOf(span, store), store.unslotted) : samplesOf(span, store)) > MOST_TIMED;
}

/* Rows a second; where only sums will do, those that they have. */
export function heatRows(s: State, span: Span, store: StoreFacts): number {
	return samplesOf(span, store) > MOST_TIMED && SUMMED_ROWS % s.rows ? SUMMED_ROWS : s.rows;
}
