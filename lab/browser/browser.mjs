// A Chromium of this machine, and the page in it.

import { chromium } from "playwright-core";

const flags = [
  "--no-sandbox",
  "--headless",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
}

// visit opens the page for one visitor, and collects what must not happen.
export async function visit(browser, url, { width = 1440, height = 900, theme = "light", motion = "reduce", hash = "" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: motion });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (m) => {
    if (["error", "warning"].includes(m.type())) complaints.push(`console ${m.type()}: ${m.text()}`);
  });
  page.on("pageerror", (e) => complaints.push(`uncaught: ${e.message}`));
  await page.goto(url + (hash ? `#${hash}` : ""));
  await page.getByText("connected, 2 instances").waitFor({ state: "attached" });
  return { page, complaints, close: () => context.close() };
}

// fonts are for pictures that look the same everywhere, and those a system without
// either has instead.
export const fonts = {
  pictures: { "--sans": "Inter", "--mono": "JetBrains Mono", "--serif": "Charis SIL" },
  fallback: { "--sans": "DejaVu Sans", "--mono": "DejaVu Sans Mono", "--serif": "DejaVu Serif" },
};

export const setFonts = (page, set) =>
  page.evaluate((set) => {
    for (const [name, font] of Object.entries(set)) document.documentElement.style.setProperty(name, `"${font}"`);
  }, set);

export const press = (page, name) =>
  page
    .getByRole("button", { name, exact: typeof name === "string" })
    .first()
    .click();

export async function choose(page, { style = "native", resumes = false, legacy = false, task = false, place = "Lisbon", late = false }) {
  const more = page.locator("details:not([open]) summary");
  if (await more.count()) await more.click();
  await page.locator(`input[name=style][value=${style}]`).check({ force: true });
  if (resumes) await page.getByLabel("and replay if the handler is gone").check();
  if (late) await page.getByLabel("charge in the last round").check();
  await page.locator(`input[name=era][value=${legacy ? "legacy" : task ? "task" : "modern"}]`).check({ force: true });
  await page.locator(`input[name=place][value=${place}]`).check({ force: true });
}

export async function call(page) {
  await page.getByRole("button", { name: /^Call weather_/ }).click();
}

// asked waits for a question, and returns it.
export async function asked(page, message) {
  await page.getByRole("group", { name: message }).waitFor();
  await page.getByRole("button", { name: "Answer", exact: true }).waitFor();
}

// seenOf is what a caption is held against, of the element that has it: the messages and
// events since an attack began, or all of them.
export function seenOf(el) {
  const story = el.seen.story ?? el.seen;
  const { items, charges, marked, requests, entries, style, store } = story;
  const from = items.findIndex((i) => i.kind === "rule");
  const since = items.slice(from + 1);
  const text = (i) => JSON.stringify(i.message, (key, value) => (key === "requestState" ? undefined : value));
  const said = (list) => list.filter((i) => i.kind === "message" && i.from === "server").map((i) => ({ instance: i.instance, text: text(i) }));
  return {
    said: said(since),
    earlier: said(items.slice(0, Math.max(from, 0))),
    before: marked,
    after: charges.length,
    requests,
    entries,
    lines: charges.map((c) => c.line),
    says: el.seen.says,
    runs: since
      .filter((i) => i.kind === "run")
      .map(({ instance, resumed, trace }) => ({ instance, resumed, lines: trace.map((t) => t.line), remembered: trace.some((t) => t.kind === "remembered") })),
    stamps: since.filter((i) => i.kind === "stamp").map(({ instance, label, reason }) => ({ instance, label, reason })),
    late: style.late,
    store,
  };
}

// result waits for the end of the call, and reads it when the page does not change any more.
export async function result(page) {
  const title = page.locator(".result h2");
  await title.waitFor();
  const read = async () => ({
    kind: await page.locator(".result .kind").textContent(),
    text: await title.textContent(),
    charges: Number(await page.locator(".count").textContent()),
    caption: await page.locator(".caption").textContent(),
    seen: await page.locator(".caption").evaluate(seenOf),
  });
  for (let before = ""; ; await page.waitForTimeout(100)) {
    const now = await read();
    if (JSON.stringify(now) === before) return now;
    before = JSON.stringify(now);
  }
}
