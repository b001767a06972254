// Names that try to be more than names.
async function probe(answers) {
  answers.alarms = window.alarms ?? 0;
  answers.scripts = document.scripts.length;
  answers.images = document.images.length;
  answers.text = document.querySelector('main').innerText;
  const box = document.querySelector('[data-chart]');
  box.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
  answers.tip = document.querySelector('.tip').textContent;
  answers.tipElements = document.querySelector('.tip').querySelectorAll('script, img').length;
  answers.scroll = document.documentElement.scrollWidth - innerWidth;
}
