// One dialogue: what was said, the calls, their results, and the faults marked in them.

const NARROW = 88; // JSON that fits this many characters stays on one line

// Parse JSON into nodes that keep every token as it was written: numbers are not rounded.
function parseJson(text) {
  try { JSON.parse(text); } catch { return null; }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g);
  let at = 0;
  const read = (path) => {
    const open = tokens[at++];
    if (open !== "{" && open !== "[") return { path, text: open };
    const [close, items] = [open === "{" ? "}" : "]", []];
    while (tokens[at] !== close) {
      if (tokens[at] === ",") at++;
      const key = open === "{" ? tokens[at++] : null;
      if (key !== null) at++; // the colon
      const name = key === null ? `[${items.length}]` : `.${JSON.parse(key)}`;
      items.push({ key, value: read(path + name) });
    }
    at++;
    return { path, open, close, items };
  };
  return read("");
}

function flatten(node) {
  if (!node.items) return node.text;
  const parts = node.items.map(({ key, value }) => (key ? `${key}: ` : "") + flatten(value));
  return node.open + parts.join(", ") + node.close;
}

function markChanged(out, before, text) {
  out.append(el("del", { title: "the true value" }, JSON.stringify(before)), " ",
    el("mark", { class: "changed" }, text || "(nothing)"));
}

// Append a node to `out`, indented; values at a changed path are marked, with what was there.
function printJson(out, node, changed, indent) {
  const before = changed.get(node.path.replace(/^\./, "") || "$");
  if (before !== undefined) {
    markChanged(out, before, flatten(node));
    return;
  }
  const flat = flatten(node);
  const inside = [...changed.keys()].some((path) => `.${path}`.startsWith(node.path));
  if (!node.items || (flat.length <= NARROW && !inside)) {
    out.append(flat);
    return;
  }
  const pad = "  ".repeat(indent + 1);
  out.append(node.open, "\n");
  node.items.forEach(({ key, value }, i) => {
    out.append(pad, key ? `${key}: ` : "");
    printJson(out, value, changed, indent + 1);
    out.append(i + 1 < node.items.length ? ",\n" : "\n");
  });
  out.append("  ".repeat(indent), node.close);
}

// The raw result inside a receipt's envelope, at the paths that it has by itself.
function unwrapped(node) {
  const raw = node.items?.find(({ key }) => key === '"tool_result"');
  if (!raw || node.items.length !== 2 || node.items[1].key !== '"outcome_contract"') return node;
  return moved(raw.value);
}

function moved(node) {
  const path = node.path.replace(/^\.tool_result/, "");
  const items = node.items?.map(({ key, value }) => ({ key, value: moved(value) }));
  return { ...node, path, items };
}

function resultBlock(content, changed) {
  const block = el("pre", { tabindex: "0", class: "result" });
  const [raw] = content.split("\n\n[OUTCOME CONTRACT ADVISORY] ");
  const node = parseJson(raw);
  if (node) printJson(block, unwrapped(node), changed, 0);
  else if (changed.has("$")) markChanged(block, changed.get("$"), content);
  else block.append(content);
  return block;
}

function callText(event) {
  const args = Object.entries(event.args).map(([name, v]) => `${name}=${JSON.stringify(v)}`);
  return `${event.call}(${args.join(", ")})`;
}

function faultKind(fault) {
  if (!fault || !fault.delivered) return "";
  if (fault.planned === "blocked") return "blocked";
  return fault.changes.length ? "silent" : "explicit";
}

const REACTIONS = {
  retry: "the agent retried", switch: "the agent switched tools", verify: "the agent verified",
  other: "the agent went on with another call", none: "the agent made no further call",
};

function faultBox(fault) {
  const kind = faultKind(fault);
  if (!kind) {
    return el("p", { class: "note" }, `Planned ${fault.planned}: it could not change this result.`);
  }
  const facts = [
    kind === "blocked" ? `blocked for the whole episode, answers ${fault.delivered}` :
      kind === "silent" ? "no sign of an error" : "explicit error",
    fault.executed ? (fault.committed ? "the call took effect" : "the call ran")
      : "the call did not run",
    fault.retry_after === null ? null : `Retry-After ${fault.retry_after} s`,
    fault.seen ? REACTIONS[fault.reaction] : "the agent had no step left to act on it",
    fault.adopted ? `${fault.adopted} of ${fault.wrong} wrong values used later` : null,
  ];
  const name = kind === "blocked" ? "blocked" : fault.delivered;
  return el("div", { class: `fault ${kind}` },
    el("strong", {}, `Fault: ${name}`), ` · ${facts.filter(Boolean).join(" · ")}`,
    fault.changes.length ? diffTable(fault.changes) : null);
}

function diffTable(changes) {
  const rows = changes.map(([path, before, after]) => el("tr", {},
    el("th", { scope: "row" }, path),
    el("td", {}, el("del", {}, JSON.stringify(before))),
    el("td", {}, el("ins", {}, JSON.stringify(after)))));
  const head = el("tr", {}, ...["Field", "True value", "What the agent saw"].map(
    (title) => el("th", { scope: "col" }, title)));
  return el("table", { class: "diff" }, el("thead", {}, head), el("tbody", {}, ...rows));
}

// A monitor's receipt travels in the result: {"tool_result": …, "outcome_contract": …}, or as text
// behind it.
function receiptBox(content) {
  const [, advice] = content.split("\n\n[OUTCOME CONTRACT ADVISORY] ");
  if (advice !== undefined) {
    return el("div", { class: "receipt" }, el("strong", {}, "Receipt"), el("p", {}, advice));
  }
  let receipt;
  try { receipt = JSON.parse(content)?.outcome_contract; } catch { return null; }
  if (receipt === undefined) return null;
  return el("div", { class: "receipt" }, el("strong", {}, `Receipt: ${receipt?.status ?? ""}`),
    el("pre", { tabindex: "0" }, JSON.stringify(receipt.violation ?? receipt, null, 1)));
}

function callCard(event, fault) {
  const changed = new Map(fault ? fault.changes.map(([path, before]) => [path, before]) : []);
  const kind = faultKind(fault);
  const parts = [el("code", { class: "call" }, callText(event)), fault ? faultBox(fault) : null];
  if (event.content === undefined) {
    parts.push(el("p", { class: "note" }, event.error ? "An error came back." : "Result not kept."));
  } else {
    parts.push(receiptBox(event.content), resultBlock(event.content, changed));
  }
  return el("div", { class: `event tool ${event.error ? "error" : ""} ${kind}` },
    el("span", { class: "who" }, event.error ? "tool · error" : "tool"), ...parts);
}

// Who a speech event is from, and the class of its card.
const SPEAKERS = {
  user: ["user", "user"], say: ["agent", "agent"], unread: ["agent · could not be read", "unread"],
  harness: ["told to the agent", "harness"],
};

// What was said: {"user": text}, {"say": text}, or another name for what else passed.
function speech(event) {
  const [[name, text]] = Object.entries(event);
  const [who, kind] = SPEAKERS[name] ?? [name, "harness"];
  return el("div", { class: `event ${kind}` },
    el("span", { class: "who" }, who), el("p", {}, text));
}
