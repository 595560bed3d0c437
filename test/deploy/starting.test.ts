/**
 * A service that waits for its dependencies at its start can be ended. The first process of a container gets only signals with a handler: without
 * a handler the pod would be killed at the end of its grace period, five minutes later. Outside of a container, the exit status shows whether the
 * signal was handled.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { lastLines, spawnChild } from "@sluice/local/child.js";
import { freePorts } from "../support/runner/free-ports.ts";
import { bareEnvironment, eventually, programIn, root } from "../support/processes.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-starting-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** All variables read by any of them, with addresses where no service answers. */
async function alone(): Promise<{ environment: NodeJS.ProcessEnv; probe: (path: string) => Promise<number> }> {
  const [health, own, nobody] = (await freePorts(3)).map(String) as [string, string, string];
  const environment = {
    ...bareEnvironment(),
    SLUICE_CONFIG: join(root, "deploy/kubernetes/base/sluice.yaml"),
    SLUICE_INFERENCE_ADDRESSES: `127.0.0.1:${nobody}`,
    SLUICE_ADMIN_ADDRESS: `127.0.0.1:${nobody}`,
    DATABASE_URL: `postgres://sluice:x@127.0.0.1:${nobody}/sluice`,
    SLUICE_SPOOL_DIR: join(folder, "spool"),
    SLUICE_SERVICE_TOKEN: "t".repeat(64),
    SLUICE_SECRET: "s".repeat(64),
    SLUICE_PORT: own,
    SLUICE_INFERENCE_PORT: own,
    SLUICE_ADMIN_PORT: own,
    SLUICE_GATEWAY_HEALTH_PORT: health,
    SLUICE_INFERENCE_HEALTH_PORT: health,
    SLUICE_ADMIN_HEALTH_PORT: health,
  };
  const probe = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${health}${path}`).catch(() => undefined);
    await answer?.text();
    return answer?.status ?? 0;
  };
  return { environment, probe };
}

test.each(["gateway", "inference-svc", "admin-svc"])(
  "the command %s ends at once, with exit code 0",
  async (service) => {
    const { environment, probe } = await alone();
    const log = join(folder, `${service}.log`);
    const main = programIn(root, service);
    const { child, exited } = await spawnChild(process.execPath, [main], { log, environment, whenOrphaned: "KILL" });
    const died = exited.then((how) => Promise.reject(new Error(`${how}: ${lastLines(log, 8)}`)));
    await Promise.race([eventually(async () => (await probe("/livez")) === 200), died]);
    died.catch(() => {}); // its end, later on
    expect(await probe("/readyz")).toBe(503);
    child.kill("SIGTERM");
    expect(await exited).toBe("exit code 0");
    expect(lastLines(log, 1)).toContain('"msg":"stopped before it had begun to serve"');
  },
);
