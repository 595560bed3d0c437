/** A few rounds of each measure: npm run policy takes more. Figures that depend on the speed of the machine have their goal there, and a bound here. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import type { Installation } from "../../support/installation.ts";
import { startRpcProxy } from "../../support/rpc-proxy.ts";
import { Administrator, postBlockedTurn, startPolicyInstallation } from "./administrator.ts";
import { measureCutOff } from "./cut-off.ts";
import { measureEnforcement } from "./enforcement.ts";
import { startGateway, startInference } from "../../support/members.ts";
import { flatPriceModel, measureOvershoot } from "./overshoot.ts";

let installation: Installation;
beforeAll(async () => {
  installation = await startPolicyInstallation(flatPriceModel);
});
afterAll(() => installation?.stop());

test("an acknowledged guardrail assignment is in force everywhere", async () => {
  const [, afterAnswer] = await measureEnforcement(installation, 5);
  expect(afterAnswer).toMatchObject({ reached: true });
});

test("a process without policy updates catches up soon if it can query admin-svc, else serves known keys only", async () => {
  for (const figure of await measureCutOff(installation, 2, 20_000)) expect(figure).toMatchObject({ reached: true });
});

test("a change missed by an inference process still holds for turns through the gateway that acknowledged it", async () => {
  const proxy = await startRpcProxy(installation.ports.admin);
  const inference = await startInference(installation, proxy.port);
  const gateway = await startGateway(installation, installation.ports.admin, [inference.port]);
  try {
    const { managementKey } = installation;
    const administrator = new Administrator({ managementKey, baseUrl: `http://127.0.0.1:${gateway.port}/api/v1` });
    const [guardrail, key] = [await administrator.makeGuardrail(), await administrator.makeKey()];
    expect(await postBlockedTurn(gateway.port, key)).toBe(200);
    proxy.hold("WatchPolicy");
    await administrator.assign(guardrail, [hashKey(key)]);
    expect(await postBlockedTurn(gateway.port, key)).toBe(403);
    await administrator.assign(guardrail, [hashKey(key)], true);
    expect(await postBlockedTurn(gateway.port, key)).toBe(200);
  } finally {
    await gateway.stop();
    await inference.stop();
    await proxy.stop();
  }
});

test("a budget is not overspent by three times as many simultaneous requests as fit", async () => {
  for (const figure of await measureOvershoot(installation, 300)) expect(figure).toMatchObject({ reached: true });
});
