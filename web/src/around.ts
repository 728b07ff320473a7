// SPDX-License-Identifier: Apache-2.0
/* What surrounds the samples: events, what the host counted, and what was different; asked for, kept and shown. */
import { Refusal, type Server, type StoreFacts } from "./api";
import { el, fill } from "./dom";
import type { FlameView } from "./flame_view";
import type { Zone } from "./format";
import { AROUND, isCalled, merge, type Happening } from "./happening";
import type { HeatView } from "./heat_view";
import type { Panel } from "./panel";
import { BELOW, type Below, type Part, type State } from "./state";
import type { TimelineView } from "./timeline_view";
import { TrackView } from "./track_view";
import type { Choice, Tracks } from "./tracks";
import { findStack, type Tree } from "./tree";
import { sentences, type Place, type Unusual } from "./why";

const MINUTE = 60e3, LEAST_BEFORE = 5e3;
const EVENTS_MS = 30e3; /* all of them are asked for anew that often: one may be marked in the past */
const MOST_EVENTS = 2000;
const WHY_MS = 600e3; /* of more than that there is no answer */
const QUALITY_SAMPLES = 20e6; /* whose stacks may be looked through for how good they are */

export type AroundKind = "events" | "tracks" | "host" | "why" | "moments" | "quality" | "usual";

/* What this needs of the page. */
export interface AroundHost {
	readonly server: Server;
	readonly store: StoreFacts | null;
	readonly state: State;
	readonly tree: Tree | null;
	readonly asked: Record<AroundKind, string>;
	readonly timeline: TimelineView;
	readonly heat: HeatView;
	readonly track: TrackView;
	readonly flame: FlameView;
	readonly panel: Panel;
	span(): { from: number; to: number };
	heatSpan(): { from: number; to: number };
	part(): Part;
	zone(): Zone;
	timeless(): boolean;
	comparing(): boolean;
	change(by: Partial<State>, step: boolean): void;
	say(words: string): void;
	answering(kind: AroundKind, work: () => Promise<void>): Promise<void>;
	showSelectionBar(): void;
	modeMayHaveChanged(): void;
	showTree(): void;
}

/* Nothing to say is no failure of the page. */
function refused(e: unknown): null {
	if (e instanceof Refusal && e.status < 500)
		return null;
	throw e;
}

export class Around {
	events: Happening[] = [];
	private eventsAll = 0;
	private eventsAt = 0; /* when all of them were asked for */
	private tracks: Tracks | null = null;
	private places: Place[] = [];
	private moments: Unusual[] | "asked" | null = null;
	private select = el("select", { "aria-label": "Under the heatmap", title: "What is drawn under the heatmap (t)",
		onchange: () => this.app.change({ below: this.select.value as Below }, false) }) as HTMLSelectElement;
	readonly label = el("label", { class: "legend wide", hidden: true }, "Below ", this.select);

	constructor(private app: AroundHost) {}

	/* Another recording is shown from now on. */
	forget(): void {
		this.events = [];
		this.eventsAll = this.eventsAt = 0;
		this.tracks = this.moments = null;
		this.places = [];
		this.app.panel.showWhy(null);
		this.app.panel.showUsual(null);
		this.app.panel.showQuality(null);
		this.app.panel.showHost(null);
	}

	/* All of it that belongs to what is shown. */
	async load(): Promise<void> {
		await Promise.all([this.loadTracks(), this.loadWhy(), this.loadUsual(), this.loadHost(), this.loadQuality()]);
	}

	/* A finding is about one core: that mode shows it. */
	oneCore(): boolean {
		return this.places.some((p) => p.cpu !== null);
	}

	/* All that happened, as far as it is kept; what is new since, more often. */
	async loadEvents(): Promise<void> {
		const store = this.app.store!, all = Date.now() - this.eventsAt > EVENTS_MS || !store.recording;
		const key = `${store.from} ${store.to}`;
		if (key === this.app.asked.events || !isFinite(store.from))
			return;
		this.app.asked.events = key;
		await this.app.answering("events", async () => {
			const to = Math.max(store.to, store.recording ? store.now : 0) + 1000;
			const got = await this.app.server.events({ from: all ? store.from - 1000 : store.to - 2 * EVENTS_MS, to }, MOST_EVENTS);
			const had = this.events.length;
			this.events = all ? got.list : merge(this.events, got.list);
			this.eventsAll = all ? got.all : this.eventsAll + this.events.length - had;
			if (all)
				this.eventsAt = Date.now();
			/* One that a link names and that is not there hides none of the others. */
			await this.findEvent().finally(() => {
				this.showEvents();
				this.app.showSelectionBar();
			});
		});
	}

