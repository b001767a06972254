// What a reader does, and what the page answers.
const press = (target, key, more = {}) =>
  target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }));
const figure = id => document.getElementById(id);
const picture = id => figure(id).querySelector('.picture');
const shown = id => figure(id).querySelector('.tools output').textContent;
const instants = id => [...picture(id).querySelectorAll('.live .instant')].map(it => it.textContent);
const tip = () => document.querySelector('.tip');
const point = (target, type, x, y, more = {}) => target.dispatchEvent(new PointerEvent(type,
  { clientX: x, clientY: y, bubbles: true, pointerType: 'mouse', pointerId: 1, button: 0, ...more }));

async function probe(answers) {
  const [mine, same, other] = ['timeline-gpu-1', 'memory-stack-gpu-1', 'timeline-gpu-0'];
  answers.whole = shown(mine);
  press(picture(mine), '+');
  answers.zoomed = shown(mine);
  answers.instants = instants(mine);
  answers.same = shown(same);
  answers.other = shown(other);
  figure(mine).querySelector('.tools button[aria-label="zoom in"]').click();
  answers.closer = shown(mine);
  press(picture(mine), 'ArrowRight', { shiftKey: true });
  answers.later = shown(mine);
  for (let i = 0; i < 40; i += 1) press(picture(mine), '+');
  answers.closest = shown(mine);
  press(picture(mine), '0');
  answers.again = shown(mine);
  answers.printedMarksAreBack = [...picture(mine).querySelectorAll('.moves')].every(it => it.style.display !== 'none');

  press(picture(mine), 'ArrowRight');
  answers.read = tip().textContent;
  answers.spoken = document.querySelector('[role=status]').textContent;
  press(picture(mine), 'ArrowRight');
  answers.readNext = tip().textContent;
  press(picture(mine), 'Escape');
  answers.hidden = tip().hidden;
  const svg = picture(mine).querySelector('svg');
  picture(mine).scrollIntoView();
  const place = svg.getBoundingClientRect();
  svg.setPointerCapture = () => {};
  point(svg, 'pointermove', place.left + place.width * 0.5, place.top + 80);
  answers.pointed = tip().textContent;
  point(svg, 'pointerdown', place.left + place.width * 0.4, place.top + 80);
  point(svg, 'pointermove', place.left + place.width * 0.5, place.top + 80);
  point(svg, 'pointerup', place.left + place.width * 0.6, place.top + 80);
  answers.dragged = shown(mine);
  point(svg, 'pointerdown', place.left + place.width * 0.5, place.top + 80, { pointerType: 'touch' });
  answers.touched = !tip().hidden;
  svg.dispatchEvent(new WheelEvent('wheel', { deltaY: -1, ctrlKey: true, clientX: place.left + place.width / 2, bubbles: true, cancelable: true }));
  answers.wheeled = shown(mine);
  press(picture(mine), '0');
  press(picture('duty-gpu-1'), 'ArrowDown');
  answers.spot = tip().textContent;

  const isMixed = (table, at) => {
    const cells = [...table.tBodies[0].rows].map(it => it.cells[at]);
    return cells.some(it => it.querySelector('.none')) && new Set(cells.map(it => it.dataset.value)).size > 3;
  };
  const columns = [...document.querySelectorAll('.table table')].flatMap(table =>
    [...table.tHead.rows[0].cells].map((head, column) => ({ table, heads: [...head.parentNode.cells], column })));
  const { table, heads, column } = columns.find(it => isMixed(it.table, it.column));
  const cells = () => [...table.tBodies[0].rows].map(it => it.cells[column]).map(it => it.dataset.value ?? (it.querySelector('.none') ? 'missing' : 'text'));
  answers.column = [heads[column].textContent, column];
  answers.order = cells();
  heads[column].click();
  [answers.up, answers.upState] = [cells(), heads[column].getAttribute('aria-sort')];
  heads[column].querySelector('button').click();
  [answers.down, answers.downState] = [cells(), heads[column].getAttribute('aria-sort')];
  heads[column].querySelector('button').click();
  [answers.restored, answers.restoredState] = [cells(), heads[column].getAttribute('aria-sort')];

  const term = document.querySelector('a.term');
  term.dispatchEvent(new FocusEvent('focus'));
  answers.term = tip().textContent;
  answers.meaning = document.querySelector(term.getAttribute('href')).nextElementSibling.textContent;

  const stopped = new Promise(done => addEventListener('securitypolicyviolation', it => done(it.violatedDirective)));
  fetch('data:text/plain,hello').catch(() => {});
  answers.stopped = await Promise.race([stopped, new Promise(done => setTimeout(() => done('nothing'), 5000))]);
  answers.loaded = performance.getEntriesByType('resource').map(it => it.name).filter(it => !it.startsWith('data:'));
}
