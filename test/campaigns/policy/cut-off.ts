/** A gateway and an inference process that receive no messages about changes, first with and then without access to admin-svc. */
import { setTimeout as delay } from "node:timers/promises";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import type { Installation } from "../../support/installation.ts";
import { startRpcProxy } from "../../support/rpc-proxy.ts";
import { Administrator, postBlockedTurn } from "./administrator.ts";
import { type Figure, spreadLabel } from "./figure.ts";
import { startGateway, startInference } from "../../support/members.ts";

/** @param limitMs maximum milliseconds for which they may serve on the old policy; more on a machine with other work */
export async function measureCutOff(installation: Installation, rounds: number, limitMs = 5_000): Promise<Figure[]> {
  const administrator = new Administrator(installation);
  const proxy = await startRpcProxy(installation.ports.admin);
  const inference = await startInference(installation, proxy.port);
  const gateway = await startGateway(installation, proxy.port, [inference.port]);
  const guardrail = await administrator.makeGuardrail();
  const key = await administrator.makeKey();
  const staleMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await postBlockedTurn(gateway.port, key);
    const release = proxy.hold("WatchPolicy");
    // Each round begins at another moment of the interval in which a process notices silence.
    await delay((round % 5) * 1_000);
    const asking = postBlockedTurn(gateway.port, key);
    const calledAt = performance.now();
    await administrator.assign(guardrail, [hashKey(key)]);
    await asking;
    let passedAt = calledAt;
    for (let at = performance.now(); (await postBlockedTurn(gateway.port, key)) !== 403; at = performance.now()) {
      passedAt = at;
      if (at - calledAt > 30_000) throw new Error("never enforced");
    }
    staleMs.push(passedAt - calledAt);
    release();
    await administrator.assign(guardrail, [hashKey(key)], true);
  }
  const stranger = await administrator.makeKey();
  await postBlockedTurn(gateway.port, key);
  await proxy.stop();
  const known = new Set<number>();
  const unknown = new Set<number>();
  for (const until = performance.now() + 5_000; performance.now() < until; ) {
    known.add(await postBlockedTurn(gateway.port, key));
    unknown.add(await postBlockedTurn(gateway.port, stranger));
  }
  await gateway.stop();
  await inference.stop();
  return [
    {
      measure: "the same with the watch cut",
      found: spreadLabel(staleMs),
      goal: `max ${limitMs} ms`,
      reached: Math.max(...staleMs) <= limitMs,
    },
    {
      measure: "admin-svc out of reach for five seconds: statuses of a known key and of an unknown one",
      found: `${[...known].join(", ")} and ${[...unknown].join(", ")}`,
      goal: "200 and 503",
      reached: [...known].join() === "200" && [...unknown].join() === "503",
    },
  ];
}
