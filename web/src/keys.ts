// SPDX-License-Identifier: Apache-2.0
/* What the keys do, wherever the focus is; help.ts lists them. Single letters never act while somebody types. */
import type { App } from "./app";
import { exportMenu } from "./menus";

function keyActs(app: App, e: KeyboardEvent): Record<string, () => void> {
	const s = app.state;
	return {
		ArrowLeft: () => app.arrow(-1, e.shiftKey), ArrowRight: () => app.arrow(1, e.shiftKey),
		"+": () => app.timeline.zoom(0.5), "=": () => app.timeline.zoom(0.5), "-": () => app.timeline.zoom(2),
		n: () => app.newest(), m: () => app.change({ mode: app.heatMode() === "sub" ? "cores" : "sub" }, true),
		"/": () => app.search.focus(), g: () => app.goto.focus(), i: () => app.change({ icicle: !s.icicle }, false),
		e: () => exportMenu(app, app.exporter), r: () => app.change({ collapse: !s.collapse, zoom: [] }, false),
		o: () => app.opening.choose(), u: () => void app.around.findMoments(),
		t: () => app.around.nextTrack(), "[": () => app.around.stepEvent(-1), "]": () => app.around.stepEvent(1),
		"1": () => app.change({ tab: "flame" }, true), "2": () => app.change({ tab: "table" }, true),
		"3": () => app.change({ tab: "sandwich" }, true), "4": () => app.change({ tab: "time" }, true),
		",": () => app.byTime.view.step(-1), ".": () => app.byTime.view.step(1),
		c: () => s.base === "b" && !s.b ? app.say("there is no baseline yet: b, then drag") : app.change({ compare: !s.compare, zoom: [] }, true),
		x: () => app.comparing() ? app.change({ flip: !s.flip, zoom: [] }, true) : app.say("nothing is compared: c"),
		b: () => app.setDrags(!app.dragsBaseline), h: () => s.search || s.paint ? app.change({ paint: !s.paint }, false) : app.say("nothing is searched for: /"),
		z: () => app.change({ utc: !s.utc }, false), d: () => app.toggleTheme(), w: () => app.panel.focusWhy(), "?": () => app.help.showModal(),
		Backspace: () => history.back(),
	};
}

/* Esc takes one step back: a range begun, the search, the zoom, the comparison, the selection, the baseline. */
function stepBack(app: App): void {
	const s = app.state;
	if (app.heat.cancel())
		return;
	if (s.search)
		app.setSearch("");
	else if ((s.tab === "time" && app.byTime.view.reset()) || (s.tab === "sandwich" && app.sandwich.reset()))
		return;
	else if (s.zoom.length)
		app.flame.zoomTo(0);
	else if (s.compare)
		app.change({ compare: false, zoom: [] }, true);
	else if (s.a)
		app.select(null, true);
	else if (s.b)
		app.select(null, true, true);
}

export function onKey(app: App, e: KeyboardEvent): void {
	if (app.opening.covers()) {
		if (e.key === "Escape")
			app.opening.close();
		return;
	}
	const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement;
	if (e.key === "Escape") {
		if (typing)
			(e.target as HTMLElement).blur();
		app.gotoProblem.hidden = true;
		if (app.help.open)
			app.help.close();
		else
			stepBack(app);
		return;
	}
	if (!typing && (e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "z") {
		e.preventDefault();
		app.undoOne(e.shiftKey);
		return;
	}
	if (typing || e.ctrlKey || e.metaKey || e.altKey || app.help.open)
		return;
	const act = keyActs(app, e)[e.key];
	if (act) {
		e.preventDefault();
		act();
	}
}
