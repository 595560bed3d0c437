/** A half-upgraded installation, in short. Every combination, and all promises: npm run upgrade. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type House, startHouse } from "../support/house.ts";
import { eventually } from "../support/processes.ts";
import { runUpgradeCampaign } from "./campaign.ts";
import { changedOnPurpose, core } from "./conformance.ts";
import { buildEarlier, earlierRevision, hashOf } from "./earlier.ts";
import { mix } from "./mixed.ts";

const from = await hashOf(earlierRevision);
const title = from === undefined ? `half upgraded: ${earlierRevision} is not in the history here` : "half upgraded";

(from === undefined ? describe.skip : describe)(title, () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-upgrade-"));
  const earlier = join(folder, "earlier");
  beforeAll(async () => {
    mkdirSync(earlier);
    await buildEarlier(from ?? "", earlier);
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("an earlier gateway serves with a new inference-svc, and the reverse", async () => {
    const houses = await runUpgradeCampaign(earlier, [["inference-svc"], ["admin-svc", "gateway"]], core);
    expect(houses.map(({ verdict }) => verdict.failures)).toEqual(["", ""]);
    for (const { verdict } of houses) {
      expect(verdict.total).toMatch(new RegExp(`^[1-9]\\d* passed, 0 failed, ${changedOnPurpose.length} skipped$`));
    }
  }, 900_000);

  /** The default file of this build has keys refused by earlier builds. */
  const config = `
providers: [{id: sluice, dialect: echo}]
models: [{id: sluice/echo, endpoints: [{provider: sluice}]}]
`;
  /** A setting unknown to earlier builds, and independent of the configuration file. */
  const later = { account_default: true };
  const createGuardrail = (house: House, more: object) =>
    fetch(`${house.baseUrl}/guardrails`, {
      method: "POST",
      headers: { authorization: `Bearer ${house.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "test", ...more }),
    });

  test("an earlier admin-svc gets no rule it would leave out", async () => {
    const house = await startHouse({ config, checkout: mix(earlier, ["gateway", "inference-svc"]) });
    try {
      expect((await createGuardrail(house, {})).status).toBe(201);
      const refused = await createGuardrail(house, later);
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain("account_default: not known to admin-svc, which is of an earlier build");
    } finally {
      await house.stop();
    }
  });

  test("an earlier inference-svc serves no key with a guardrail it cannot enforce", async () => {
    const house = await startHouse({ config, checkout: mix(earlier, ["gateway", "admin-svc"]) });
    const ask = async () => {
      const response = await fetch(`${house.baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${house.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "sluice/echo", input: "Hello" }),
      });
      await response.arrayBuffer();
      return response.status;
    };
    try {
      expect(await ask()).toBe(200);
      await house.admin("guardrails", "create", "--name", "all", "--block", "secret", "--account-default");
      await eventually(async () => (await ask()) === 503);
    } finally {
      await house.stop();
    }
  });
});
