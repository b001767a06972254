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
}
