/** Bodies and answers of the administration operations. */
import { type Shape, array, boolean, described, integer, named, object, string } from "../runtime/validation/shape.ts";
import { checkEndUser } from "../runtime/validation/text.ts";
import { time } from "./records.ts";

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

/** A registered end user by its string: what can be stored once and found again. */
export const endUserName: Shape = {
  check(value, path, problems) {
    if (typeof value === "string") checkEndUser(path, value, problems);
    else problems.add(path, "must be a string");
  },
  schema: () => ({
    type: "string",
    minLength: 1,
    maxLength: 512,
    pattern: "^[^\\u0000]*$",
    description:
      "The string that requests carry as `user`: case-sensitive, without white space at its ends, never changed.",
  }),
};

const endUser = object(
  {
    user: endUserName,
    is_active: described(boolean, "Registration state."),
    created_at: described(time, "When it was registered: ISO 8601, UTC."),
    updated_at: described(time, "When it was last written: ISO 8601, UTC."),
  },
  { required: ["user", "is_active", "created_at", "updated_at"], description: "A registered end user." },
);

export const endUserAnswer = named(
  "EndUserAnswer",
  object({ data: named("EndUser", endUser) }, { required: ["data"] }),
);
