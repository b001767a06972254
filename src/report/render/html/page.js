'use strict';
// What the page offers beyond reading: values under the pointer, a time axis that zooms, tables
// that sort, terms that explain themselves. Without this script every word is still there.
{
const fill = (made, attributes, inside) => {
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...inside);
  return made;
};
const make = (name, attributes = {}, ...inside) => fill(document.createElement(name), attributes, inside);
const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
const all = (selector, act) => document.querySelectorAll(selector).forEach(act);
const listen = (target, names, act) => names.split(' ').forEach(it => target.addEventListener(it, act));

// ---- one box of words for everything that explains itself; `spoken` is read aloud
const tip = make('div', { class: 'tip', role: 'tooltip', id: 'tip' });
const spoken = make('div', { class: 'unseen', role: 'status' });
tip.hidden = true;
document.querySelector('main').append(tip, spoken);
const hideTip = () => { tip.hidden = true; };
// Beside or below a place in the window, and always inside the window.
const showTip = (content, place, isBeside) => {
  tip.replaceChildren(...content);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  let [left, top] = [place.left, place.bottom + 8];
  if (isBeside) [left, top] = [left + 14 + width < clientWidth ? left + 14 : left - 14 - width, place.top];
  else if (top + height > clientHeight) top = place.top - 8 - height;
  tip.style.left = `${clamp(left, 8, Math.max(8, clientWidth - width - 8))}px`;
  tip.style.top = `${clamp(top, 8, Math.max(8, clientHeight - height - 8))}px`;
};
listen(document, 'keydown', event => { if (event.key === 'Escape') hideTip(); });

// ---- terms of the glossary
all('a.term', term => {
  const words = term.title;
  term.removeAttribute('title');
  term.setAttribute('aria-description', words);
  listen(term, 'pointerenter focus', () => showTip([words], term.getBoundingClientRect()));
  listen(term, 'pointerleave blur', hideTip);
});

// ---- tables: a click sorts up, a second one down, a third one restores the order
const collator = new Intl.Collator('en', { numeric: true });
const compare = (a, b) => {
  const [x, y] = [a.dataset.value, b.dataset.value];
  if (x !== undefined && y !== undefined) return x - y;
  return (x === undefined) - (y === undefined) || collator.compare(a.textContent, b.textContent);
};
all('.table table', table => {
  const rows = [...table.tBodies[0].rows];
  const heads = [...table.tHead.rows[0].cells];
  if (rows.length < 3 || !heads[0].textContent.trim()) return;
  heads.forEach((head, column) => {
    const missing = row => row.cells[column].querySelector('.none') !== null;
    const sort = () => {
      const order = { null: 'ascending', ascending: 'descending' }[head.getAttribute('aria-sort')];
      heads.forEach(it => it.removeAttribute('aria-sort'));
      if (order) head.setAttribute('aria-sort', order);
      const sign = order === 'descending' ? -1 : 1;
      const sorted = (a, b) => missing(a) - missing(b) || sign * compare(a.cells[column], b.cells[column]);
      table.tBodies[0].append(...(order ? rows.toSorted(sorted) : rows));
    };
    const name = `sort by ${head.textContent.trim()}`;
    head.classList.add('sorts');
    head.append(make('button', { type: 'button', class: 'sort', 'aria-label': name }));
    head.addEventListener('click', event => { if (!event.target.closest('a')) sort(); });
  });
});

