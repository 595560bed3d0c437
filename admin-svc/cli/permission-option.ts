/** The option for the permissions of a key or a workspace. */
import type { PermissionsJson } from "@sluice/proto/contract/records/permissions.js";
import { UsageError } from "@sluice/proto/lib/process/cli.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";

export const permissionDetails = [
  '--permissions takes lists of names, * for any characters, such as \'{"models": ["anthropic/*"], "plugins": []}\'. A list that is left out narrows nothing.',
] as const;

/** Lists that are not known or not well-formed are refused later, with the other settings. @throws UsageError */
export function readPermissions(text: string, option: string): PermissionsJson | null {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new UsageError(`${option}: an object of lists in JSON, such as '{"models": ["anthropic/*"]}'`);
  }
  if (!isObject(given))
    throw new UsageError(`${option}: an object of lists in JSON, such as '{"models": ["anthropic/*"]}'`);
  // A list of null is an absent one.
  const lists = Object.entries(given).filter(([, list]) => list !== null);
  return lists.length === 0 ? null : (Object.fromEntries(lists) as PermissionsJson);
}
