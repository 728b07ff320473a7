// SPDX-License-Identifier: Apache-2.0
/* What was different in the selection: the answer first, then its evidence; see /api/why. */
import { el } from "./dom";
import { duration, percent, ratio } from "./format";
import { processes, type Tree } from "./tree";

interface Finding {
	kind: "process" | "cgroup" | "function" | "core" | "kernel path" | "stopped";
	significant: boolean;
	process: string;
	pid: number | null;
	processes: number;
	cgroup: string;
	path: string[];
	function_samples: number;
	explained_samples: number;
	cpu: number | null;
	cpu_samples: number;
	run_ns: number;
	kernel_samples: number;
	share: number | null;
	baseline: number | null;
	ratio: number | null;
	samples: number;
	expected: number;
	other_times: number;
	time_ns: number | null;
	length_ns: number;
	p: number;
	score: number;
}

interface Core {
	cpu: number;
	process: string;
	function: string;
	time_ns: number | null;
	length_ns: number;
}

export interface Why {
	answer: string;
	asked_seconds: number;
	asked_unobserved_seconds: number;
	findings: Finding[];
	closest: Finding[];
	cores: Core[];
	waited: { tid: number; comm: string; share: number; usual: number | null }[];
	host: { what: string; value: number; usual: number | null; unit: string; sentence: string }[];
	history: { seconds: number; moments: number; coarse: boolean };
}

/* An unusual time that nobody had to name. */
export interface Unusual {
	from: number; /* ms */
	to: number;
	words: string;
}

/* Who a finding is of: a process, a group of them, a core, a function. */
const whoOf = (f: Finding): string => (f.kind === "core" ? `CPU ${f.cpu}` : f.process || f.cgroup || f.path[0] || "");

export function readMoments(j: { moments: Finding[] }): Unusual[] {
	return j.moments.filter((f) => f.time_ns !== null).map((f) => {
		const from = f.time_ns! / 1e6, who = whoOf(f);
		const where = f.kind !== "core" && f.cpu !== null && f.cpu_samples * 2 > f.explained_samples ? ` on CPU ${f.cpu}` : "";
		return { from, to: from + f.length_ns / 1e6, words: f.kind === "stopped" ? `${who} stopped` : `${who}${where}${f.path[0] && f.path[0] !== who ? ", " + f.path[0] : ""}` };
	});
}

/* Where on the pictures a sentence leads. */
export interface Place {
	number: number;
	cpu: number | null;
	from: number; /* ms; NaN: not known */
	to: number;
	process: string;
	functions: string[]; /* the leaf first */
	words: string;
}

/* How much speaks for a sentence. */
export const STRENGTHS = ["", "weak", "fair", "strong"] as const;
export type Strength = 1 | 2 | 3;

export interface Sentence {
	text: (Node | string)[];
	evidence: string;
	strength: Strength;
	place: Place | null;
}

const b = (s: string) => el("b", {}, s);
const times = (r: number) => (r > 99 ? ">99×" : r >= 10 ? r.toFixed(0) + "×" : r.toFixed(1) + "×");

/* By its score: 12 is enough to be told at all, 30 even of a short history (docs/why.md). */
const ofScore = (score: number): Strength => (score >= 30 ? 3 : score >= 12 ? 2 : 1);

/* Who, where, how long, in what. */
export function headline(w: Why): (Node | string)[] | null {
	const f = w.findings[0];
	if (!f)
		return null;
	const who = whoOf(f) || "something";
	const leaf = f.path[0] && f.path[0] !== who ? [" in ", el("span", { class: "mono" }, f.path[0])] : [];
	if (f.kind === "stopped")
		return [el("span", { class: "less" }, who), ` stopped: ${Math.round(f.expected)} samples were usual`];
	const name = el("span", { class: "more" }, who);
	/* One core to itself for most of its samples: that is what an average hides. */
	if (f.kind !== "core" && f.cpu !== null && f.run_ns >= 0.3e9 && f.cpu_samples * 2 > f.explained_samples)
		return [name, ` held CPU ${f.cpu} for ${duration(f.run_ns / 1e6)}`, ...leaf];
	return [name, f.ratio && f.ratio < 1e4 ? ` ran ${times(f.ratio)} its usual` : " ran as it never does", ...leaf];
}

