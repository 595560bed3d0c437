/** Exchange of supported fields between processes of different builds. */
import { describe, expect, test } from "@jest/globals";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { CallerSchema, FilterAction } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { CreateGuardrailRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import {
  supportedByPeer,
  lacksFieldsOf,
  legacyPeers,
  supportedFieldsOf,
  unknownFieldIn,
  unsupportedFieldIn,
} from "@sluice/proto/lib/rpc/supported-fields.js";

const own = supportedFieldsOf(RunTurnRequestSchema);
const plain = create(RunTurnRequestSchema, { model: "acme/large", inputJson: Buffer.from('"Hello"'), stream: true });
const priced = create(RunTurnRequestSchema, {
  model: "acme/large",
  provider: { order: ["acme"], maxPrice: { prompt: 1, audio: 2 } },
});
const judged = create(RunTurnRequestSchema, {
  model: "acme/large",
  plugins: [{ plugin: { case: "alignment", value: { rules: ["Be brief."], threshold: 0.5 } } }],
});

describe("a field that the reader of a message does not support", () => {
  test("does not exist for the reader's own build", () => {
    for (const request of [plain, priced, judged])
      expect(unsupportedFieldIn(own, RunTurnRequestSchema, request)).toBeUndefined();
    expect(lacksFieldsOf(own, own)).toBe(false);
  });

  test.each([
    ["a field that came later", "sluice.inference.v1.RunTurnRequest", 36, judged, "plugins"],
    ["a plugin that came later", "sluice.inference.v1.Plugin", 0, judged, "plugins.alignment"],
    ["a setting that came later", "sluice.inference.v1.AlignmentPlugin", 4, judged, "plugins.alignment.threshold"],
    ["a field of a field of a field", "sluice.inference.v1.MaxPrice", 4, priced, "provider.max_price.audio"],
  ] as const)("is found: %s", (_, message, highest, request, path) => {
    const earlier = { ...own, [message]: highest };
    expect(lacksFieldsOf(earlier, own)).toBe(true);
    expect(unsupportedFieldIn(earlier, RunTurnRequestSchema, request)).toBe(path);
    expect(unsupportedFieldIn(earlier, RunTurnRequestSchema, plain)).toBeUndefined();
  });

  test("is assumed for builds whose greeting lists no fields", () => {
    expect(supportedByPeer({})).toBe(legacyPeers);
    expect(supportedByPeer(own)).toBe(own);
    expect(unsupportedFieldIn(legacyPeers, RunTurnRequestSchema, judged)).toBe("plugins");
    expect(unsupportedFieldIn(legacyPeers, RunTurnRequestSchema, priced)).toBeUndefined();
    const said = { name: "a", routingPolicy: { enforceZdrGroups: { acme: true } }, contentFilters: [{ pattern: "x" }] };
    const guardrail = create(CreateGuardrailRequestSchema, said);
    expect(unsupportedFieldIn(legacyPeers, CreateGuardrailRequestSchema, guardrail)).toBeUndefined();
    guardrail.detectors.push({
      $typeName: "sluice.admin.v1.DetectorRule",
      detector: "a",
      category: "b",
      action: FilterAction.BLOCK,
      label: "",
    });
    expect(unsupportedFieldIn(legacyPeers, CreateGuardrailRequestSchema, guardrail)).toBe("detectors");
  });
});

test("a newer build's field is found at any depth of a message", () => {
  const strange = [{ no: 99, wireType: 0, data: new Uint8Array([1]) }];
  const travelled = (caller: typeof known) => fromBinary(CallerSchema, toBinary(CallerSchema, caller));
  const known = create(CallerSchema, {
    keyHash: "a",
    guardrail: { id: "g", contentFilters: [{ pattern: "x" }], routingPolicy: { enforceZdrGroups: { acme: true } } },
    workspaceGuardrails: [{ id: "h" }],
  });
  expect(unknownFieldIn(CallerSchema, travelled(known))).toBeUndefined();
  const [filter] = known.guardrail?.contentFilters ?? [];
  for (const [part, path] of [
    [filter, "guardrail.content_filters.99"],
    [known.guardrail?.routingPolicy, "guardrail.routing_policy.99"],
    [known.workspaceGuardrails[0], "workspace_guardrails.99"],
    [known, "99"],
  ] as const) {
    if (!part) throw new Error(path);
    part.$unknown = strange;
    expect(unknownFieldIn(CallerSchema, travelled(known))).toBe(path);
    delete part.$unknown;
  }
});
