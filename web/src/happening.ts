// SPDX-License-Identifier: Apache-2.0
/* Events: what the kernel, a journal, a person or perfcam itself said at a time. */
import type { Theme } from "./dom";

export interface Happening {
	id: string;
	time: number; /* ms since 1970 */
	uncertainty: number; /* ms */
	severity: number; /* 0 emergency … 7 debug */
	source: string;
	text: string;
}

export interface Happenings {
	all: number; /* how many there are; what is given may be fewer */
	list: Happening[]; /* by time */
}

export const SEVERITY = ["emergency", "alert", "critical", "error", "warning", "notice", "information", "debug"];
/* What one jumps to around an event, ms to each side. */
export const AROUND = 2500;

export function rank(e: Happening): "err" | "warn" | "info" {
	return e.severity <= 3 ? "err" : e.severity === 4 ? "warn" : "info";
}

export function shape(e: Happening): "triangle" | "square" | "diamond" | "circle" {
	if (e.source === "kmsg" || e.source === "kernel")
		return "triangle";
	if (e.source === "mark" || e.source === "alert")
		return "square";
	return e.source === "perfcam" || e.source === "finding" ? "diamond" : "circle";
}

/* Colour is severity, shape is where it comes from: neither alone has to be seen. */
export function drawGlyph(g: CanvasRenderingContext2D, e: Happening, x: number, y: number, r: number, th: Theme): void {
	g.fillStyle = th.color(shape(e) === "diamond" ? "find" : rank(e));
	g.beginPath();
	switch (shape(e)) {
	case "triangle":
		g.moveTo(x - r, y - r * 0.8);
		g.lineTo(x + r, y - r * 0.8);
		g.lineTo(x, y + r);
		break;
	case "square":
		g.rect(x - r * 0.75, y - r * 0.75, r * 1.5, r * 1.5);
		break;
	case "diamond":
		g.moveTo(x, y - r);
		g.lineTo(x + r, y);
		g.lineTo(x, y + r);
		g.lineTo(x - r, y);
		break;
	case "circle":
		g.arc(x, y, r * 0.7, 0, 7);
	}
	g.closePath();
	g.fill();
}

export const GLYPHS = { triangle: "▼", square: "■", diamond: "◆", circle: "●" } as const;

/* The least severe first, so that what matters is drawn last and above. */
export function bySeverity(list: Happening[]): Happening[] {
	return [...list].sort((p, q) => q.severity - p.severity);
}

/* The one nearest to a place on the axis, the more severe of several; null: none within `room` px. */
export function nearest(list: Happening[], x: (t: number) => number, at: number, room: number): Happening | null {
	let best: Happening | null = null, distance = room;
	for (const e of list) {
		const d = Math.abs(x(e.time) - at);
		if (d < distance || (best && d <= room && e.severity < best.severity)) {
			distance = Math.min(distance, d);
			best = e;
		}
	}
	return best;
}

/* Old ones and newer ones of the same store, each once. */
export function merge(old: Happening[], more: Happening[]): Happening[] {
	const known = new Set(more.map((e) => e.id));
	return [...old.filter((e) => !known.has(e.id)), ...more].sort((p, q) => p.time - q.time);
}

/* What is to be listed: those in the span, filled up with the nearest around it; the newest first. */
export function near(list: Happening[], from: number, to: number, most: number): { shown: Happening[]; inside: number } {
	const inside = list.filter((e) => e.time >= from && e.time < to);
	const far = (e: Happening) => (e.time < from ? from - e.time : e.time - to);
	/* Too many: the severe ones, as on the axis. */
	const chosen = inside.length > most ? [...inside].sort((p, q) => p.severity - q.severity || q.time - p.time).slice(0, most)
		: [...inside, ...list.filter((e) => e.time < from || e.time >= to).sort((p, q) => far(p) - far(q)).slice(0, Math.min(5, most) - Math.min(5, inside.length))];
	return { shown: chosen.sort((p, q) => q.time - p.time), inside: inside.length };
}

/* A text short enough for a name: what a log says before its details. */
export function shortText(e: Happening): string {
	return e.text.length > 48 ? e.text.slice(0, 46).trimEnd() + "…" : e.text;
}

/* Whether that is its id, or the first digits of it; "ev-" may be left out. */
export function isCalled(e: Happening, id: string): boolean {
	return e.id.replace(/^ev-/, "").startsWith(id.replace(/^ev-/, ""));
}
