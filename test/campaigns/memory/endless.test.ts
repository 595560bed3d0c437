/** Endless answers of all kinds at a small size. At full size, with the default limits: npm run memory. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type EndlessClients,
  type EndlessKind,
  endlessKinds,
  startEndless,
  waitUntilMemoryReleased,
} from "./endless.ts";
import { peakMib } from "./pressing.ts";

const onLinux = process.platform === "linux" ? describe : describe.skip;

/** Time for a busy machine to send more than the answers' limit. */
const maxMs = 120_000;
// The heap size in a container of 512 MiB: running answers may hold a quarter of it.
const limits = { nodeOptions: ["--max-old-space-size=256"] };

onLinux("endless answers of one key", () => {
  let endless: EndlessClients;
  beforeAll(async () => {
    endless = await startEndless({ gateway: limits, inference: limits });
  }, 300_000);
  afterAll(() => endless?.stop());

  test("end when they hold too much memory, and leave enough to another key", async () => {
    const { outcomes, message, small, honest } = await endless.press(
      Object.keys(endlessKinds) as EndlessKind[],
      3,
      (ms, failure) => failure !== undefined || ms > maxMs,
    );
    process.stdout.write(
      `endless answers: ${JSON.stringify(outcomes)}, peaks ${peakMib(endless.inference)} and ${peakMib(endless.gateway)} MiB\n`,
    );
    expect([endless.gateway.alive, endless.inference.alive]).toEqual([true, true]);
    expect(small.filter(([status]) => status !== 200)).toEqual([]);
    expect(honest).toEqual([200, 8_000_000]);
    expect(message).toMatch(/^The answer is too large: .* \d+ bytes/);
    await waitUntilMemoryReleased(endless);
  }, 300_000);
});
