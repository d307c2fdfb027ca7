// The list of all episodes: filters, and only the rows in view are in the document.

const ROW = 44; // pixels, as in the style sheet
let index, episodes, current = null, shown = [];

function readIndex(data) {
  index = data;
  const { columns } = data;
  const name = (kind, column) => columns[column].map((number) => data[kind][number]);
  const [tasks, modes] = [name("tasks", "task"), name("modes", "mode")];
  const [planned, realized] = [name("scenarios", "planned"), name("scenarios", "realized")];
  const outcomes = name("outcomes", "outcome");
  episodes = columns.place.map((place, i) => ({
    place, task: tasks[i], mode: modes[i], seed: columns.seed[i], arm: columns.arm[i],
    planned: planned[i], realized: realized[i], outcome: outcomes[i], faults: columns.faults[i],
    steps: columns.steps[i], suite: columns.suite[i],
  }));
}

const cell = (row) => [row.suite, row.mode, row.seed, row.task].join("|");
let partners = new Map();

function options(select, pairs) {
  select.append(...pairs.map(([value, words]) => el("option", { value }, words)));
}

function field(name, words, control) {
  control.id = `f-${name}`;
  control.addEventListener("input", refresh);
  return el("label", { for: control.id }, words, control);
}

function buildFilters() {
  const arms = index.arms.map((arm, i) => [i, arm.label]);
  const plain = (values) => values.map((value) => [value, value || "none"]);
  const choices = {
    arm: ["Agent", [["", "all"], ...arms]],
    other: ["Beside it", [["", "nobody"], ...arms]],
    mode: ["Mode", [["", "all"], ...plain(index.modes)]],
    planned: ["Scenario", [["*", "all"], ...plain(index.scenarios)]],
    fault: ["Fault", [["", "all"], ["any", "any fault"], ["none", "no fault"],
      ...index.kinds.map((kind, i) => [i, kind])]],
    outcome: ["Outcome", [["", "all"], ...index.outcomes.map((name) => [name, OUTCOME[name][1]]),
      ["first", "only the first passed"], ["second", "only the second passed"]]],
  };
  const form = byId("filters");
  for (const [name, [words, pairs]] of Object.entries(choices)) {
    const select = el("select");
    options(select, pairs);
    form.append(field(name, words, select));
  }
  form.append(field("task", "Task", el("input", { type: "search", placeholder: "id contains …" })));
  form.append(el("button", { type: "reset" }, "Reset"));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(refresh));
}

function accept({ arm, other, mode, planned, fault, outcome, task }) {
  const passes = (row) => row?.outcome === "passed";
  const wanted = { any: (f) => f.length > 0, none: (f) => f.length === 0 }[fault]
    ?? ((f) => fault === "" || f.includes(Number(fault)));
  const verdict = {
    first: (row) => passes(row) && partners.get(cell(row))?.outcome === "failed",
    second: (row) => row.outcome === "failed" && passes(partners.get(cell(row))),
  }[outcome] ?? ((row) => outcome === "" || row.outcome === outcome);
  return (row) => (arm === "" ? String(row.arm) !== other : row.arm === Number(arm))
    && (mode === "" || row.mode === mode) && (planned === "*" || row.planned === planned)
    && row.task.toLowerCase().includes(task.toLowerCase()) && wanted(row.faults) && verdict(row);
}

const filters = () => Object.fromEntries(
  [...byId("filters").querySelectorAll("select, input")].map((c) => [c.id.slice(2), c.value.trim()]));

function refresh() {
  const chosen = filters();
  const other = chosen.other === "" ? null : Number(chosen.other);
  partners = new Map(episodes.filter((row) => row.arm === other).map((row) => [cell(row), row]));
  for (const name of ["first", "second"]) {
    const option = byId("f-outcome").querySelector(`[value=${name}]`);
    option.hidden = option.disabled = other === null;
    if (other === null && chosen.outcome === name) byId("f-outcome").value = chosen.outcome = "";
  }
  shown = episodes.filter(accept(chosen));
  const count = `${shown.length.toLocaleString("en")} of ${episodes.length.toLocaleString("en")}`;
  byId("count").textContent = `${count} episodes`;
  byId("list").scrollTop = 0;
  select(shown.includes(current) ? shown.indexOf(current) : 0);
}

function rowElement(row, i) {
  const other = partners.get(cell(row));
  const sign = (each) => el("span", { class: each.outcome, title: OUTCOME[each.outcome][1],
    role: "img", "aria-label": OUTCOME[each.outcome][1] }, OUTCOME[each.outcome][0]);
  const faults = row.faults.map((kind) => index.kinds[kind]).join(", ");
  return el("div", {
    role: "option", id: `row-${i}`, class: "row", "aria-selected": String(row === current),
    "aria-posinset": i + 1, "aria-setsize": shown.length, style: `top:${i * ROW}px`,
    onclick: () => select(i),
  }, el("div", { class: "signs" }, sign(row), other ? sign(other) : null),
  el("div", { class: "lines" },
    el("div", { class: "line" }, el("strong", { class: "whole" }, row.task),
      el("span", {}, `${row.mode} ${row.planned} · seed ${row.seed}`)),
    el("div", { class: "line" }, el("span", { title: faults }, faults || "no fault"),
      el("span", { class: "whole" }, index.arms[row.arm].label))));
}

function draw() {
  const list = byId("list");
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 8);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 8);
  const rows = shown.slice(first, last).map((row, i) => rowElement(row, first + i));
  const space = el("div", { class: "space", role: "presentation",
    style: `height:${shown.length * ROW}px` });
  list.replaceChildren(space, ...rows);
}

function select(i) {
  const list = byId("list");
  current = shown[i] ?? null;
  if (!current) {
    list.replaceChildren();
    list.removeAttribute("aria-activedescendant");
    byId("detail").replaceChildren(el("p", { class: "note" }, "No episode is like that."));
    return;
  }
  const [top, bottom] = [i * ROW, (i + 1) * ROW];
  if (top < list.scrollTop) list.scrollTop = top;
  if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
  draw();
  list.setAttribute("aria-activedescendant", `row-${i}`);
  showEpisode(current, partners.get(cell(current)));
}

function onKey(event) {
  const page = Math.max(1, Math.floor(byId("list").clientHeight / ROW) - 1);
  const now = shown.indexOf(current);
  const to = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page,
    Home: 0, End: shown.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  select(Math.min(Math.max(to, 0), shown.length - 1));
}

(async () => {
  readIndex(await unpack("index"));
  buildFilters();
  byId("list").addEventListener("scroll", draw);
  byId("list").addEventListener("keydown", onKey);
  refresh();
  document.documentElement.dataset.ready = Math.round(performance.now());
})();
