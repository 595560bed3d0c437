/** Clients of other languages run in a network namespace with only a loopback interface, and can reach only the gateway. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { NamespaceGate, isolation } from "../../../support/programs/namespace.ts";

const servers = [0, 1].map(() => createServer((_, response) => response.end("here")));
const ports = (): readonly number[] => servers.map((server) => (server.address() as AddressInfo).port);
beforeAll(async () => {
  for (const server of servers) await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  for (const server of servers) server.close();
});

/** Prints for each port whether a request is answered. */
const asks =
  "for (const port of process.argv.slice(1))" +
  " console.log(await fetch(`http://127.0.0.1:${port}`).then((answer) => answer.text(), () => 'refused'))";

(isolation ? describe : describe.skip)("a program in a network namespace", () => {
  test("reaches the port that it is given, and no other of the machine", async () => {
    const gate = await NamespaceGate.open(ports()[0]!);
    try {
      const [command = "", ...args] = gate.enter([
        process.execPath,
        "--input-type=module",
        "--eval",
        asks,
        ...ports().map(String),
      ]);
      expect(await text(spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] }).stdout)).toBe("here\nrefused\n");
    } finally {
      gate.close();
    }
  });
});
