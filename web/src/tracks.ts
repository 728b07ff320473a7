// SPDX-License-Identifier: Apache-2.0
/* What the host counted once a second, by bin: see /api/counters. */
import type { Answer } from "./columns";

export interface Track {
	unit: string;
	mean: Float32Array; /* NaN: not known */
	peak: Float32Array;
	who: Uint32Array;
}

export interface Waiter {
	comm: string;
	tid: number;
	waited: number; /* ms */
}

export interface Tracks {
	from: number;
	step: number;
	bins: number;
	by: Map<string, Track>;
	waiters: Waiter[];
}

export function readTracks(a: Answer): Tracks {
	const bins = Number(a.meta.bins), by = new Map<string, Track>();
	const mean = a.columns.mean as Float32Array, peak = a.columns.peak as Float32Array, who = a.columns.who as Uint32Array;
	(a.meta.tracks as { key: string; unit: string }[]).forEach(({ key, unit }, i) => by.set(key, {
		unit, mean: mean.subarray(i * bins, (i + 1) * bins), peak: peak.subarray(i * bins, (i + 1) * bins),
		who: who.subarray(i * bins, (i + 1) * bins),
	}));
	return {
		from: Number(a.meta.from) * 1000, step: Number(a.meta.step) * 1000, bins, by,
		waiters: (a.meta.waiters as { comm: string; tid: number; waited_ns: number }[])
			.map((w) => ({ comm: w.comm, tid: w.tid, waited: w.waited_ns / 1e6 })),
	};
}

/* What can be drawn under the heatmap: layers from the bottom up, or lines. */
export interface Choice {
	key: string;
	label: string;
	stacked: boolean;
	parts: [string, string, string][]; /* track, its words, the token of its colour */
}

export const CHOICES: Choice[] = [
	{ key: "cpu", label: "CPU time", stacked: true, parts: [["user", "user", "user"], ["system", "system", "kernel"],
		["irq", "irq", "jit"], ["softirq", "softirq", "inlined"], ["steal", "steal", "less"]] },
	{ key: "runnable", label: "run queue", stacked: false, parts: [["runnable", "running or waiting", "tx3"]] },
	{ key: "delay", label: "waiting to run", stacked: false, parts: [["run_delay", "threads waiting", "find"]] },
	{ key: "pressure", label: "pressure", stacked: false, parts: [["pressure_cpu", "cpu", "user"], ["pressure_memory", "memory", "inlined"], ["pressure_io", "io", "jit"]] },
	{ key: "switches", label: "switches", stacked: false, parts: [["switches", "context switches", "tx3"]] },
	{ key: "cgroups", label: "memory cgroups", stacked: false, parts: [["memory_cgroups", "memory cgroups", "tx3"]] },
];