// ---- quantities and instants in words, as the rest of the report writes them
const [SECOND, MINUTE, HOUR, DAY] = [1e3, 6e4, 36e5, 864e5];
const seconds = value => {
  const units = [[7200, 1 / 3600, 'h'], [120, 1 / 60, 'min'], [0.9995, 1, 's'], [0.9995e-3, 1e3, 'ms']];
  const [, by, unit] = units.find(it => value >= it[0]) ?? [0, 1e6, 'µs'];
  return `${(value * by).toFixed(value * by >= 99.5 ? 0 : value * by >= 9.95 ? 1 : 2)} ${unit}`;
};
const quantity = (value, unit) => {
  if (unit === '%') return `${value.toFixed(1)} %`;
  if (unit === 's') return seconds(value);
  if (unit !== 'B') return `${Number(value.toPrecision(4))} ${unit}`;
  return value < 2 ** 30 ? `${(value / 2 ** 20).toFixed(0)} MiB` : `${(value / 2 ** 30).toFixed(1)} GiB`;
};
const utc = instant => (Math.abs(instant) < 8.64e15 ? new Date(instant).toISOString() : '');
const day = instant => {
  const options = { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' };
  return utc(instant) && new Date(instant).toLocaleDateString('en-GB', options);
};
// To the precision that tells two instants a step apart.
const clock = (instant, step) => {
  if (step >= DAY) return day(instant).slice(0, -5);
  return utc(instant).slice(-13, step < SECOND ? -1 : step < MINUTE ? -5 : -8);
};
const STEPS = [0.001, 0.01, 0.1, 1, 2, 5, 10, 20, 50, 100, 200, 500,
  ...[1, 2, 5, 10, 15, 30].map(it => it * SECOND), ...[1, 2, 5, 10, 15, 30].map(it => it * MINUTE),
  ...[1, 2, 3, 6, 12].map(it => it * HOUR), ...[1, 2, 7, 14, 30, 90, 365, 3650].map(it => it * DAY)];

// ---- pictures: the words of an image would hide the values under the pointer
all('svg[role=img]', svg => {
  const title = svg.querySelector(':scope > title');
  svg.setAttribute('aria-label', title.textContent);
  svg.removeAttribute('aria-labelledby');
  title.remove();
});
// A place of the pointer in units of the picture.
const inPicture = (svg, event) => {
  const place = svg.getBoundingClientRect();
  const scale = svg.viewBox.baseVal.width / place.width;
  return [(event.clientX - place.left) * scale, (event.clientY - place.top) * scale];
};
const drawer = svg => (name, attributes, ...inside) =>
  fill(document.createElementNS(svg.namespaceURI, name), attributes, inside);
const isMouse = event => event.pointerType === 'mouse';
const isShortcut = event => event.ctrlKey || event.metaKey || event.altKey;

// ---- places of a picture with their words
all('[data-spots]', box => {
  const svg = box.querySelector('svg');
  const spots = JSON.parse(box.dataset.spots);
  const frame = drawer(svg)('path', { class: 'spot' });
  svg.append(frame);
  let current = -1;
  const hide = () => { current = -1; frame.setAttribute('d', ''); hideTip(); };
  const show = position => {
    const [[left, top, right, bottom], words] = spots[position];
    current = position;
    frame.setAttribute('d', `M${left} ${top}H${right}V${bottom}H${left}z`);
    showTip([words], frame.getBoundingClientRect());
  };
  listen(svg, 'pointermove pointerdown', event => {
    const [x, y] = inPicture(svg, event);
    const found = spots.findIndex(([it]) => it[0] <= x && x <= it[2] && it[1] <= y && y <= it[3]);
    if (found < 0) hide(); else show(found);
  });
  svg.addEventListener('pointerleave', event => { if (isMouse(event)) hide(); });
  box.addEventListener('blur', hide);
  box.setAttribute('aria-label', 'picture: arrow keys read values');
  box.addEventListener('keydown', event => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Escape: 0 }[event.key];
    if (by === undefined || isShortcut(event)) return;
    if (by === 0) return hide();
    event.preventDefault();
    show((Math.max(current, by > 0 ? -1 : 0) + by + spots.length) % spots.length);
    spoken.textContent = tip.textContent;
  });
});

// ---- figures over time; docs/REPORT.md says what `data-chart` holds
const axes = new Map();
// The bins of a series; a layer stands on what is `below` it, by the start of the bin.
const decode = (row, series, below) => series.runs.flatMap(([first, ...steps]) => {
  const width = series.kind === 'range' || series.kind === 'mean' ? 3 : 1;
  let mean = 0;
  return Array.from({ length: steps.length / width }, (_, position) => {
    const [change, down = 0, up = 0] = steps.slice(position * width, (position + 1) * width);
    mean += change;
    const bin = { at: series.at + series.bin * (first + position), mean: mean * row.step };
    [bin.low, bin.high] = [(mean - down) * row.step, (mean + up) * row.step];
    if (series.kind === 'layer') {
      bin.low = below.get(bin.at) ?? 0;
      bin.high = bin.low + bin.mean;
      below.set(bin.at, bin.high);
    }
    return bin;
  });
});

