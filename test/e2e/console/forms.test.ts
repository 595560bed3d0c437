/** A save in the console sends only the edited fields. */
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { root, runProgram } from "../../support/processes.ts";

const guardrail = {
  id: "g-1",
  name: "shared",
  description: "For all",
  mode: "enforce",
  applies_to: "both",
  on_error: "closed",
  blocked_message: null,
  content_filter_builtins: [{ slug: "email", action: "redact", scan_scope: "all" }],
  content_filters: [{ pattern: "secret", action: "block", label: null }],
  judge_rules: [
    { rule: "No prices", action: "block", threshold: 0.5, label: "first" },
    { rule: "No prices", action: "flag", threshold: 0.25, label: "second" },
  ],
  allowed_models: ["a/b"],
  allowed_providers: null,
  allowed_data_regions: ["global", "europe"],
  limit_usd: 5,
  reset_interval: "daily",
  workspace_default: false,
};

/** The edits of drafts with some changed fields, made by the module of the form itself. */
async function editsOf(changes: readonly object[]): Promise<unknown[]> {
  const program = `
    import { rolldown } from "rolldown";
    const build = await rolldown({ input: ${JSON.stringify(join(root, "gateway/console/guardrails/draft.ts"))} });
    const { output } = await build.generate({ format: "esm" });
    const { draftOfGuardrail, toGuardrailEdits } = await import("data:text/javascript," + encodeURIComponent(output[0].code));
    const guardrail = ${JSON.stringify(guardrail)};
    const changes = ${JSON.stringify(changes)};
    const edits = changes.map((change) => toGuardrailEdits({ ...draftOfGuardrail(guardrail), ...change }, guardrail));
    console.log(JSON.stringify(edits));`;
  const { stdout, stderr } = await runProgram(process.execPath, ["--input-type=module", "--eval", program]);
  expect(stderr).toBe("");
  return JSON.parse(stdout) as unknown[];
}

describe("a save of a guardrail", () => {
  test("sends only edited fields", async () => {
    const edits = await editsOf([
      {},
      { name: "other" },
      { us: true },
      { europe: false },
      { limit: "" },
      {
        rules: [
          { rule: "No prices", action: "block", threshold: "0.9" },
          { rule: "No prices", action: "flag", threshold: "0.25" },
        ],
      },
    ]);
    const [first, second] = guardrail.judge_rules;
    expect(edits).toEqual([
      {},
      { name: "other" },
      { allowed_data_regions: ["global", "europe", "us"] },
      { allowed_data_regions: ["global"] },
      { limit_usd: null, reset_interval: null },
      { judge_rules: [{ ...first, threshold: 0.9 }, second] },
    ]);
  });
});
