/** A half-upgraded installation, in short. Every combination, and all promises: npm run upgrade. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { runUpgradeCampaign } from "./campaign.ts";
import { intendedChanges, coreSuites } from "./conformance.ts";
import { buildEarlier, earlierRevision, findCommitHash } from "./earlier.ts";
import { makeMixedCheckout } from "./mixed.ts";

const from = await findCommitHash(earlierRevision);
const title = from === undefined ? `half upgraded: ${earlierRevision} is not in the history here` : "half upgraded";

(from === undefined ? describe.skip : describe)(title, () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-upgrade-"));
  const earlier = join(folder, "earlier");
  beforeAll(async () => {
    mkdirSync(earlier);
    await buildEarlier(from ?? "", earlier);
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("an earlier gateway serves with a new inference-svc, and a new gateway with an earlier inference-svc", async () => {
    const installations = await runUpgradeCampaign(earlier, [["inference-svc"], ["admin-svc", "gateway"]], coreSuites);
    expect(installations.map(({ verdict }) => verdict.failures)).toEqual(["", ""]);
    for (const { verdict } of installations) {
      expect(verdict.total).toMatch(new RegExp(`^[1-9]\\d* passed, 0 failed, ${intendedChanges.length} skipped$`));
    }
  }, 900_000);

  /** The default file of this build has keys refused by earlier builds. */
  const config = `
providers: [{id: sluice, dialect: echo}]
models: [{id: sluice/echo, endpoints: [{provider: sluice}]}]
`;
  /** A setting unknown to earlier builds, and independent of the configuration file. */
  const later = { account_default: true };
  const createGuardrail = (installation: Installation, more: object) =>
    fetch(`${installation.baseUrl}/guardrails`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "test", ...more }),
    });

  test("an earlier admin-svc gets no guardrail rule that it would ignore", async () => {
    const installation = await startInstallation({
      config,
      checkout: makeMixedCheckout(earlier, ["gateway", "inference-svc"]),
    });
    try {
      expect((await createGuardrail(installation, {})).status).toBe(201);
      const refused = await createGuardrail(installation, later);
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain("account_default: not known to admin-svc, which is of an earlier build");
    } finally {
      await installation.stop();
    }
  });

  test("an earlier inference-svc serves no key with a guardrail it cannot enforce", async () => {
    const installation = await startInstallation({
      config,
      checkout: makeMixedCheckout(earlier, ["gateway", "admin-svc"]),
    });
    const sendRequest = async () => {
      const response = await fetch(`${installation.baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "sluice/echo", input: "Hello" }),
      });
      await response.arrayBuffer();
      return response.status;
    };
    try {
      expect(await sendRequest()).toBe(200);
      await installation.admin("guardrails", "create", "--name", "all", "--block", "secret", "--account-default");
      await eventually(async () => (await sendRequest()) === 503);
    } finally {
      await installation.stop();
    }
  });
});
