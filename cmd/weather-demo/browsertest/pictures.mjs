// Takes a picture of each state of the page, in both themes and both widths:
//
//   node pictures.mjs http://127.0.0.1:8080/ FOLDER
//   node pictures.mjs http://127.0.0.1:8080/ page.png first-screen    one, for the README
//
// The fonts of the pictures are those that install installs.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, visit } from "./browser.mjs";
import { states } from "./states.mjs";

const [, , url, to, only] = process.argv;
const fonts = { "--sans": "Inter", "--mono": "JetBrains Mono", "--serif": "Charis SIL" };

async function take(name, theme, width, file) {
  const v = await visit(browser, url, { theme, width, height: width === 390 ? 844 : 900, hash: states[name].hash });
  await v.page.evaluate((fonts) => {
    for (const [name, font] of Object.entries(fonts)) document.documentElement.style.setProperty(name, `"${font}"`);
  }, fonts);
  await states[name].reach?.(v.page);
  await v.page.mouse.move(0, 0);
  await v.page.waitForTimeout(250); // for the fonts
  await v.page.screenshot({ path: file, fullPage: !only });
  await v.close();
}

const browser = await launch();
if (only) {
  await take(only, "light", 1440, to);
} else {
  mkdirSync(to, { recursive: true });
  for (const theme of ["light", "dark"]) {
    for (const width of [1440, 390]) {
      for (const name of Object.keys(states)) await take(name, theme, width, join(to, `${name}-${width}-${theme}.png`));
    }
  }
}
await browser.close();
