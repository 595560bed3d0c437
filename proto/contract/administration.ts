/** Bodies and answers of the administration operations. */
import { array, boolean, described, integer, named, object, string } from "../runtime/validation/shape.ts";

/** Hashes have 64 digits; anything up to this is looked up and not found. */
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

export const assigned = named(
  "AssignedKeys",
  counted("assigned_count", "Keys that hold the guardrail now, those that held it before included."),
);

export const unassigned = named(
  "UnassignedKeys",
  counted("unassigned_count", "Keys that held the guardrail until now."),
);

export const endUserChange = named(
  "EndUserChange",
  object(
    {
      is_active: described(
        boolean,
        "Whether the end user is registered as active. Access to models does not depend on it.",
      ),
    },
    { required: ["is_active"], strict: true },
  ),
);

const instant = (description: string) =>
  described(
    string({ pattern: { form: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/, says: "must be an ISO 8601 time in UTC" } }),
    description,
  );

const endUser = object(
  {
    user: described(
      string({ min: 1, max: 512, identifier: true }),
      "The string that requests carry as `user`. Case-sensitive, never changed.",
    ),
    is_active: described(boolean, "Registration state."),
    created_at: instant("When it was registered: ISO 8601, UTC."),
    updated_at: instant("When it was last written: ISO 8601, UTC."),
  },
  { required: ["user", "is_active", "created_at", "updated_at"], description: "A registered end user." },
);

export const endUserAnswer = named(
  "EndUserAnswer",
  object({ data: named("EndUser", endUser) }, { required: ["data"] }),
);
