/** The manifests and the chart on a real API server, in short. All: npm run cluster. */
import { afterAll, beforeAll, describe, test } from "@jest/globals";
import type { Cluster } from "./checks.ts";
import { checks, startCluster } from "./campaign.ts";
import { findPrograms } from "./programs.ts";

const programs = await findPrograms();
const missing = typeof programs === "string" ? ` (${programs})` : "";

(missing === "" ? describe : describe.skip)(`on a real Kubernetes API server${missing}`, () => {
  let cluster: Cluster & { stop(): Promise<void> };
  beforeAll(async () => {
    if (typeof programs !== "string") cluster = await startCluster(programs);
  }, 300_000);
  afterAll(() => cluster?.stop());

  const all = checks(typeof programs === "string" ? [] : programs.helms, () => undefined);
  test.each(Object.keys(all).slice(0, 3))("the cluster check %s passes", async (name) => {
    await all[name]?.(cluster);
  });
});
