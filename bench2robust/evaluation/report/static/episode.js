// The panel of one episode, or of two side by side.

const OUTCOME = {
  passed: ["✓", "passed"], failed: ["✗", "failed"], infra_error: ["!", "infrastructure error"],
  not_applicable: ["–", "not applicable"], uncertified: ["–", "not certified"],
};

function badge(name) {
  const [sign, words] = OUTCOME[name];
  return el("span", { class: `badge ${name}` }, `${sign} ${words}`);
}

// Facts beyond the headline, only those that say something.
function facts(episode) {
  const rows = [
    ["Scenario", episode.scenario && `planned ${episode.scenario}, met ${episode.realized ?? "none"}`],
    ["Blocked", episode.blocked?.join(", ")],
    ["Ended by", episode.ended],
    ["Steps", `${episode.steps}, of them ${episode.calls} calls`],
    ["Required writes", `${episode.matched} of ${episode.required}`],
    ["State", episode.state ? "as required" : "not as required"],
    ["Told the user", episode.communicated ? "all that was required" : "not all that was required"],
    ["Claim", episode.false_claims && "success claimed, task failed"],
    ["Transfer", episode.transferred && (episode.viable_unused ? "with a path left unused" : "yes")],
    ["Abstained", episode.abstained && "correctly"],
    ["Duplicate writes", episode.duplicate_attempts &&
      `${episode.duplicate_attempts} sent, ${episode.duplicate_effects} took effect`],
    ["Rate limit", episode.rate_limit_violations && `broken ${episode.rate_limit_violations} times`],
    ["Reward", String(Math.round(1000 * episode.reward) / 1000)], ["Simulated", `${episode.sim_seconds} s`],
    ["Tokens", episode.tokens], ["Cost", episode.cost], ["Flags", episode.flags?.join(", ")],
  ].filter(([, value]) => value);
  return el("dl", {}, ...rows.map(([name, value]) => el("div", {},
    el("dt", {}, name), el("dd", {}, String(value)))));
}

function faultsByCall(episode) {
  return new Map((episode.faults ?? []).map((fault) => [fault.step, fault]));
}

// The calls in a row, one sign each, to see at a glance where faults fell and to go there.
function timeline(episode, events, cards) {
  const faults = faultsByCall(episode);
  const steps = [];
  events.forEach((event, i) => {
    if (event.call === undefined) return;
    const fault = faults.get(steps.length);
    const kind = faultKind(fault) || (event.error ? "refused" : "clean");
    const sign = { blocked: "⊘", silent: "~", explicit: "!", refused: "×", clean: "" }[kind];
    const words = `Call ${steps.length + 1}, ${event.call}: ${fault?.delivered ?? kind}`;
    const go = () => cards[i].scrollIntoView({ block: "center" });
    steps.push(el("li", {}, el("button", {
      type: "button", class: kind, title: words, "aria-label": words, onclick: go,
    }, sign || String(steps.length + 1))));
  });
  return el("ol", { class: "timeline", "aria-label": "Calls and faults" }, ...steps);
}

function dialogue(episode, events, parting) {
  const faults = faultsByCall(episode);
  let call = 0;
  const cards = events.map((event) => (event.call === undefined
    ? speech(event) : callCard(event, faults.get(call++))));
  const shown = [...cards];
  if (parting >= 0 && parting <= shown.length) {
    shown.splice(parting, 0, el("p", { class: "parting" }, "from here the two differ"));
  }
  return [timeline(episode, events, cards), el("div", { class: "dialogue" }, ...shown)];
}

function panel(row, { episode, events }, parting) {
  const arm = index.arms[row.arm];
  const key = [arm.agent, episode.mode, episode.task, episode.seed].join("/");
  return el("article", { "aria-label": `${arm.label}, ${row.outcome}` },
    el("h4", {}, arm.label, " ", badge(row.outcome)),
    episode.reason ? el("p", { class: "note" }, `Reason: ${episode.reason}`) : null,
    ...(episode.status === "ok" ? [facts(episode)] : []),
    ...dialogue(episode, events, parting),
    el("p", { class: "note" }, "Play it again: ",
      el("code", {}, `bench2robust replay '${arm.run}' '${key}'`)));
}

const chunks = new Map();

async function readEpisode([chunk, task, slot]) {
  if (!chunks.has(chunk)) chunks.set(chunk, unpack(`chunk-${chunk}`));
  if (chunks.size > 16) chunks.delete(chunks.keys().next().value);
  const { events, episodes } = (await (chunks.get(chunk) ?? unpack(`chunk-${chunk}`)))[task];
  const episode = episodes[slot];
  return { episode: { faults: [], ...episode }, events: (episode.events ?? []).map((n) => events[n]),
    numbers: episode.events ?? [] };
}

// Where two dialogues of one task part: equal events have equal numbers.
function firstDifference(one, two) {
  const at = one.findIndex((number, i) => number !== two[i]);
  if (at >= 0) return at;
  return one.length < two.length ? one.length : -1;
}

async function showEpisode(row, partner) {
  const detail = byId("detail");
  const rows = partner ? [row, partner] : [row];
  const read = await Promise.all(rows.map(({ place }) => readEpisode(place)));
  if (row !== current) return;
  const parting = partner ? firstDifference(read[0].numbers, read[1].numbers) : -1;
  const panels = rows.map((each, i) => panel(each, read[i], parting));
  const heading = el("h3", {}, `${row.task} · ${row.mode} · seed ${row.seed}`);
  const same = partner && parting < 0 ? el("p", { class: "note" }, "The two are the same.") : null;
  detail.replaceChildren(heading, ...(same ? [same] : []),
    el("div", { class: partner ? "pair" : "single" }, ...panels));
  detail.scrollTop = 0;
}
