/** A Redis in read-only mode: after a failover the connection may lead to the demoted replica. */
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, createServer } from "node:net";
import { afterEach, expect, test } from "@jest/globals";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Link } from "../../support/link.ts";
import { eventually } from "../../support/processes.ts";

const readOnly = "-READONLY You can't write against a read only replica.\r\n";

/** Answers the commands of a limiter: admits everything, or refuses to write. */
class ScriptedRedis {
  isPrimary: boolean;
  /** Keys of executed scripts. */
  readonly written = new Set<string>();
  /** Number of refused scripts. */
  refused = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server = createServer((socket) => this.#serve(socket));

  constructor(isPrimary: boolean) {
    this.isPrimary = isPrimary;
  }

  async listen(): Promise<{ readonly host: string; readonly port: number }> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return { host: "127.0.0.1", port: (this.#server.address() as AddressInfo).port };
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    let text = "";
    socket.setEncoding("latin1").on("data", (bytes: string) => {
      text += bytes;
      for (let command = takeCommand(text); command; command = takeCommand(text)) {
        text = text.slice(command.length);
        socket.write(this.#answer(command.words));
      }
    });
  }

  #answer([name = "", script = "", , key = ""]: readonly string[]): string {
    if (/^info$/i.test(name)) return "$9\r\nloading:0\r\n";
    if (/^ping$/i.test(name)) return "+PONG\r\n";
    if (!/^eval/i.test(name) || script === "") return "+OK\r\n";
    if (!this.isPrimary) {
      this.refused++;
      return readOnly;
    }
    this.written.add(key);
    return key.includes(":processes:") ? ":1\r\n" : "*3\r\n$0\r\n\r\n$1\r\n0\r\n$1\r\n0\r\n";
  }
}

/** The first whole command; undefined before all of it has arrived. */
function takeCommand(text: string): { readonly words: string[]; readonly length: number } | undefined {
  const [head, count] = /^\*(\d+)\r\n/.exec(text) ?? [];
  if (head === undefined) return undefined;
  const words: string[] = [];
  let at = head.length;
  for (let n = 0; n < Number(count); n++) {
    const [prefix, length] = /^\$(\d+)\r\n/.exec(text.slice(at)) ?? [];
    if (prefix === undefined || text.length < at + prefix.length + Number(length) + 2) return undefined;
    at += prefix.length;
    words.push(text.slice(at, at + Number(length)));
    at += Number(length) + 2;
  }
  return { words, length: at };
}

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function startPair() {
  const [one, other] = [new ScriptedRedis(true), new ScriptedRedis(false)];
  const [toOne, toOther] = [await one.listen(), await other.listen()];
  const link = new Link(toOne);
  await link.listen();
  const registry = new Registry();
  const logged: string[] = [];
  const log = {
    info: (text: string) => logged.push(text),
    warn: (_: unknown, text: string) => logged.push(text),
  };
  const limiter = new Limiter({
    config: () => ({ streams_per_key: 64, requests_per_minute: null, tokens_per_minute: null }),
    origin: FaultOrigin.GATEWAY,
    registry,
    shared: { url: `redis://127.0.0.1:${link.port}`, process: "one", kind: "gateway", log: log as never, registry },
  });
  ends.push(
    () => one.stop(),
    () => other.stop(),
    () => link.cut(),
    () => limiter.stop(),
  );
  const isShared = async () => /^sluice_limits_shared 1$/m.test(await registry.metrics());
  const enter = async (keyHash = "any") => limiter.enter({ keyHash, rateLimits: { requestsPerMinute: 10 } } as never);
  await eventually(isShared);
  return { one, other, toOther, link, logged, isShared, enter };
}

const counted = "limits are counted in Redis";
const alone = "Redis does not answer: this process counts limits alone";

test("a connection to a demoted Redis replica is reopened, and leads to the new primary", async () => {
  const { one, other, toOther, link, logged, isShared, enter } = await startPair();
  link.lead(toOther);
  one.isPrimary = false;
  other.isPrimary = true;
  expect((await enter()).refusal).toBeUndefined();
  await eventually(isShared);
  expect((await enter("later")).refusal).toBeUndefined();
  expect([...other.written]).toContain("sluice:limits:key:later");
  expect(logged).toEqual([counted, alone, counted]);
});

test("a read-only Redis server counts as unreachable for as long as it refuses writes", async () => {
  const { one, logged, isShared, enter } = await startPair();
  one.isPrimary = false;
  expect((await enter()).refusal).toBeUndefined();
  const { refused } = one;
  await eventually(() => one.refused >= refused + 3);
  expect((await enter()).refusal).toBeUndefined();
  expect(logged).toEqual([counted, alone]);
  expect(await isShared()).toBe(false);
  one.isPrimary = true;
  await eventually(isShared);
  expect(logged).toEqual([counted, alone, counted]);
});
