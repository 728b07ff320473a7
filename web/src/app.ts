// SPDX-License-Identifier: Apache-2.0
/*
 * The page: state in, pictures out. Everything that a link must reproduce is in `state`; an act changes
 * it, writes the URL (a step of history for what one does once, none for what one does by degrees) and
 * asks for what is not there yet. Answers are for the state they were asked for: an older one is dropped.
 */
import { Around, type AroundHost, type AroundKind } from "./around";
import { ByTime } from "./by_time";
import { Busy } from "./busy";
import { isAbort, Refusal, Server, type Heat, type StoreFacts } from "./api";
import { el, fill, put, readTheme, Segment, shown, Tip, type Theme } from "./dom";
import { fillEmpty, fillNoHeat, makeSkeleton } from "./empty";
import { FlameView } from "./flame_view";
import { clock, count, cpuList, cpuNames, day, duration, percent, zoneName, type Zone } from "./format";
import { Funnels } from "./funnel";
import { AROUND, shortText } from "./happening";
import { HeatView } from "./heat_view";
import { makeHelp } from "./help";
import { keyActs } from "./keys";
import { CAPSULE_MS, exportMenu, frameMenu, moreMenu } from "./menus";
import { Opening } from "./opening";
import { escapeExpression, Panel } from "./panel";
import { Problems } from "./problems";
import { baseline, DEFAULTS, FRAMES, GROUPS, readState, ROWS, selectionQuery, writeState, type Colour, type Filter, type Frames, type Group, type Mode, type Part, type State, type Tab } from "./state";
import { Undo } from "./undo";
import { SandwichView } from "./sandwich_view";
import { SelectionBar } from "./selection_bar";
import { TableView } from "./table_view";
import { TimelineView } from "./timeline_view";
import { TrackView } from "./track_view";
import { compileSearch, findPath, matchTree, type Match, type Tree } from "./tree";

type Kind = "heat" | "flame" | "timeline" | "chart" | AroundKind;

const LIVE_MS = 2000;
const MOST_TIMED = 40e6; /* samples whose times a heatmap may ask for */
const TOLD_MS = 200;
const RETRY_MS = 5000;
const LEDGER_MS = 3000; /* what was observed is known that long after */
const HELD_MS = 5000;
const DEGREE_MS = 1000;
const PRESETS: [string, number][] = [["2 m", 120e3], ["10 m", 600e3], ["1 h", 3600e3], ["12 h", 43200e3]];
const NOTHING_ASKED = { heat: "", flame: "", timeline: "", events: "", tracks: "", host: "", why: "", moments: "", quality: "", usual: "", chart: "" };
export class App implements AroundHost {
	state: State = readState(location.search);
	server = new Server();
	store: StoreFacts | null = null;
	tree: Tree | null = null;
	private treeOf: Part | null = null; /* what it was asked for */
	private heatData: Heat | null = null;
	private undo = new Undo(this.state);
	private match: Match | null = null;
	theme: Theme = readTheme();
	private tip = new Tip();
	asked: Record<Kind, string> = { ...NOTHING_ASKED };
	private problems = new Problems(this);

	timeline: TimelineView = new TimelineView({
		theme: () => this.theme, zone: () => this.zone(),
		setSpan: (from, to, final) => this.setSpan(from, to, final), openEvent: (e) => this.around.openEvent(e),
	}, this.tip);
	heat: HeatView = new HeatView({
		theme: () => this.theme, zone: () => this.zone(), linear: () => this.state.linear,
		select: (part, final, second) => this.select(part, final, second),
		dragsBaseline: () => this.dragsBaseline,
		zoomSpan: (by, around) => this.timeline.zoom(by, around), openEvent: (e) => this.around.openEvent(e), walked: (words) => this.say(words),
		busiest: (part) => this.server.busiest(this.state, part).then((v) =>
			v.length ? v.map((p) => `${p.name} ${percent(p.share)}`).join(" · ") : null, () => null),
	}, this.tip);
	track = new TrackView({ theme: () => this.theme, zone: () => this.zone(), axis: () => this.heat.axis() }, this.tip);
	flame: FlameView = new FlameView({
		theme: () => this.theme, icicle: () => this.state.icicle, colour: () => this.state.colour,
		zoomed: (path) => this.change({ zoom: path }, true),
		walked: (words) => this.say(words), cpuSeconds: () => this.cpuSeconds(),
		menu: (node, x, y) => frameMenu(this, this.tree!, node, x, y),
	}, this.tip);
	byTime = new ByTime(this, this.tip);
	private sandwich = new SandwichView((id, label, icicle) => {
		const view: FlameView = new FlameView({
			theme: () => this.theme, icicle: () => icicle, colour: () => this.state.colour, zoomed: () => undefined, walked: (words) => this.say(words),
			cpuSeconds: () => this.cpuSeconds(), menu: (node, x, y) => frameMenu(this, view.shownTree()!, node, x, y),
		}, this.tip, id, label);
		return view;
	});
	dragsBaseline = false;
	private table = new TableView({ sort: () => this.state.sort, setSort: (sort) => this.change({ sort }, false),
		search: (name) => this.setSearch(`^${escapeExpression(name)}$`) });
	panel = new Panel({
		addFilter: (name, value) => this.addFilter(name, value),
		setOnly: (only) => this.change({ only }, true),
		openEvent: (e) => this.around.openEvent(e), stepEvent: (by) => this.around.stepEvent(by),
		recording: () => this.store?.recording === true, pin: () => void this.pin(),
		findMoments: () => void this.around.findMoments(), openMoment: (m) => this.around.openMoment(m),
		goTo: (place) => this.around.goToPlace(place), point: (place) => this.around.showPlaces(place),
		setGroup: (by) => this.change({ by, zoom: [] }, true), group: () => this.state.by,
		selectCores: (cpus) => this.select({ ...this.part(), cpus }, true),
		capsule: () => this.capsule(),
		compare: () => this.change({ compare: !this.state.compare, zoom: [] }, true), comparing: () => this.comparing(), command: () => this.command(),
	});

