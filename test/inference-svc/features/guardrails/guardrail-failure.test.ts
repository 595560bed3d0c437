/**
 * A rule that fails at any point of a text: the request is refused unless the guardrail allows failures; the failure is always
 * recorded, and never reported as clean.
 */
import { WholeAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import type { BuiltinDetector } from "@sluice/inference-svc/features/guardrails/detectors/detector.js";
import { builtinDetectors } from "@sluice/inference-svc/features/guardrails/detectors/registry.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import {
  ErrorPolicy,
  FilterAction,
  GuardrailMode,
  GuardrailSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Found, Scan } from "@sluice/proto/lib/pattern/finder.js";
import { testRequest, newScope, runTestTurn } from "../../asking.js";

const nothing: Found = { spans: [], decided: 0 };
const breaks = (): never => {
  throw new Error("engine failure, injected");
};

/** A finder that fails when it is opened, at its first, second or last piece, or at its end. */
const points = {
  opening: () => breaks(),
  "the first piece": () => ({ push: breaks, end: () => nothing }),
  "the second piece": () => {
    let pieces = 0;
    return { push: () => (++pieces === 2 ? breaks() : nothing), end: () => nothing };
  },
  "the end": () => ({ push: () => nothing, end: breaks }),
} satisfies Record<string, () => Scan>;

// Failing detectors are added to the table of built-in detectors before the guardrail reads it.
for (const [slug, open] of Object.entries(points)) {
  const broken: BuiltinDetector = { slug, engine: "format", finder: { open, pieceLength: 4 } };
  (builtinDetectors as BuiltinDetector[]).push(broken);
}
const { inputGuardrails } = await import("@sluice/inference-svc/features/guardrails/input/guard.js");

async function passed(slug: string, more: object) {
  const testScope = newScope({
    guardrail: create(GuardrailSchema, {
      id: "g",
      contentFilters: [{ pattern: "alpha", label: "", action: FilterAction.REDACT }],
      contentFilterBuiltins: [{ slug, action: FilterAction.FLAG }],
      ...more,
    }),
  });
  let sent: TurnRequest | undefined;
  const turn = inputGuardrails([])((request) => {
    sent = request;
    return new WholeAnswer([]);
  });
  const { fault } = await runTestTurn(turn, testRequest({ text: "alpha beta" }), testScope);
  return { text: sent?.input[0]?.["content"], fault, stages: testScope.scope.trace.stages };
}

describe.each(Object.keys(points))("a pattern engine that fails at %s", (slug) => {
  test("stops the request, even for a rule that only flags", async () => {
    const { text, fault, stages } = await passed(slug, {});
    expect([text, fault?.status, fault?.message]).toEqual([undefined, 503, "The key's guardrail cannot be applied"]);
    expect(stages).toMatchObject([{ guardrail_id: "g", data: { action: "error", fail_mode: "closed" } }]);
  });

  test.each([{ onError: ErrorPolicy.OPEN }, { mode: GuardrailMode.AUDIT }])(
    "passes the request with %j, with a note",
    async (more) => {
      const { text, fault, stages } = await passed(slug, more);
      expect([text, fault]).toEqual(["mode" in more ? "alpha beta" : "[REDACTED] beta", undefined]);
      expect(stages).toMatchObject([
        { data: { action: "error", fail_mode: "open" } },
        { data: { action: "redacted" } },
      ]);
      expect(stages[0]?.data).not.toHaveProperty("detected");
    },
  );
});