all('[data-chart]', box => {
  const data = JSON.parse(box.dataset.chart);
  for (const row of data.rows) {
    const below = new Map();
    for (const series of row.series) series.bins = decode(row, series, below);
  }
  const grain = Math.min(...data.rows.flatMap(row => row.series.map(it => it.bin)));
  const svg = box.querySelector('svg');
  const draw = drawer(svg);
  const [[left, right], [top, floor], until] = [data.sides, data.ends, data.from + data.length];
  let view = [data.from, until];
  let [redrawn, cursor, pressed] = [[], null, null];

  const x = instant => left + (right - left) * (instant - view[0]) / (view[1] - view[0]);
  const instantAt = event =>
    clamp(view[0] + (view[1] - view[0]) * (inPicture(svg, event)[0] - left) / (right - left), ...view);
  const y = (row, value) => {
    const [low, high, it] = [...row.values, Math.max(value, row.values[0])].map(row.log ? Math.log10 : Number);
    return row.ends[1] - (row.ends[1] - row.ends[0]) * Math.min((it - low) / (high - low), 1);
  };
  const meets = (from, to) => data.from + to >= view[0] && data.from + from <= view[1];
  const rectangle = (from, to, [above, under]) =>
    `M${x(data.from + from)} ${above}H${Math.max(x(data.from + to), x(data.from + from) + 3)}V${under}H${x(data.from + from)}z`;

  // The marks of the printed picture, over the view.
  const axisMarks = () => {
    const step = STEPS.find(it => (view[1] - view[0]) / it <= 9) ?? 36500 * DAY;
    const [first, last] = [day(view[0]), day(view[1] - 0.001)];
    const days = first === last ? first : `${first} to ${last}`;
    const marks = [draw('text', { x: left, y: data.days }, `${days}, UTC`)];
    for (let at = Math.ceil(view[0] / step) * step; at <= view[1]; at += step) {
      marks.push(draw('path', { class: 'grid', d: `M${x(at)} ${top}V${floor + 16}` }));
      marks.push(draw('text', { class: 'instant', x: x(at), y: floor + 68 }, clock(at, step)));
    }
    return marks;
  };
  const phaseMarks = () => data.phases.flatMap(([name, [from, to]], position) => {
    if (!meets(from, to)) return [];
    const start = Math.max(x(data.from + from), left) + 20;
    const letters = Math.floor((Math.min(x(data.from + to), right) - start) / 26);
    const label = name.length > letters ? `${name.slice(0, Math.max(letters - 1, 0))}…` : name;
    return [draw('path', { class: position % 2 ? 'phase' : 'phase even', d: rectangle(from, to, [8, floor]) }),
      draw('text', { x: start, y: 68 }, letters > 2 ? label : '')];
  });
  const seriesMarks = (row, series) => {
    const runs = [];
    let end = -Infinity;
    for (const bin of series.bins.filter(it => meets(it.at, it.at + series.bin))) {
      if (bin.at - end < 0.5 * series.bin) runs.at(-1).push(bin); else runs.push([bin]);
      end = bin.at + series.bin;
    }
    const edge = (run, level) => run.flatMap(bin =>
      [bin.at, bin.at + series.bin].map(it => `${x(data.from + it).toFixed(1)} ${level(bin).toFixed(1)}`));
    const hue = `var(--plot-${series.hue})`;
    const line = (run, level) => draw('path', { d: `M${edge(run, level).join('L')}`, fill: 'none', stroke: hue, 'stroke-width': series.kind === 'least' ? 3 : 5 });
    const area = (run, high, low, opacity) =>
      draw('path', { d: `M${[...edge(run, high), ...edge(run, low).reverse()].join('L')}z`, fill: hue, opacity });
    const [low, mean, high] = ['low', 'mean', 'high'].map(it => bin => y(row, bin[it]));
    return runs.flatMap(run => {
      if (series.kind === 'layer') return [area(run, high, low, 0.8)];
      const marks = [line(run, mean)];
      if (series.kind === 'range' || series.kind === 'value') marks.unshift(area(run, mean, () => row.ends[1], 0.13));
      if (series.kind === 'range') marks.unshift(area(run, high, low, 0.26));
      return marks;
    });
  };
  const dataMarks = () => data.rows.flatMap(row => [
    ...row.shades.filter(it => meets(...it)).map(it => draw('path', { class: 'shade', d: rectangle(...it, row.ends) })),
    ...row.series.toReversed().flatMap(it => seriesMarks(row, it)),
  ]).concat(data.moments.filter(it => meets(it, it)).map(it => draw('path', { class: 'moment', d: rectangle(it, it, [top - 40, floor]) })));
  const clipped = marks => {
    const [width, height] = [right - left, svg.viewBox.baseVal.height];
    return draw('svg', { x: left, width, height, viewBox: `${left} 0 ${width} ${height}` }, ...marks);
  };

  // ---- reading: a line at an instant, and what every series says about it
  const ruler = draw('path', { class: 'ruler' });
  const picked = draw('path', { class: 'picked' });
  svg.append(picked, ruler);
  const words = (row, series, offset) => {
    const bin = series.bins.findLast(it => it.at <= offset);
    if (!bin || offset >= bin.at + series.bin) return 'no samples';
    const [mean, low, high] = [bin.mean, bin.low, bin.high].map(it => quantity(it, row.unit));
    if (series.kind !== 'range' && series.kind !== 'mean') return mean;
    return low === high ? `${mean}, constant` : `mean ${mean} (${low} to ${high})`;
  };
  const read = instant => {
    cursor = instant;
    ruler.setAttribute('d', `M${x(instant)} ${top}V${floor}`);
    const offset = instant - data.from;
    const start = data.from + Math.floor(offset / grain + 1e-6) * grain;
    const rows = data.rows.flatMap(row => row.series.map(series => {
      const swatch = make('i');
      swatch.style.background = `var(--plot-${series.hue})`;
      return make('li', {}, swatch, make('span', {}, [row.name, series.name].filter(Boolean).join(', '), ': '),
        make('b', {}, words(row, series, offset)), ' ');
    }));
    const during = data.phases.filter(([, [from, to]]) => from <= offset && offset < to).map(it => it[0]);
    const head = `${day(start)}, ${clock(start, grain % SECOND ? 1 : SECOND)} UTC, bin of ${seconds(grain / 1e3)}`;
    const frame = box.getBoundingClientRect();
    showTip([make('p', {}, [head, ...during].join(', '), ' '), make('ul', {}, ...rows)],
      { left: ruler.getBoundingClientRect().left, top: Math.max(frame.top, 8) }, true);
  };
  const unread = () => { cursor = null; ruler.setAttribute('d', ''); hideTip(); };

  // ---- the view: all figures of an axis show the same instants
  const output = make('output');
  const show = (from, to) => {
    const isWhole = from <= data.from && to >= until;
    view = isWhole ? [data.from, until] : [from, to];
    redrawn.forEach(it => it.remove());
    const parts = [...svg.querySelectorAll('.moves')];
    parts.forEach(it => { it.style.display = isWhole ? '' : 'none'; });
    redrawn = isWhole ? [] : [draw('g', { class: 'live' }, clipped(phaseMarks()), ...axisMarks()), clipped(dataMarks())];
    redrawn.forEach((it, position) => parts[position].after(it));
    const [start, end] = view.map(it => clock(it, view[1] - view[0] < 10 * SECOND ? 1 : SECOND));
    const length = seconds((view[1] - view[0]) / 1e3);
    output.textContent = `${start} to ${end} UTC, ${length}${isWhole ? '' : ` of ${seconds(data.length / 1e3)}`}`;
    if (cursor !== null) read(clamp(cursor, ...view));
  };
  const axis = axes.get(data.axis) ?? { shows: [], from: Infinity, until: -Infinity, grain: Infinity };
  axes.set(data.axis, axis);
  axis.shows.push(show);
  axis.from = Math.min(axis.from, data.from);
  axis.until = Math.max(axis.until, until);
  axis.grain = Math.min(axis.grain, grain);
  // Never less than four bins, never more than there is.
  const move = (from, to) => {
    const most = axis.until - axis.from;
    const length = clamp(to - from, Math.min(4 * axis.grain, most), most);
    const start = clamp((from + to - length) / 2, axis.from, axis.until - length);
    axis.shows.forEach(it => it(start, start + length));
  };
  const zoom = (by, around) => move(...view.map(it => around + (it - around) * by));
  const pan = share => move(...view.map(it => it + share * (view[1] - view[0])));
  const centre = () => cursor ?? (view[0] + view[1]) / 2;
  const everything = () => move(axis.from, axis.until);
  const tools = make('div', { class: 'tools', role: 'group', 'aria-label': 'time axis' }, output);
  const actions = [['−', 'zoom out', () => zoom(2, centre())], ['+', 'zoom in', () => zoom(0.5, centre())],
    ['←', 'earlier', () => pan(-0.5)], ['→', 'later', () => pan(0.5)], ['all', 'show all of it', everything]];
  for (const [sign, name, act] of actions) {
    const button = make('button', { type: 'button', 'aria-label': name, title: name }, sign);
    button.addEventListener('click', act);
    tools.append(button);
  }
  box.before(tools);

  // ---- keys: arrows read, and take the view along
  const step = sign => {
    const by = Math.max(grain, (view[1] - view[0]) / 100);
    const instant = clamp(cursor === null ? centre() : cursor + sign * by, data.from, until - grain / 2);
    if (instant < view[0] || instant > view[1]) pan(sign * 0.5);
    read(instant);
    spoken.textContent = tip.textContent;
    const [place, frame] = [ruler.getBoundingClientRect().left, box.getBoundingClientRect()];
    box.scrollLeft += place - clamp(place, frame.left + 40, frame.right - 40);
  };
  const arrow = sign => event => (event.shiftKey ? pan(sign * 0.25) : step(sign));
  const [closer, wider] = [() => zoom(0.5, centre()), () => zoom(2, centre())];
  const keys = { ArrowLeft: arrow(-1), ArrowRight: arrow(1), '+': closer, '=': closer, '-': wider, 0: everything, Escape: unread };
  box.setAttribute('aria-label', 'figure over time: arrow keys read values, with shift they move the time axis, plus and minus zoom, 0 shows everything');
  box.addEventListener('keydown', event => {
    if (isShortcut(event) || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key](event);
  });
  box.addEventListener('blur', unread);

  // ---- pointer: moving reads, dragging selects, the wheel zooms while ctrl is held
  svg.addEventListener('pointerdown', event => {
    read(instantAt(event));
    if (!isMouse(event) || event.button !== 0) return;
    pressed = { x: event.clientX, instant: instantAt(event) };
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener('pointermove', event => {
    read(instantAt(event));
    if (!pressed) return;
    const ends = [pressed.instant, cursor].map(it => it - data.from).sort((a, b) => a - b);
    picked.setAttribute('d', rectangle(...ends, [top, floor]));
  });
  listen(svg, 'pointerup pointercancel', event => {
    if (!pressed) return;
    const ends = [pressed.instant, instantAt(event)].sort((a, b) => a - b);
    const isDrag = event.type === 'pointerup' && Math.abs(event.clientX - pressed.x) > 6;
    pressed = null;
    picked.setAttribute('d', '');
    if (isDrag) move(...ends);
  });
  svg.addEventListener('pointerleave', event => { if (isMouse(event) && !pressed) unread(); });
  svg.addEventListener('dblclick', everything);
  svg.addEventListener('wheel', event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 0.8 : 1.25, instantAt(event));
  }, { passive: false });
  show(...view);
});

// ---- paper: what is folded is opened, and folded again afterwards
let opened = [];
listen(window, 'beforeprint', () => {
  opened = [...document.querySelectorAll('details:not([open])')];
  opened.forEach(it => { it.open = true; });
});
listen(window, 'afterprint', () => opened.forEach(it => { it.open = false; }));
}