	around: Around = new Around(this);
	opening = new Opening(this);

	private stage = el("main", { class: "stage", "aria-busy": "true" });
	private spoken = el("div", { class: "spoken", role: "status", "aria-live": "polite" });
	statusLine = el("span", { class: "cut grow" });
	private heldUntil = 0; // what was said stays until then
	private rec = el("span", { class: "dot" });
	private recWords = el("span", { class: "soft wide" });
	private spanWords = el("span", { class: "soft cut grow" });
	private keptWords = el("span", { class: "quiet cut grow" });
	private bar = new SelectionBar(this);
	private kinds = el("span", { class: "legend" });
	private changes = el("span", { class: "legend" });
	private matched = el("span", { class: "soft" });
	private stageEmpty = el("div", { class: "empty", hidden: true });
	private skeleton = makeSkeleton();
	private heatEmpty = el("div", { class: "empty", hidden: true });
	private busy = new Busy<Kind>(this.stage, () => ({ heat: [this.heat.layers.root], timeline: [this.timeline.layers.root], tracks: [this.track.layers.root],
		chart: [this.byTime.view.layers.root], flame: [this.flame.layers.root, this.table.root, this.sandwich.root] }));
	private funnels = new Funnels(() => [[...this.timeline.brush(), this.theme.color("tx3")], [...this.heat.edges(this.part()), this.theme.color(this.state.a ? "a" : "tx3")]]);
	search = el("input", { type: "search", placeholder: "Search", title: "Functions that match a regular expression (/)", "aria-label": "Search functions, a regular expression",
		maxlength: 1024, spellcheck: "false" });
	goto = el("input", { placeholder: "Go to 03:14:07, -90s, boot+123.4", "aria-label": "Go to a time", maxlength: 64, spellcheck: "false" });
	private gotoProblem = el("div", { class: "problem", role: "alert", hidden: true });
	private zoneButton = el("button", { type: "button", title: "Local time or UTC (z)", onclick: () => this.change({ utc: !this.state.utc }, false) });
	private presets = new Segment("Span", PRESETS.map(([label, ms]) => ({ value: String(ms), label })).concat({ value: "all", label: "all" }),
		(v) => this.preset(v));
	private modes = new Segment("Heatmap mode", [{ value: "sub", label: "Sub-second" }, { value: "cores", label: "Cores" }],
		(v) => this.change({ mode: v as Mode }, true));
	private scales = new Segment("Colour scale", [{ value: "sparse", label: "Sparse", title: "One lone sample shows" }, { value: "linear", label: "Linear" }],
		(v) => this.change({ linear: v === "linear" }, false));
	private drags = new Segment("Dragging sets", [{ value: "a", label: "Drag: A" }, { value: "b", label: "B", title: "The baseline (b, or Ctrl and drag)" }],
		(v) => this.setDrags(v === "b"));
	private groups = el("select", { "aria-label": "Group by", onchange: () => this.change({ by: this.groups.value as Group, zoom: [] }, true) },
		...GROUPS.map((g) => el("option", { value: g }, g === "comm" ? "process name" : g))) as HTMLSelectElement;
	private frames = el("select", { "aria-label": "A frame is", title: "What a frame stands for", onchange: () => this.change({ frames: this.frames.value as Frames, zoom: [] }, true) },
		...FRAMES.map((f) => el("option", { value: f }, f))) as HTMLSelectElement;
	private colours = el("select", { "aria-label": "Colour by", title: "Colour frames by", onchange: () => this.change({ colour: this.colours.value as Colour }, false) },
		...([["kind", "kind"], ["module", "module"], ["name", "name"]] as const).map(([v, words]) => el("option", { value: v }, words))) as HTMLSelectElement;
	private painter = el("button", { type: "button", class: "wide", title: "Colour the heatmap by the search: when did it run (h)", onclick: () => this.change({ paint: !this.state.paint }, false) }, "When");
	private tabs = new Segment("View of the selection", [{ value: "flame", label: "Flame graph" }, { value: "table", label: "Table" }, { value: "sandwich", label: "Sandwich" },
		{ value: "time", label: "By time", title: "The frames of one core in order of time (4)" }],
		(v) => this.change({ tab: v as Tab }, true), true);
	private directions = new Segment("Direction", [{ value: "flame", label: "▲", title: "Flame graph (i)" }, { value: "icicle", label: "▼", title: "Icicle (i)" }],
		(v) => this.change({ icicle: v === "icicle" }, false));
	private rows: HTMLSelectElement = el("select", { "aria-label": "Rows per second", onchange: () => this.change({ rows: Number(this.rows.value) }, false) },
		...ROWS.map((n) => el("option", { value: n }, String(n))));
	private rowsLabel = el("label", { class: "legend wide" }, "Rows ", this.rows);
	private undoButton = el("button", { type: "button", title: "Undo zoom, filters and search of the graph (Ctrl Z)", "aria-label": "Undo", onclick: () => this.undoOne() }, "↶");
	exporter: HTMLButtonElement = el("button", { type: "button", class: "framed", "aria-haspopup": "menu", title: "The selection as a file (e)", onclick: () => exportMenu(this, this.exporter) }, "Export ▾");
	help = makeHelp();

