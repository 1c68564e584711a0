// Plays the page in a real Chromium. For each check it prints one line of JSON,
// { name, error, data }; the Go test that starts it reads them.

import { asked, call, choose, launch, press, result, seenOf, visit } from "./browser.mjs";
import { read, readCaption } from "./captions.mjs";
import { lineTo } from "./demo.mjs";
import { lostChecks } from "./lost.mjs";
import { lookAt } from "./looks.mjs";
import { shapeChecks } from "./shape.mjs";
import { everyRun, states } from "./states.mjs";

const [, , url, only] = process.argv;
const browser = await launch();

const styles = ["native", "once", "steps", "coroutine", "journal", "given", "sse_shim", "version_branch", "two_handlers", "await", "naive"];

function must(condition, message) {
  if (!condition) throw new Error(message);
}

function same(got, want, what) {
  must(JSON.stringify(got) === JSON.stringify(want), `${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

// eventually repeats f until it holds: the page is drawn a moment after what was done.
async function eventually(f) {
  for (const last = Date.now() + 60_000; ; await new Promise((r) => setTimeout(r, 50))) {
    try {
      return await f();
    } catch (e) {
      if (Date.now() > last) throw e;
    }
  }
}

const checks = [];

// check runs f on a page of its own. Whatever f does, the console stays silent. With
// on, the page comes over a line or from a demo that f may break; a browser then writes
// of its own accord that it reached nobody.
function check(name, options, f) {
  if (!only || name.includes(only)) checks.push(() => run(name, options, f));
}

async function run(name, options, f) {
  let error = null;
  let data = null;
  const broken = await options.on?.();
  const v = await visit(browser, broken?.url ?? url, options);
  v.page.setDefaultTimeout(60_000);
  try {
    data = (await f(v.page, broken)) ?? null;
    same(
      v.complaints.filter((c) => !broken || !/net::ERR_|WebSocket connection to|Failed to load resource/.test(c)),
      [],
      "the console",
    );
  } catch (e) {
    error = e.message;
  }
  await v.close();
  broken?.close();
  console.log(JSON.stringify({ name, error, data }));
}

async function playTo(page, setting, answer = "Answer") {
  await choose(page, setting);
  await call(page);
  if (setting.place === "Springfield") {
    await asked(page, "Which Springfield?");
    await readWaiting(page, /"place"|line/);
    await press(page, "Answer");
  }
  await asked(page, "Which units?");
  await readWaiting(page, /"units"|line/);
  if (answer) await press(page, answer);
}

// readWaiting reads the caption under a question.
const readWaiting = (page, of) =>
  eventually(async () => {
    const caption = page.locator(".caption");
    const seen = await caption.evaluate(seenOf);
    const says = await caption.textContent();
    must(of.test(says) && /until you answer|is in the sealed state|which one it is/.test(says), says);
    readCaption(says, seen, "a question");
  });

// done reads the end of a call, with its caption.
async function done(page, where) {
  const r = await result(page);
  readCaption(r.caption, r.seen, where);
  return r;
}

// Those whose charge can be moved into their last round.
const movable = ["once", "steps", "coroutine", "journal", "resumable"];
for (const style of movable.filter((s) => s !== "resumable")) {
  // which is a switch of coroutine
  for (const legacy of [false, true]) {
    check(`charges late/${style}/${legacy ? "legacy" : "modern"}`, {}, async (page) => {
      await playTo(page, { style, legacy, place: "Springfield", late: true });
      const r = await done(page, style);
      same(r.text, "Springfield, Illinois: 18°C, clear.", "text");
      same(r.charges, 1, "charges");
      must(r.caption.endsWith("Charges: 1."), r.caption);
      same(await page.locator(".ledger li code").allTextContents(), ["charged the card for Springfield, Illinois"], "the ledger");
    });
  }
}

for (const style of styles) {
  for (const legacy of [false, true]) {
    for (const place of ["Lisbon", "Springfield"]) {
      check(`completes/${style}/${legacy ? "legacy" : "modern"}/${place}`, {}, async (page) => {
        await playTo(page, { style, legacy, place });
        const r = await done(page, style);
        same(r.kind, "The result", "kind");
        same(r.text, place === "Lisbon" ? "Lisbon: 22°C, partly cloudy." : "Springfield, Illinois: 18°C, clear.", "text");
        const twice = style === "naive" || (style === "await" && !legacy);
        same(r.charges, twice ? 2 : 1, "charges");
        must(r.caption.length > 40, "no caption");
      });
    }
  }
}

for (const [answer, kind] of [
  ["Decline", "declined"],
  ["Dismiss", "cancelled"],
]) {
  check(`no/${kind}`, {}, async (page) => {
    await playTo(page, { style: "native" }, answer);
    const r = await done(page, kind);
    same(r.kind, "An error result, which the model can read", "kind");
    must(r.text.includes(`"units" was ${kind}`), r.text);
    same(r.charges, 0, "charges");
    must(r.caption.startsWith("You said no."), r.caption);
  });
}

check("tampered", {}, async (page) => {
  await playTo(page, { style: "native" }, null);
  await press(page, "Change one byte");
  await page.getByText("You changed one byte").waitFor();
  await press(page, "Answer");
  const r = await done(page, "tampered");
  same(r.kind, "Error −32602", "kind");
  same(r.charges, 0, "charges");
  must(r.caption.includes("forged_or_transplanted"), r.caption);
  must(!JSON.stringify(r.seen.said).includes("forged_or_transplanted"), "the client is told the reason");
});

check("fails", {}, async (page) => {
  await choose(page, { place: "Atlantis" });
  await call(page);
  const r = await done(page, "Atlantis");
  must(r.caption.includes(r.text), "the error is not quoted");
});

check("opened", {}, async (page) => {
  await playTo(page, { style: "once", place: "Springfield" }, null);
  await press(page, "Open");
  const letter = await page.locator(".letter").innerText();
  for (const want of ["place = Springfield, Illinois", "charge", "metric, imperial"]) must(letter.includes(want), `the letter lacks ${want}: ${letter}`);
  await press(page, "Close it");
  await press(page, "Change one byte");
  await press(page, "Open it, as the server does");
  await page.getByText("The server cannot open it: forged_or_transplanted.").waitFor();
});

const surviving = [
  ["native", {}],
  ["once", {}],
  ["steps", {}],
  ["journal", {}],
  ["given", {}],
  ["coroutine", { resumes: true }],
  ["coroutine", {}],
];
for (const [style, extra] of surviving) {
  check(`killed/${style}${extra.resumes ? " with the journal" : ""}`, {}, async (page) => {
    await playTo(page, { style, ...extra }, null);
    await press(page, /^kill it/);
    await page.getByText("the one that is left").waitFor();
    const held = style === "coroutine" ? "It held the handler of this call" : "It held nothing of this call";
    await eventually(async () => must((await page.locator(".caption").textContent()).includes(held), held));
    await press(page, "Answer");
    const r = await done(page, `killed ${style}`);
    if (style === "coroutine" && !extra.resumes) {
      same(r.kind, "An error result, which the model can read", "kind");
      must(r.text.includes("This call's frame is gone"), r.text);
    } else {
      same(r.text, "Lisbon: 22°C, partly cloudy.", "text");
    }
    same(r.charges, 1, "charges");
    // The bench is whole again for the next call.
    await press(page, "Call again");
    await asked(page, "Which units?");
  });
}

// A task, and what becomes of it when its instance is killed while it works.
for (const [style, end] of [
  ["once", "The result"],
  ["steps", "An error result, which the model can read"],
  ["coroutine", "An error result, which the model can read"],
  ["journal", "The result"],
]) {
  for (const [store, kill] of [
    [true, true],
    [false, true],
    [style === "once", false],
  ]) {
    check(`task/${style}${store ? " with a store" : ""}${kill ? ", killed at work" : ""}`, {}, async (page) => {
      const says = async (of, where) => {
        const caption = page.locator(".caption", { hasText: of });
        await caption.waitFor();
        readCaption(await caption.textContent(), await caption.evaluate(seenOf), where);
      };
      await choose(page, { style, task: true, place: kill ? "Lisbon" : "Springfield" });
      await page.getByLabel(store ? "with a store" : "no store").check({ force: true });
      await call(page);
      if (!kill) {
        await asked(page, "Which Springfield?");
        await press(page, "Answer");
      }
      await asked(page, "Which units?");
      await says(/the task waits/, "a question of a task");
      same(await page.locator(".in-hand, [name=lose]").count(), 0, "states, and responses to lose");
      await press(page, "Answer");
      await says(/^The card is charged, and instance A works/, "a task at work");
      if (kill) {
        await page.waitForTimeout(500); // the end of an effect is noted soon, and not at once
        await press(page, /^kill it/);
      }
      if (kill && store && end === "The result") await says(/^Instance B took the task over/, "a task that was taken over");
      const r = await done(page, `a task in ${style}`);
      same([r.kind, r.charges], [kill && !store ? "Error −32602" : end === "The result" || !kill ? "The result" : end, 1], "the end");
      const sent = await page.locator(".msg b").allTextContents();
      for (const title of ["task, working", "tasks/get ", "input_required", "tasks/update ", "acknowledged"])
        must(sent.includes(title), `the wire lacks ${title}: ${sent}`);
    });
  }
}

check("killed/legacy", {}, async (page) => {
  await playTo(page, { style: "sse_shim", legacy: true }, null);
  await press(page, /^kill it/);
  await page.getByText("The connection is gone").waitFor();
});

// A legacy client's second question comes from the handler that asked the first.
for (const style of ["version_branch", "two_handlers"]) {
  check(`goes on/${style}`, {}, async (page) => {
    await playTo(page, { style, legacy: true, place: "Springfield" }, null);
    await eventually(async () => {
      const caption = await page.locator(".caption").textContent();
      must(/^The handler asks at line \d+, and waits there\./.test(caption), caption);
      same(await page.locator(".run").count(), 2, "runs");
      same(await page.locator(".stamp").count(), 0, "stamps");
    });
  });
}

check("tour", {}, async (page) => {
  await playTo(page, { style: "naive" });
  await result(page);
  await press(page, "Next: answer a question");
  await playTo(page, {});
  await result(page);
  await press(page, /^Next: /);
  const step = page.locator("[aria-current=step]");
  const own = page.locator(".caption", { hasText: /^In style naive the charge stands above/ });
  await own.waitFor();
  same(await step.count(), 1, "steps here");
  await choose(page, { style: "steps" });
  await step.waitFor({ state: "detached" });
  await own.waitFor({ state: "detached" });
  for (const [title, starts] of [
    ["Change one byte", /^Press Call\. Change one byte/],
    ["Once cures it", /^The same line, in Once\./],
  ]) {
    await page.getByRole("navigation", { name: "The tour" }).getByRole("link", { name: title }).click();
    await page.locator(".caption", { hasText: starts }).waitFor();
    same(await step.textContent().then((t) => t.slice(1)), title, "the step");
  }
});

// The whole tour, as its captions say, with the charges at the end of each step.
const toDo = {
  "Once cures it": (page) => press(page, "Open"),
  "Kill the server": (page) => press(page, /^kill it/),
  "Change one byte": (page) => press(page, "Change one byte"),
  "Lose the answer": (page) => page.getByLabel("lose the response").check(),
  "Lose it with a store": (page) => page.getByLabel("lose the response").check(),
  "Kill it at work": () => {},
};
const chargesOf = { "Charge twice": 2, "Change one byte": 0, "Lose the answer": 2 };
check("the whole tour", {}, async (page) => {
  const titles = (await page.locator(".tour a").allInnerTexts()).map((t) => t.replace(/^\d+\s*/, ""));
  same(titles.length, 9, "steps");
  for (const [i, title] of titles.entries()) {
    same((await page.locator("[aria-current=step]").innerText()).replace(/^\d+\s*/, ""), title, "the step");
    await call(page);
    await asked(page, "Which units?");
    if (toDo[title]) {
      must(await page.locator(".todo").isVisible(), `${title}: the task is not in sight`);
      await toDo[title](page);
    }
    await press(page, "Answer");
    if (title.startsWith("Lose")) await sendAgain(page);
    if (title === "Kill it at work") {
      await page.locator(".caption", { hasText: "works at line" }).waitFor();
      await press(page, /^kill it/);
    }
    const r = await done(page, title);
    same(r.charges, chargesOf[title] ?? 1, `${title}: charges`);
    same(await page.locator(".todo").count(), 0, `${title}: tasks that are left`);
    const next = page.locator(".result button.primary");
    same(await next.innerText(), i < 8 ? `Next: ${titles[i + 1][0].toLowerCase()}${titles[i + 1].slice(1)}` : "Next: now try to break it", "the next step");
    if (i < 8) await next.click();
  }
  same(await page.locator(".home a").count(), 3, "links to go on");
});

// sendAgain sends the request again whose response was lost.
async function sendAgain(page) {
  await page.locator(".result .kind", { hasText: "No response" }).waitFor();
  await page.getByRole("button", { name: "Call again" }).waitFor();
  await page.locator(".caption", { hasText: "send the same request again. A new call would be a second order." }).waitFor();
  await press(page, "Send the same request again");
  await page.locator(".result .kind", { hasText: "The result" }).waitFor();
}

// The library's promise, by hand: a response is lost, and the request is sent again.
for (const [store, late, charges] of [
  [false, true, 2],
  [true, true, 1],
  [false, false, 1],
]) {
  check(`lost/response${late ? " to a charge" : ""}, ${store ? "with" : "without"} a store`, {}, async (page) => {
    await page.locator("details summary").click();
    if (store) await page.getByLabel("with a store").check({ force: true });
    await playTo(page, { style: "once", late }, null);
    await page.getByLabel("lose the response").check();
    await press(page, "Answer");
    await sendAgain(page);
    const r = await done(page, "sent again");
    same([r.text, r.charges], ["Lisbon: 22°C, partly cloudy.", charges], "the call");
    // Another call has its own story.
    await press(page, "Call again");
    await asked(page, "Which units?");
    await press(page, "Answer");
    same((await done(page, "the next call")).charges, 1, "charges of the next call");
  });
}

check("reload", {}, async (page) => {
  await playTo(page, { style: "once", place: "Springfield" }, null);
  const before = await page.locator(".caption").textContent();
  await page.reload();
  await asked(page, "Which units?");
  same(await page.locator(".caption").textContent(), before, "the caption");
  await press(page, "Answer");
  const r = await done(page, "after a reload");
  same([r.text, r.charges], ["Springfield, Illinois: 18°C, clear.", 1], "the call");
});

// A task needs its id alone, and outlives the page.
check("reload/task", {}, async (page) => {
  await choose(page, { style: "journal", task: true });
  await page.getByLabel("with a store").check({ force: true });
  await call(page);
  await asked(page, "Which units?");
  await press(page, /^kill it/);
  await page.getByText("the one that is left").waitFor();
  await page.reload();
  await asked(page, "Which units?");
  await press(page, "Answer");
  const r = await done(page, "a task after a reload");
  same([r.text, r.charges], ["Lisbon: 22°C, partly cloudy.", 1], "the task");
});

// A call goes from A to B and back, and each is killed on its way.
check("a, b, a", {}, async (page) => {
  await choose(page, { style: "once", place: "Springfield" });
  await call(page);
  await asked(page, "Which Springfield?");
  await press(page, /^kill it/);
  await page.getByText("the one that is left").waitFor();
  await press(page, "Answer");
  await asked(page, "Which units?");
  await press(page, /^kill it/);
  await page.getByText("instance A", { exact: true }).waitFor();
  await press(page, "Answer");
  const r = await done(page, "a, b, a");
  same([r.text, r.charges], ["Springfield, Illinois: 18°C, clear.", 1], "the call");
});

// What was found in one state is not shown for the next one.
check("opened, and answered", {}, async (page) => {
  await choose(page, { style: "once", place: "Springfield" });
  await call(page);
  await asked(page, "Which Springfield?");
  await press(page, "Open");
  await page.locator(".letter").waitFor();
  await press(page, "Answer");
  await asked(page, "Which units?");
  same(await page.locator(".letter").count(), 0, "letters");
  await press(page, "Open it, as the server does");
  await page.locator(".letter", { hasText: "place = Springfield, Illinois" }).waitFor();
});

// A server ends a connection on which no request is made.
check("requests at once", {}, async (page) => {
  const silent = new Set();
  page.on("websocket", (ws) => {
    silent.add(ws.url());
    ws.on("framesent", () => silent.delete(ws.url()));
  });
  const opened = page.waitForEvent("websocket");
  await page.reload();
  await opened;
  await page.getByText("connected, 2 instances").waitFor({ state: "attached" });
  same([...silent], [], "connections without a request");
});

// The table of "Every style", for each attack: the verdict and the charges.
const early = {
  resend: [
    "native 1 → 2",
    "sse_shim 1 → 2",
    "version_branch 1 → 2",
    "two_handlers 1 → 2",
    "once 1",
    "steps 1",
    "coroutine handler gone",
    "journal 1",
    "given 1 → 2",
    "resumable 1",
    "await 2 → 3",
    "naive 2 → 3",
  ],
  both: ["native 0 → 2", "steps 1", "once 1", "journal 1", "coroutine one wins", "naive 1 → 3"],
  replay: ["native 1 → 2", "once 1 → 2", "steps 1 → 2", "journal 1 → 2", "coroutine handler gone", "naive 2 → 4"],
  tamper: ["native refused", "once refused", "coroutine refused", "naive refused"],
  place: ["native refused", "journal refused"],
  tool: ["native refused", "steps refused"],
  user: ["native refused", "coroutine refused"],
  late: ["native refused", "once refused", "coroutine refused"],
  key: ["native refused", "once refused", "coroutine refused", "naive refused"],
  version: ["native refused", "once refused", "steps refused", "coroutine refused", "journal refused", "given refused", "naive refused", "await refused"],
  other: ["native completes", "once completes", "steps completes", "journal completes", "given completes", "resumable completes", "coroutine handler gone"],
  kill: ["native completes", "once completes", "steps completes", "journal completes", "given completes", "resumable completes", "coroutine handler gone"],
  unoffered: ["native asked again", "once asked again", "coroutine asked again", "journal asked again"],
};
// requireVerdicts plays an attack, reads the table of every style, and each style's
// caption against its messages.
async function requireVerdicts(page, id, wanted, { store = false, late = true } = {}) {
  const attack = page.locator(".attacks li").nth(Object.keys(early).indexOf(id)).getByRole("button").first();
  await attack.click();
  await page.locator(".every h2", { hasText: await attack.locator("b").textContent() }).waitFor();
  await page.locator(".every .dim", { hasText: store ? "with a store" : "without a store" }).waitFor();
  must(wanted.length > 0, `${id}: no style is looked at`);
  const cells = await eventually(async () => {
    must((await page.locator(".every .pending").count()) === 0, `${id}: not every style was played`);
    const rows = page.locator(".every tbody tr");
    const table = (await rows.allInnerTexts()).map((t) => t.replace(/\s+/g, " "));
    for (const want of wanted) {
      const [style, ...rest] = want.split(" ");
      const row = table.find((t) => t.startsWith(`${style} `));
      const tail = rest.join(" ");
      must(/^\d/.test(tail) ? row.endsWith(` ${tail}`) && !(tail.length === 1 && row.includes("→")) : row.includes(tail), `${id}: ${row}, want ${want}`);
    }
    const chosen = await page.locator(".every tr.chosen").evaluate(seenOf);
    same(await page.locator(".caption").textContent(), chosen.says, `${id}: the caption on the stage`);
    const labels = (await page.locator(".msg.refusal").allInnerTexts()).map((t) => t.replace(/\s+/g, " ")).join(" ");
    for (const { text } of chosen.said) {
      const { error, result } = JSON.parse(text);
      const refusal = error?.message ?? (result?.isError && result.content[0].text);
      must(!refusal || labels.includes(refusal), `${id}: the label is cut: ${labels}`);
    }
    return Promise.all((await rows.all()).map(async (row) => [await row.innerText(), await row.evaluate(seenOf)]));
  });
  same(cells.length, 12, `${id}: cells`);
  same(cells.filter(([, seen]) => seen.late).length, late ? movable.length : 0, `${id}: those that charge late`);
  for (const [row, seen] of cells) readCaption(seen.says, seen, `${id}, ${row.replace(/\s+/g, " ")}${store ? ", with a store" : ""}`);
  return cells.length;
}

// requireEvery plays every attack on every style.
async function requireEvery(page, wanted, setting) {
  same(await page.locator(".attacks li").count(), Object.keys(wanted).length, "attacks");
  let cells = 0;
  for (const [id, rows] of Object.entries(wanted)) cells += await requireVerdicts(page, id, rows, setting);
  return { cells };
}

const chargeEarly = (page) => page.getByLabel("charge in the last round").uncheck();
check("attacks", { hash: "attack" }, async (page) => {
  await chargeEarly(page);
  return requireEvery(page, early, { late: false });
});

// The same with a store: no effect happens twice, except where one stands above a
// question. Of two at once, coroutine's other instance finds the stored result or no
// handler, whichever comes first.
const remembered = {
  ...early,
  resend: [
    "native stored result 1",
    "sse_shim stored result 1",
    "once stored result 1",
    "steps stored result 1",
    "coroutine stored result 1",
    "journal stored result 1",
    "given stored result 1",
    "resumable stored result 1",
    "await stored result 2",
    "naive stored result 2",
  ],
  both: ["native 0 → 1", "steps stored result 1", "once stored result 1", "coroutine 1", "journal stored result 1"],
  replay: ["native refused 1", "once refused 1", "steps refused 1", "journal refused 1", "coroutine refused 1"],
  other: ["native completes", "once completes", "journal completes", "resumable completes", "coroutine handler gone"],
};
check("attacks with a store", { hash: "attack" }, async (page) => {
  await chargeEarly(page);
  await page.getByLabel("with a store").check({ force: true });
  return requireEvery(page, remembered, { store: true, late: false });
});

// With the charge in the last round it is the store that keeps it single, in every style
// but coroutine. The page begins with it.
const doubled = movable.filter((s) => s !== "coroutine");
const moved = (verdicts, changed) => ({
  ...verdicts,
  ...Object.fromEntries(Object.entries(changed).map(([id, rows]) => [id, [...verdicts[id].filter((row) => !movable.includes(row.split(" ")[0])), ...rows]])),
});
check("late attacks", { hash: "attack" }, (page) =>
  requireEvery(
    page,
    moved(early, {
      resend: [...doubled.map((s) => `${s} 1 → 2`), "coroutine handler gone 1"],
      both: [...doubled.map((s) => `${s} 0 → 2`), "coroutine one wins 0 → 1"],
      replay: [...doubled.map((s) => `${s} 1 → 2`), "coroutine handler gone 1"],
    }),
  ),
);

check("late attacks with a store", { hash: "attack" }, async (page) => {
  await page.getByLabel("with a store").check({ force: true });
  return requireEvery(
    page,
    moved(remembered, {
      resend: movable.map((s) => `${s} stored result 1`),
      both: doubled.map((s) => `${s} 0 → 1`),
      replay: movable.map((s) => `${s} refused 1`),
    }),
    { store: true },
  );
});

// No label cuts what the client is told, on a phone too.
check("whole labels", { hash: "attack", width: 390, height: 844 }, async (page) => {
  await page.locator("#attack-style").selectOption("coroutine");
  await requireWhole(page, "This call's frame is gone: it was held by a server that no longer has it.");
});

async function requireWhole(page, begins) {
  await eventually(async () => {
    const label = page.locator(".msg.refusal");
    const text = (await label.innerText()).replace(/\s+/g, " ");
    must(text.includes(begins) && text.includes("do not call the tool again without checking."), text);
    const wide = await label.locator("span:not(.sr)").evaluateAll((all) => all.filter((el) => el.scrollWidth > el.clientWidth + 1).map((el) => el.textContent));
    same(wide, [], "lines that are cut");
  });
}

check("compare", { hash: "compare" }, async (page) => {
  await page.getByRole("heading", { name: "9 lines differ. On the wire, none." }).waitFor();
  await page.locator("#compare-0").selectOption("coroutine");
  await page.locator("#compare-1").selectOption("journal");
  await page.getByRole("heading", { name: /^2 lines differ. On the wire, none\.$/ }).waitFor();
});

check("matrix", { hash: "matrix" }, async (page) => {
  await page.getByText(everyRun).waitFor();
  await page.locator(".outcome").first().waitFor();
  const corners = await page.locator(".quadrant td").allInnerTexts();
  const runs = await page.locator("[data-run]").evaluateAll((all) => all.map((el) => JSON.parse(el.dataset.run)));
  return { runs, corners: corners.map((c) => c.replace(/\s+/g, " ")) };
});

check("keyboard", {}, async (page) => {
  const active = () => page.evaluate(() => (document.activeElement.closest("label") ?? document.activeElement).textContent);
  for (let i = 0; i < 60 && !(await active()).startsWith("Call weather_"); i++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await asked(page, "Which units?");
  await eventually(async () => same(await active(), "metric", "the focus is on the first choice"));
  await page.keyboard.press("ArrowDown");
  for (let i = 0; i < 20 && (await active()) !== "Answer"; i++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  same((await result(page)).text, "Lisbon: 72°F, partly cloudy.", "text");
});

check("moving", { motion: "no-preference" }, async (page) => {
  await page.evaluate(() => {
    window.lines = new Set();
    const note = () => lines.add(document.querySelector(".row.now")?.dataset.line);
    new MutationObserver(note).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["class"] });
  });
  await playTo(page, { style: "once" }, null);
  const ran = await page.evaluate(() => [...lines].filter(Boolean).length);
  must(ran > 10, `only ${ran} lines were seen running`);
  await press(page, "Answer");
  await page.locator(".wire-scroll").click({ position: { x: 5, y: 5 } }); // finishes the round
  same((await result(page)).charges, 1, "charges");
});

check("typed text stays text", {}, async (page) => {
  const got = await page.evaluate(async () => {
    const base = document.querySelector("script[type=module]").src;
    const { h, render } = await import(new URL("dom.js", base));
    const { fieldsOf, inputsFor, contentOf } = await import(new URL("form.js", base));
    const nasty = '<img src=x onerror="window.broken=1">';
    const schema = {
      type: "object",
      required: ["name"],
      properties: {
        name: { type: "string", title: nasty, description: nasty, default: nasty },
        mail: { type: "string", format: "email", default: "a@b.example" },
        when: { type: "string", format: "date", default: "2026-07-28" },
        age: { type: "integer", minimum: 1, default: 42 },
        share: { type: "number", default: 0.5 },
        sure: { type: "boolean", default: true },
        one: {
          type: "string",
          oneOf: [
            { const: "a", title: "A" },
            { const: "b", title: "B" },
          ],
          default: "b",
        },
        many: { type: "string", enum: ["1", "2", "3", "4", "5", "6", "7"], default: "7" },
        some: { type: "array", items: { type: "string", enum: ["x", "y", "z"] }, default: ["x", "z"] },
        empty: { type: "string" },
      },
    };
    const form = document.body.appendChild(document.createElement("form"));
    const fields = fieldsOf(schema);
    render(form, inputsFor(fields, nasty), h("p", nasty));
    await new Promise((r) => setTimeout(r, 100));
    const types = [...form.querySelectorAll("input, select")].map((el) => el.type).join(" ");
    const content = contentOf(form, fields);
    const images = form.querySelectorAll("img").length;
    form.remove();
    return { types, content, images, broken: window.broken ?? null, unknown: fieldsOf({ properties: { deep: { type: "object" } } }) };
  });
  same(
    got,
    {
      types: "text email date number number checkbox radio radio select-one checkbox checkbox checkbox text",
      content: {
        name: '<img src=x onerror="window.broken=1">',
        mail: "a@b.example",
        when: "2026-07-28",
        age: 42,
        share: 0.5,
        sure: true,
        one: "b",
        many: "7",
        some: ["x", "z"],
      },
      images: 0,
      broken: null,
      unknown: null,
    },
    "the form",
  );
});

const expect = { must, same, eventually };
shapeChecks(check, url, expect);
lostChecks(check, url, expect);

// One visit for each state, which is then looked at in every setting.
for (const [name, state] of Object.entries(states)) {
  const tell = (seen) => console.log(JSON.stringify({ data: null, ...seen }));
  check(`look/${name}`, { hash: state.hash, on: state.line && (() => lineTo(url)) }, (page, line) => lookAt(page, name, () => state.reach?.(page, line), tell));
}

// Three at a time: most of a check is waiting.
const next = async () => {
  for (let f = checks.shift(); f; f = checks.shift()) await f();
};
await Promise.all([next(), next(), next()]);
const unread = Object.keys(read.claims).filter((c) => !read.claims[c]);
if (!only) console.log(JSON.stringify({ name: "captions", error: unread.length ? `no caption makes these claims: ${unread}` : null, data: read }));
await browser.close();
