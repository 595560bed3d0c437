/** End users: queries, request and response bodies of their operations. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type EndUser, EndUserSchema } from "../../gen/sluice/admin/v1/end_user_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { type Shape, boolean, described, named, object } from "../../lib/validation/shape.ts";
import { checkEndUser } from "../../lib/validation/text.ts";
import { jsonCodec } from "../codec/codec.ts";
import { pageShape, pageQuery, time } from "./record-shapes.ts";

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

/** Name of a registered end user, limited to texts that can be stored once and found again. */
export const endUserName: Shape<string> = {
  check(value, path, problems) {
    if (typeof value === "string") checkEndUser(path, value, problems);
    else problems.add(path, "must be a string");
  },
  schema: () => ({
    type: "string",
    minLength: 1,
    maxLength: 512,
    pattern: "^[^\\x00]*$",
    description:
      "The string that requests carry as `user`: case-sensitive, without white space at its ends, never changed.",
  }),
};

export const endUser = named(
  "EndUser",
  object(
    {
      user: endUserName,
      is_active: described(boolean, "Registration state."),
      created_at: described(time, "When it was registered: ISO 8601, UTC."),
      updated_at: described(time, "When it was last written: ISO 8601, UTC."),
    },
    { required: ["user", "is_active", "created_at", "updated_at"], description: "A registered end user." },
  ),
);

export const endUserAnswer = named("EndUserAnswer", object({ data: endUser }, { required: ["data"] }));

export const endUserList = named("EndUserList", pageShape(endUser));

export const newEndUser = named("NewEndUser", object({ user: endUserName }, { required: ["user"], strict: true }));

/** A name in a query must be valid as a new name, because no other name can exist. */
export const endUserQuery = object(
  {
    ...pageQuery(50),
    user: described(
      endUserName,
      "Lists this end user alone, compared exactly. It also finds `.` and `..`, which no path can name.",
    ),
    include_inactive: described(boolean, "Whether those that are not active are listed, too; false when absent."),
  },
  { strict: true },
);

const times = { toMessage: timestampFromDate, toJson: instant };
const record = jsonCodec(EndUserSchema, { conversions: { created_at: times, updated_at: times } });

/** Converts an end user to its JSON in answers. */
export const toEndUserJson = (message: EndUser): JsonObject => ({ is_active: false, ...record.json(message) });
