// SPDX-License-Identifier: Apache-2.0
/*
 * Heat: nine stops of equal steps in lightness, so that it reads in grey and with any eyes; zero is
 * the background and never a colour. Sparse: one lone sample shows, and the median of what is not empty lies at 0.24, so
 * that a busy machine stays calm and what stands out does so. Of shares of a whole: t = floor + (1 - floor) * (v / whole)^g,
 * as near to that as g between 0.6 and 2.2 brings it, so that full looks full. Of mere numbers: straight from floor to 0.24
 * at the median, and from there to 1 at the largest, however little cells differ: one spike among a hundred thousand
 * equal ones is the only bright one. (At the 99.8th percentile, as it was, a hundred others would be as bright.)
 */
const DARK = ["#27183e", "#4e1d5c", "#7e235e", "#aa3350", "#cd4d42", "#e57137", "#f4993c", "#f9c254", "#f9ea92"];
const LIGHT = ["#f7e8c8", "#f5d096", "#f6ae62", "#ef8746", "#e05d3d", "#c33745", "#962558", "#661c5a", "#39154c"];
export const HEAT_STEPS = 256;

function rgb(hex: string): [number, number, number] {
	const n = parseInt(hex.slice(1), 16);
	return [n >> 16, (n >> 8) & 255, n & 255];
}

/* 256 colours as bytes R G B. */
export function heatTable(light: boolean): Uint8Array {
	const stops = (light ? LIGHT : DARK).map(rgb);
	const table = new Uint8Array(HEAT_STEPS * 3);
	for (let i = 0; i < HEAT_STEPS; i++) {
		const x = (i / (HEAT_STEPS - 1)) * (stops.length - 1);
		const k = Math.min(Math.floor(x), stops.length - 2);
		for (let c = 0; c < 3; c++)
			table[i * 3 + c] = Math.round(stops[k][c] + (stops[k + 1][c] - stops[k][c]) * (x - k));
	}
	return table;
}

const MOST_LOOKED_AT = 50000;

export interface HeatScale {
	max: number;
	median: number; /* of what is not empty */
	/* 0…1 of a value above 0. */
	at(v: number): number;
}

/* The value that `share` of the sorted values do not exceed. */
function quantile(sorted: Float64Array, share: number): number {
	return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] : 0;
}

const MEDIAN_AT = 0.24;
/* The largest is not believed to be the scale where it is this much farther above the median than nearly all others are. */
const FARTHER = 4;
/* What differs by less from the median is no brighter for being the largest. */
const LEAST_ABOVE = 0.25;

/* The brightest: the largest, within reason. */
function topOf(sorted: Float64Array, median: number, most: number): number {
	const usual = Math.max(quantile(sorted, 0.998) - median, LEAST_ABOVE * median);
	return Math.min(most, median + FARTHER * usual);
}

/* max: what is full (cores); 0: nothing is, and `most` the largest of the cells. */
export function heatScale(cells: ArrayLike<number>, max: number, linear: boolean, light: boolean, most = 0): HeatScale {
	/* Of millions every so many tell as much. */
	const every = Math.max(1, Math.floor(cells.length / MOST_LOOKED_AT));
	const filled = new Float64Array(Math.ceil(cells.length / every));
	let n = 0;
	for (let i = 0; i < cells.length; i += every)
		if (cells[i] > 0)
			filled[n++] = cells[i];
	const sorted = filled.subarray(0, n).sort();
	const median = quantile(sorted, 0.5);
	const top = Math.max(max || topOf(sorted, median, Math.max(most, n ? sorted[n - 1] : 0)), n ? sorted[0] : 1);
	if (linear)
		return { max: top, median, at: (v) => Math.min(1, v / top) };
	const floor = light ? 0.2 : 0.16;
	if (!max) {
		const above = Math.max(top - median, LEAST_ABOVE * median);
		return { max: top, median, at: (v) => v <= median ? floor + ((MEDIAN_AT - floor) * v) / median
			: MEDIAN_AT + (1 - MEDIAN_AT) * Math.min(1, (v - median) / above) };
	}
	const ratio = median / top;
	/* (median / max)^g = (MEDIAN_AT - floor) / (1 - floor) */
	const wanted = Math.log((MEDIAN_AT - floor) / (1 - floor)) / Math.log(ratio);
	const g = ratio > 0 && ratio < 1 ? Math.min(2.2, Math.max(0.6, wanted)) : 1;
	return { max: top, median, at: (v) => floor + (1 - floor) * Math.pow(Math.min(1, v / top), g) };
}

/* Lightness of a frame's colour by its name: neighbours differ, the same name never does. */
export function nameTint(hash: number): number {
	return 1 + (((hash >>> 8) % 17) - 8) / 100;
}

/* A colour of its own for a module or a name; light enough for dark ink. */
export function hueOf(hash: number, light: boolean): string {
	return `hsl(${hash % 360} ${light ? 55 : 42}% ${(light ? 74 : 62) + ((hash >>> 9) % 9)}%)`;
}

export function tint(hex: string, by: number): string {
	const [r, g, b] = rgb(hex.trim());
	const f = (x: number) => Math.max(0, Math.min(255, Math.round(x * by)));
	return `rgb(${f(r)} ${f(g)} ${f(b)})`;
}

/* From one colour (0) to another (1). */
export function mix(a: string, b: string, t: number): string {
	const p = rgb(a.trim()), q = rgb(b.trim());
	const at = (i: number) => Math.round(p[i] + (q[i] - p[i]) * Math.max(0, Math.min(1, t)));
	return `rgb(${at(0)} ${at(1)} ${at(2)})`;
}
