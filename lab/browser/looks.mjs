// What is looked at in each state of the page, in every setting.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fonts, setFonts } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const setting = (theme, width, more) => ({ name: `${more?.forced ? "forced colours" : theme} ${width}`, theme, width, contrast: true, forced: false, ...more });

// Most of axe's time goes into contrasts. They are looked at in each theme and in each
// arrangement of the page, and not again where both are as before.
const seen = { contrast: false };
export const settings = [
  setting("light", 1440),
  setting("light", 1024, seen),
  setting("light", 390),
  setting("light", 320, seen),
  setting("dark", 1440),
  setting("dark", 1024, seen),
  setting("dark", 390),
  setting("light", 1440, { forced: true }),
  setting("dark", 390, { forced: true, ...seen }),
];

// lookAt brings a page to a state once, and then looks at it in every setting. What it
// sees in each is told by itself.
export async function lookAt(page, name, reach, tell) {
  await set(page, settings[0]);
  await reach();
  // The page's policy forbids what axe needs to be injected as; its debugger's
  // channel does not ask the page.
  await page.evaluate(axe);
  for (const s of settings) {
    await set(page, s);
    tell({ name: `axe/${s.name}/${name}`, error: await problems(page, s) });
  }
  await setFonts(page, fonts.fallback);
  for (const s of settings.slice(0, 4)) {
    await set(page, s);
    tell({ name: `labels/${s.width}/${name}`, error: (await collisions(page)).join("; ") || null });
  }
}

async function set(page, { theme, width, forced }) {
  await page.setViewportSize({ width, height: width < 1000 ? 844 : 900 });
  await page.emulateMedia({ colorScheme: theme, forcedColors: forced ? "active" : "none" });
  // The page draws in the frame after the one it is told in.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
}

async function problems(page, { contrast }) {
  const { violations } = await page.evaluate(
    (enabled) => globalThis.axe.run(document, { resultTypes: ["violations"], rules: { "color-contrast": { enabled } } }),
    contrast,
  );
  const serious = violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(" ")}`);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (overflow > 0) serious.push(`the page is ${overflow}px wider than its window`);
  return serious.join("; ") || null;
}

// collisions are pairs of texts that lie over each other, texts that leave their land,
// and texts of the diagram that are not in the middle of what they stand for.
export const collisions = (page) =>
  page.evaluate(() => {
    const found = [];
    const shown = (box) => box.width > 1 && box.height > 1;
    const boxOf = (el) => {
      const range = document.createRange();
      // What only a screen reader gets takes no room.
      range.setStart(el, 0);
      range.setEndAfter([...el.childNodes].findLast((n) => !n.classList?.contains("sr")) ?? el);
      return el.ownerSVGElement ? el.getBoundingClientRect() : range.getBoundingClientRect();
    };
    const labels = (selector) =>
      [...document.querySelectorAll(selector)].map((el) => ({ el, words: el.textContent.slice(0, 40), box: boxOf(el) })).filter((l) => shown(l.box));
    // Line boxes may touch; letters are smaller.
    const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    const apart = (list) =>
      list.forEach((a, i) =>
        list.slice(i + 1).forEach((b) => {
          if (!a.el.contains(b.el) && !b.el.contains(a.el) && overlap(a.box, b.box)) found.push(`"${a.words}" lies over "${b.words}"`);
        }),
      );
    const heads = labels(".lane-head > *");
    const words = labels(".msg > :not(.sr), .keeps > *, .note > *, .say > *, .lines text:not(.ask-mark)");
    apart(heads);
    apart(words);
    for (const group of [".bar a, .brand > *, .bar .status", ".tour a", ".tab-bar [role=tab], .tab-bar .status", ".attacks button > *", ".tiles span > *"])
      apart(labels(group));
    const wire = document.querySelector(".wire-scroll")?.getBoundingClientRect();
    if (wire && heads.length + words.length < 4) found.push("the diagram has no labels");
    for (const { words: w, box } of [...heads, ...words]) if (box.left < wire.left - 1 || box.right > wire.right + 1) found.push(`"${w}" leaves the wire`);
    for (const run of document.querySelectorAll("rect.box")) {
      const box = run.getBoundingClientRect();
      for (const l of words) if (!l.el.ownerSVGElement && overlap(l.box, box)) found.push(`"${l.words}" lies over a run`);
    }
    const middle = (box) => (box.left + box.right) / 2;
    const centred = (l, x, what) => Math.abs(middle(l.box) - x) > 1.5 && found.push(`"${l.words}" is ${Math.round(middle(l.box) - x)}px off ${what}`);
    const lanes = [...document.querySelectorAll(".lane-client, .lane-server")].map((el) => middle(el.getBoundingClientRect()));
    document.querySelectorAll(".lane-head").forEach((head, i) => {
      if (!head.classList.contains("left")) for (const l of heads.filter((h) => h.el.parentElement === head)) centred(l, lanes[i], "its lane");
    });
    for (const l of words.filter(({ el }) => el.closest(".holds, .gap") && el.ownerSVGElement))
      centred(l, lanes.toSorted((a, b) => Math.abs(a - middle(l.box)) - Math.abs(b - middle(l.box)))[0], "its lane");
    for (const l of words.filter(({ el }) => el.closest(".stamp")))
      centred(l, middle(l.el.closest(".stamp").querySelector(".frame").getBoundingClientRect()), "its stamp");
    return found;
  });