	/* A link may name an event alone: then it says what is shown. */
	private async findEvent(): Promise<void> {
		const id = this.app.state.event;
		if (!id || this.app.state.a)
			return;
		const known = this.events.find((e) => isCalled(e, id)) ?? (await this.app.server.events({ event: id }, 50)).list.find((e) => isCalled(e, id));
		if (!known)
			return;
		if (!this.events.includes(known))
			this.events = merge(this.events, [known]);
		this.openEvent(known, false);
	}

	openEvent(e: Happening, step = true): void {
		const own = Array.isArray(this.moments) && e.id.startsWith("moment-") ? this.moments[Number(e.id.slice(7))] : undefined;
		if (own) {
			this.openMoment(own);
			return;
		}
		this.openTime(e.time - AROUND, e.time + AROUND, { event: e.id }, step);
		this.app.say(`${e.source}: ${e.text}`);
	}

	/* The one before or behind what is selected, or the span. */
	stepEvent(by: number): void {
		const { from, to } = this.app.part(), at = (from + to) / 2, chosen = this.app.state.event;
		const before = this.events.filter((e) => e.id !== chosen && e.time < at), after = this.events.filter((e) => e.id !== chosen && e.time >= at);
		const e = by < 0 ? before[before.length - 1] : after[0];
		if (e)
			this.openEvent(e);
		else
			this.app.say(by < 0 ? "no event before this" : "no event behind this");
	}

	showEvents(): void {
		const chosen = this.app.state.a ? this.app.state.event : "";
		const own = Array.isArray(this.moments) ? this.moments.map((m, i): Happening => ({ id: "moment-" + i, time: m.from, uncertainty: 0, severity: 5, source: "finding", text: m.words })) : [];
		this.app.timeline.showEvents([...this.events, ...own], chosen);
		this.app.panel.showMoments(this.moments, this.app.zone());
		this.app.heat.showEvents(this.events, chosen);
		if (isFinite(this.app.span().from))
			this.app.panel.showEvents(this.events, this.eventsAll, this.app.span(), chosen, this.app.zone());
	}

	/* Counted by the host: under the heatmap, and of the selection in the panel. */
	async loadTracks(): Promise<void> {
		const span = this.app.heatSpan(), bins = Math.min(1000, this.app.heat.room());
		const key = JSON.stringify([span, bins]);
		if (this.app.timeless() || key === this.app.asked.tracks)
			return;
		this.app.asked.tracks = key;
		await this.app.answering("tracks", async () => {
			this.tracks = await this.app.server.tracks("tracks", span.from, span.to, bins);
			this.showTracks();
		});
	}

	async loadHost(): Promise<void> {
		const { from, to } = this.app.part(), key = JSON.stringify([from, to]);
		if (this.app.timeless() || key === this.app.asked.host)
			return;
		this.app.asked.host = key;
		await this.app.answering("host", async () => this.app.panel.showHost(await this.app.server.tracks("host", from, to, 1)));
	}

	/* What was different: of a selection that is short enough to have an answer. */
	async loadWhy(): Promise<void> {
		const s = this.app.state, part = s.a, key = part ? JSON.stringify([part, s.filters, s.only]) : "";
		if (key === this.app.asked.why)
			return;
		this.app.asked.why = key;
		this.places = [];
		this.app.panel.showWhy(part && part.to - part.from <= WHY_MS ? "asked" : null);
		this.app.showTree();
		if (!part || part.to - part.from > WHY_MS)
			return;
		await this.app.answering("why", async () => {
			const why = await this.app.server.why(s, part).catch(refused);
			if (this.app.asked.why !== key)
				return;
			this.places = why ? sentences(why).flatMap((x) => (x.place ? [x.place] : [])) : [];
			this.app.panel.showWhy(why);
			this.app.showTree();
			this.app.modeMayHaveChanged();
		});
		/* No answer will come. */
		if (this.app.asked.why === "") {
			this.app.panel.showWhy(null);
			this.app.showTree();
		}
	}

