/** The first and the second start of `npm start`, and the curl line of each, pasted into a shell. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../support/installation.ts";
import { bareEnvironment, runProgram } from "../support/processes.ts";

async function expectAnswer(installation: Installation): Promise<void> {
  const printed = installation.output();
  const line = printed.slice(printed.indexOf("curl "));
  const answer = await runProgram("/bin/sh", ["-c", line], { environment: bareEnvironment() });
  expect(answer.stdout).toContain("event: response.completed");
  expect(answer.stdout.trimEnd().endsWith("data: [DONE]")).toBe(true);
}

test("a first start prints its keys, a second start names their file, and both curl commands work as printed", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "sluice-test-curl-"));
  const keysFile = join(dataDir, "keys.json");
  let installation = await startInstallation({ embeddedPostgres: true, dataDir });
  try {
    const { apiKey, managementKey } = installation;
    expect(installation.output()).toContain(apiKey);
    expect(installation.output()).toContain(managementKey);
    expect(statSync(keysFile).mode & 0o777).toBe(0o600);
    await expectAnswer(installation);
    await installation.stop();
    installation = await startInstallation({ embeddedPostgres: true, dataDir });
    expect(installation.apiKey).toBe(apiKey);
    expect(installation.output()).not.toContain(apiKey);
    expect(installation.output()).toContain(keysFile);
    // The ready line contains the duration; a second start is short because it creates nothing.
    expect(installation.output()).not.toContain("creating the database");
    expect(installation.output()).toMatch(/^ready .*\(\d+\.\d s\)$/m);
    await expectAnswer(installation);
  } finally {
    await installation.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
