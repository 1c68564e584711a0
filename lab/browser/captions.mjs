// Reads a caption of the page against what it stands under: the messages as they were
// received, and what the events count. Each sentence makes claims, and this file knows
// what has to hold for each.

const all = (text, pattern) => [...text.matchAll(pattern)].map((m) => m.slice(1));

// heard are the texts in a message of the server.
function heard({ instance, text }) {
  const message = JSON.parse(text);
  const { params } = message;
  const { result, error } = message.result?.status && message.result.status !== "input_required" ? message.result : message;
  const questions = Object.values(result?.inputRequests ?? {}).map((q) => q.params.message);
  const content = (result?.content ?? []).map((c) => c.text).join(" ");
  return {
    instance,
    refusal: Boolean(error || result?.isError),
    error: Boolean(error),
    asks: Boolean(params) || questions.length > 0,
    texts: [error?.message, params?.message, ...questions, content].filter(Boolean),
  };
}

const lineOf = (s, line) => s.runs.some((r) => r.lines.includes(Number(line)) || r.lines.includes(Number(line) + 1));
const result = (s) => s.told.some((m) => !m.refusal && !m.asks);
const stamped = (s, label) => s.stamps.some((p) => p.label === label);
const ran = (s, instance) => s.runs.some((r) => r.instance === instance.toLowerCase());

// claims are what a caption may say, with what must hold then.
export const claims = {
  "the charges": [/Charges: (\d+)\.$/, (s, n) => s.after === Number(n)],
  "the charges before and after": [/Charges: (\d+) before the attack, (\d+) now\.$/, (s, from, to) => s.before === Number(from) && s.after === Number(to)],
  "the number of a request": [/\b[Rr]equest (\d+)/, (s, n) => s.requests === Number(n)],
  "a line": [/\b[Ll]ine (\d+)/, (s, n) => lineOf(s, n)],
  "lines that ran again": [/Lines (\d+) to (\d+) ran again/, (s, from, to) => s.runs.length > 1 && lineOf(s, from) && lineOf(s, to)],
  "the line of the charge": [/Line (\d+) has the charge/, (s, n) => s.lines.length > 1 && s.lines.every((l) => l === Number(n))],
  "one charge": [/so it ran once|ran in this last round/, (s) => s.after === 1],
  "no line twice": [/No line ran twice/, (s) => new Set(s.runs.flatMap((r) => r.lines)).size === s.runs.flatMap((r) => r.lines).length],
  "how often it was entered": [
    /entered (once|twice|\d+ times)/,
    (s, n) =>
      [
        ["once", 1],
        ["twice", 2],
      ].find(([w]) => w === n)?.[1] ?? parseInt(n, 10) === s.entries,
  ],
  "one request": [/One request from first to last/, (s) => s.requests === 1],
  "the log": [/Its log says: ([^.]+)\./, (s, reason) => s.stamps.some((p) => p.reason === reason)],
  refused: [/was refused|is refused|does not open|cannot use it|opens for its own tool alone|It is over/, (s) => s.told.some((m) => m.error) && !result(s)],
  "not entered": [/handler was entered\.|handler (?:is|was) not entered/, (s) => s.stamps.length > 0],
  "no handler entered": [
    /[Ii]nstance (.) sen(?:t|ds) the same result(?: again)? without entering a handler/,
    (s, i) => !ran(s, i) && stamped(s, "stored") && new Set([...s.told, ...s.earlier].filter((m) => !m.refusal && !m.asks).map((m) => m.texts[0])).size === 1,
  ],
  "ran again": [/instance . ran it again|runs in each round|both ran it/, (s) => s.after > s.before && s.after > 1],
  "sent once more": [/sent its last request once more, as it was/, (s) => s.requests > 2 && s.told.at(-1).asks === false],
  "the store had it": [/The store had the result of this round/, (s) => stamped(s, "stored")],
  "charged again": [/so it charged again|and the handler charged again/, (s) => s.after === 2],
  "charged no second time": [/ran again, and charged no second time/, (s) => s.after === 1 && s.runs.length > 0],
  "two ran": [/both ran it/, (s) => ran(s, "a") && ran(s, "b")],
  "did not run again": [/did not run (?:it )?again|was not run again/, (s) => (s.before === null ? s.after === 1 : s.before === s.after && s.after === 1)],
  "the last round": [/it charges before its last round: charge/, (s) => !s.late && s.before === s.after],
  "no handler": [
    /nothing to wake|is not there/,
    (s) => (stamped(s, "not here") && s.told.some((m) => m.texts.join().includes("frame is gone"))) || s.runs.some((r) => !r.resumed),
  ],
  "one wins": [
    /Instance (.) completes, and the other instance does not/,
    (s, i) => s.told.filter((m) => !m.refusal).length === 1 && s.told.find((m) => !m.refusal).instance === i.toLowerCase(),
  ],
  completes: [/and completes\.|finishe[ds] a call/, (s) => result(s)],
  "ran from the top": [/(?:ran|runs) the function again from its top|The handler ran again from its top/, (s) => s.runs.length > 0 && !s.runs.at(-1).resumed],
  remembered: [/answers and the charge replayed|Once found/, (s) => s.runs.at(-1).remembered],
  asked: [/The client is asked:/, (s) => stamped(s, "asks again") && s.told.at(-1).asks],
  waits: [/keeps nothing|holds it until you answer|holds the open connection until/, (s) => s.told.at(-1).asks],
  declined: [/You said no/, (s) => /was (declined|cancelled)/.test(s.told.at(-1).texts.join())],
  failed: [/failed before it asked/, (s) => s.requests === 1 && s.told.at(-1).refusal],
  "another version": [/names another way to write the tool/, (s) => s.told.some((m) => m.texts.join().includes("it was written as")) && stamped(s, "refused")],
  "a task waits": [/the task waits for your answer in the (store|memory)/, (s, where) => s.told.at(-1).asks && s.store === (where === "store")],
  "a task is held": [/the task waits for your answer with the handler that instance (.) holds/, (s, i) => s.told.at(-1).asks && ran(s, i)],
  "a task works": [/nstance (.)(?: took[^:]*: it)? works at line/, (s, i) => s.runs.at(-1).instance === i.toLowerCase() && s.after === 1],
  "no request is open": [/no request (?:is|was) open/, (s) => s.requests === s.told.length],
  "a task was taken over": [
    /Instance (.) took the task over and ran/,
    (s, i) => s.runs.at(-1).instance === i.toLowerCase() && !s.runs.at(-1).resumed && s.runs.length > 2,
  ],
  "a task completed": [/The task completed at instance (.)/, (s, i) => result(s) && s.runs.at(-1).instance === i.toLowerCase()],
  "the other one completed": [
    /Instance (.) completed the task that instance (.) left/,
    (s, to, from) => result(s) && ran(s, to) && ran(s, from) && s.runs.at(-1).instance === to.toLowerCase(),
  ],
  "no effect twice": [/no effect happened twice/, (s) => s.after === 1],
  "no such task": [
    /Instance (.) knows no such task: without a store it was in the memory of instance (.)/,
    (s, to, from) => !s.store && ran(s, from) && !ran(s, to) && s.told.at(-1).error && s.told.at(-1).texts[0].includes("not found"),
  ],
  unknown: [
    /Instance (.) took the task over, and cannot tell what was done/,
    (s, i) => s.told.at(-1).instance === i.toLowerCase() && s.told.at(-1).texts[0].includes("unknown"),
  ],
  "goes on": [/handler went on behind/, (s) => s.runs.at(-1).resumed],
};

