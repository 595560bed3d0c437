/** The changelog section published as a release's page. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type FinishedProcess, root, runProgram } from "../../support/processes.ts";

const changelog = `# Changelog

By effect on the user.

## 0.3.0 (unreleased)

- Not yet.

## 0.2.0 (2027-01-02)

- The first effect, which
  takes two lines.
- The second.

### To do when upgrading

Nothing.

## 0.1.1 (2026-12-24)

## 0.1.0 (2026-12-01)

- The oldest.
`;

const folder = mkdtempSync(join(tmpdir(), "sluice-test-notes-"));
beforeAll(() => writeFileSync(join(folder, "CHANGELOG.md"), changelog));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const notes = (...args: string[]): Promise<FinishedProcess> =>
  runProgram(process.execPath, [join(root, "deploy/release/notes.mjs"), ...args], { cwd: folder });

test.each([
  ["0.2.0", "- The first effect, which\n  takes two lines.\n- The second.\n\n### To do when upgrading\n\nNothing.\n"],
  ["0.1.0", "- The oldest.\n"],
])("the release notes of %s are the changelog's section of its version", async (version, stdout) => {
  expect(await notes(version)).toEqual({ code: 0, stdout, stderr: "" });
});

test.each([
  [["0.3.0"], "CHANGELOG.md says that 0.3.0 is not released; npm run set-version writes the date\n"],
  [["0.1.1"], "CHANGELOG.md says nothing of 0.1.1\n"],
  [["0.2"], 'CHANGELOG.md has no heading "## 0.2 (YYYY-MM-DD)"\n'],
  [[], 'CHANGELOG.md has no heading "##  (YYYY-MM-DD)"\n'],
])("release notes for the invalid version %j are refused", async (args, stderr) => {
  expect(await notes(...args)).toEqual({ code: 1, stdout: "", stderr });
});
