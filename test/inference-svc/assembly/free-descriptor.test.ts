/** The check for a free file descriptor, in a process that has none left. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { type Socket, connect } from "node:net";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { endWithThisProcess } from "@sluice/local/processes.js";
import { bareEnvironment, eventually, root } from "../../support/processes.ts";

/** Uses up its descriptors, frees them and checks on command. Accepted connections stay open. */
const program = `
import { closeSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { checkDescriptors } from "@sluice/inference-svc/assembly/free-descriptor.js";
const held = [];
const open = () => { try { for (;;) held.push(openSync("/dev/null")); } catch {} };
const server = createServer(() => {});
const tell = (value) => console.log(JSON.stringify(value ?? "free"));
const commands = {
  open,
  close: () => { for (const each of held.splice(0)) closeSync(each); },
  check: () => tell(checkDescriptors()),
};
createInterface({ input: process.stdin }).on("line", (name) => { commands[name](); tell(name); });
checkDescriptors();
server.listen(0, "127.0.0.1", () => tell(server.address().port));
`;

class Starved {
  readonly #child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: `${root}/test`,
    env: bareEnvironment(),
    stdio: ["pipe", "pipe", "inherit"],
  });
  readonly #lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  readonly #untie = endWithThisProcess(this.#child.pid as number, "KILL");

  /** Number of open descriptors. */
  get used(): number {
    return readdirSync(`/proc/${this.#child.pid}/fd`).length;
  }

  async read(): Promise<unknown> {
    return JSON.parse((await this.#lines.next()).value as string);
  }

  async run(command: "open" | "close"): Promise<void> {
    this.#child.stdin.write(`${command}\n`);
    expect(await this.read()).toBe(command);
  }

  async check(): Promise<unknown> {
    this.#child.stdin.write("check\n");
    const found = await this.read();
    expect(await this.read()).toBe("check");
    return found;
  }

  limit(descriptors: number): void {
    execFileSync("prlimit", ["--pid", String(this.#child.pid), `--nofile=${descriptors}:`]);
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
    await this.#untie();
  }
}

const noneLeft = { reason: "no file descriptor is left (EMFILE)", isPartial: false };
const limit = 256;
let starved: Starved;
let connections: Socket[];

beforeEach(() => {
  connections = [];
  starved = new Starved();
});
afterEach(async () => {
  for (const connection of connections) connection.destroy();
  await starved.stop();
});

function open(port: number): Socket {
  const connection = connect(port, "127.0.0.1").on("error", () => {});
  connections.push(connection.resume());
  return connection;
}

test("a process without a free file descriptor ends new connections until it has one again", async () => {
  const port = (await starved.read()) as number;
  starved.limit(limit);
  await starved.run("open");
  for (let n = 0; n < 3; n++) {
    expect(await starved.check()).toEqual(noneLeft);
    await once(open(port), "close");
  }
  await starved.run("close");
  expect(await starved.check()).toBe("free");
});

test("a process without a free file descriptor ends connections also when Node has lost its own reserve", async () => {
  const port = (await starved.read()) as number;
  starved.limit(limit);
  await starved.run("open");
  const { used } = starved;
  // Below this limit Node cannot open its spare descriptor again, as if a thread had taken the descriptor.
  starved.limit(3);
  open(port);
  await eventually(() => starved.used === used - 1);
  starved.limit(limit);
  // The first connection gets the last free descriptor.
  await eventually(() => starved.used === used);
  const second = open(port);
  await once(second, "connect");
  expect(await starved.check()).toEqual(noneLeft);
  if (!second.closed) await once(second, "close");
  await starved.run("close");
  expect(await starved.check()).toBe("free");
});
