/** Subjects of commits: an imperative sentence of at most 72 characters, without a full stop. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { root } from "../support/processes.ts";
import { findSubjectProblem, lastUnchecked, readCommits } from "./commits.ts";

const commits = readCommits(root);
const missing = typeof commits === "string" ? commits : undefined;

(missing === undefined ? describe : describe.skip)(
  `the commit history${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    test("has subjects that follow the rules of CONTRIBUTING.md", () => {
      const checked = typeof commits === "string" ? [] : commits;
      expect(checked.length).toBeGreaterThan(0);
      const found = checked.map(({ hash, subject }) => [`${hash} ${subject}`, findSubjectProblem(subject)] as const);
      expect(found.filter(([, problem]) => problem !== undefined)).toEqual([]);
    });
  },
);

describe("the subject of a commit is refused when", () => {
  test.each([
    ["it is longer than a line of 72 characters", `Keep ${"a".repeat(68)}`, "73 characters, more than 72"],
    ["it ends with a full stop", "Count bytes once.", "a full stop at its end"],
    ["it marks work in progress", "Wip: count bytes", "a mark of unfinished work"],
    ["it waits for another commit to absorb it", "fixup! Count bytes once", "a mark of unfinished work"],
    ["its verb is in lower case", "count bytes once", "does not begin with an upper-case verb in the imperative"],
    ["it begins with an article", "The count of bytes", "does not begin with an upper-case verb in the imperative"],
    ["its verb is a past tense", "Counted bytes once", "does not begin with an upper-case verb in the imperative"],
    ["its verb is a participle", "Counting bytes once", "does not begin with an upper-case verb in the imperative"],
    ["it describes the commit", "Counts bytes once", "does not begin with an upper-case verb in the imperative"],
    ["it names a scope first", "gateway: count bytes", "does not begin with an upper-case verb in the imperative"],
  ])("%s", (_, subject, problem) => {
    expect(findSubjectProblem(subject)).toBe(problem);
  });

  test.each([
    `Keep ${"a".repeat(67)}`,
    "Pass the count on",
    "Need one byte less",
    "Bring v8.1 back",
    "Focus the dialog",
  ])("it is not %s, which is right", (subject) => {
    expect(findSubjectProblem(subject)).toBeUndefined();
  });
});

describe("a checkout without the commit history is reported as", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "sluice-test-commits-")));
  const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: folder, stdio: "ignore" });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("an exported tree, also inside of another repository", () => {
    cpSync(join(root, "package.json"), join(folder, "package.json"));
    expect(readCommits(folder)).toBe("no history: an exported tree");
    git("init", "--quiet", "outer");
    mkdirSync(join(folder, "outer", "inner"));
    expect(readCommits(join(folder, "outer", "inner"))).toBe("no history: an exported tree");
  });

  test("a shallow clone", () => {
    git("init", "--quiet", "shallow");
    const author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    git("-C", "shallow", ...author, "commit", "--quiet", "--allow-empty", "-m", "Begin");
    expect(readCommits(join(folder, "shallow"))).toBe(`no commit ${lastUnchecked.slice(0, 8)}: a shallow clone`);
  });
});
