// Names that try to be more than names.
async function probe(answers) {
  answers.alarms = window.alarms ?? 0;
  answers.scripts = document.scripts.length;
  answers.images = document.images.length;
  document.querySelectorAll('details').forEach(it => { it.open = true; });
  answers.text = document.querySelector('main').innerText;
  answers.tip = '';
  answers.tipElements = 0;
  for (const box of document.querySelectorAll('[data-chart]')) {
    box.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    const tip = document.querySelector('.tip');
    answers.tip += `${tip.textContent}\n`;
    answers.tipElements += tip.querySelectorAll('script, img').length;
  }
  answers.scroll = document.documentElement.scrollWidth - innerWidth;
}
