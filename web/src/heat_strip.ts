// SPDX-License-Identifier: Apache-2.0
/*
 * Above the cores of a long span: how busy all of them together were in the busiest 20 ms of each column. A moment in which every CPU
 * works for 20 ms is one or two samples of each: no row of hours shows it, their sum does.
 */
import type { Heat } from "./api";
import { HEAT_STEPS, heatTable } from "./colour";
import type { Theme } from "./dom";
import { clocks, percent, zoneName, type Zone } from "./format";
import { GUTTER } from "./timeline_view";

const HEIGHT = 8;
export const STRIP = HEIGHT + 2; /* px that it takes, with the line below it */

/* Colours of a search mean something else. */
export function hasStrip(d: Heat | null): boolean {
	return d !== null && d.mode === "cores" && d.busiest !== null && d.painted === null;
}

export function drawStrip(g: CanvasRenderingContext2D, th: Theme, d: Heat, y: number, width: number): void {
	const table = heatTable(th.light), w = width / d.columns;
	for (let c = 0; c < d.columns; c++) {
		const v = d.busiest![c];
		if (!(v > 0))
			continue;
		const k = Math.round(v * (HEAT_STEPS - 1)) * 3;
		g.fillStyle = `rgb(${table[k]} ${table[k + 1]} ${table[k + 2]})`;
		g.fillRect(GUTTER + c * w, y, Math.max(1, w + 0.3), HEIGHT);
	}
	g.font = "10px system-ui, sans-serif";
	g.textAlign = "right";
	g.textBaseline = "middle";
	g.fillStyle = th.color("tx3");
	g.fillText("20 ms", GUTTER - 8, y - 1);
}

export function stripWords(d: Heat, c: number, zone: Zone): string[] {
	const from = d.from + c * d.step, v = d.busiest![c];
	return [`${clocks(from, from + d.step, zone)} ${zoneName(from, zone)}`,
		isNaN(v) ? "its parts of a second are not known" : `all CPUs in the busiest 20 ms of it: ${percent(v)} busy`];
}