	start(): void {
		this.build();
		addEventListener("popstate", () => {
			this.state = readState(location.search);
			this.undo.note(this.state);
			this.refresh();
		});
		document.addEventListener("keydown", (e) => this.key(e));
		addEventListener("resize", () => {
			if (this.store?.windows)
				void this.loadHeat();
		});
		matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => this.setTheme(null));
		this.refresh();
		void this.poll();
		document.addEventListener("visibilitychange", () => this.listen());
	}

	/* To what is being recorded, while somebody looks: a browser has few connections to one host. */
	private listen(): void {
		const wanted = this.store?.recording && !document.hidden;
		if (wanted && !this.stream)
			this.stream = this.server.live(() => {
				this.asked.events = ""; /* one of them may be what was added */
				this.pollNow();
			});
		if (!wanted && this.stream) {
			this.stream.close();
			this.stream = null;
		}
	}
	private stream: EventSource | null = null;

	/* Something was added: no need to wait for the next look. */
	private pollNow(): void {
		if (this.waiting) {
			clearTimeout(this.waiting);
			this.waiting = 0;
			void this.poll();
		} else
			this.told = true;
	}
	private waiting = 0;
	private told = false; /* while it was looked: that look may have missed it */

	private build(): void {
		const brand = el("div", { class: "brand" }, el("img", { src: "/assets/icon.svg", width: 20, height: 20, alt: "" }), "perfcam");
		const top = el("header", { class: "top" }, brand, this.opening.button, this.rec, this.recWords,
			el("form", { class: "goto", onsubmit: (e) => void this.goTo(e) }, this.goto, el("kbd", {}, "g"), this.gotoProblem),
			el("span", { class: "grow" }),
			el("button", { type: "button", title: "To the newest (n)", onclick: () => this.newest() }, "Live"), this.zoneButton,
			el("button", { type: "button", class: "wide", onclick: () => this.copyLink() }, "Copy link"),
			this.exporter,
			el("button", { type: "button", class: "narrow", "aria-haspopup": "menu", "aria-label": "More", title: "More", onclick: (e) => moreMenu(this, e.currentTarget as HTMLElement) }, "⋯"),
			el("button", { type: "button", title: "Dark or light (d)", "aria-label": "Dark or light", onclick: () => this.toggleTheme() }, "◐"),
			el("button", { type: "button", title: "Keys (?)", "aria-label": "Keys", onclick: () => this.help.showModal() }, "?"));
		const legend = (name: string, words: string) => {
			const s = el("span", { class: "swatch" });
			s.style.background = `var(--${name})`;
			return el("span", { class: "legend wide" }, s, words);
		};
		this.kinds.append(legend("kernel", "kernel"), legend("user", "user"), legend("jit", "JIT"), legend("inlined", "inlined"));
		this.changes.append(legend("less", "less"), legend("chance", "within chance"), legend("more", "more"));
		this.flame.layers.root.append(this.stageEmpty, this.skeleton);
		this.heat.layers.root.append(this.heatEmpty);
		put(this.stage, [this.problems.banner, this.opening.notice,
			el("div", { class: "bar" }, el("h2", {}, "Timeline"), this.keptWords, legend("area", "busy, mean"),
				el("span", { class: "legend wide" }, el("span", { class: "swatch hatch" }), "not observed"), legend("ok", "pinned"), this.presets.root),
			this.timeline.layers.root, this.funnels.canvases[0],
			el("div", { class: "bar" }, this.modes.root, this.spanWords, this.rowsLabel, this.around.label, this.scales.root, this.heat.legend, this.drags.root),
			this.heat.layers.root, this.track.layers.root, this.funnels.canvases[1], this.bar.root,
			el("div", { class: "bar" }, this.tabs.root, this.undoButton, this.directions.root, this.byTime.view.picker, el("label", { class: "legend wide" }, "by ", this.groups), el("label", { class: "legend wide" }, "of ", this.frames), el("label", { class: "legend wide" }, "colour ", this.colours), el("span", { class: "grow" }),
				this.kinds, this.changes, this.matched, this.painter, el("div", { class: "find" }, this.search, el("kbd", {}, "/"))),
			this.flame.layers.root, this.table.root, this.sandwich.root, this.byTime.view.layers.root,
			el("footer", { class: "status" }, this.statusLine, el("span", { class: "wide" }, "drag select · m mode · / search · ? all keys"))]);
		document.body.append(el("div", { class: "app" }, top, this.stage, this.panel.root), this.help, this.opening.overlay, this.spoken);
		this.search.addEventListener("input", () => this.setSearch(this.search.value));
		this.setTheme(localStorage.getItem("theme"));
	}

	zone(): Zone {
		return { utc: this.state.utc };
	}

	/* What is shown: the span of the link, or the newest. */
	span(): { from: number; to: number } {
		if (this.timeless())
			return { from: NaN, to: NaN };
		if (this.state.span)
			return this.state.span;
		const to = this.store && isFinite(this.store.to) ? this.store.to : Date.now();
		const from = this.store && isFinite(this.store.from) ? this.store.from : to - this.state.last;
		return { from: Math.max(from, to - this.state.last), to };
	}

	/* Files may hold no times, or none that can be told from the wall clock's. */
	timeless(): boolean {
		return this.store !== null && this.store.windows > 0 && !isFinite(this.store.from);
	}

	/* What the flame graph is of: the selection, or all of the span. */
	part(): Part {
		return this.state.a ?? { ...this.span(), cpus: null };
	}

	/* step: one of history; "degree": one of several that are one together, such as turns of the wheel. */
	change(by: Partial<State>, step: boolean | "degree"): void {
		const first = step !== "degree" || performance.now() - this.degreeAt > DEGREE_MS;
		Object.assign(this.state, by);
		this.undo.note(this.state);
		const query = writeState(this.state);
		const url = location.pathname + (query ? "?" + query : "");
		if (step && first)
			history.pushState(null, "", url);
		else
			history.replaceState(null, "", url);
		this.refresh();
		this.degreeAt = step === "degree" ? performance.now() : -Infinity;
	}
	private degreeAt = -Infinity;

	/* Another recording: nothing of this one's times or names means anything there. */
	useSource(id: string): void {
		const { utc, rows, linear, tab, icicle, colour } = this.state;
		this.change({ ...DEFAULTS, utc, rows, linear, tab, icicle, colour, source: id, zoom: [], filters: [] }, true);
		this.undo = new Undo(this.state);
		this.undoButton.disabled = true;
	}

	private leaveSource(): void {
		this.server.stop();
		this.server.source = this.state.source;
		this.store = this.tree = this.heatData = null;
		this.noHeat = false;
		this.asked = { ...NOTHING_ASKED };
		this.problems.forget();
		this.around.forget();
		this.stream?.close();
		this.stream = null;
		this.heat.show(null, Infinity);
		this.timeline.show(null, 0, 1, false);
		this.pollNow();
	}

	undoOne(again = false): void {
		const to = again ? this.undo.again() : this.undo.back();
		if (to)
			this.change(to, true);
		this.say(to ? (again ? "done again" : "undone") : again ? "nothing to do again" : "nothing to undo");
	}

	speedscope(): boolean {
		return this.opening.sources?.speedscope === true;
	}

	private setSpan(from: number, to: number, final: boolean | "degree"): void {
		this.state.span = { from, to };
		this.showSpan();
		if (final)
			this.change({ span: { from, to } }, final);
	}

	private preset(v: string): void {
		if (!this.store)
			return;
		if (v === "all") {
			this.change({ span: { from: this.store.from, to: this.store.to } }, true);
			return;
		}
		const ms = Number(v), { to } = this.span();
		const at = this.state.span ? Math.min(this.store.to, Math.max(to, this.store.from + ms)) : null;
		this.change(at === null ? { last: ms } : { span: { from: Math.max(this.store.from, at - ms), to: at } }, true);
	}

	newest(): void {
		this.change({ span: null, a: null, event: "", zoom: [] }, true);
	}

	setDrags(b: boolean): void {
		this.dragsBaseline = b;
		this.drags.show(b ? "b" : "a");
	}

	select(part: Part | null, final: boolean | "degree", second = false): void {
		if (!final) {
			this.heat.showSelection(second ? this.state.a : part, second ? part : this.shownBaseline());
			return;
		}
		if (second) {
			this.setDrags(false);
			this.change({ b: part, base: part ? "b" : "before", compare: part !== null && this.state.a !== null,
				span: part && !this.state.span ? this.span() : this.state.span }, true);
			return;
		}
		/* A selection stays where it is while the span runs on with the time. */
		this.change({ a: part, event: "", zoom: [], span: part && !this.state.span ? this.span() : this.state.span }, final);
		if (part)
			this.say(`selected ${this.partName(part)}`);
	}

	private showSelected(): void {
		this.heat.showSelection(this.state.a, this.shownBaseline());
		this.heat.resume();
	}

	addFilter(name: Filter, value: string): void {
		if (!this.state.filters.some(([n, v]) => n === name && v === value))
			this.change({ filters: [...this.state.filters, [name, value]], zoom: [] }, true);
	}

	setSearch(text: string): void {
		if (this.search.value !== text)
			this.search.value = text;
		this.change({ search: text }, false);
	}

	private async goTo(e: Event): Promise<void> {
		e.preventDefault();
		const text = this.goto.value.trim();
		if (!text)
			return;
		try {
			const t = await this.server.time(text);
			this.gotoProblem.hidden = true;
			const half = Math.max(30e3, (this.span().to - this.span().from) / 2);
			this.change({ span: { from: t - half, to: t + half }, a: { from: t - AROUND, to: t + AROUND, cpus: null }, event: "", zoom: [] }, true);
			this.goto.blur();
		} catch (problem) {
			if (isAbort(problem))
				return;
			this.gotoProblem.textContent = (problem as Error).message;
			this.gotoProblem.hidden = false;
		}
	}

	/* Shows the state, and asks for what it needs. */
	private refresh(): void {
		const s = this.state;
		if (s.source !== this.server.source)
			this.leaveSource();
		/* Asked first: the server works while what is known is drawn. */
		if (this.store?.windows)
			void this.load();
		this.tip.hide();
		this.undoButton.disabled = !this.undo.steps;
		this.opening.showName();
		this.modes.show(this.heatMode());
		this.scales.show(s.linear ? "linear" : "sparse");
		this.tabs.show(s.tab);
		this.directions.show(s.icicle ? "icicle" : "flame");
		this.rows.value = String(s.rows);
		this.rowsLabel.hidden = this.heatMode() !== "sub";
		this.panel.showOnly(s.only);
		this.around.showEvents();
		this.around.showTracks();
		this.zoneButton.textContent = s.utc ? "UTC" : "Local";
		if (document.activeElement !== this.search)
			this.search.value = s.search;
		this.flame.layers.root.hidden = s.tab !== "flame";
		this.table.root.hidden = s.tab !== "table";
		this.directions.root.hidden = s.tab !== "flame" && s.tab !== "time";
		this.byTime.view.layers.root.hidden = this.byTime.view.picker.hidden = s.tab !== "time";
		this.showSpan();
		this.showSelected();
		this.groups.value = s.by;
		this.colours.value = s.colour;
		this.colours.parentElement!.hidden = this.comparing();
		this.frames.value = s.frames;
		this.frames.parentElement!.hidden = s.tab === "time";
		this.drags.show(this.dragsBaseline ? "b" : "a");
		/* A search has a colour of its own, and needs the room. */
		this.kinds.hidden = this.comparing() || s.colour !== "kind" || s.tab === "time" || s.search !== "";
		this.changes.hidden = !this.comparing() || s.search !== "";
		this.painter.classList.toggle("framed", s.paint);
		this.painter.setAttribute("aria-pressed", String(s.paint));
		this.painter.hidden = !s.search;
		this.sandwich.root.hidden = s.tab !== "sandwich";
		this.showSelectionBar();
		this.heat.paint();
		this.showTree();
	}

	private async load(): Promise<void> {
		/* What is about it may wait until the picture is there. */
		this.pictured = this.loadHeat();
		await Promise.all([this.pictured, this.byTime.load(), this.loadFlame().then(shown).then(() => this.around.load())]);
	}
	private pictured: Promise<void> = Promise.resolve();

	/* Cells below a second take the time of every sample: hours of a large host would take minutes. Cores come from sums. */
	private tooLong(): boolean {
		const { from, to } = this.span(), store = this.store;
		return store !== null && store.period > 0 && ((to - from) / store.period) * store.cpus > MOST_TIMED;
	}

	heatMode(): Mode {
		return this.tooLong() ? "cores" : this.state.mode || (this.state.event && this.around.oneCore() ? "cores" : "sub");
	}

	/* What was found may be about one core. */
	modeMayHaveChanged(): void {
		if (this.state.mode)
			return;
		this.modes.show(this.heatMode());
		this.rowsLabel.hidden = this.heatMode() !== "sub";
		void this.loadHeat();
	}

	private async loadHeat(): Promise<void> {
		const s = this.state, mode = this.heatMode(), span = this.span();
		if (this.timeless())
			return;
		const key = JSON.stringify([span, mode, s.rows, s.filters, s.only, this.heat.room(), s.paint ? s.search : ""]);
		if (key === this.asked.heat)
			return;
		this.asked.heat = key;
		await this.answering("heat", async () => {
			const heat = await this.server.heat(s, mode, { ...span, cpus: null }, this.heat.room(), this.store!.period);
			if (this.asked.heat !== key)
				return;
			this.heatData = heat;
			this.noHeat = heat === null;
			this.showNoHeat();
			this.heat.show(heat, this.store!.recording ? this.store!.to - LEDGER_MS : Infinity);
			this.showSelected();
			this.showSpan();
			this.around.showTracks();
		});
	}

	private async loadFlame(): Promise<void> {
		const s = this.state, [part, before] = this.sides();
		const key = JSON.stringify([part, before, s.filters, s.only, s.by, s.elided, s.frames, s.collapse]);
		if (key === this.asked.flame)
			return this.growing;
		this.asked.flame = key;
		this.growing = this.answering("flame", async () => {
			const tree = await this.server.flame(s, part, before);
			if (this.asked.flame !== key)
				return;
			this.tree = tree;
			this.treeOf = part;
			this.showTree();
		});
		await this.growing;
	}
	private growing: Promise<void> = Promise.resolve(); /* the tree that was asked for last */

	private async loadTimeline(): Promise<void> {
		const store = this.store!;
		const key = `${store.from} ${store.to} ${this.timeline.bins()}`;
		if (key === this.asked.timeline || !isFinite(store.from))
			return;
		this.asked.timeline = key;
		await this.answering("timeline", async () => {
			const data = await this.server.timeline(store.from, store.to, this.timeline.bins());
			this.timeline.show(data, store.from, store.to, store.recording);
			this.drawFunnels();
		});
	}

	private async pin(): Promise<void> {
		const part = this.part(), name = this.partName(part);
		try {
			await this.server.pin(part, [...name].slice(0, 15).join(""));
			this.asked.timeline = "";
			this.say(`pinned: ${name} is kept`, HELD_MS);
		} catch (e) {
			this.say(`not pinned: ${e instanceof Refusal ? e.message : "the server does not answer"}`, HELD_MS);
		}
	}

	/* The same question for a terminal. */
	private command(): string {
		const { from, to, cpus } = this.part();
		return `perfcam why --from @${(from / 1000).toFixed(3)} --to @${(to / 1000).toFixed(3)}` + (cpus ? ` --cpu ${cpuList(cpus)}` : "");
	}

	/* Where it comes from as one file; empty: it is too long for one. */
	private capsule(): string {
		const part = this.part(), q = selectionQuery(this.state, part);
		q.set("format", "capsule");
		return part.to - part.from <= CAPSULE_MS ? this.server.path("export", q) : "";
	}

	/* Errors of one picture are said, and leave the others alone. */
	async answering(kind: Kind, work: () => Promise<void>): Promise<void> {
		this.busy.show(1, kind);
		try {
			await work();
			this.problems.note(kind);
		} catch (e) {
			if (isAbort(e))
				return;
			this.asked[kind] = "";
			this.problems.note(kind, e);
		} finally {
			this.busy.show(-1, kind);
		}
	}

	/* The store grows while it is looked at. */
	private async poll(): Promise<void> {
		let wait = LIVE_MS;
		this.waiting = 0;
		this.busy.show(1);
		try {
			const first = !this.store, empty = !this.store?.windows;
			const before = this.store?.to;
			this.store = await this.server.store();
			const again = this.problems.mayRetry();
			this.problems.note("store");
			this.showStore();
			this.listen();
			if (first || again || this.store.to !== before) {
				void this.loadTimeline();
				if (empty || again || !this.state.span || this.timeless())
					this.refresh();
			}
			/* What stands beside the first picture comes after it, unless the link is about an event. */
			void (first && !this.state.event ? this.pictured : Promise.resolve()).then(() => this.store && this.around.loadEvents());
			if (first)
				void this.pictured.then(() => this.opening.load());
		} catch (e) {
			if (isAbort(e))
				wait = 0;
			else {
				this.problems.note("store", e);
				wait = RETRY_MS;
			}
		}
		this.busy.show(-1);
		if (this.told)
			wait = Math.min(wait, TOLD_MS);
		this.told = false;
		this.waiting = window.setTimeout(() => void this.poll(), wait);
	}

	private showStore(): void {
		const s = this.store!, zone = this.zone();
		this.opening.showName();
		this.rec.classList.toggle("on", s.recording);
		const kept = isFinite(s.from) ? duration(s.to - s.from) : "nothing";
		this.recWords.textContent = `${s.recording ? "REC  " : ""}${kept} kept · ${s.period ? `${Math.round(1000 / s.period)} Hz · ` : ""}${s.cpus} CPUs`;
		this.keptWords.textContent = isFinite(s.from)
			? `${kept} kept · ${day(s.from, zone)} ${clock(s.from, zone)} to ${day(s.to, zone)} ${clock(s.to, zone)} ${zoneName(s.to, zone)}` +
				(s.unreadable ? ` · ${s.unreadable} windows cannot be read` : "")
			: this.timeless() ? "no wall clock" : "nothing recorded yet";
		this.showNoHeat();
	}

	private showNoHeat(): void {
		const s = this.store!, none = !isFinite(s.from);
		this.heatEmpty.hidden = !none && !this.noHeat;
		if (!this.heatEmpty.hidden)
			fillNoHeat(this.heatEmpty, none, this.timeless(), s.recording);
	}
	private noHeat = false; /* nothing is kept of the span */

	private showSpan(): void {
		const { from, to } = this.span(), zone = this.zone();
		if (!isFinite(from)) {
			fill(this.spanWords);
			return;
		}
		this.timeline.showSpan(from, to);
		const cell = !this.heatData ? "" : this.heatData.mode === "sub"
			? ` · cell ${duration(1000 / this.heatData.rows)}${this.heatData.merged > 1 ? `, busiest of ${this.heatData.merged} s` : ""}`
			: ` · cell ${duration(this.heatData.step)} × 1 CPU${this.tooLong() && this.state.mode !== "cores" ? ", too long for parts of a second" : ""}`;
		fill(this.spanWords, el("b", {}, `${clock(from, zone)} – ${clock(to, zone)}`), ` ${zoneName(from, zone)} · ${duration(to - from)}${cell}`);
		const preset = PRESETS.find(([, ms]) => Math.abs(to - from - ms) < 1);
		const all = this.store && from <= this.store.from && to >= this.store.to;
		this.presets.show(all ? "all" : preset ? String(preset[1]) : !this.state.span ? String(this.state.last) : "");
		this.drawFunnels();
	}

	partName(p: Part): string {
		const around = p === this.state.a && this.around.events.find((e) => e.id === this.state.event);
		if (around && Math.abs(around.time - (p.from + p.to) / 2) < 1)
			return `${shortText(around)} ± ${duration((p.to - p.from) / 2)}`;
		const what = duration(p.to - p.from);
		return p.cpus ? `${cpuNames(p.cpus)}, ${what}` : what;
	}

	showSelectionBar(): void {
		this.bar.show();
	}

	/* Whether a comparison is shown: there must be something to compare with. */
	comparing(): boolean {
		return this.state.compare && baseline(this.state, this.part()) !== null;
	}

	/* Drawn on the heatmap: the one that was dragged, and any while comparing. */
	private shownBaseline(): Part | null {
		return this.comparing() ? baseline(this.state, this.part()) : this.state.b;
	}

	/* What is asked for, and what it is compared with. */
	private sides(): [Part, Part | null] {
		const part = this.part(), before = this.comparing() ? baseline(this.state, part) : null;
		return before && this.state.flip ? [before, part] : [part, before];
	}

	/* How many CPU-seconds a unit of the tree is, and the machine had. */
	private cpuSeconds(): { each: number; machine: number; of: string } {
		const t = this.tree, part = this.part();
		const each = !t ? 0 : t.meta.unit_is_ns ? 1e-9 : t.unit === "samples" ? (this.store?.period ?? 0) / 1000 : 0;
		const cpus = part.cpus ? part.cpus.length : this.store?.cpus ?? 0;
		const seen = t?.meta.seen as { observed_ns?: number } | undefined;
		return { each, machine: ((seen?.observed_ns ?? 0) / 1e9) * cpus, of: part.cpus ? cpuNames(part.cpus) : "the machine" };
	}

	/* How long what the graph is of lasts, without what is still to come. */
	private askedMs(): number {
		const p = this.treeOf;
		return p ? (this.store?.recording ? Math.max(p.from, Math.min(p.to, this.store.to)) : p.to) - p.from : NaN;
	}

	showTree(): void {
		const t = this.tree, s = this.state;
		const { re, why } = compileSearch(s.search);
		this.search.setAttribute("aria-invalid", String(Boolean(why)));
		this.match = t && re ? matchTree(t, re) : null;
		this.matched.textContent = why ? why : this.match && t!.total[0] ? `${percent(this.match.weight / t!.total[0])} matched` : "";
		const zoom = t ? findPath(t, s.zoom) : 0;
		this.flame.show(t, zoom);
		this.flame.showMatch(this.match);
		if (s.tab === "table")
			this.table.show(t, zoom, this.match);
		if (s.tab === "sandwich")
			this.sandwich.show(t, s.sandwich, this.match);
		const { each, machine, of } = this.cpuSeconds();
		this.panel.show(t, s.a || this.comparing() ? this.partName(this.sides()[0]) : "Whole span", each, machine, of, this.store, this.askedMs());
		this.bar.showCoverage(t, this.askedMs());
		this.showEmpty();
		this.around.showPlaces();
		if (t && performance.now() >= this.heldUntil)
			this.statusLine.textContent = t.before
				? `Width: ${this.state.flip ? "the baseline" : "the selection"}. Colour: change against ${this.state.flip ? "the selection" : "the baseline"}, only where it exceeds chance: ${this.changed(t)}`
				: `Width: share of ${count(t.total[0])} ${t.unit}. Hover a frame for numbers, click to zoom`;
		this.byTime.show();
		this.drawFunnels();
	}

	private showEmpty(): void {
		const t = this.tree;
		this.stageEmpty.hidden = !t || t.total[0] > 0;
		this.skeleton.hidden = t !== null || this.store?.windows === 0;
		if (t && !(t.total[0] > 0))
			fillEmpty(this.stageEmpty, t, this.state.filters.length > 0 || this.state.only !== "", () => this.change({ filters: [], only: "" }, true));
	}

	private changed(t: Tree): string {
		const d = t.meta.diff as { significant: number; tested: number } | undefined;
		return d ? `${count(d.significant)} of ${count(d.tested)} functions` : "";
	}

	private drawFunnels(): void {
		this.funnels.draw();
	}

	copyLink(): void {
		void navigator.clipboard?.writeText(location.href).then(() => this.say("link copied"));
	}

	/* holdMs: so long the next graph, which a live page has every second, does not take its place. */
	say(words: string, holdMs = 0): void {
		this.spoken.textContent = words;
		this.statusLine.textContent = words;
		this.heldUntil = performance.now() + holdMs;
	}

	toggleTheme(): void {
		this.setTheme(this.theme.light ? "dark" : "light");
		localStorage.setItem("theme", this.theme.light ? "light" : "dark");
	}

	private setTheme(choice: string | null): void {
		const stored = choice ?? localStorage.getItem("theme");
		const light = stored ? stored === "light" : matchMedia("(prefers-color-scheme: light)").matches;
		document.documentElement.dataset.theme = light ? "light" : "dark";
		this.theme = readTheme();
		this.timeline.layers.redraw();
		this.heat.paint();
		this.track.layers.redraw();
		this.byTime.view.layers.redraw();
		for (const view of [this.flame, ...this.sandwich.halves])
			view.restyle();
		this.drawFunnels();
	}

	/* Esc takes one step back: a range begun, the search, the zoom, the comparison, the selection, the baseline. */
	private back(): void {
		if (this.heat.cancel())
			return;
		if (this.state.search)
			this.setSearch("");
		else if (this.state.tab === "time" && this.byTime.view.reset())
			return;
		else if (this.state.zoom.length)
			this.flame.zoomTo(0);
		else if (this.state.compare)
			this.change({ compare: false, zoom: [] }, true);
		else if (this.state.a)
			this.select(null, true);
		else if (this.state.b)
			this.select(null, true, true);
	}

	private key(e: KeyboardEvent): void {
		const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement;
		if (e.key === "Escape") {
			if (typing)
				(e.target as HTMLElement).blur();
			this.gotoProblem.hidden = true;
			if (this.help.open)
				this.help.close();
			else
				this.back();
			return;
		}
		if (!typing && (e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "z") {
			e.preventDefault();
			this.undoOne(e.shiftKey);
			return;
		}
		if (typing || e.ctrlKey || e.metaKey || e.altKey || this.help.open)
			return;
		const acts = keyActs(this, e);
		const act = acts[e.key];
		if (act) {
			e.preventDefault();
			act();
		}
	}

	arrow(by: number, grow: boolean): void {
		if (this.state.a && document.activeElement !== this.timeline.layers.root)
			this.heat.nudge(by, grow);
		else
			this.timeline.pan(by * 0.25);
	}
}
