/** The syntax of patches: every patch accepted here is readable for the clients' library. */
import { applyDiff } from "@openai/agents";
import { describe, expect, test } from "@jest/globals";
import {
  findCreateProblem,
  findPathProblem,
  findUpdateProblem,
} from "@sluice/inference-svc/agent-loop/client-tools/patch-syntax.js";
import fc from "../../support/properties.js";

describe("the path of a patch", () => {
  test.each(["a.txt", "src/a b.ts", ".github/x.yml", "a..b/c", "..a", "\u00fcber.md"])(
    "is inside the working folder: %j",
    (path) => {
      expect(findPathProblem(path)).toBeUndefined();
    },
  );

  test.each([
    "/etc/passwd",
    "../a",
    "a/../../b",
    "a/..",
    "..",
    "..\\a",
    "\\\\host\\a",
    "C:\\a",
    "c:a",
    "~/a",
    "~",
    "a\0b",
    "a\nb",
  ])("may lead out of the working folder: %j", (path) => {
    expect(findPathProblem(path)).toBe("path: must be relative to the working folder and stay in it");
  });
});

describe("a patch for a new file", () => {
  test.each([["+a\n+\n+b"], ["+a\n"], [""], ["+a\r\n+b\r\n"]])("%j is accepted", (diff) => {
    expect(findCreateProblem(diff)).toBeUndefined();
  });

  test.each([
    ["+a\nb", 2],
    ["@@\n+a", 1],
    ["+a\n\n+b", 2],
  ])("%j is refused because of line %d", (diff, line) => {
    expect(findCreateProblem(diff)).toBe(`diff, line ${line}: every line of a new file begins with +`);
  });
});

describe("a patch for a changed file", () => {
  test.each([
    ["@@\n-a\n+b\n"],
    [" a\n-b\n+c"],
    ["@@ class A\n a\n+b\n@@\n-c\n"],
    ["@@\n a\n+b\n*** End of File\n"],
    ["@@\n a\n\n+b"],
    ["@@\r\n-a\r\n+b\r\n"],
  ])("%j is accepted", (diff) => {
    expect(findUpdateProblem(diff)).toBeUndefined();
  });

  test.each([
    ["", "diff: a section needs lines"],
    ["@@\n", "diff: a section needs lines"],
    ["@@\n a\n", "diff: no line is added or removed"],
    ["@@ class A\n@@ def f\n-a", "diff, line 2: a section needs lines"],
    ["@@class A\n-a", "diff, line 1: after @@ comes nothing"],
    ["*** Begin Patch\n@@\n-a", "diff, line 1: only *** End of File"],
    ["@@\n-a\n*** End of File\n b", "diff, line 4: after *** End of File"],
    ["*** End of File", "diff, line 1: a section needs lines"],
    ["@@\n-a\nb", "diff, line 3: begins with neither"],
    ["--- a/f\n+++ b/f\n@@ -1 +1 @@\n\tx", "diff, line 4: begins with neither"],
  ])("%j is refused: %s", (diff, problem) => {
    expect(findUpdateProblem(diff)).toContain(problem);
  });

  test("is applied by the clients' library when it is accepted", () => {
    const marks = fc.constantFrom(" ", "-", "+");
    const body = fc.array(fc.tuple(marks, fc.constantFrom("a", "b", "", " x", "@@", "***")), { maxLength: 4 });
    const heads = fc.constantFrom("", "@@\n", "@@ a\n", "@@ no such line\n", "@@x\n", "@@ \n");
    const ends = fc.constantFrom("", "", "*** End of File\n", "*** End Patch\n", "\n");
    const sections = fc.tuple(heads, body, ends);
    let passed = 0;
    fc.assert(
      fc.property(fc.array(sections, { minLength: 1, maxLength: 3 }), (given) => {
        const diff = given.map(([head, lines, end]) => head + lines.map((line) => `${line.join("")}\n`).join("") + end);
        if (findUpdateProblem(diff.join("")) !== undefined) return;
        passed++;
        // The lines that the patch expects, repeated for every place where a section may search for them.
        const file = given.flatMap(([, lines]) => lines.filter(([mark]) => mark !== "+").map(([, text]) => text));
        try {
          applyDiff(Array.from({ length: 4 }, () => [...file, ""].join("\n")).join(""), diff.join(""));
        } catch (error) {
          expect(String(error)).not.toMatch(/Invalid Line|Nothing in this section|Invalid Add File Line/);
        }
      }),
      { numRuns: 2_000 },
    );
    expect(passed).toBeGreaterThan(50);
  });

  test("is applied by the clients' library for a new file, too", () => {
    const lines = fc.array(fc.tuple(fc.constantFrom("+", "", " "), fc.constantFrom("a", "", "***", "@@")), {
      maxLength: 4,
    });
    fc.assert(
      fc.property(lines, (given) => {
        const diff = given.map((line) => `${line.join("")}\n`).join("");
        if (findCreateProblem(diff) !== undefined) return;
        expect(applyDiff("", diff, "create")).toBe(given.map(([, text]) => text).join("\n"));
      }),
    );
  });
});
