/** The option `--permissions` of a key or a workspace. */
import type { PermissionsJson } from "@sluice/proto/contract/records/permissions.js";
import { UsageError } from "@sluice/proto/lib/process/cli.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";

export const permissionDetails = [
  '--permissions takes lists of names, * for any characters, such as \'{"models": ["anthropic/*"], "plugins": []}\'. A list that is left out narrows nothing.',
] as const;

/**
 * Unknown or malformed lists are refused later, by the check of all settings. @throws UsageError unless the text is a
 * JSON object
 */
export function readPermissions(text: string, option: string): PermissionsJson | null {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new UsageError(`${option}: an object of lists in JSON, such as '{"models": ["anthropic/*"]}'`);
  }
  if (!isObject(given))
    throw new UsageError(`${option}: an object of lists in JSON, such as '{"models": ["anthropic/*"]}'`);
  // A list of null counts as absent.
  const lists = Object.entries(given).filter(([, list]) => list !== null);
  return lists.length === 0 ? null : (Object.fromEntries(lists) as PermissionsJson);
}
