// SPDX-License-Identifier: Apache-2.0
// The one script in every flame graph: zoom, search, tooltips, keys, state in the URL.
// It is a constant: data never becomes code. Names come from the text of <title> elements and go
// to textContent; what the URL says goes to RegExp and to the search box. See docs/svg.md.
(() => {
'use strict';
const self = document.currentScript;
const svg = self && self.ownerSVGElement || document.documentElement;
const whole = svg === document.documentElement || svg.classList.contains('page');
const SVG = 'http://www.w3.org/2000/svg', HTML = 'http://www.w3.org/1999/xhtml';
const frames = svg.querySelector('.f');
if (!frames) return;
const data = frames.dataset, ROW = +data.row, FONT = +data.font, MIN = .1, PAD = 16;
const top = +data.top, rows = +data.rows, scale = +data.scale * (data.millionths || 1e6) / 1e6;
const unit = frames.querySelector('desc').textContent;
const right = [...svg.querySelectorAll('.end')];
const bars = [...svg.querySelectorAll('.wide')];
const status = svg.querySelector('.status'), still = status.textContent;

const make = (tag, attributes, parent) => {
	const e = document.createElementNS(SVG, tag);
	for (const k in attributes) e.setAttribute(k, attributes[k]);
	if (parent) parent.append(e);
	return e;
};
const clamp = (v, low, high) => Math.max(low, Math.min(high, v));

// The frames, in depth-first order. lines: name, kind and module, numbers.
const all = [...frames.querySelectorAll('g')].map((g, i) => {
	const rect = g.querySelector('rect'), title = g.querySelector('title');
	const f = { i, g, rect, text: g.querySelector('text'), lines: title.textContent.split('\n'),
		x: +g.dataset.x, v: +g.dataset.v, depth: +g.dataset.d, up: null, end: 0,
		cls: g.getAttribute('class').split(' ')[0], shown: true };
	title.remove();
	g.frame = f;
	return f;
});
{
	const path = [];
	for (const f of all) {
		while (path.length && path[path.length - 1].depth >= f.depth) path.pop().end = f.i;
		f.up = path[path.length - 1] || null;
		path.push(f);
	}
	for (const f of path) f.end = all.length;
}

// Widths of characters, measured once each.
const pen = document.createElementNS(HTML, 'canvas').getContext('2d');
const family = getComputedStyle(svg).fontFamily;
const widths = {};
const measure = (text, style) => {
	const seen = widths[style] || (widths[style] = new Map());
	let sum = 0;
	for (const c of text) {
		let w = seen.get(c);
		if (w === undefined) {
			pen.font = style + ' ' + family;
			seen.set(c, w = pen.measureText(c).width);
		}
		sum += w;
	}
	return sum;
};
const styleOf = f => (f.cls === 'a' || f.cls === 'p' ? '600 '
	: f.cls[0] === 'i' || f.cls === 'm' ? 'italic ' : '') + FONT + 'px';
// Where a long name may be cut: behind "::", "." or a space, outside of brackets.
const cuts = name => {
	const at = [];
	for (let i = 1, depth = 0; i < name.length; i++) {
		const c = name[i - 1];
		depth += (c === '<' || c === '(') - (c === '>' || c === ')');
		if (depth === 0 && (c === ' ' || c === '.' || c === ':' && name[i - 2] === ':') && /[a-zA-Z_~$]/.test(name[i])
			&& !(c === '.' && /^(isra|constprop|part|cold|llvm|lto_)/.test(name.slice(i)))) at.push(i);
	}
	return at;
};
const fit = (name, room, style) => {
	if (room < 14) return '';
	if (measure(name, style) <= room) return name;
	const dots = measure('\u2026', style);
	let tail = name, lead = '';
	for (const i of name[0] === '[' ? [] : cuts(name)) {
		tail = name.slice(i);
		lead = '\u2026';
		if (measure(tail, style) + dots <= room) return lead + tail;
	}
	const chars = [...tail];
	let w = lead ? 2 * dots : dots, n = 0;
	while (n < chars.length && (w += measure(chars[n], style)) <= room) n++;
	return n < 3 ? '' : lead + chars.slice(0, n).join('') + '\u2026';
};

let width = +svg.getAttribute('width'), zoomed = all[0], icicle = data.icicle === '1';
let query = '', hits = 0, at = null;
const rootLabel = all[0].text ? all[0].text.textContent : all[0].lines[0];
const rowOf = depth => top + (icicle ? depth : rows - 1 - depth) * ROW;

function place(f, x, w) {
	if (!f.shown) {
		f.g.removeAttribute('display');
		f.shown = true;
	}
	const y = rowOf(f.depth);
	f.rect.setAttribute('x', x.toFixed(2));
	f.rect.setAttribute('y', y);
	f.rect.setAttribute('width', Math.max(.05, w > 3 ? w - 1 : w * .75).toFixed(2));
	const name = fit(f.up ? f.lines[0] : rootLabel, Math.min(w, width - PAD - x) - 9, styleOf(f));
	if (name) {
		if (!f.text) f.text = make('text', {}, f.rect.parentNode);
		f.text.setAttribute('x', (x + 4).toFixed(2));
		f.text.setAttribute('y', (y + (ROW - 1) / 2 + FONT * 4 / 11).toFixed(2));
		f.text.textContent = name;
	} else if (f.text) {
		f.text.remove();
		f.text = null;
	}
}

function hide(f) {
	if (!f.shown) return;
	f.g.setAttribute('display', 'none');
	f.shown = false;
}

function layout() {
	const inner = width - 2 * PAD, per = zoomed.v ? inner / zoomed.v : 0;
	const above = new Set();
	for (let f = zoomed.up; f; f = f.up) above.add(f);
	for (const f of all) {
		f.g.classList.toggle('up', above.has(f));
		if (above.has(f)) place(f, PAD, inner);
		else if (f.i >= zoomed.i && f.i < zoomed.end && (f.v * per >= MIN || f === zoomed))
			place(f, PAD + (f.x - zoomed.x) * per, f.v * per);
		else hide(f);
	}
	reset.setAttribute('display', zoomed === all[0] ? 'none' : 'inline');
}

const count = v => {
	const n = data.millionths ? Math.round(v * scale) : v * scale;
	if (data.ns !== '1') return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f') + ' ' + unit;
	return n >= 1e9 ? (n / 1e9).toFixed(2) + ' s' : n >= 1e6 ? (n / 1e6).toPrecision(3) + ' ms'
		: (n / 1e3).toPrecision(3) + ' \u00b5s';
};
const percent = (part, of) => {
	const p = of ? 100 * part / of : 0;
	return p.toFixed(p && p < .0995 ? 3 : 1) + '\u202f%';
};

// Frames whose name matches; a stack counts once, however many of its frames do.
function search(text) {
	query = text;
	let re = null, bad = false;
	try {
		if (text) re = new RegExp(text, text === text.toLowerCase() ? 'i' : '');
	} catch (e) {
		bad = true;
	}
	box.classList.toggle('bad', bad);
	hits = 0;
	let covered = -1;
	for (const f of all) {
		const hit = !!re && f.up && re.test(f.lines[0]);
		f.g.classList.toggle('hit', hit);
		if (hit && f.i >= covered) {
			hits += f.v;
			covered = f.end;
		}
	}
	svg.classList.toggle('found', !!re);
	matched.textContent = bad ? 'not a regular expression'
		: re ? 'Matched ' + percent(hits, all[0].v) + ', ' + count(hits) : '';
}

// State: #x=&y= the zoomed frame (start and depth), s= search, i= the other way up.
function save(push) {
	const p = new URLSearchParams();
	if (zoomed !== all[0]) {
		p.set('x', zoomed.x);
		p.set('y', zoomed.depth);
	}
	if (query) p.set('s', query);
	if (icicle !== (data.icicle === '1')) p.set('i', icicle ? 1 : 0);
	const hash = '#' + p;
	if (!whole || hash === (location.hash || '#')) return;
	try {
		history[push ? 'pushState' : 'replaceState'](null, '', hash);
	} catch (e) {
		// A document that may not: the picture works, the link does not follow.
	}
}

function load() {
	const p = new URLSearchParams(location.hash.length > 1 ? location.hash.slice(1) : location.search);
	icicle = p.has('i') ? p.get('i') === '1' : data.icicle === '1';
	zoomed = p.has('x') && all.find(f => f.x === +p.get('x') && f.depth === +p.get('y')) || all[0];
	box.value = p.get('s') || '';
	layout();
	if (query || box.value) search(box.value);
}

function zoom(f) {
	zoomed = f;
	hideTip();
	layout();
	save(true);
}

// The box that follows the pointer.
const tip = make('g', { class: 'tip', display: 'none' });
const hideTip = () => tip.setAttribute('display', 'none');
const wrap = (text, n, max) => {
	const chars = [...text], lines = [];
	while (chars.length && lines.length < max) lines.push(chars.splice(0, n).join(''));
	if (chars.length) lines[max - 1] = lines[max - 1].slice(0, -1) + '\u2026';
	return lines;
};
function facts(f) {
	const lines = f.lines.slice(1);
	if (zoomed.up && f.i >= zoomed.i) lines.push(percent(f.v, zoomed.v) + ' of ' + wrap(zoomed.lines[0], 40, 1)[0]);
	return lines;
}
function showTip(f, x, y) {
	tip.replaceChildren();
	const panel = make('rect', { rx: 6 }, tip), lines = wrap(f.lines[0], 70, 6);
	let w = 0, row = 20;
	const put = (s, cls) => {
		const t = make('text', { x: 10, y: row, class: cls }, tip);
		t.textContent = s;
		w = Math.max(w, t.getComputedTextLength());
		row += 17;
	};
	tip.removeAttribute('display');
	for (const s of lines) put(s, 'b');
	for (const s of facts(f)) put(s, '');
	panel.setAttribute('width', w + 20);
	panel.setAttribute('height', row - 6);
	const edge = whole ? scrollY + innerHeight : svg.viewBox.baseVal.height;
	const left = clamp(x + 14, 4, Math.max(4, width - w - 28));
	const down = y + 18 + row > edge ? Math.max(4, y - row - 6) : y + 18;
	tip.setAttribute('transform', 'translate(' + left + ' ' + down + ')');
}

// Controls, made here so that a picture without script has none that do nothing.
const head = svg.querySelector('.head');
function button(x, w, label, hint, act) {
	const g = make('g', { class: 'ui', role: 'button', tabindex: 0, 'aria-label': hint }, head);
	make('rect', { x, y: 12, width: w, height: 26, rx: 5 }, g);
	make('text', { x: x + w / 2, y: 29 }, g).textContent = label;
	make('title', {}, g).textContent = hint;
	g.addEventListener('click', act);
	g.addEventListener('keydown', e => {
		if (e.key === 'Enter' || e.key === ' ') {
			e.preventDefault();
			e.stopPropagation();
			act();
		}
	});
	return g;
}
const reset = button(0, 86, 'Reset zoom', 'Show everything again (Esc)', () => zoom(all[0]));
const flip = button(0, 30, '\u21c5', 'Turn upside down (i)', () => {
	icicle = !icicle;
	layout();
	save(true);
});
const holder = make('foreignObject', { y: 12, width: 220, height: 26 }, head);
const box = document.createElementNS(HTML, 'input');
box.className = 'q';
box.type = 'search';
box.placeholder = 'Search (regex)';
box.setAttribute('aria-label', 'Search by regular expression');
box.spellcheck = false;
holder.append(box);
const matched = make('text', { class: 's', y: 54, 'text-anchor': 'end', 'aria-live': 'polite' }, head);

box.addEventListener('input', () => {
	search(box.value);
	save(false);
});
const say = f => {
	status.textContent = (data.what ? data.what + ' ' : '') + f.lines.join(' \u00b7 ');
};
const frameOf = e => {
	const g = e.target.closest && e.target.closest('.f > g');
	return g ? g.frame : null;
};
frames.addEventListener('click', e => {
	const f = frameOf(e);
	// A frame that is a link is followed by Ctrl-click; else it zooms like the others.
	if (!f || (e.ctrlKey || e.metaKey) && e.target.closest('a')) return;
	e.preventDefault();
	zoom(f);
});
const point = e => new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
svg.addEventListener('mousemove', e => {
	const f = frameOf(e);
	if (!f) {
		hideTip();
		status.textContent = still;
		return;
	}
	const p = point(e);
	showTip(f, p.x, p.y);
	say(f);
});
svg.addEventListener('mouseleave', hideTip);

// Keys. Arrows walk the frames, as they are drawn.
function walk(key) {
	const ahead = icicle ? 'ArrowDown' : 'ArrowUp';
	const f = at && at.shown ? at : zoomed;
	const near = all.filter(o => o.shown && o !== f && (key === ahead ? o.up === f
		: key === 'ArrowLeft' || key === 'ArrowRight' ? o.depth === f.depth : o === f.up));
	const to = key === 'ArrowLeft' ? near.filter(o => o.i < f.i).pop()
		: key === 'ArrowRight' ? near.find(o => o.i > f.i)
		: near.reduce((a, b) => !a || b.v > a.v ? b : a, null);
	if (at) at.g.classList.remove('at');
	at = to || f;
	at.g.classList.add('at');
	say(at);
}
document.addEventListener('keydown', e => {
	if ((e.ctrlKey || e.metaKey) && e.key === 'f' || e.key === 'F3' || e.key === '/' && e.target !== box) {
		e.preventDefault();
		box.focus();
		box.select();
	} else if (e.key === 'Escape') {
		if (query) {
			box.value = '';
			search('');
			save(false);
		} else {
			zoom(all[0]);
		}
		box.blur();
	} else if (e.target === box || e.ctrlKey || e.metaKey || e.altKey) {
		return;
	} else if (e.key === 'i') {
		flip.dispatchEvent(new Event('click'));
	} else if (e.key.startsWith('Arrow')) {
		e.preventDefault();
		walk(e.key);
	} else if (e.key === 'Enter' && at && e.target.closest('.ui') === null) {
		zoom(at);
	}
});

// As wide as the window; the header stays in sight.
function resize() {
	if (whole) {
		width = Math.max(data.wide ? +data.width : 640, document.documentElement.clientWidth || innerWidth);
		const high = svg.viewBox.baseVal.height;
		svg.setAttribute('width', width);
		svg.setAttribute('viewBox', '0 0 ' + width + ' ' + high);
	}
	for (const e of right) e.setAttribute('transform', 'translate(' + (width - +data.width) + ' 0)');
	for (const e of bars) e.setAttribute(e.tagName === 'line' ? 'x2' : 'width', width);
	const x = width - PAD;
	holder.setAttribute('x', x - 220);
	matched.setAttribute('x', x);
	flip.setAttribute('transform', 'translate(' + (x - 258) + ' 0)');
	reset.setAttribute('transform', 'translate(' + (x - 352) + ' 0)');
}
svg.append(tip);
if (whole) {
	addEventListener('resize', () => {
		resize();
		layout();
	});
	addEventListener('hashchange', load);
	addEventListener('popstate', load);
	addEventListener('scroll', () => {
		hideTip();
		head.setAttribute('transform', 'translate(0 ' + scrollY + ')');
	});
}
resize();
load();
// A tall flame stands on its root: begin where the stacks do.
if (whole && !icicle) scrollTo(0, document.documentElement.getBoundingClientRect().height);
svg.classList.add('ready');
})();
