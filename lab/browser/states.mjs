// The states of the page that are looked at: by axe for what it finds, and by
// people as pictures.

import { asked, call, choose, press, result } from "./browser.mjs";

const question = async (page) => {
  await call(page);
  await asked(page, /^Which/);
};
const done = async (page) => {
  await question(page);
  await press(page, "Answer");
  await result(page);
};

// The line under the matrix when all of its calls are played: "44 of 44, …".
export const everyRun = /^(\d+) of \1, /;

export const states = {
  "first-screen": {},
  "play-question": { reach: question },
  "play-effect-twice": { hash: "tour-2", reach: done },
  "state-sealed": {
    reach: async (page) => {
      await question(page);
      await page.getByRole("tab", { name: "Sealed state" }).click();
    },
  },
  "state-opened": {
    hash: "tour-3",
    reach: async (page) => {
      await question(page);
      await press(page, "Open");
      await page.locator(".letter").waitFor();
    },
  },
  message: {
    reach: async (page) => {
      await question(page);
      await page.getByRole("button", { name: /^input_required/ }).click();
    },
  },
  killed: {
    hash: "tour-4",
    reach: async (page) => {
      await question(page);
      await press(page, /^kill it/);
      await page.getByText("the one that is left").waitFor();
    },
  },
  tampered: {
    hash: "tour-5",
    reach: async (page) => {
      await question(page);
      await press(page, "Change one byte");
      await press(page, "Answer");
      await result(page);
    },
  },
  declined: {
    reach: async (page) => {
      await question(page);
      await press(page, "Decline");
      await result(page);
    },
  },
  "coroutine-held": {
    reach: async (page) => {
      await choose(page, { style: "coroutine" });
      await question(page);
    },
  },
  legacy: { hash: "tour-6", reach: done },
  "response-lost": {
    hash: "tour-7",
    reach: async (page) => {
      await question(page);
      await page.getByLabel("lose the response").check();
      await press(page, "Answer");
      await page.getByRole("button", { name: "Send the same request again" }).waitFor();
    },
  },
  "task-taken-over": {
    hash: "tour-9",
    reach: async (page) => {
      await question(page);
      await press(page, "Answer");
      await page.locator(".caption", { hasText: "works at line" }).waitFor();
      await press(page, /^kill it/);
      await page.locator(".caption", { hasText: "took the task over" }).waitFor();
      await result(page);
    },
  },
  // These come over a line that is cut.
  lost: {
    line: true,
    reach: async (page, line) => {
      await question(page);
      line.cut();
      await page.getByText("Answer when it is back").first().waitFor();
    },
  },
  "lost-legacy": {
    hash: "tour-6",
    line: true,
    reach: async (page, line) => {
      await question(page);
      line.cut();
      await result(page);
    },
  },
  "lost-attack": {
    line: true,
    reach: async (page, line) => {
      line.cut();
      await page.locator(".status.lost").waitFor();
      await page.getByRole("link", { name: "Attack" }).click();
      await page.getByText("cut short").first().waitFor();
    },
  },
  attack: {
    hash: "attack",
    reach: async (page) => {
      await page.locator(".every .badge").first().waitFor();
      await page.locator(".pending").first().waitFor({ state: "detached" });
    },
  },
  "attack-with-store": {
    hash: "attack",
    reach: async (page) => {
      await page.getByLabel("with a store").check({ force: true });
      await page.locator(".every .badge.stored").first().waitFor();
      await page.locator(".pending").first().waitFor({ state: "detached" });
    },
  },
  compare: { hash: "compare", reach: (page) => page.getByRole("heading", { name: /lines differ\. On the wire, none/ }).waitFor() },
  matrix: {
    hash: "matrix",
    reach: async (page) => {
      await page.getByText(everyRun).waitFor();
      await page.locator(".outcome").first().waitFor();
    },
  },
};