	/* Who ran as much in the minute before: the loud innocent one is what a tired person suspects first. */
	private async loadUsual(): Promise<void> {
		const s = this.app.state, part = s.a, whole = !s.filters.length && !s.only && !this.app.comparing();
		const wanted = whole && part !== null && part.to - part.from <= WHY_MS && part.from - LEAST_BEFORE >= this.app.store!.from;
		const key = wanted ? JSON.stringify([part, s.by]) : "";
		if (key === this.app.asked.usual)
			return;
		this.app.asked.usual = key;
		this.app.panel.showUsual(null);
		if (!part || !wanted)
			return;
		await this.app.answering("usual", async () => {
			const before = { ...part, from: part.from - MINUTE, to: part.from };
			const tree = await this.app.server.flame({ ...s, elided: false }, part, before, "usual").catch(refused);
			if (this.app.asked.usual !== key)
				return;
			this.app.panel.showUsual(tree);
			this.app.showTree();
		});
	}

	/* How good the stacks are of what is shown. */
	private async loadQuality(): Promise<void> {
		const s = this.app.state, part = this.app.part(), key = JSON.stringify([part, s.filters, s.only]);
		if (key === this.app.asked.quality)
			return;
		this.app.asked.quality = key;
		this.app.panel.showQuality(null);
		if ((this.app.tree?.total[0] ?? 0) > QUALITY_SAMPLES)
			return;
		await this.app.answering("quality", async () => {
			const quality = await this.app.server.quality(s, part).catch(refused);
			if (this.app.asked.quality !== key)
				return;
			this.app.panel.showQuality(quality);
			this.app.showTree();
		});
	}

	/* The whole of what is kept, for what stands out in it: only when somebody asks. */
	async findMoments(): Promise<void> {
		const before = this.moments;
		this.moments = "asked";
		this.showEvents();
		await this.app.answering("moments", async () => {
			this.moments = await this.app.server.moments();
		});
		if (this.moments === "asked")
			this.moments = before;
		this.showEvents();
	}

	openMoment(m: Unusual): void {
		this.openTime(m.from - 250, m.to + 250, { event: "" }, true);
		this.app.say(m.words);
	}

	/* Selects it, in a span around it unless the one that is shown has it. */
	private openTime(from: number, to: number, more: Partial<State>, step: boolean): void {
		const span = this.app.span(), inside = from >= span.from && to <= span.to, middle = (from + to) / 2;
		const half = Math.max(30e3, (span.to - span.from) / 2);
		this.app.change({ ...more, a: { from, to, cpus: null }, zoom: [], span: inside ? span : { from: middle - half, to: middle + half } }, step);
	}

	showPlaces(pointed: Place | null = null): void {
		this.app.heat.showPlaces(this.places, pointed);
		this.app.flame.showPlaces(this.app.comparing() ? [] : this.places, pointed);
	}

	/* To the core in that time, or to the function. */
	goToPlace(p: Place): void {
		if (p.cpu !== null && isFinite(p.from))
			this.app.change({ a: { from: p.from, to: p.to, cpus: [p.cpu] }, event: "", mode: "cores", zoom: [] }, true);
		else if (this.app.tree && p.process)
			this.app.flame.zoomTo(Math.max(0, findStack(this.app.tree, p.process, p.words ? [] : p.functions)));
	}

	showTracks(): void {
		const known = TrackView.known(this.tracks);
		this.app.track.layers.root.hidden = this.label.hidden = !known.length;
		if (known.length !== this.select.options.length)
			fill(this.select, ...known.map((c) => el("option", { value: c.key }, c.label)));
		this.select.value = this.app.state.below;
		this.app.track.show(this.tracks, this.app.state.below);
	}

	/* What can be drawn under the heatmap. */
	below(): Choice[] {
		return TrackView.known(this.tracks);
	}

	nextTrack(): void {
		const known = this.below().map((c) => c.key), at = known.indexOf(this.app.state.below);
		const next = BELOW.find((b) => b === known[(at + 1) % known.length]);
		if (next)
			this.app.change({ below: next }, false);
	}
}
