/** What a key may be made of, through whichever door it comes. */
import { keySettings } from "@sluice/proto/contract/keys.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { amountOf } from "./amount.ts";

/** What an administrator decides about a key; what is absent stays as it is. */
export interface KeySettings {
  readonly name?: string;
  readonly disabled?: boolean;
  /** Null: it does not expire. */
  readonly expiresAt?: Date | null;
  /** Null: it was made for nobody in particular. */
  readonly externalUser?: string | null;
  /** USD, decimal. Null: any amount. */
  readonly limitUsd?: string | null;
  /** Null: never. */
  readonly limitReset?: string | null;
  /** Null, here and below: as the house is configured. */
  readonly requestsPerMinute?: number | null;
  readonly tokensPerMinute?: number | null;
  readonly concurrentRequests?: number | null;
}

const form = /^[0-9a-f]{64}$/;

/** Any other text names no key, so the database is not asked. */
export const isKeyHash = (hash: string): boolean => form.test(hash);

/** @throws Fault INVALID_REQUEST with every problem, under the names of the JSON form */
export function checkKeySettings(settings: KeySettings): void {
  const { expiresAt } = settings;
  checked((problems) => {
    keySettings.check(jsonOf(settings), "", problems);
    if (expiresAt && expiresAt.getTime() <= Date.now()) problems.add("expires_at", "must be in the future");
  });
}

const jsonOf = ({ expiresAt, externalUser, limitUsd, ...settings }: KeySettings) => ({
  name: settings.name,
  disabled: settings.disabled,
  expires_at: expiresAt && textOf(expiresAt),
  limit: typeof limitUsd === "string" ? amountOf(limitUsd) : limitUsd,
  limit_reset: settings.limitReset,
  requests_per_minute: settings.requestsPerMinute,
  tokens_per_minute: settings.tokensPerMinute,
  concurrent_requests: settings.concurrentRequests,
  external: typeof externalUser === "string" ? { user: externalUser } : externalUser,
});

/** A time that JavaScript or JSON has no form for is described by no text. */
const textOf = (time: Date): string => (Number.isNaN(time.getTime()) ? "" : time.toISOString());
