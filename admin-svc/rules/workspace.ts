/** What a workspace may be made of. */
import { recordName, resetIntervals } from "@sluice/proto/contract/records.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { nullable, number, object, word } from "@sluice/proto/runtime/validation/shape.js";
import { amountOf } from "./amount.ts";

/** What is absent stays as it is. */
export interface WorkspaceSettings {
  /** Unique. */
  readonly name?: string;
  /** USD, decimal: what its keys may spend together. Null: any amount. */
  readonly limitUsd?: string | null;
  /** Null: never. */
  readonly limitReset?: string | null;
}

const shape = object({
  name: recordName,
  limit: nullable(number({ min: 0, max: 1_000_000_000 })),
  limit_reset: nullable(word(...resetIntervals)),
});

/** @throws Fault INVALID_REQUEST with every problem */
export function checkWorkspaceSettings({ name, limitUsd, limitReset }: WorkspaceSettings): void {
  const limit = typeof limitUsd === "string" ? amountOf(limitUsd) : limitUsd;
  checked((problems) => shape.check({ name, limit, limit_reset: limitReset }, "", problems));
}
