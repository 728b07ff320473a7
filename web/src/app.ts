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
import { el, fill, keptTheme, put, readTheme, Segment, shown, Tip, type Theme } from "./dom";
import { fillEmpty, fillFailed, fillNoHeat, fillNoOther, fillToCome, makeSkeleton } from "./empty";
import { FlameView } from "./flame_view";
import { clocks, cpuNames, day, duration, percent, typedTime, zoneName, type Zone } from "./format";
import { Funnels } from "./funnel";
import { AROUND, shortText } from "./happening";
import { heatRows, isTooLong } from "./heat_reach";
import { isRead, readParts, steadySpan, wholeSeconds } from "./heat_parts";
import { HeatView } from "./heat_view";
import { makeHelp } from "./help";
import { onKey } from "./keys";
import { CAPSULE_MS, exportMenu, frameMenu, moreMenu } from "./menus";
import { Opening } from "./opening";
import { escapeExpression, machineSeconds, Panel } from "./panel";
import { Problems } from "./problems";
import { baseline, DEFAULTS, FRAMES, GROUPS, readState, ROWS, selectionQuery, writeState, type Colour, type Filter, type Frames, type Group, type Mode, type Part, type State, type Tab } from "./state";
import { Undo } from "./undo";
import { SandwichView } from "./sandwich_view";
import { SelectionBar } from "./selection_bar";
import { TableView } from "./table_view";
import { TimelineView } from "./timeline_view";
import { TrackView } from "./track_view";
import { asCompared, compileSearch, findPath, matchTree, scaledBy, type Match, type Tree } from "./tree";
import { cellWords, inSeconds, keptWords, recordedWords, statusWords, whyCommand } from "./words";

type Kind = "heat" | "flame" | "timeline" | "chart" | AroundKind;

