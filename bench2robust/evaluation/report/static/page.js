// What every part uses: elements, unpacking, the theme. All foreign text enters as text nodes.

const byId = (id) => document.getElementById(id);

function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

const THEMES = ["system", "light", "dark"];

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
  try { localStorage.setItem("bench2robust-theme", theme); } catch { /* not allowed: not kept */ }
}

(() => {
  let kept = null;
  try { kept = localStorage.getItem("bench2robust-theme"); } catch { /* not allowed */ }
  setTheme(THEMES.includes(kept) ? kept : "system");
  byId("theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme;
    setTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
  });
})();
