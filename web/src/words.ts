// SPDX-License-Identifier: Apache-2.0
/* Lines of the page that say what is shown. */
import type { Heat, StoreFacts } from "./api";
import { clock, count, cpuList, day, duration, zoneName, type Zone } from "./format";
import type { Part, State } from "./state";
import type { Tree } from "./tree";

/* Of the line at the foot: what widths and colours mean. */
export function statusWords(t: Tree, s: State): string {
	const d = t.meta.diff as { significant: number; tested: number } | undefined, all = `${count(t.total[0])} ${t.unit}`;
	if (s.tab === "table")
		return `Shares of ${all}. A function's name searches for it, a column's puts them in order`;
	if (t.before && t.elided)
		return `Only what ${t.flipped ? "the selection has and the baseline" : "the baseline has and the selection"} has not, as if both had lasted as long`;
	if (t.before)
		return `Width: ${t.flipped ? "the baseline" : "the selection"}. Colour: change against the baseline, only where it exceeds chance: ${d ? `${count(d.significant)} of ${count(d.tested)} functions` : ""}`;
	return `Width: share of ${all}. Hover a frame for numbers, click to zoom`;
}

/* Of a recording as a whole, for the top of the page. */
export function recordedWords(s: StoreFacts, timeless: boolean): string {
	const kept = isFinite(s.from) ? `${duration(s.to - s.from)} kept` : timeless ? `${count(s.samples)} ${s.samples === 1 ? "stack" : "stacks"}` : "nothing kept";
	return [`${s.recording ? "REC  " : ""}${kept}`, s.period ? `${Math.round(1000 / s.period)} Hz` : "", cpusWords(s.cpus)].filter(Boolean).join(" · ");
}

/* Empty where nobody knows. */
export function cpusWords(n: number): string {
	return n ? `${count(n)} ${n === 1 ? "CPU" : "CPUs"}` : "";
}

/* For a shell: as one word, and without anything that a terminal would obey. */
function quoted(text: string): string {
	if (/^[\w@%+=:,./-]+$/.test(text))
		return text;
	const plain = text.replace(/[\\']/g, "\\$&").replace(/[\x00-\x1f\x7f-\x9f]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
	return /[\\]/.test(plain) ? `$'${plain}'` : `'${plain}'`;
}

/* What was different in it, as a question in a terminal. */
export function whyCommand(s: State, part: Part): string {
	const words = ["perfcam why", `--from @${(part.from / 1000).toFixed(3)}`, `--to @${(part.to / 1000).toFixed(3)}`];
	if (part.cpus)
		words.push(`--cpu ${cpuList(part.cpus)}`);
	for (const [name, value] of s.filters)
		if (name !== "hide" && name !== "focus")
			words.push(`--${name}=${quoted(value)}`);
	return [...words, ...(s.only ? [`--${s.only}-only`] : [])].join(" ");
}

/* How much is kept, and from when to when. */
export function keptWords(s: StoreFacts, zone: Zone, timeless: boolean): string {
	if (!isFinite(s.from))
		return timeless ? "no wall clock" : "nothing recorded yet";
	return `${duration(s.to - s.from)} kept · ${day(s.from, zone)} ${clock(s.from, zone)} to ${day(s.to, zone)} ${clock(s.to, zone)} ${zoneName(s.to, zone)}` +
		(s.unreadable ? ` · ${s.unreadable === 1 ? "1 window" : `${count(s.unreadable)} windows`} cannot be read` : "");
}

/* Whether seconds tell where a span begins and ends. */
export function inSeconds(from: number, to: number): boolean {
	return to - from >= 10e3 || !(from % 1000 || to % 1000);
}

/* What a cell of the heatmap is. tooLong: parts of a second were asked for, and there are none of so long a time. */
export function cellWords(heat: Heat | null, tooLong: boolean): string {
	if (!heat)
		return "";
	if (heat.mode === "sub")
		return ` · cell ${duration(1000 / heat.rows)}${heat.merged > 1 ? `, busiest of ${heat.merged} s` : ""}`;
	return ` · cell ${duration(heat.step)} × 1 CPU${heat.merged > 1 ? ", its busiest second" : ""}${tooLong ? ", too long for parts of a second" : ""}`;
}
