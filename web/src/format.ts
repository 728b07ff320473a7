// SPDX-License-Identifier: Apache-2.0
/* Numbers and times in words, the same everywhere on the page. Times are milliseconds since 1970. */

const THIN = "\u2009";
const GAP = "\u00a0"; /* a number and its unit stay on one line */

export function count(n: number): string {
	return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, THIN);
}

/* For axes: "850", "12k", "3M". */
export function compact(n: number): string {
	return n >= 1e6 ? trim(n / 1e6) + "M" : n >= 1e4 ? trim(n / 1e3) + "k" : n >= 10 || !n ? n.toFixed(0) : trim(n);
}

/* 0.121 → "12.1 %"; small ones keep three digits; nothing is "0 %". */
export function percent(share: number): string {
	const p = share * 100;
	if (!isFinite(p) || p <= 0)
		return "0" + GAP + "%";
	if (p >= 99.95)
		return "100" + GAP + "%";
	if (p >= 0.1)
		return p.toFixed(1) + GAP + "%";
	return p.toPrecision(2) + GAP + "%";
}

export function duration(ms: number): string {
	if (ms < 1)
		return (ms * 1000).toFixed(0) + GAP + "µs";
	if (ms < 1000)
		return (ms < 10 ? ms.toFixed(1) : ms.toFixed(0)) + GAP + "ms";
	if (ms < 10e3)
		return (ms / 1e3).toFixed(2) + GAP + "s";
	if (ms < 119.95e3)
		return (ms / 1e3).toFixed(ms % 1000 ? 1 : 0) + GAP + "s";
	if (ms < 7200e3)
		return trim(ms / 60e3) + GAP + "min";
	if (ms < 172800e3)
		return trim(ms / 3600e3) + GAP + "h";
	return trim(ms / 86400e3) + GAP + "days";
}

function trim(x: number): string {
	return x.toFixed(1).replace(/\.0$/, "");
}

export function cpuTime(seconds: number): string {
	if (seconds >= 7200)
		return (seconds / 3600).toFixed(seconds >= 36000 ? 0 : 1) + GAP + "CPU·h";
	if (seconds >= 0.995)
		return seconds.toFixed(seconds >= 100 ? 0 : 1) + GAP + "CPU·s";
	return (seconds * 1000).toFixed(seconds >= 0.01 ? 0 : 1) + GAP + "CPU·ms";
}

export function bytes(n: number): string {
	const units = ["bytes", "kB", "MB", "GB", "TB"];
	let i = 0;
	while (n >= 1000 && i + 1 < units.length) {
		n /= 1000;
		i++;
	}
	return (i && n < 100 ? n.toFixed(1) : n.toFixed(0)) + GAP + units[i];
}

export interface Zone {
	utc: boolean;
	dated?: boolean; /* what is shown is of several days: a clock alone does not tell when */
}

interface Parts {
	year: number; month: number; day: number; weekday: number;
	hour: number; minute: number; second: number; ms: number;
}

export function parts(ms: number, zone: Zone): Parts {
	const d = new Date(Math.floor(ms));
	return zone.utc
		? { year: d.getUTCFullYear(), month: d.getUTCMonth(), day: d.getUTCDate(), weekday: d.getUTCDay(),
			hour: d.getUTCHours(), minute: d.getUTCMinutes(), second: d.getUTCSeconds(), ms: d.getUTCMilliseconds() }
		: { year: d.getFullYear(), month: d.getMonth(), day: d.getDate(), weekday: d.getDay(),
			hour: d.getHours(), minute: d.getMinutes(), second: d.getSeconds(), ms: d.getMilliseconds() };
}

const two = (n: number) => n.toString().padStart(2, "0");
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/* digits: of the fraction, 0 or 3. */
export function clock(ms: number, zone: Zone, digits = 0): string {
	const p = parts(ms, zone);
	const whole = `${two(p.hour)}:${two(p.minute)}:${two(p.second)}`;
	return digits ? `${whole}.${p.ms.toString().padStart(3, "0")}` : whole;
}

/* From when to when, and in which zone. */
export function clocks(from: number, to: number, zone: Zone, digits = 0): string {
	const [first, last] = [day(from, zone), day(to, zone)];
	return `${zone.dated ? first + " " : ""}${clock(from, zone, digits)} – ${zone.dated && last !== first ? last + " " : ""}${clock(to, zone, digits)}`;
}

export function clockShort(ms: number, zone: Zone): string {
	const p = parts(ms, zone);
	return `${two(p.hour)}:${two(p.minute)}`;
}

export function day(ms: number, zone: Zone): string {
	const p = parts(ms, zone);
	return `${DAYS[p.weekday]} ${p.day} ${MONTHS[p.month]}`;
}

