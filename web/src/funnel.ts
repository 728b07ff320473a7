// SPDX-License-Identifier: Apache-2.0
/* From a part of the picture above to all of the one below: "this is that, larger". */
import { el } from "./dom";

const HEIGHT = 12;

function drawFunnel(c: HTMLCanvasElement, x0: number, x1: number, color: string): void {
	const w = c.clientWidth, k = devicePixelRatio || 1, g = c.getContext("2d")!;
	c.width = w * k;
	c.height = HEIGHT * k;
	g.setTransform(k, 0, 0, k, 0, 0);
	g.strokeStyle = g.fillStyle = color;
	g.beginPath();
	g.moveTo(x0, 0);
	g.bezierCurveTo(x0, 9, 40, 3, 0, HEIGHT);
	g.lineTo(w, HEIGHT);
	g.bezierCurveTo(w - 40, 3, x1, 9, x1, 0);
	g.closePath();
	g.globalAlpha = 0.08;
	g.fill();
	g.globalAlpha = 0.6;
	g.stroke();
}

type Line = [x0: number, x1: number, colour: string];

export class Funnels {
	readonly canvases = [el("canvas", { class: "funnel" }), el("canvas", { class: "funnel" })];
	private waits = false;

	/* lines: where each of them is to lead from, when it is drawn. */
	constructor(private lines: () => Line[]) {
		new ResizeObserver(() => this.draw()).observe(this.canvases[0]);
		for (const c of this.canvases)
			c.addEventListener("contextrestored", () => this.draw());
	}

	/* Once before the next picture, however often something moved: their places are asked for, and that takes a layout. */
	draw(): void {
		if (this.waits)
			return;
		this.waits = true;
		requestAnimationFrame(() => {
			this.waits = false;
			if (this.canvases[0].clientWidth)
				this.lines().forEach(([x0, x1, colour], i) => drawFunnel(this.canvases[i], x0, x1, colour));
		});
	}
}
