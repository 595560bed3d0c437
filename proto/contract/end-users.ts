/** End users: bodies, queries and answers of their operations. */
import { type Shape, boolean, described, named, object } from "../runtime/validation/shape.ts";
import { checkEndUser } from "../runtime/validation/text.ts";
import { listOf, pageQuery, time } from "./records.ts";

export const endUserChange = named(
  "EndUserChange",
  object(
    {
      is_active: described(
        boolean,
        "Whether the end user is registered as active. Requests are served either way, unless the configuration file enforces it.",
      ),
    },
    { required: ["is_active"], strict: true },
  ),
);

/** A registered end user by its string: what can be stored once and found again. */
export const endUserName: Shape<string> = {
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

const record = named("EndUser", endUser);

export const endUserAnswer = named("EndUserAnswer", object({ data: record }, { required: ["data"] }));

export const endUserList = named("EndUserList", listOf(record));

export const newEndUser = named("NewEndUser", object({ user: endUserName }, { required: ["user"], strict: true }));

/** A name to look for is checked as one to register: any other is nobody's. */
export const endUserQuery = object(
  {
    ...pageQuery(50),
    user: described(
      endUserName,
      "Only this one, compared exactly: the way to those that no path can name, `.` and `..`.",
    ),
    include_inactive: described(boolean, "Whether those that are not active are listed, too; false when absent."),
  },
  { strict: true },
);
