/**
 * Measures the cost of refusing a turn: `node test/dist/campaigns/bench/refusal.js`. It compares the processor time for a refusal by the gateway,
 * before and after parsing the request, with the minimum in Node. The three are measured in turn, so a busy machine affects all of them.
 */
import { Connection, prepare } from "./client/connection.ts";
import { cpuNs } from "../../support/machine.ts";
import { median } from "./measure/rounds.ts";
import type { RefuserCommands, RefusalMethod } from "./roles/refuser.ts";
import { Role } from "./roles/role.ts";

const ways: readonly RefusalMethod[] = ["a bare socket", "bare node:http", "parsed", "unparsed"];
const rounds = 5;
const warmUp = 10_000;
const requestsEach = 3_000;
const atOnce = 64;
const serverCpu = 0;

class Subject {
  readonly way: RefusalMethod;
  readonly us: number[] = [];
  readonly #role = new Role<RefuserCommands>("./refuser.js", serverCpu);
  #connections: Connection[] = [];
  #request = prepare({ port: 0, base: "/api", format: "responses", key: "none" }, { kind: "json" });

  constructor(way: RefusalMethod) {
    this.way = way;
  }

  async open(): Promise<void> {
    const target = {
      port: await this.#role.call("listen", this.way),
      base: "/api",
      format: "responses",
      key: "none",
    } as const;
    this.#request = prepare(target, { kind: "json" });
    this.#connections = Array.from({ length: atOnce }, () => new Connection(target));
  }

  /** @returns microseconds of the server's processor time for each of these refusals */
  async refuse(count: number): Promise<number> {
    const before = cpuNs(this.#role.pid);
    let left = count;
    const sendRequest = async (connection: Connection) => {
      while (left-- > 0) await connection.exchange(this.#request).catch(onlyRefused);
    };
    await Promise.all(this.#connections.map(sendRequest));
    return (cpuNs(this.#role.pid) - before) / 1_000 / count;
  }

  async stop(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await this.#role.stop();
  }
}

function onlyRefused(error: Error): void {
  if (!error.message.startsWith("status 503")) throw error;
}

const subjects = ways.map((way) => new Subject(way));
try {
  for (const subject of subjects) {
    await subject.open();
    await subject.refuse(warmUp);
  }
  for (let round = 0; round < rounds; round++) {
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      subject.us.push(await subject.refuse(requestsEach));
    }
  }
  for (const { way, us } of subjects) console.log(`${way.padEnd(14)}  ${median(us).toFixed(0)} us`);
} finally {
  for (const subject of subjects) await subject.stop();
}
