// SPDX-License-Identifier: Apache-2.0
/* A small track under the heatmap, on its axis: what the host counted in the same time. */
import { Layers, type Theme, type Tip } from "./dom";
import { clock, compact, count, percent, zoneName, type Zone } from "./format";
import { CHOICES, type Choice, type Track, type Tracks } from "./tracks";
import { GUTTER } from "./timeline_view";

const TOP = 4, BOTTOM = 3;

export interface TrackHost {
	theme(): Theme;
	zone(): Zone;
	/* The heatmap's axis. */
	axis(): { from: number; to: number } | null;
}

/* A value in its unit. */
export function valueWords(unit: string, v: number): string {
	if (!isFinite(v))
		return "not known";
	switch (unit) {
	case "machine": case "time": return percent(v);
	case "cpus": return v.toFixed(v < 10 ? 2 : 0);
	case "second": return count(v) + "/s";
	default: return v >= 10 ? count(v) : v.toFixed(1).replace(/\.0$/, "");
	}
}

export class TrackView {
	readonly layers: Layers;
	private data: Tracks | null = null;
	private choice: Choice = CHOICES[0];

	constructor(private host: TrackHost, private tip: Tip) {
		this.layers = new Layers("track", "What the host counted in the same time", () => this.draw());
		const r = this.layers.root;
		r.setAttribute("role", "img");
		r.removeAttribute("tabindex");
		r.addEventListener("pointermove", (e) => this.hover(e));
		r.addEventListener("pointerleave", () => {
			this.tip.hide();
			this.layers.clearOver();
		});
	}

	/* What of the choices there is data for. */
	static known(data: Tracks | null): Choice[] {
		return CHOICES.filter((c) => c.parts.some(([key]) => data?.by.has(key)));
	}

	show(data: Tracks | null, choice: string): void {
		const all = TrackView.known(data);
		this.data = data;
		this.choice = all.find((c) => c.key === choice) ?? all[0] ?? CHOICES[0];
		this.layers.redraw();
	}

	private plotWidth(): number {
		return Math.max(1, this.layers.width - 2 * GUTTER);
	}

	private x(t: number): number {
		const a = this.host.axis();
		return a ? GUTTER + ((t - a.from) / (a.to - a.from)) * this.plotWidth() : 0;
	}

	/* The top of the axis: all of the machine, or something round above the highest. */
	private most(parts: Track[]): number {
		if (this.choice.stacked)
			return 1;
		let most = 0;
		for (const t of parts)
			for (const v of t.peak)
				if (v > most)
					most = v;
		const unit = Math.pow(10, Math.floor(Math.log10(most || 1)));
		return [1, 2, 5, 10].map((k) => k * unit).find((v) => v >= most) ?? 1;
	}

	draw(): void {
		const { base: g, width, height } = this.layers, th = this.host.theme(), d = this.data;
		if (!width)
			return;
		this.layers.clear(th.color("bg1"));
		const parts = this.choice.parts.filter(([key]) => d?.by.has(key));
		if (!d || !this.host.axis() || !parts.length)
			return;
		const bottom = height - BOTTOM, h = bottom - TOP;
		const tracks = parts.map(([key]) => d.by.get(key)!), most = this.most(tracks);
		g.save();
		g.beginPath();
		g.rect(GUTTER, 0, this.plotWidth(), height);
		g.clip();
		g.fillStyle = th.color("bg2");
		g.fillRect(GUTTER, TOP, this.plotWidth(), h);
		if (this.choice.stacked)
			this.drawLayers(g, th, d, parts, bottom, h);
		else
			parts.forEach(([, , color], i) => this.drawLine(g, th.color(color), d, tracks[i], bottom, h / most, parts.length === 1));
		g.restore();
		this.drawWords(g, th, parts, most, tracks[0].unit);
	}

	private drawLayers(g: CanvasRenderingContext2D, th: Theme, d: Tracks, parts: Choice["parts"], bottom: number, h: number): void {
		const under = new Float32Array(d.bins);
		for (const [key, , color] of parts) {
			const v = d.by.get(key)!.mean;
			g.fillStyle = th.color(color);
			g.beginPath();
			for (let i = 0; i < d.bins; i++) {
				if (!(v[i] > 0))
					continue;
				const x0 = this.x(d.from + i * d.step), x1 = this.x(d.from + (i + 1) * d.step);
				g.rect(x0, bottom - (under[i] + v[i]) * h, x1 - x0 + 0.3, v[i] * h);
				under[i] += v[i];
			}
			g.fill();
		}
	}

