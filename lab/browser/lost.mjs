// Checks of a connection that is lost: the page says what was lost, and goes on when
// the connection is back.

import { asked, call, choose, press, result } from "./browser.mjs";
import { ownDemo, lineTo } from "./demo.mjs";
import { everyRun } from "./states.mjs";

export function lostChecks(check, url, { must, same, eventually }) {
  const said = (page, words) =>
    eventually(async () => {
      const caption = await page.locator(".caption").textContent();
      must(words.test(caption), `the caption is: ${caption}`);
    });
  const back = (page) => page.locator(".status.connected").waitFor({ state: "attached" });
  const callAgain = async (page) => {
    await back(page);
    await press(page, "Call again");
    await asked(page, "Which units?");
    await press(page, "Answer");
    const r = await result(page);
    same([r.text, r.charges], ["Lisbon: 22°C, partly cloudy.", 1], "the next call");
  };

  check("lost/question", { on: ownDemo }, async (page, demo) => {
    await call(page);
    await asked(page, "Which units?");
    await demo.stop();
    await said(page, /^The connection to both instances is lost\. The call is not/);
    must(await page.getByRole("button", { name: "Answer", exact: true }).isDisabled(), "one can answer nobody");
    same(await page.locator(".lane-head.refusal").allInnerTexts(), ["Instance A\nlost", "Instance B\nlost"], "the lanes");
    await demo.start();
    await said(page, /^The server was started again with another key/);
    same((await result(page)).kind, "The connection is gone", "kind");
    await callAgain(page);
  });

  check("lost/question, and the server stays", { on: () => lineTo(url) }, async (page, line) => {
    await call(page);
    await asked(page, "Which units?");
    line.cut();
    await said(page, /^The connection to both instances is lost/);
    await press(page, "Open");
    await said(page, /^The connection is lost: no server can open the state/);
    line.join();
    await said(page, /^The connection is back\. Answer/);
    await press(page, "Answer");
    const r = await result(page);
    same([r.text, r.charges], ["Lisbon: 22°C, partly cloudy.", 1], "the call that went on");
  });

  check("lost/legacy question", { on: ownDemo }, async (page, demo) => {
    await choose(page, { style: "sse_shim", legacy: true });
    await call(page);
    await asked(page, "Which units?");
    await demo.stop();
    await said(page, /^The connection is lost, and the open request with it/);
    await demo.start();
    await callAgain(page);
  });

  for (const legacy of [false, true]) {
    check(`lost/during a ${legacy ? "legacy" : "modern"} call`, { on: ownDemo }, async (page, demo) => {
      await choose(page, { legacy });
      demo.pause();
      await call(page);
      await page.getByText("The request is with the server.").waitFor();
      await demo.stop();
      await said(
        page,
        legacy
          ? /^The connection is lost, and the open request with it/
          : /^The connection was lost before the response came\. Whether the handler ran, no client can know/,
      );
      await page.locator(".rule", { hasText: "the connection is lost" }).waitFor();
      must(await page.getByRole("button", { name: "Call again" }).isDisabled(), "one can call nobody");
      await demo.start();
      await callAgain(page);
    });
  }

  check("lost/attack", { hash: "attack", on: ownDemo }, async (page, demo) => {
    const pending = page.locator(".pending");
    await page.locator(".every .badge").first().waitFor();
    await eventually(async () => same(await pending.count(), 0, "pending"));
    demo.pause();
    await page.getByRole("button", { name: /^Answer A and B at once/ }).click();
    await page.locator(".every h2", { hasText: "Answer A and B at once" }).waitFor();
    await demo.stop();
    await said(page, /^The attack was cut short, so there is no verdict: the connection was lost/);
    const played = (await page.locator(".every td:nth-child(2)").allInnerTexts()).sort();
    same([played[0], ...new Set(played.slice(1))], ["cut short", "not played"], "the verdicts of every style");
    await demo.start();
    await eventually(async () => {
      same(await pending.count(), 0, "pending");
      const caption = await page.locator(".caption").textContent();
      must(caption.includes("instance A and instance B both ran it"), caption);
    });
  });

  check("lost/matrix", { on: ownDemo }, async (page, demo) => {
    demo.pause();
    await page.getByRole("link", { name: "Matrix" }).click();
    await page.getByRole("heading", { name: "Every way to write one tool" }).waitFor();
    await demo.stop();
    await page.getByText("The connection is lost. What is missing is played when it is back.").waitFor();
    must((await page.getByText("not played").count()) > 40, "the cells say nothing");
    await demo.start();
    await page.getByText(everyRun).waitFor();
    await page.locator(".outcome").first().waitFor();
  });

  check("lost/compare", { on: ownDemo }, async (page, demo) => {
    demo.pause();
    await page.getByRole("link", { name: "Compare" }).click();
    await demo.stop();
    await page.getByText("Both tools are called again when it is back.").waitFor();
    await demo.start();
    await page.getByRole("heading", { name: "9 lines differ. On the wire, none." }).waitFor();
  });
}
