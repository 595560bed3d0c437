/** The curl line printed by `npm start`, pasted into a shell. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { startInstallation } from "../support/installation.ts";
import { bareEnvironment, runProgram } from "../support/processes.ts";

test("the curl line of the first and of a later start streams an answer to its end", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "sluice-test-curl-"));
  try {
    for (let round = 0; round < 2; round++) {
      const installation = await startInstallation({ embeddedPostgres: true, dataDir });
      try {
        const printed = installation.output();
        const line = printed.slice(printed.indexOf("curl "));
        const answer = await runProgram("/bin/sh", ["-c", line], { environment: bareEnvironment() });
        expect(answer.stdout).toContain("event: response.completed");
        expect(answer.stdout.trimEnd().endsWith("data: [DONE]")).toBe(true);
      } finally {
        await installation.stop();
      }
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
