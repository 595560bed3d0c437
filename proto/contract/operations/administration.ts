/** Request and response bodies of bulk assignment. */
import { array, described, integer, named, object, string } from "../../lib/validation/shape.ts";

/** Hash of a key, which has 64 digits. Longer texts up to the maximum are accepted, but match no key. */
const keyHash = string({ min: 1, max: 1_024, identifier: true });

export const keyHashes = named(
  "KeyHashes",
  object(
    {
      key_hashes: described(
        array(keyHash, { min: 1, max: 500, entry: "element" }),
        "Keys by their hash. A hash that names no key of the workspace is skipped and not counted.",
      ),
    },
    { required: ["key_hashes"], strict: true },
  ),
);

const counted = (name: string, description: string) =>
  object({ [name]: described(integer({ min: 0, max: 500 }), description) }, { required: [name] });

export const assignedKeyCount = named(
  "AssignedKeys",
  counted("assigned_count", "Keys that hold the guardrail now, those that held it before included."),
);

export const unassignedKeyCount = named(
  "UnassignedKeys",
  counted("unassigned_count", "Keys that held the guardrail until now."),
);