export const read = { captions: 0, claims: Object.fromEntries(Object.keys(claims).map((c) => [c, 0])) };

// readCaption throws where a caption says what is not so.
export function readCaption(says, seen, where) {
  const must = (condition, message) => {
    if (!condition) throw new Error(`${where}: ${message}\n  caption: ${says}\n  seen: ${JSON.stringify(seen)}`);
  };
  const s = { ...seen, told: seen.said.map(heard), earlier: seen.earlier.map(heard) };
  for (const [quoted] of all(says, /“([^”]*)”/g))
    must(
      s.told.some((m) => m.texts.some((t) => t.includes(quoted))),
      `nobody was told ${quoted}`,
    );
  for (const m of s.told)
    if (m.refusal) must(says.includes(`Instance ${m.instance.toUpperCase()} tells the client: “${m.texts[0]}”`), `the client was told ${m.texts[0]}`);
  const own = says.replace(/“[^”]*”/g, "“”");
  must(!/client[^.]*\bagain|call has to be made|call again/i.test(own.replace(/ this time\. Call again, and try it\.$/, "")), "an advice that is no quotation");
  let bare = own;
  let made = 0;
  for (const [name, [pattern, holds]] of Object.entries(claims)) {
    for (const match of own.matchAll(new RegExp(pattern.source.replace(/\$$/, ""), "g"))) {
      must(holds(s, ...match.slice(1)), `"${match[0]}" is not so (${name})`);
      bare = bare.replace(match[0], "");
      read.claims[name]++;
      made++;
    }
  }
  must(made > 0, "it claims nothing that this test knows");
  must(!/\d/.test(bare), `a number that nobody counts: ${bare}`);
  read.captions++;
}
