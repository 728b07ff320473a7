// SPDX-License-Identifier: Apache-2.0
/* The view by time: asked for where the selection is short enough, and of a large host only the core that is shown. */
import type { Server, StoreFacts } from "./api";
import type { Chart } from "./chart";
import { ChartView } from "./chart_view";
import type { Theme, Tip } from "./dom";
import { duration, type Zone } from "./format";
import type { Part, State } from "./state";
import { matchOf } from "./tree";

const LONGEST = 30e3; /* ms */
const MOST = 150_000; /* samples */

export interface ByTimeHost {
	readonly server: Server;
	readonly store: StoreFacts | null;
	readonly state: State;
	readonly theme: Theme;
	readonly asked: Record<"chart", string>;
	readonly statusLine: HTMLElement;
	part(): Part;
	zone(): Zone;
	timeless(): boolean;
	change(by: Partial<State>, step: boolean): void;
	say(words: string): void;
	answering(kind: "chart", work: () => Promise<void>): Promise<void>;
}

export class ByTime {
	readonly view: ChartView;
	private chart: Chart | null = null;

	constructor(private app: ByTimeHost, tip: Tip) {
		this.view = new ChartView({
			theme: () => app.theme, zone: () => app.zone(), colour: () => app.state.colour, icicle: () => app.state.icicle,
			setCore: (core) => app.change({ core }, false), walked: (words) => app.say(words),
		}, tip);
	}

	private tooLong(part: Part): boolean {
		return part.to - part.from > LONGEST;
	}

	async load(): Promise<void> {
		const app = this.app, s = app.state, part = app.part(), store = app.store!;
		if (s.tab !== "time" || this.tooLong(part) || app.timeless()) {
			app.asked.chart = "";
			this.chart = null;
			this.show();
			return;
		}
		const due = store.period ? ((part.to - part.from) / store.period) * (part.cpus?.length ?? store.cpus) : 0;
		const one = due > MOST ? (s.core >= 0 ? s.core : part.cpus?.[0] ?? 0) : -1;
		const key = JSON.stringify([part, one, s.filters, s.only, s.by, s.frames, s.collapse]);
		if (key === app.asked.chart)
			return;
		app.asked.chart = key;
		await app.answering("chart", async () => {
			const chart = await app.server.chart(s, one < 0 ? part : { ...part, cpus: [one] }, MOST, store.period);
			if (app.asked.chart !== key)
				return;
			this.chart = chart;
			this.show();
		});
	}

	show(): void {
		const app = this.app, s = app.state, part = app.part(), c = this.chart;
		if (s.tab !== "time")
			return;
		const why = app.timeless() ? "There are no times in this file" : this.tooLong(part) ? `Select ${duration(LONGEST)} or less to see it by time`
			: c && !c.time.length ? "Nothing was sampled here" : "";
		this.view.show(why ? null : c, s.core, why);
		this.view.showMatch(c && s.search ? matchOf(c.tree, s.search) : null);
		if (c && !why)
			app.statusLine.textContent = this.view.words();
	}
}
