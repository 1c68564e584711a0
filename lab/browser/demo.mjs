// A demo of a check's own, whose process or connection can fail.

import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";
import { createInterface } from "node:readline";

// The binary that is started; the Go test builds it.
const binary = process.env.WEATHER_DEMO;

// ownDemo is a process that can be stopped, and started again at its address.
export async function ownDemo() {
  if (!binary) throw new Error("set WEATHER_DEMO to the path of a weather-demo");
  const demo = {
    address: "127.0.0.1:0",
    async start() {
      demo.process = spawn(binary, ["page", "-http", demo.address], { stdio: ["ignore", "pipe", "inherit"] });
      for await (const line of createInterface(demo.process.stdout)) {
        demo.url = line.replace("listening on ", "");
        demo.address = new URL(demo.url).host;
        return;
      }
      throw new Error("weather-demo did not start");
    },
    // pause leaves its sockets open, and lets nothing answer on them.
    pause: () => demo.process.kill("SIGSTOP"),
    stop() {
      const gone = new Promise((resolve) => demo.process.once("exit", resolve));
      demo.process.kill("SIGKILL");
      return gone;
    },
    close: () => demo.process.kill("SIGKILL"),
  };
  await demo.start();
  return demo;
}

// lineTo is a connection to a server that can be cut and joined. The server stays.
export async function lineTo(url) {
  const { hostname, port } = new URL(url);
  const sockets = new Set();
  let whole = true;
  const listener = createServer((near) => {
    if (!whole) return near.destroy();
    const far = connect(port, hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    whole = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${listener.address().port}/`,
    cut,
    join: () => {
      whole = true;
    },
    close: () => {
      cut();
      listener.close();
    },
  };
}