	/* A line of the peaks; alone, over an area of the means. */
	private drawLine(g: CanvasRenderingContext2D, color: string, d: Tracks, t: Track, bottom: number, scale: number, area: boolean): void {
		g.fillStyle = g.strokeStyle = color;
		if (area) {
			g.globalAlpha = 0.35;
			g.beginPath();
			for (let i = 0; i < d.bins; i++)
				if (t.mean[i] > 0) {
					const x0 = this.x(d.from + i * d.step), x1 = this.x(d.from + (i + 1) * d.step);
					g.rect(x0, bottom - t.mean[i] * scale, x1 - x0 + 0.3, t.mean[i] * scale);
				}
			g.fill();
			g.globalAlpha = 1;
		}
		g.lineWidth = 1.2;
		g.beginPath();
		let open = false;
		for (let i = 0; i < d.bins; i++) {
			const v = t.peak[i], y = bottom - v * scale;
			if (!isFinite(v)) {
				open = false;
				continue;
			}
			const x0 = this.x(d.from + i * d.step), x1 = this.x(d.from + (i + 1) * d.step);
			if (open)
				g.lineTo(x0, y);
			else
				g.moveTo(x0, y);
			g.lineTo(x1, y);
			open = true;
		}
		g.stroke();
	}

	private drawWords(g: CanvasRenderingContext2D, th: Theme, parts: Choice["parts"], most: number, unit: string): void {
		const { height } = this.layers;
		g.font = "10px system-ui, sans-serif";
		g.textAlign = "right";
		g.textBaseline = "top";
		g.fillStyle = th.color("tx3");
		g.fillText(unit === "machine" || unit === "time" ? percent(most).replace(".0", "") : compact(most), GUTTER - 8, TOP - 1);
		g.textBaseline = "bottom";
		g.fillText("0", GUTTER - 8, height - BOTTOM + 2);
		g.textAlign = "left";
		g.textBaseline = "middle";
		const x = GUTTER + this.plotWidth() + 6, row = Math.min(9, (height - 4) / parts.length);
		parts.forEach(([, words, color], i) => {
			const y = this.choice.stacked ? height - BOTTOM - row * (i + 0.5) : TOP + row * (i + 0.5);
			g.fillStyle = th.color(color);
			g.fillRect(x, y - 2.5, 5, 5);
			g.fillStyle = th.color("tx3");
			g.font = "9px system-ui, sans-serif";
			g.fillText(parts.length === 1 ? "" : words, x + 8, y);
		});
	}

	private hover(e: PointerEvent): void {
		const d = this.data, a = this.host.axis();
		if (!d || !a || e.offsetX < GUTTER || e.offsetX > GUTTER + this.plotWidth()) {
			this.tip.hide();
			return;
		}
		const t = a.from + ((e.offsetX - GUTTER) / this.plotWidth()) * (a.to - a.from);
		const i = Math.floor((t - d.from) / d.step);
		if (i < 0 || i >= d.bins)
			return;
		const { over: g, height } = this.layers;
		this.layers.clearOver();
		g.fillStyle = this.host.theme().color("tx");
		g.fillRect(e.offsetX, TOP, 1, height - TOP - BOTTOM);
		const zone = this.host.zone();
		const say = (key: string, words: string) => {
			const v = d.by.get(key);
			return v && isFinite(v.mean[i]) ? `${words} ${valueWords(v.unit, v.mean[i])}` : "";
		};
		const most = (key: string, words: string) => {
			const v = d.by.get(key);
			return v && v.peak[i] > 1.5 * v.mean[i] && v.peak[i] > 0.05 ? `${words} ${percent(v.peak[i])} on CPU ${v.who[i]}` : "";
		};
		const join = (...v: string[]) => v.filter(Boolean).join(" · ");
		this.tip.show(e.clientX, e.clientY, `${clock(t, zone)} ${zoneName(t, zone)}`,
			join(say("user", "user"), say("system", "system"), say("irq", "irq"), say("softirq", "softirq"), say("steal", "steal"), say("idle", "idle")),
			join(most("system", "at most: system"), most("softirq", "softirq"), most("steal", "steal")),
			join(say("runnable", "run queue"), say("run_delay", "threads waiting"), say("switches", "switches")),
			join(say("pressure_cpu", "pressure: cpu"), say("pressure_memory", "memory"), say("pressure_io", "io")),
			join(say("memory_cgroups", "memory cgroups"), say("softnet_dropped", "packets dropped"), say("own_cpu", "perfcam's own CPUs")));
	}
}