export function zoneName(ms: number, zone: Zone): string {
	if (zone.utc)
		return "UTC";
	const minutes = -new Date(ms).getTimezoneOffset();
	if (!minutes)
		return "UTC";
	const m = Math.abs(minutes);
	return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(m / 60)}${m % 60 ? ":" + two(m % 60) : ""}`;
}

/* Beside an axis, where there is little room: a zone that is no whole hour needs more than that. */
export function zoneShort(ms: number, zone: Zone): string {
	const name = zoneName(ms, zone);
	return name.includes(":") ? name.slice(3) : name;
}

/*
 * A clock, with or without a date, as somebody types it who reads this page: in its zone, where the server would take its own. Without a date
 * it is the latest such moment that `newest` is not before. What has a zone, or is no clock, is the server's to read.
 */
export function typedTime(text: string, zone: Zone, newest: number): string {
	const m = /^(?:(\d{4})-(\d\d)-(\d\d)[T ])?(\d\d):(\d\d)(?::(\d\d))?(?:\.(\d{1,9}))?$/.exec(text);
	if (!m || (!m[1] && !isFinite(newest)))
		return text;
	const today = parts(m[1] ? 0 : newest, zone), [year, month, date] = m[1] ? [Number(m[1]), Number(m[2]) - 1, Number(m[3])] : [today.year, today.month, today.day];
	const hour = Number(m[4]), minute = Number(m[5]), second = Number(m[6] ?? 0);
	for (let back = 0; back < (m[1] ? 1 : 3); back++) {
		const ms = zone.utc ? Date.UTC(year, month, date - back, hour, minute, second) : new Date(year, month, date - back, hour, minute, second).getTime();
		const got = parts(ms, zone);
		/* Where there is no such day or hour the server says so. */
		if (got.hour !== hour || got.minute !== minute || got.second !== second || (m[1] && (got.year !== year || got.month !== month || got.day !== date)))
			return text;
		if (ms >= 0 && (m[1] || ms <= newest))
			return `@${ms / 1000}.${m[7] ?? 0}`;
	}
	return text;
}

/* Round steps for an axis, in ms: the smallest that keeps ticks `least` apart or more. */
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3,
	900e3, 1800e3, 3600e3, 7200e3, 10800e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3];

export function tickStep(least: number): number {
	return STEPS.find((s) => s >= least) ?? STEPS[STEPS.length - 1];
}

/* Multiples of the step in the zone's own time, so that hours are whole where the zone is not. */
export function ticks(from: number, to: number, step: number, zone: Zone): number[] {
	const offset = zone.utc ? 0 : -new Date(from).getTimezoneOffset() * 60e3;
	const out: number[] = [];
	for (let t = Math.ceil((from + offset) / step) * step - offset; t <= to && out.length < 500; t += step)
		out.push(t);
	return out;
}

export function tickLabel(ms: number, step: number, zone: Zone): string {
	const p = parts(ms, zone);
	if (step >= 86400e3 || (step >= 1e3 && !p.hour && !p.minute && !p.second))
		return day(ms, zone);
	if (step < 1000)
		return clock(ms, zone, 3);
	return step < 60e3 ? clock(ms, zone) : clockShort(ms, zone);
}

const NO_CPU = 0xffffffff; /* as answers have it: the file does not say which */

export function cpuName(cpu: number): string {
	return cpu === NO_CPU ? "CPU ?" : `CPU ${cpu}`;
}

export function isCpu(cpu: number): boolean {
	return cpu !== NO_CPU;
}

/* 0–3,8 → "CPUs 0–3, 8"; [17] → "CPU 17". */
export function cpuNames(cpus: number[]): string {
	const runs = cpuRuns(cpus).map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`));
	return (cpus.length === 1 ? "CPU " : "CPUs ") + runs.join(", ");
}

export function cpuList(cpus: number[]): string {
	return cpuRuns(cpus).map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(",");
}

function cpuRuns(cpus: number[]): [number, number][] {
	const runs: [number, number][] = [];
	for (const c of [...cpus].sort((x, y) => x - y)) {
		const last = runs[runs.length - 1];
		if (last && c <= last[1] + 1)
			last[1] = Math.max(last[1], c);
		else
			runs.push([c, c]);
	}
	return runs;
}

export function parseCpuList(text: string): number[] | null {
	const out: number[] = [];
	for (const part of text.split(",")) {
		const m = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part);
		if (!m)
			return null;
		const from = Number(m[1]), to = Number(m[2] ?? m[1]);
		if (to < from || to - from > 8192)
			return null;
		for (let c = from; c <= to; c++)
			out.push(c);
	}
	return out;
}

/* As much of a text as fits into so many bytes of UTF-8. */
export function cutBytes(s: string, most: number): string {
	const chars = [...s];
	let room = most, n = 0;
	for (; n < chars.length && room >= 0; n++)
		room -= new TextEncoder().encode(chars[n]).length;
	return chars.slice(0, room < 0 ? n - 1 : n).join("");
}

/* How many times what it was: "1.03×", "27×", "new", "gone". */
export function ratio(now: number, before: number): string {
	if (!before)
		return now ? "new" : "–";
	if (!now)
		return "gone";
	const r = now / before;
	return r > 99 ? ">99×" : r >= 10 ? r.toFixed(0) + "×" : r.toFixed(2) + "×";
}