function findingSentence(f: Finding, number: number): Sentence {
	const who = whoOf(f);
	const from = f.time_ns ? f.time_ns / 1e6 : NaN;
	const place: Place = { number, cpu: f.cpu_samples * 2 > f.explained_samples ? f.cpu : null, from, to: from + f.length_ns / 1e6, process: f.process, functions: f.path,
		words: f.kind === "stopped" ? who : `${who} ${f.ratio && f.ratio < 1e4 ? times(f.ratio) : "new"}` };
	if (f.kind === "stopped")
		return { text: [b(who), f.samples ? " all but stopped: " : " was not there: ", b(`${f.samples} of ${Math.round(f.expected)}`), " expected samples"], evidence: `for ${duration(f.length_ns / 1e6)}`, strength: ofScore(f.score), place };
	const more = f.ratio === null || f.ratio >= 1e4 ? "hardly ever before" : `${times(f.ratio)} its usual`;
	return {
		text: [b(who), f.pid !== null ? ` (${f.pid})` : f.processes > 1 ? ` (${f.processes} processes)` : "", " used ",
			b(f.share !== null ? percent(f.share) : `${f.samples} samples`), f.share !== null ? " of the machine, " : ", ", b(more)],
		evidence: `${f.samples} samples, ${f.expected < 10 ? f.expected.toFixed(1) : f.expected.toFixed(0)} expected · ` +
			(f.other_times ? `so at ${f.other_times} other times` : "never so before"), strength: ofScore(f.score), place,
	};
}

/* Of a share: nine tenths of few samples are not much. */
const ofShare = (share: number, samples: number): Strength => (samples < 20 ? 1 : share >= 0.8 ? 3 : share >= 0.5 ? 2 : 1);

/* Sentences, most telling first. */
export function sentences(w: Why): Sentence[] {
	const out: Sentence[] = [];
	w.findings.forEach((f) => {
		const first = findingSentence(f, out.length + 1), core = out.length ? undefined : w.cores.find((c) => c.cpu === f.cpu && c.process === f.process);
		out.push(first);
		/* The core has a sentence of its own, and so a place. */
		if (core) {
			first.place!.cpu = null;
			out.push({ text: [b(`CPU ${core.cpu}`), " had nothing else for ", b(duration(core.length_ns / 1e6)), "; other CPUs were free"],
				evidence: "one core of many: no average shows it", strength: core.length_ns >= 1e9 ? 3 : 2, place: { number: out.length + 1, cpu: core.cpu, from: core.time_ns ? core.time_ns / 1e6 : NaN,
					to: (core.time_ns ?? NaN) / 1e6 + core.length_ns / 1e6, process: f.process, functions: f.path, words: `CPU ${core.cpu}` } });
		}
		if (f.path.length && f.explained_samples && f.kind !== "stopped" && out.length <= 3)
			out.push({ text: [b(percent(f.function_samples / f.explained_samples)), " of that in ", el("span", { class: "mono" }, f.path[0])],
				evidence: f.path.slice(1, 4).map((n) => "← " + n).join(" "), strength: ofShare(f.function_samples / f.explained_samples, f.explained_samples),
				place: { number: out.length + 1, cpu: null, from: NaN, to: NaN, process: f.process, functions: f.path, words: "" } });
	});
	for (const x of w.waited.slice(0, 2))
		if (x.share > 0.1 && out.length < 6)
			out.push({ text: ["Waited for a CPU: ", b(x.comm || `thread ${x.tid}`), ", ", b(percent(x.share)), " of the time"],
				evidence: x.usual !== null ? `usually ${percent(x.usual)}` : "", strength: x.usual === null ? 1 : x.share >= 10 * x.usual ? 3 : 2, place: null });
	/* Pressure, steal, soft interrupts: behind who did what. */
	for (const x of w.host)
		if (out.length < 6)
			out.push({ text: ["The host: ", x.sentence.split(";")[0]], evidence: x.sentence.split("; ")[1] ?? "", strength: 1, place: null });
	return out.slice(0, 6);
}

/* What the answer is against, or why there is none. */
export function against(w: Why): string {
	const h = w.history;
	if (w.asked_seconds && w.asked_unobserved_seconds >= w.asked_seconds)
		return "Not observed: nothing can be said of it. This is not idle time.";
	if (!w.findings.length)
		return h.moments < 3 ? `Too little is kept to say what is usual: ${duration(h.seconds * 1000)}.`
			: `Nothing unusual: ${h.moments} other moments as long as this one are like it (${duration(h.seconds * 1000)} kept).`;
	return `Against ${duration(h.seconds * 1000)} that are kept: ${h.moments} moments as long.` + (h.coarse ? " Too few to say how rare this is." : "");
}

/* What a finding is about, by process. */
export function isFound(w: Why | null, process: string): boolean {
	return w?.findings.some((f) => f.process === process) === true;
}

/* Who ran much, and no more or less than in the minute before: what it is not. */
export function asUsual(t: Tree, why: Why, share: (v: number) => number): string {
	const list = processes(t).filter((p) => !p.change && !isFound(why, p.name) && p.total < 1.5 * p.before && p.before < 1.5 * p.total && share(p.total) >= 0.01).slice(0, 3);
	return list.length ? `As usual beside the minute before: ${list.map((p) => `${p.name} ${percent(share(p.total))} (${ratio(p.total, p.before)})`).join(", ")}.` : "";
}
