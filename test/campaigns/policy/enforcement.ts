/** Time from an assignment to the first blocked request, at three gateways and directly at two inference processes. */
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import type { Installation } from "../../support/installation.ts";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { Administrator, postBlockedTurn } from "./administrator.ts";
import { type Figure, quantile, spreadLabel } from "./figure.ts";
import { startGateway } from "../../support/members.ts";

/** Sends a request. @returns whether it was blocked */
type Door = () => Promise<boolean>;

/** Sends requests until three in a row are blocked. @returns start of the last one that was not blocked, by performance.now() */
async function untilBlocked(door: Door, from: { at: number }): Promise<number> {
  let lastPassed = Number.NEGATIVE_INFINITY;
  for (let blocked = 0; blocked < 3; ) {
    const began = performance.now();
    if (await door()) {
      blocked++;
      continue;
    }
    blocked = 0;
    lastPassed = began;
    if (began - from.at > 30_000) throw new Error("never enforced");
  }
  return lastPassed;
}

export async function measureEnforcement(installation: Installation, rounds: number): Promise<Figure[]> {
  const administrator = new Administrator(installation);
  const inference = [installation.ports.inference, installation.ports.inference + 100];
  const gateways = [
    await startGateway(installation, installation.ports.admin, inference),
    await startGateway(installation, installation.ports.admin, inference),
  ];
  const clients = inference.map((port) => dial(`127.0.0.1:${port}`));
  const key = await administrator.makeKey();
  const guardrail = await administrator.makeGuardrail();
  const turn = turnRequest("sluice/echo", "forbidden");
  const doors: Door[] = [
    ...[installation.ports.gateway, ...gateways.map(({ port }) => port)].map((port): Door => {
      let session = 0;
      // Different session ids spread the requests over the processes.
      return async () => (await postBlockedTurn(port, key, `s${session++ % 8}`)) === 403;
    }),
    ...clients.map(
      (client): Door =>
        () =>
          runTurn(client, key, turn).over.then(
            () => false,
            () => true,
          ),
    ),
  ];
  const fromCall: number[] = [];
  const fromAnswer: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await Promise.all(doors.map((door) => door()));
    const from = { at: performance.now() };
    const watching = doors.map((door) => untilBlocked(door, from));
    await administrator.assign(guardrail, [hashKey(key)]);
    const answeredAt = performance.now();
    for (const lastPassed of await Promise.all(watching)) {
      fromCall.push(Math.max(0, lastPassed - from.at));
      fromAnswer.push(Math.max(0, lastPassed - answeredAt));
    }
    await administrator.assign(guardrail, [hashKey(key)], true);
  }
  for (const client of clients) client.close();
  for (const gateway of gateways) await gateway.stop();
  const measure = (since: string) =>
    `from ${since} an assignment until the last request began that it did not stop, of three gateways and two inference processes`;
  return [
    {
      measure: measure("the call of"),
      found: spreadLabel(fromCall),
      goal: "p99 250 ms, max 1000 ms",
      reached: quantile(fromCall, 0.99) <= 250 && Math.max(...fromCall) <= 1_000,
    },
    {
      measure: measure("the answer to"),
      found: spreadLabel(fromAnswer),
      goal: "max 1000 ms",
      reached: Math.max(...fromAnswer) <= 1_000,
    },
  ];
}
