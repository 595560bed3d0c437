/** No port is given to two runs, or to two workers of one run. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { freePorts, portRangeCount } from "./free-ports.ts";
import { root } from "../processes.ts";

test("each test worker has a share of the ports, and so do programs outside of the workers", async () => {
  const { default: config } = (await import(join(root, "jest.config.mjs"))) as { default: { maxWorkers: number } };
  expect(portRangeCount).toBeGreaterThan(config.maxWorkers);
});

test("ports chosen by one run of the tests are in use for another run before any program listens on them", async () => {
  const [port, withOffset] = (await freePorts(2, [0, 100])) as [number, number];
  expect(new Set([port, port + 100, withOffset, withOffset + 100]).size).toBe(4);
  for (const chosen of [port, port + 100, withOffset, withOffset + 100]) {
    const other = createSocket("udp4");
    other.bind({ port: chosen, address: "127.0.0.1", exclusive: true });
    const [error] = (await once(other, "error")) as [NodeJS.ErrnoException];
    expect(error.code).toBe("EADDRINUSE");
    other.close();
  }
});
