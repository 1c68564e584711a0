// Takes a picture of each state of the page, in both themes and both widths:
//
//   node pictures.mjs http://127.0.0.1:8080/ FOLDER
//   node pictures.mjs http://127.0.0.1:8080/ page.png killed dark     one, for the README
//
// The fonts of the pictures are those that install installs.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fonts, launch, setFonts, visit } from "./browser.mjs";
import { lineTo } from "./demo.mjs";
import { withPalette } from "./png.mjs";
import { states } from "./states.mjs";

const [, , url, to, only, theme = "light"] = process.argv;

async function take(name, theme, width, file) {
  const line = states[name].line && (await lineTo(url));
  const v = await visit(browser, line?.url ?? url, { theme, width, height: width === 390 ? 844 : 900, hash: states[name].hash });
  await setFonts(v.page, fonts.pictures);
  await states[name].reach?.(v.page, line);
  await v.page.mouse.move(0, 0);
  await v.page.waitForTimeout(250); // for the fonts
  await v.page.screenshot({ path: file, fullPage: !only });
  await v.close();
  line?.close();
}

const browser = await launch();
if (only) {
  await take(only, theme, 1440, to);
  writeFileSync(to, withPalette(readFileSync(to)));
} else {
  mkdirSync(to, { recursive: true });
  for (const theme of ["light", "dark"]) {
    for (const width of [1440, 390]) {
      for (const name of Object.keys(states)) await take(name, theme, width, join(to, `${name}-${width}-${theme}.png`));
    }
  }
}
await browser.close();
