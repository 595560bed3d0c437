/** Which endpoints remain under guardrails, and the error when none remains. */
import { type MessageInitShape, create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import {
  type Caller,
  GuardrailMode,
  GuardrailSchema,
  type RoutingPolicySchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { openDecider } from "../../features/routers/deciding.js";

type Policy = MessageInitShape<typeof RoutingPolicySchema>;

const provider = (id: string, region: string, data_policy?: object) => ({
  id,
  dialect: "chat",
  base_url: "http://127.0.0.1:1/v1",
  region,
  ...(data_policy && { data_policy }),
});
const at = (price: string) => ({ pricing: { prompt: price, completion: price } });
const decider = openDecider(
  [
    {
      id: "openai/m",
      endpoints: [
        { provider: "paid", upstream_model: "paid", ...at("1") },
        { provider: "quiet", upstream_model: "quiet", tier: "default", ...at("1") },
        { provider: "free", upstream_model: "free", ...at("0") },
        { provider: "unpriced", upstream_model: "unpriced" },
      ],
    },
    { id: "acme/n", endpoints: [{ provider: "paid", upstream_model: "n", ...at("1") }] },
  ],
  [
    provider("paid", "us-east-1"),
    provider("quiet", "eu-west-1", { retention: "none", training: false, publication: false }),
    provider("free", "usual"),
    provider("unpriced", "europe"),
  ],
);

const guardrail = (routingPolicy: Policy, more: object = {}) =>
  create(GuardrailSchema, { id: "g", routingPolicy, ...more });
const under = (...policies: Policy[]): Partial<Caller> => ({
  workspaceGuardrails: policies.map((policy) => guardrail(policy)),
});
const models = ["openai/m", "acme/n"];
const all = ["paid", "quiet", "free", "unpriced", "n"];
const left = (caller: Partial<Caller>) => decider.left(caller, { models }).order.toSorted();

describe("the endpoints permitted by a key's guardrails", () => {
  test.each<[Policy, string[]]>([
    [{}, all],
    [{ allowedModels: ["acme/n", "acme/other"] }, ["n"]],
    [{ ignoredModels: ["acme/n"] }, ["paid", "quiet", "free", "unpriced"]],
    [{ allowedProviders: ["paid/default", "quiet"] }, ["paid", "quiet", "n"]],
    [{ ignoredProviders: ["paid"] }, ["quiet", "free", "unpriced"]],
    [{ allowedDataRegions: ["global"] }, all],
    [{ allowedDataRegions: ["europe"] }, ["quiet", "unpriced"]],
    [{ allowedDataRegions: ["us"] }, ["paid", "n"]],
    [{ allowedDataRegions: ["us", "europe"] }, ["paid", "quiet", "unpriced", "n"]],
    [{ enforceZdrOpenai: true }, ["quiet", "n"]],
    [{ enforceZdrOther: true }, ["paid", "quiet", "free", "unpriced"]],
    [{ enforceZdrGroups: { openai: true, other: true } }, ["quiet"]],
    [{ enforceZdrGroups: { acme: true, openai: false } }, ["paid", "quiet", "free", "unpriced"]],
    [{ enforceZdrAnthropic: true, enforceZdrGoogle: true, enforceZdrXai: true, enforceZdrOpenai: false }, all],
    [{ enablePaidModelTraining: false }, ["quiet", "free"]],
    [{ enableFreeModelTraining: false }, ["paid", "quiet", "n"]],
    [{ enableFreeModelPublication: false }, ["paid", "quiet", "n"]],
    [{ enablePaidModelTraining: true, enableFreeModelPublication: true }, all],
  ])("meet the policy %j", (policy, expected) => {
    expect(left(under(policy))).toEqual(expected.toSorted());
    expect(left({ guardrail: guardrail(policy) })).toEqual(expected.toSorted());
  });

  test("of several guardrails meet each of them, and the request", () => {
    const caller = under(
      { allowedModels: ["openai/m"] },
      { allowedDataRegions: ["europe"] },
      { enforceZdrOpenai: true },
    );
    expect(left(caller)).toEqual(["quiet"]);
    const few = { models, provider: { only: ["quiet", "paid"] } };
    expect(decider.left(under({ ignoredProviders: ["paid"] }), few).order).toEqual(["quiet"]);
  });

  test("are all under a guardrail in audit mode, and the receipt has the exclusions that would apply", () => {
    const policy = { allowedModels: ["openai/m"], enforceZdrOpenai: true };
    const { order, excluded, stages } = decider.left(
      { guardrail: guardrail(policy, { mode: GuardrailMode.AUDIT }) },
      { models },
    );
    expect([order.toSorted(), excluded]).toEqual([all.toSorted(), {}]);
    expect(stages).toEqual([
      {
        type: "guardrail",
        name: "routing-policy",
        guardrail_id: "g",
        guardrail_scope: "api-key",
        summary: "Would have excluded: 4 endpoints",
        data: { action: "excluded", mode: "audit", counts: { allowed_models: 1, "data_policy:zdr": 3 } },
      },
    ]);
  });
});

describe("the error when policies leave no endpoint", () => {
  test("counts the reasons, those of guardrails first", () => {
    const caller = under({ ignoredModels: ["acme/n"], allowedDataRegions: ["europe"], enforceZdrOpenai: true });
    const request = { models, provider: { ignore: ["free"] } };
    expect(decider.left(caller, request).excluded).toEqual({ allowed_models: 1, data_region: 2, "data_policy:zdr": 1 });
  });

  test.each<[Policy, string, object]>([
    [{ allowedModels: ["acme/n"] }, "openai/m is not a model that a guardrail allows", { allowed_models: 4 }],
    [
      { allowedProviders: ["nobody"] },
      "openai/m has no endpoint at a provider that a guardrail allows",
      { allowed_providers: 4 },
    ],
    [
      { allowedProviders: ["paid"], allowedDataRegions: ["europe"] },
      "openai/m has no endpoint left after data_region, allowed_providers",
      { allowed_providers: 3, data_region: 1 },
    ],
  ])("with %j is 403, because the caller lacks the permission", (policy, says, excludedBy) => {
    const fault = decider.fault({ models: ["openai/m"] }, under(policy));
    expect([fault.reason, fault.status, fault.message]).toEqual([
      FaultReason.PERMISSION_DENIED,
      403,
      `No endpoint may serve this request: ${says}`,
    ]);
    expect(fault.metadata).toMatchObject({
      error_type: "permission_denied",
      availability: { code: "no_endpoints", retryable: false, excluded_by: excludedBy },
    });
  });

  test("is 404 if the cause is not a list or a region of a guardrail", () => {
    const privacy = decider.fault({ models: ["acme/n"] }, under({ enforceZdrOther: true }));
    expect([privacy.status, privacy.message]).toEqual([
      404,
      "No endpoint can serve this request: acme/n has no endpoint that keeps nothing, as a guardrail asks",
    ]);
    const both = decider.fault(
      { models: ["openai/m"], provider: { only: ["paid"] } },
      under({ ignoredProviders: ["paid"] }),
    );
    expect([both.status, both.metadata]).toEqual([
      404,
      expect.objectContaining({ availability: expect.objectContaining({ excluded_by: { allowed_providers: 4 } }) }),
    ]);
  });
});

test("a model requested by another name is checked in guardrails by its slug", () => {
  const caller = under({ allowedModels: ["acme/n"] });
  expect(decider.left(caller, { models: ["n"] }).order).toEqual(["n"]);
  expect(decider.left(caller, { models: ["N-20260101"] }).order).toEqual(["n"]);
  expect(decider.fault({ models: ["m"] }, caller).message).toContain("openai/m is not a model that a guardrail allows");
  expect(decider.fault({ models: ["paid"] }, caller).status).toBe(403);
});
