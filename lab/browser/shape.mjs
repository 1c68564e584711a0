// Checks of the page's shape: what a stranger meets first, on which screen and line.

import { asked, call, press } from "./browser.mjs";

const words = ["Through MCP, the Model Context Protocol,", "A server cannot call it back:"];

export function shapeChecks(check, url, { must, same, eventually }) {
  check("first words", {}, async (page) => {
    const seen = await page.locator("#app").innerText();
    for (const w of words) must(seen.includes(w), `${w} is not on the first screen`);
    must((await page.locator(".hero p").innerText()).match(/\. |\.$/g).length === 3, "they are three sentences");
    for (const style of ["once", "steps", "coroutine", "journal", "sse_shim", "naive"]) {
      must(!(await page.getByRole("radio", { name: new RegExp(`^${style}`) }).isVisible()), `${style} is named before it means something`);
    }
    await call(page);
    await asked(page, "Which units?");
    await press(page, "Start over");
    await eventually(async () => must(await page.locator(".tiles").first().isVisible(), "the styles are there after a call"));
  });

  check("titles", {}, async (page) => {
    const titles = [];
    for (const hash of ["play", "tour-4", "attack", "compare", "matrix"]) {
      await page.evaluate((to) => (location.hash = to), hash);
      await page.locator(`body.${hash.startsWith("tour") ? "play" : hash}`).waitFor();
      titles.push(await page.title());
    }
    same(
      titles,
      ["Play a call", "Kill the server", "Attack a call", "Compare two styles", "Every style"].map((t) => `${t} · weather-demo`),
      "the titles",
    );
  });

  for (const [width, height] of [
    [390, 844],
    [320, 568],
  ]) {
    check(`in reach/${width}`, { width, height }, async (page) => {
      const button = page.getByRole("button", { name: /^Call weather_/ });
      for (const part of [0, 0.5, 1]) {
        await page.evaluate((part) => scrollTo(0, part * document.documentElement.scrollHeight), part);
        const box = await button.boundingBox();
        must(
          box.y >= 0 && box.y + box.height <= height && box.x >= 0 && box.x + box.width <= width,
          `Call is at ${JSON.stringify(box)} after scrolling ${part}`,
        );
        const hit = await page.evaluate(({ x, y }) => document.elementFromPoint(x + 5, y + 5)?.closest("button")?.textContent, box);
        must(hit?.startsWith("Call "), "something lies over Call");
      }
      // Nothing ends under the button.
      const last = await page.locator(".ledger").boundingBox();
      const bar = await page.locator(".primary-bar").boundingBox();
      must(last.y + last.height <= bar.y + 1, "Call covers the end of the page");
    });
  }

  // Who follows the tour sees what to do and the button that does it, in every step of a call.
  for (const [width, height] of [
    [390, 664],
    [412, 915],
    [768, 1024],
    [1024, 768],
    [1280, 720],
    [1366, 768],
    [1440, 900],
    [1536, 864],
    [1600, 900],
  ]) {
    check(`in sight/${width}`, { width, height, hash: "tour-7" }, async (page) => {
      const inSight = (when) =>
        eventually(async () => {
          for (const what of [".says", "button.primary"]) {
            const box = await page.locator(what).first().boundingBox();
            must(box && box.y >= -1 && box.y + box.height <= height + 1, `${what} of ${when} is at ${JSON.stringify(box)}`);
          }
        });
      await inSight("the start");
      await call(page);
      await asked(page, "Which units?");
      await inSight("the question");
      await page.getByLabel("lose the response").check();
      await press(page, "Answer");
      await page.getByRole("button", { name: "Send the same request again" }).waitFor();
      await inSight("the loss");
      await press(page, "Send the same request again");
      await page.locator(".result .kind", { hasText: "The result" }).waitFor();
      await inSight("the end");
    });
  }

  // Where the system chooses the colours, what is chosen and what ran is told in other
  // ways than by a colour of the page's own.
  for (const width of [1440, 390]) {
    check(`forced colours/${width}`, { width, height: 844 }, async (page) => {
      await page.emulateMedia({ forcedColors: "active" });
      const differ = async (what, selector, other) => {
        const [a, b] = await page.evaluate(
          (selectors) =>
            selectors.map((s) => {
              const el = document.querySelector(s);
              const { backgroundColor, outlineStyle, outlineWidth, textDecorationLine, borderTopColor } = getComputedStyle(el);
              return JSON.stringify([backgroundColor, outlineStyle, outlineWidth, textDecorationLine, borderTopColor]);
            }),
          [selector, other],
        );
        must(a !== b, `${what}: ${a} is as ${b}`);
      };
      const seen = (what, selector, pseudo) =>
        page.evaluate(
          ([what, selector, pseudo]) => {
            const el = document.querySelector(selector);
            const ground = (e) =>
              e && getComputedStyle(e).backgroundColor.match(/, 0\)$/) ? ground(e.parentElement) : e ? getComputedStyle(e).backgroundColor : "";
            if (getComputedStyle(el, pseudo).backgroundColor === ground(el.parentElement)) throw new Error(`${what} cannot be seen`);
          },
          [what, selector, pseudo],
        );
      await differ("the view", ".bar [aria-current]", ".bar nav a:not([aria-current])");
      await differ("the step", ".tour .here", ".tour a:not(.here)");
      await differ("the place", ".pills :checked+span", ".pills :not(:checked)+span");
      await page.locator("summary").click();
      await differ("the style", ".tiles :checked+span", ".tiles :not(:checked)+span");
      await differ("the era", ".segments :checked+span", ".segments :not(:checked)+span");
      await call(page);
      await asked(page, "Which units?");
      await differ("the answer", ".choice:has(:checked)", ".choice:not(:has(:checked))");
      await differ("the tab", "[aria-selected=true]", "[aria-selected=false]");
      await seen("the mark of a line that ran", ".marks i.ran", "::before");
      await press(page, "Answer");
      await page.locator(".marks i.again").first().waitFor();
      await seen("the mark of a line that ran again", ".marks i.again", "::before");
      await seen("the dot of an effect", ".marks em.effect", null);
      await page.getByRole("link", { name: "Attack" }).click();
      await page.locator(".every .badge").first().waitFor();
      await differ("the attack", ".attacks .chosen b", ".attacks li:not(.chosen) b");
      await differ("the style that is attacked", ".every .chosen code", ".every tr:not(.chosen) code");
    });
  }
}
