/** Checks the settings of a key, over gRPC and on the command line. */
import type { KeySettings } from "@sluice/proto/contract/records/key-record.js";
import { keySettingRows } from "@sluice/proto/contract/records/key-settings.js";
import { type KeySort, keySearch, keySettings } from "@sluice/proto/contract/records/keys.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { parseTags } from "@sluice/proto/lib/turns/tags.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { object } from "@sluice/proto/lib/validation/shape.js";
import { parseAmount } from "./amount.ts";

const form = /^[0-9a-f]{64}$/;

/** Whether a text has the form of a key's hash. Any other text names no key, so the database is not queried. */
export const isKeyHash = (hash: string): boolean => form.test(hash);

/** @throws Fault INVALID_REQUEST with every problem, with the field names of the HTTP interface */
export function checkKeySettings(settings: KeySettings): void {
  const { expires_at: expiresAt } = settings;
  throwProblems((problems) => {
    keySettings.check(keySettingsJson(settings), "", problems);
    if (expiresAt && expiresAt.getTime() <= Date.now()) problems.add("expires_at", "must be in the future");
  });
}

/** Converts settings to their HTTP form, which the checked shapes describe. */
export function keySettingsJson(settings: KeySettings): JsonObject {
  const { expires_at: expiresAt, limit_usd: limit, external_user: user, tags } = settings;
  const converted: Readonly<Record<string, unknown>> = {
    ...settings,
    ...(expiresAt && { expires_at: timeText(expiresAt) }),
    ...(typeof limit === "string" && { limit_usd: parseAmount(limit) }),
    ...(typeof tags === "string" && { tags: Object.fromEntries(parseTags(tags, "tags")) }),
    ...(typeof user === "string" && { external_user: { user } }),
  };
  return Object.fromEntries(keySettingRows.map(([name, { givenAs = name }]) => [givenAs, converted[name]]));
}

/** Formats a time. An invalid time becomes the empty text, which the check of times refuses. */
const timeText = (time: Date): string => (Number.isNaN(time.getTime()) ? "" : time.toISOString());

const search = object(keySearch);

/** @throws Fault INVALID_REQUEST with every problem */
export function readKeySearch(given: { readonly q?: string | undefined; readonly sort?: string | undefined }): {
  readonly q?: string | undefined;
  readonly sort?: KeySort | undefined;
} {
  throwProblems((problems) => search.check(given, "", problems));
  return given as { readonly sort?: KeySort };
}