const LIVE_MS = 2000, TOLD_MS = 200, RETRY_MS = 5000;
const LEDGER_MS = 3000; /* what was observed is known that long after */
const HELD_MS = 5000, DEGREE_MS = 1000, WHOLE_MS = 3600e3;
const PRESETS: [string, number][] = [["2 m", 120e3], ["10 m", 600e3], ["1 h", 3600e3], ["12 h", 43200e3]];
const NOTHING_ASKED = { heat: "", flame: "", timeline: "", events: "", tracks: "", host: "", why: "", moments: "", quality: "", usual: "", chart: "" };
export class App implements AroundHost {
	state: State = readState(location.search);
	server = new Server();
	store: StoreFacts | null = null;
	tree: Tree | null = null;
	private treeOf: Part | null = null; /* what it is of */
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
		dragsBaseline: () => this.dragsBaseline, unselect: () => this.showSelected(),
		zoomSpan: (by, around) => this.timeline.zoom(by, around), openEvent: (e) => this.around.openEvent(e), walked: (words) => this.say(words),
		busiest: (part) => this.server.busiest(this.state, part).then((v) =>
			v.length ? v.map((p) => `${p.name} ${percent(p.share)}`).join(" · ") : null, () => null),
	}, this.tip);
	track = new TrackView({ theme: () => this.theme, zone: () => this.zone(), axis: () => this.heat.axis() }, this.tip);
	flame: FlameView = new FlameView({
		theme: () => this.theme, icicle: () => this.state.icicle, colour: () => this.state.colour,
		zoomed: (path) => this.change({ zoom: path }, true), follows: () => this.follows(),
		walked: (words) => this.say(words), cpuSeconds: () => this.cpuSeconds(),
		menu: (node, x, y) => frameMenu(this, this.tree!, node, x, y),
	}, this.tip);
	byTime = new ByTime(this, this.tip);
	sandwich = new SandwichView((id, label, icicle, zoomed) => {
		const view: FlameView = new FlameView({
			theme: () => this.theme, icicle: () => icicle, colour: () => this.state.colour, zoomed, follows: () => this.follows(), walked: (words) => this.say(words),
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
		selectCores: (cpus) => this.select({ ...this.part(), cpus }, true), zoomTo: (name) => this.change({ zoom: [name] }, true),
		withoutCore: (cpu) => this.select({ ...this.part(), cpus: (this.part().cpus ?? [...Array(this.store!.cpus).keys()]).filter((c) => c !== cpu) }, true),
		capsule: () => this.capsule(),
		takesAll: () => this.state.only === "" && this.state.filters.length === 0,
		compare: () => this.change({ compare: !this.state.compare, zoom: [] }, true), comparing: () => this.comparing(), command: () => whyCommand(this.state, this.part()), copy: (text, what) => this.copy(text, what),
	});

	around: Around = new Around(this);
	opening = new Opening(this);

	private root = el("div", { class: "app" });
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
	private matched = el("span", { class: "soft cut matched" });
	private stageEmpty = el("div", { class: "empty", hidden: true });
	private skeleton = makeSkeleton();
	private heatEmpty = el("div", { class: "empty", hidden: true });
	private busy = new Busy<Kind>(this.stage, () => ({ heat: [this.heat.layers.root], timeline: [this.timeline.layers.root], tracks: [this.track.layers.root],
		chart: [this.byTime.view.layers.root], flame: [this.flame.layers.root, this.table.root, ...this.sandwich.halves.map((h) => h.layers.root), ...this.panel.ofTree()] }));
	private funnels = new Funnels(() => [[...this.timeline.brush(), this.theme.color("tx3")], [...this.heat.edges(this.part()), this.theme.color(this.state.a ? "a" : "tx3")]]);
	search = el("input", { type: "search", placeholder: "Search", title: "Functions that match a regular expression (/)", "aria-label": "Search functions, a regular expression",
		maxlength: 1024, spellcheck: "false" });
	goto = el("input", { placeholder: "Go to 03:14:07, -90s, boot+123.4", "aria-label": "Go to a time", maxlength: 64, spellcheck: "false" });
	gotoProblem = el("div", { class: "problem", role: "alert", hidden: true });
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
		document.addEventListener("keydown", (e) => onKey(this, e));
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
		this.changes.append(legend("less-fill", "less"), legend("chance", "within chance"), legend("more-fill", "more"));
		this.flame.layers.root.append(this.stageEmpty, this.skeleton);
		this.heat.layers.root.append(this.heatEmpty);
		put(this.stage, [this.problems.banner, this.problems.damage, this.opening.notice,
			el("div", { class: "bar" }, el("h2", {}, "Timeline"), this.keptWords, legend("area", "busy, mean"),
				el("span", { class: "legend wide" }, el("span", { class: "swatch hatch" }), "not observed"), legend("ok", "pinned"), this.presets.root),
			this.timeline.layers.root, this.funnels.canvases[0],
			el("div", { class: "bar" }, this.modes.root, this.spanWords, this.stopButton, this.rowsLabel, this.around.label, this.scales.root, this.heat.legend, this.drags.root),
			this.heat.layers.root, this.track.layers.root, this.funnels.canvases[1], this.bar.root,
			el("div", { class: "bar" }, this.tabs.root, this.undoButton, this.directions.root, this.byTime.view.picker, el("label", { class: "legend wide" }, "by ", this.groups), el("label", { class: "legend wide" }, "of ", this.frames), el("label", { class: "legend wide" }, "colour ", this.colours), el("span", { class: "grow" }),
				this.kinds, this.changes, this.matched, this.painter, el("div", { class: "finder" }, this.search, el("kbd", {}, "/"))),
			this.flame.layers.root, this.table.root, this.sandwich.root, this.byTime.view.layers.root,
			el("footer", { class: "status" }, this.statusLine, el("span", { class: "wide" }, "drag select · m mode · / search · ? all keys"))]);
		this.root.append(top, this.stage, this.panel.root);
		document.body.append(this.root, this.help, this.opening.overlay, this.spoken);
		this.search.addEventListener("input", () => this.setSearch(this.search.value));
		this.setTheme(null);
	}

	private follows(): boolean {
		return this.root.classList.contains("follows");
	}

	zone(): Zone {
		const utc = this.state.utc, s = this.store;
		return { utc, dated: s !== null && isFinite(s.from) && day(s.from, { utc }) !== day(s.to, { utc }) };
	}

	/* What is shown: the span of the link, or the newest; of a file, which does not grow, all. */
	span(): { from: number; to: number } {
		if (this.store && !isFinite(this.store.from))
			return { from: NaN, to: NaN };
		if (this.state.span)
			return this.state.span;
		const to = this.store && isFinite(this.store.to) ? this.store.to : Date.now();
		const from = this.store && isFinite(this.store.from) ? this.store.from : to - this.state.last;
		return { from: this.whole && this.state.last === DEFAULTS.last ? from : Math.max(from, to - this.state.last), to };
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
		this.root.classList.remove("follows");
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
		this.noHeat = this.noOther = false;
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
		if (!this.store || !isFinite(this.store.from))
			return;
		if (v === "all") {
			this.change({ span: { from: this.store.from, to: this.store.to } }, true);
			return;
		}
		const ms = Number(v), { to } = this.span();
		const at = this.state.span || this.whole ? Math.min(this.store.to, Math.max(to, this.store.from + ms)) : null;
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
			const t = await this.server.time(typedTime(text, this.zone(), (this.store?.recording ? this.store.now : this.store?.to) ?? NaN));
			this.gotoProblem.hidden = true;
			const half = Math.max(30e3, (this.span().to - this.span().from) / 2 || 0);
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
		if (!this.follows())
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

	private tooLong(): boolean {
		return this.store !== null && isTooLong(this.state, this.span(), this.store);
	}

	heatMode(): Mode {
		return this.tooLong() ? "cores" : this.state.mode || (this.state.event && this.around.oneCore() ? "cores" : "sub");
	}

	/* The span, as far as the heatmap shows time. */
	heatSpan(): { from: number; to: number } {
		return this.heatMode() === "sub" ? wholeSeconds(this.span()) : this.span();
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
		const s = { ...this.state, paint: this.state.paint && compileSearch(this.state.search).re !== null }; /* one that is being typed may be none yet */
		const mode = this.heatMode(), exact = this.span();
		if (this.timeless())
			return;
		const store = this.store!, parts = isRead(s, exact, store), span = parts && !this.state.span ? steadySpan(exact) : this.heatSpan(), rows = heatRows(s, span, store);
		const key = JSON.stringify([span, mode, s.rows, s.filters, s.only, this.heat.room(), s.paint ? s.search : ""]);
		if (key === this.asked.heat)
			return;
		this.asked.heat = key;
		const all = { ...s, filters: [], only: "" as const, paint: false };
		await this.answering("heat", async () => {
			this.heat.layers.root.toggleAttribute("data-read", false);
			const heat = await this.server.heat({ ...(parts ? all : s), rows }, mode, { ...span, cpus: null }, this.heat.room(), store.period);
			if (this.asked.heat !== key)
				return;
			this.showHeat(heat, "");
			/* The picture is there; the rest of this answer comes by and by. */
			if (heat && parts)
				void this.answering("heat", () => readParts(this.server, { ...s, rows }, { mode, span, store }, heat, (h, done, of) => {
					this.heat.layers.root.toggleAttribute("data-read", true);
					this.showHeat(h, done < of ? `${done} of ${of}` : "");
				}));
		});
	}

	private showHeat(heat: Heat | null, reading: string): void {
		this.heatData = heat;
		this.noHeat = heat === null;
		this.stopButton.hidden = !reading;
		this.stopButton.textContent = `Stop · ${reading} read`;
		this.problems.damage.hidden = !heat?.damaged;
		this.showNoHeat();
		this.heat.show(heat, this.store!.recording ? this.store!.to - LEDGER_MS : Infinity);
		this.showSelected();
		this.showSpan();
		this.around.showTracks();
	}
	private stopButton = el("button", { type: "button", class: "framed", hidden: true, title: "The samples of this span are read part by part: what has been read stays", onclick: () => {
		this.server.give("heat");
		this.showHeat(this.heatData, "");
	} });

	private async loadFlame(): Promise<void> {
		const s = this.state, [part, before] = this.sides();
		const key = JSON.stringify([part, before, s.filters, s.only, s.by, s.elided, s.frames, s.collapse]);
		if (key === this.asked.flame)
			return this.growing;
		this.asked.flame = key;
		this.growing = this.answering("flame", async () => {
			/* Nothing is kept of the one side: that is no graph of the other. */
			const tree = await this.server.flame(s, part, before).catch((e) => {
				if (before && e instanceof Refusal && e.status === 404)
					return null;
				throw e;
			});
			if (this.asked.flame !== key)
				return;
			this.tree = tree && before ? asCompared(tree, s.flip, s.elided) : tree;
			this.noOther = tree === null;
			this.treeOf = before && s.elided ? before : part;
			this.showTree();
		});
		await this.growing;
	}
	private growing: Promise<void> = Promise.resolve(); /* the tree that was asked for last */
	private noOther = false; /* there is nothing to compare with */

	private async loadTimeline(): Promise<void> {
		const store = this.store!;
		const key = `${store.from} ${store.to} ${this.timeline.bins()}`;
		if (key === this.asked.timeline || !isFinite(store.from))
			return;
		this.asked.timeline = key;
		await this.answering("timeline", async () => {
			const data = await this.server.timeline(store.from, store.to, this.timeline.bins());
			if (!store.cpus) /* of how many it was busy nobody knows */
				[data.unseen.fill(0), data.busy.fill(NaN), data.peak.fill(NaN)];
			this.timeline.show(data, store.from, store.to, store.recording);
			this.funnels.draw();
		});
	}

	private async pin(): Promise<void> {
		const part = this.part(), name = this.partName(part).replace(/\u00a0/g, " ");
		try {
			await this.server.pin(part, [...name].slice(0, 15).join(""));
			this.asked.timeline = "";
			this.say(`pinned: ${name} is kept`, HELD_MS);
		} catch (e) {
			this.say(`not pinned: ${e instanceof Refusal ? e.message : "the server does not answer"}`, HELD_MS);
		}
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
			this.busy.mark(kind, false);
		} catch (e) {
			if (isAbort(e))
				return;
			this.asked[kind] = "";
			this.problems.note(kind, e);
			this.busy.mark(kind, true);
			if (kind === "heat" && this.store)
				this.showNoHeat();
			if (kind === "flame")
				this.showTree();
		} finally {
			this.busy.show(-1, kind);
		}
	}

	/* Pictures are older than the store. Those on their way come first: each question ends the one before it, and none would have an answer. */
	private behind = false;
	private whole = false; /* it is a file by the look of it: see span() */

	/* The store grows while it is looked at. */
	private async poll(): Promise<void> {
		let wait = LIVE_MS;
		this.waiting = 0;
		this.busy.show(1);
		try {
			const first = !this.store, empty = !this.store?.windows, before = this.store?.to;
			this.store = await this.server.store();
			this.whole = first ? !this.store.recording && this.store.to - this.store.from <= WHOLE_MS : this.whole;
			const again = this.problems.mayRetry();
			this.problems.note("store");
			this.showStore();
			this.listen();
			if (first || again || this.behind || this.store.to !== before) {
				const goesOn = !first && !again; /* what was asked for is there, and only goes on with the time */
				this.behind = goesOn && (this.busy.waitsFor("flame", "timeline") || (this.stopButton.hidden && this.busy.waitsFor("heat")));
				this.root.classList.toggle("follows", goesOn && !this.behind || this.follows());
				if (!this.behind) {
					void this.loadTimeline();
					if (empty || again || !this.state.span || this.timeless())
						this.refresh();
				}
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
		this.recWords.textContent = recordedWords(s, this.timeless());
		this.keptWords.textContent = keptWords(s, zone, this.timeless());
		this.showNoHeat();
	}

	private showNoHeat(): void {
		const s = this.store!, none = !isFinite(s.from), failed = !this.heatData && !this.timeless() && this.problems.has("heat");
		this.heatEmpty.hidden = !none && !this.noHeat && !failed;
		if (!this.heatEmpty.hidden)
			fillNoHeat(this.heatEmpty, none, this.timeless(), s.recording, failed);
	}
	private noHeat = false; /* nothing is kept of the span */

	private showSpan(): void {
		const { from, to } = this.span(), zone = this.zone();
		if (!isFinite(from)) {
			fill(this.spanWords);
			return;
		}
		this.timeline.showSpan(from, to);
		const whole = inSeconds(from, to);
		fill(this.spanWords, el("b", {}, clocks(from, to, zone, whole ? 0 : 3)), ` ${zoneName(from, zone)}`,
			whole ? el("span", { class: "wide" }, ` · ${duration(to - from)}`) : null, cellWords(this.heatData, this.tooLong() && this.state.mode !== "cores"));
		this.spanWords.title = this.spanWords.textContent!;
		const preset = PRESETS.find(([, ms]) => Math.abs(to - from - ms) < 1);
		const all = this.store && from <= this.store.from && to >= this.store.to;
		this.presets.show(all ? "all" : preset ? String(preset[1]) : !this.state.span ? String(this.state.last) : "");
		this.funnels.draw();
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
	sides(): [Part, Part | null] {
		const part = this.part(), before = this.comparing() ? baseline(this.state, part) : null;
		return before && this.state.flip ? [before, part] : [part, before];
	}

	/* How many CPU-seconds a unit of the tree is, and the machine had. */
	private cpuSeconds(): { each: number; machine: number; of: string } {
		const t = this.tree, part = this.treeOf ?? this.part(), by = t ? scaledBy(t) : 1;
		const each = !t ? 0 : t.meta.unit_is_ns ? 1e-9 : t.unit === "samples" ? (this.store?.period ?? 0) / 1000 : 0;
		const cpus = part.cpus ? part.cpus.length : this.store?.cpus ?? 0;
		return { each, machine: by * machineSeconds(t, cpus, this.store?.period ?? 0, t ? (t.total[0] * each) / by : 0), of: part.cpus ? cpuNames(part.cpus) : "the machine" };
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
		this.matched.classList.toggle("wrong", Boolean(why));
		this.match = t && re ? matchTree(t, re) : null;
		this.matched.title = this.matched.textContent = why ? why : this.match && t!.total[0] ? `${percent(this.match.weight / t!.total[0])} matched` : "";
		const zoom = t ? findPath(t, s.zoom) : 0;
		this.flame.show(t, zoom);
		this.flame.showMatch(this.match);
		if (s.tab === "table")
			this.table.show(t, zoom, this.match);
		if (s.tab === "sandwich")
			this.sandwich.show(t, s.sandwich, this.match);
		const { each, machine, of } = this.cpuSeconds();
		this.panel.show(t ?? (this.noOther ? "Nothing to compare with" : this.problems.has("flame") ? "This could not be read" : null), s.a || this.comparing() ? this.treeOf && t?.elided ? `${this.partName(this.treeOf)}, as if it had lasted ${this.partName({ ...this.sides()[0], cpus: null })}` : this.partName(this.sides()[0]) : "Whole span", each, machine, of, this.store, this.askedMs());
		this.bar.showCoverage(t, this.askedMs());
		this.showEmpty();
		this.around.showPlaces();
		if (t && performance.now() >= this.heldUntil)
			this.statusLine.textContent = statusWords(t, s);
		this.byTime.show();
		this.funnels.draw();
	}

	private showEmpty(): void {
		const t = this.tree;
		this.stageEmpty.hidden = t ? t.total[0] > 0 : !this.noOther && !this.problems.has("flame") && this.store?.windows !== 0;
		this.skeleton.hidden = t !== null || this.noOther || this.problems.has("flame") || this.store?.windows === 0;
		if (!t && this.problems.has("flame"))
			fillFailed(this.stageEmpty);
		else if (!t && this.store?.windows === 0)
			fillToCome(this.stageEmpty);
		else if (!t && this.noOther)
			fillNoOther(this.stageEmpty, () => this.change({ compare: false, zoom: [] }, true));
		if (t && !(t.total[0] > 0))
			fillEmpty(this.stageEmpty, t, this.state.filters.length > 0 || this.state.only !== "", () => this.change({ filters: [], only: "" }, true));
	}

	copyLink(): void {
		this.copy(location.href, "the link");
	}

	copy(text: string, what: string): void {
		/* A page that came unencrypted from another host has no clipboard. */
		void (navigator.clipboard?.writeText(text) ?? Promise.reject()).then(() => this.say(`copied ${what}`, HELD_MS), () => this.say(`the browser does not let ${what} be copied: ${text}`, HELD_MS));
	}

	/* holdMs: so long the next graph, which a live page has every second, does not take its place. */
	say(words: string, holdMs = 0): void {
		this.spoken.textContent = words;
		this.statusLine.textContent = words;
		this.heldUntil = performance.now() + holdMs;
	}

	toggleTheme(): void {
		this.setTheme(this.theme.light ? "dark" : "light");
		keptTheme(this.theme.light ? "light" : "dark");
	}

	private setTheme(choice: string | null): void {
		const stored = choice ?? keptTheme();
		const light = stored ? stored === "light" : matchMedia("(prefers-color-scheme: light)").matches;
		document.documentElement.dataset.theme = light ? "light" : "dark";
		this.theme = readTheme();
		this.timeline.layers.redraw();
		this.heat.paint();
		this.track.layers.redraw();
		this.byTime.view.layers.redraw();
		for (const view of [this.flame, ...this.sandwich.halves])
			view.restyle();
		this.funnels.draw();
	}

	arrow(by: number, grow: boolean): void {
		if (this.state.a && document.activeElement !== this.timeline.layers.root)
			this.heat.nudge(by, grow);
		else
			this.timeline.pan(by * 0.25);
	}
}
