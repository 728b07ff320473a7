// SPDX-License-Identifier: Apache-2.0
/* What frames look like, by weight or by time: their colours and as much of their names as fits. */
import { hueOf, nameTint, tint } from "./colour";
import type { Theme } from "./dom";
import type { Colour } from "./state";
import { hashOf, KIND, moduleHashOf, type Tree } from "./tree";

export const ROW = 18, LABEL_LEAST = 26, FONT = "11px system-ui, sans-serif";
export const KIND_COLOURS = ["root", "process", "kernel", "user", "jit", "inlined", "mark"];
export const KIND_WORDS = ["everything", "process", "kernel", "user", "JIT", "inlined", "mark"];
const MOST_WIDTHS = 50000;

export function frameFill(t: Tree, node: number, by: Colour, th: Theme): string {
	const frame = t.frame[node], kind = t.kind[frame];
	if (by !== "kind" && kind > KIND.process)
		return hueOf(by === "module" ? moduleHashOf(t, t.module[node]) : hashOf(t, frame), th.light);
	return tint(th.color(KIND_COLOURS[kind] ?? "mark"), kind === KIND.root || kind === KIND.process ? 1 : nameTint(hashOf(t, frame)));
}

/* What a name says behind its packages; all of it where that would be a piece from within brackets: "[kernel.kallsyms]", "set<ns::T>". */
export function lastWord(name: string): string {
	const short = name.replace(/^.*(?:::|[/.])(?=[A-Za-z_$<~][^/.:]*$)/, "");
	return ["<>", "()", "[]"].every(([open, close]) => short.split(open).length === short.split(close).length) ? short : name;
}

export class Labels {
	private widths = new Map<string, number>();

	/* As much of a name as fits in the font that is set: what stands before the last part goes first, then the end. */
	fit(g: CanvasRenderingContext2D, font: string, name: string, room: number): string {
		if (this.measure(g, font, name) <= room)
			return name;
		const short = lastWord(name);
		if (short !== name && short.length > 2 && this.measure(g, font, short) <= room)
			return short;
		let n = Math.min(name.length, Math.floor(room / 5));
		while (n > 2 && this.measure(g, font, name.slice(0, n) + "…") > room)
			n--;
		return n > 2 ? name.slice(0, n) + "…" : "";
	}

	private measure(g: CanvasRenderingContext2D, font: string, s: string): number {
		const key = font + s;
		let w = this.widths.get(key);
		if (w === undefined) {
			if (this.widths.size > MOST_WIDTHS)
				this.widths.clear();
			this.widths.set(key, (w = g.measureText(s.slice(0, 200)).width));
		}
		return w;
	}
}
