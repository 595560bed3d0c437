/** Processes with little memory and few descriptors. At full size, with the default limits: npm run memory. */
import { type Socket, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { type ServiceRoom, startLimited } from "./limited.ts";
import {
  type PressedInstallation,
  type PressedTogether,
  peakMib,
  startPressed,
  startPressedTogether,
} from "./pressing.ts";

const onLinux = process.platform === "linux" ? describe : describe.skip;

const mib = 1024 * 1024;
// The heap size in a container of 512 MiB: half of it may be reserved.
const limits = { nodeOptions: ["--max-old-space-size=256"] };
const maxPeakMib = 512;

onLinux("one client that sends more than fits in memory", () => {
  let pressed: PressedInstallation;
  beforeAll(async () => {
    pressed = await startPressed({ gateway: limits, inference: limits });
  }, 300_000);
  afterAll(() => pressed?.stop());

  test("gets 14 bodies of 31 MiB answered or refused with Retry-After, and another key is answered", async () => {
    const { outcomes, small } = await pressed.press({
      kind: "bodies",
      count: 14,
      bytes: 31 * mib,
      key: pressed.installation.apiKey,
    });
    expect(Object.keys(outcomes).filter((outcome) => !["200", "503"].includes(outcome))).toEqual([]);
    expect(small.filter(([status]) => status === 200).length).toBeGreaterThan(0);
    expect([pressed.gateway.alive, pressed.inference.alive]).toEqual([true, true]);
    expect(peakMib(pressed.gateway)).toBeLessThan(maxPeakMib);
  }, 600_000);

  test("gets 40 messages of 48 MiB without a key refused by their headers", async () => {
    const before = peakMib(pressed.inference);
    const { outcomes } = await pressed.press({ kind: "messages", count: 40, bytes: 48 * mib - 1_000 });
    expect([outcomes, pressed.inference.alive]).toEqual([{ 16: 40 }, true]);
    expect(peakMib(pressed.inference)).toBeLessThan(Math.max(before, maxPeakMib));
  }, 600_000);
});

onLinux("one client that sends more than fits in memory of gateway and inference-svc in one process", () => {
  let pressed: PressedTogether;
  beforeAll(async () => {
    pressed = await startPressedTogether(limits);
  }, 300_000);
  afterAll(() => pressed?.stop());

  test("leaves the process alive and its memory bounded, after 28 large bodies and 40 large messages", async () => {
    const { outcomes, small } = await pressed.press({
      kind: "bodies",
      count: 28,
      bytes: 15 * mib,
      key: pressed.installation.apiKey,
    });
    expect(Object.keys(outcomes).filter((outcome) => !["200", "503"].includes(outcome))).toEqual([]);
    expect(outcomes["200"]).toBeGreaterThan(0);
    expect(small.filter(([status]) => status === 200).length).toBeGreaterThan(0);
    const refused = await pressed.press({ kind: "messages", count: 40, bytes: 48 * mib - 1_000 });
    expect(refused.outcomes).toEqual({ 16: 40 });
    expect(pressed.installation.pids()["gateway"]).toBe(pressed.pid);
    expect(peakMib(pressed)).toBeLessThan(maxPeakMib);
  }, 600_000);
});

onLinux("more connections than file descriptors", () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation();
  }, 300_000);
  afterAll(() => installation?.stop());

  test.each<[ServiceRoom, number]>([
    ["gateway", 256],
    // These services open all their modules at once during the start, with more files than the gateway's limit of descriptors.
    ["inference-svc", 512],
    ["admin-svc", 512],
  ])(
    "leave the service %s with %i descriptors alive, and it serves others after their end",
    async (room, descriptors) => {
      const limited = await startLimited(installation, room, { prefix: ["prlimit", `--nofile=${descriptors}`] });
      const isReady = () =>
        fetch(`http://127.0.0.1:${limited.healthPort}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
      const clients: Socket[] = [];
      try {
        const opened = Array.from({ length: 2 * descriptors }, () => {
          const client = connect(limited.port, "127.0.0.1").on("error", () => {});
          clients.push(client);
          return new Promise((resolve) => client.once("connect", resolve).once("close", resolve));
        });
        await Promise.all(opened);
        await eventually(isReady);
        expect(limited.alive).toBe(true);
      } finally {
        for (const client of clients) client.destroy();
      }
      await eventually(isReady);
      expect(limited.output()).not.toContain("EMFILE");
      await limited.stop();
    },
    300_000,
  );

  test("leave a gateway with 256 descriptors able to answer 500 concurrent clients", async () => {
    const limited = await startLimited(installation, "gateway", { prefix: ["prlimit", "--nofile=256"] });
    const body = '{"model":"sluice/echo","input":"x"}';
    const head = `POST /api/v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${installation.apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const answers = await Promise.all(
      Array.from(
        { length: 500 },
        () =>
          new Promise<string>((resolve) => {
            const client = connect(limited.port, "127.0.0.1", () => client.write(head + body));
            client.once("data", (answer: Buffer) => resolve(answer.toString("latin1", 9, 12)));
            client.on("error", () => {}).once("close", () => resolve("closed"));
          }),
      ),
    );
    const served = answers.filter((status) => ["200", "429", "503"].includes(status)).length;
    // A busy process may end a connection before it reads the request; without this limit more than half of the connections were lost, with the
    // process.
    expect(limited.alive).toBe(true);
    expect(served).toBeGreaterThanOrEqual(450);
    await limited.stop();
  }, 300_000);
});
