/** What builds knew that do not say so in their greeting. Once nobody upgrades from one of those any more, this may go. */
import type { Knowledge } from "./knowledge.ts";

export const beforeGreetings: Knowledge = {
  "sluice.inference.v1.RunTurnRequest": 36,
  "sluice.inference.v1.CacheControl": 1,
  "sluice.inference.v1.ProviderPreferences": 14,
  "sluice.inference.v1.MaxPrice": 5,
  "sluice.inference.v1.Percentiles": 4,
  "sluice.admin.v1.Caller": 8,
  "sluice.admin.v1.Guardrail": 9,
  "sluice.admin.v1.ContentFilter": 3,
  "sluice.admin.v1.BuiltinFilter": 3,
  "sluice.admin.v1.RoutingPolicy": 14,
  "sluice.admin.v1.JudgeRule": 4,
  "sluice.admin.v1.RateLimits": 3,
  "sluice.admin.v1.CreateGuardrailRequest": 13,
  "sluice.admin.v1.UpdateGuardrailRequest": 2,
  "sluice.admin.v1.GuardrailRecord": 16,
  "sluice.admin.v1.CreateKeyRequest": 7,
  "sluice.admin.v1.UpdateKeyRequest": 2,
  "sluice.admin.v1.Key": 14,
  "sluice.admin.v1.Spending": 5,
  "google.protobuf.FieldMask": 1,
  "google.protobuf.Timestamp": 2,
};
