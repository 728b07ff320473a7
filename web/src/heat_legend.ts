// SPDX-License-Identifier: Apache-2.0
/* What the colours of the heatmap mean: the empty box, the ramp, where the middle of what is not empty lies, and the most. */
import type { Heat } from "./api";
import { HEAT_STEPS, type HeatScale } from "./colour";
import type { Theme } from "./dom";
import { count } from "./format";

export function drawLegend(canvas: HTMLCanvasElement, th: Theme, s: HeatScale | null, d: Heat, table: Uint8Array): void {
	const g = canvas.getContext("2d")!;
	const k = devicePixelRatio || 1;
	canvas.width = 150 * k;
	canvas.height = 24 * k;
	canvas.style.width = "150px";
	canvas.style.height = "24px";
	g.setTransform(k, 0, 0, k, 0, 0);
	g.clearRect(0, 0, 150, 24);
	if (!s)
		return;
	g.strokeStyle = th.color("line2");
	g.strokeRect(0.5, 3.5, 8, 8);
	for (let i = 0; i < 100; i++) {
		const at = Math.min(HEAT_STEPS - 1, Math.round(s.at(Math.max(1e-9, (s.max * (i + 0.5)) / 100)) * (HEAT_STEPS - 1))) * 3;
		g.fillStyle = `rgb(${table[at]} ${table[at + 1]} ${table[at + 2]})`;
		g.fillRect(14 + i, 3, 1.5, 9);
	}
	g.font = "10px system-ui, sans-serif";
	g.fillStyle = th.color("tx3");
	g.textBaseline = "top";
	g.fillText("0", 1, 14);
	/* Where the middle of what is not empty lies. */
	const middle = d.painted ? 0 : Math.round(14 + 100 * Math.min(1, s.median / s.max));
	if (middle && middle < 108) { /* else it is the most */
		g.fillRect(middle, 12, 1, 3);
		const words = d.mode === "cores" && d.full ? `med ${Math.round(100 * s.median)}` : `med ${count(s.median)}`, w = g.measureText(words).width;
		g.fillText(words, Math.max(14, Math.min(middle - w / 2, 148 - w - g.measureText(legendMost(d, s)).width - 8)), 14);
	}
	g.textAlign = "right";
	g.fillText(legendMost(d, s), 148, 14);
}

function legendMost(d: Heat, s: HeatScale): string {
	return d.painted ? "all match" : d.mode === "cores" && d.full ? "100 %" : `${count(s.max)} smp`;
}
