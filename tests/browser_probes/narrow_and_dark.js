// A telephone at night: nothing is wider than the screen, and the ground is dark.
async function probe(answers) {
  for (const it of document.querySelectorAll('details')) it.open = true;
  answers.isDark = matchMedia('(prefers-color-scheme: dark)').matches;
  answers.ground = getComputedStyle(document.body).backgroundColor;
  answers.ink = getComputedStyle(document.body).color;
  answers.plot = getComputedStyle(document.querySelector('figure')).backgroundColor;
  answers.width = innerWidth;
  answers.scroll = document.documentElement.scrollWidth;
  const clips = it => it && (['auto', 'hidden', 'scroll'].includes(getComputedStyle(it).overflowX) || clips(it.parentElement));
  const isWide = it => it.getBoundingClientRect().right > innerWidth + 1 && !clips(it.parentElement);
  answers.wide = [...document.querySelectorAll('main *')].filter(isWide).map(it => it.outerHTML.slice(0, 120)).slice(0, 5);
  const tables = [...document.querySelectorAll('.table')].filter(it => it.offsetHeight > 0);
  const goesOn = it => it.scrollWidth > it.clientWidth + 1;
  answers.tables = tables.length;
  answers.stacked = tables.filter(it => it.matches('.stacks')).length;
  answers.sideways = tables.filter(it => it.matches('.stacks') && goesOn(it.querySelector('.scroll'))).map(it => it.textContent.slice(0, 60));
  const hint = it => [getComputedStyle(it).backgroundImage, getComputedStyle(it).maskImage].some(it => it !== 'none');
  answers.unhinted = [...document.querySelectorAll('.scroll, .picture')].filter(it => goesOn(it) && !hint(it)).map(it => it.outerHTML.slice(0, 80));
  const label = it => getComputedStyle(it, '::before').content;
  answers.unnamed = [...document.querySelectorAll('.stacks td')].filter(it => it.dataset.of && label(it) !== JSON.stringify(it.dataset.of)).map(it => `${it.dataset.of}: ${label(it)}`).slice(0, 5);
}
