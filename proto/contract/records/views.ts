/** Saved views of the console's explorer: request and response bodies of their operations. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type View, ViewSchema } from "../../gen/sluice/admin/v1/view_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { type Shape, described, named, object, string } from "../../lib/validation/shape.ts";
import { checkName, hasSurroundingSpace } from "../../lib/validation/text.ts";
import { jsonCodec } from "../codec/codec.ts";
import { deleted, pageQuery, pageShape, putOutcome, time } from "./record-shapes.ts";

/** Maximum number of saved views in a workspace. */
export const maxViews = 200;
/** Number of views in a page when the request gives no limit. */
export const defaultViewPage = 100;

const maxName = 64;

/** Name of a record whose path contains the name: paths cannot have the segments `.` and `..`. */
export const addressedName: Shape<string> = {
  check(value, path, problems) {
    if (typeof value !== "string") return problems.add(path, "must be a string");
    checkName(path, value, maxName, problems);
    if (hasSurroundingSpace(value)) problems.add(path, "must not begin or end with white space");
    if (value === "." || value === "..") problems.add(path, "must not be . or ..");
  },
  schema: () => ({ type: "string", minLength: 1, maxLength: maxName, pattern: "^(?!\\.{1,2}$)[^\\x00]*$" }),
};

/** Query string of an address, limited to characters that browsers leave unchanged. */
export const viewQueryText = string({
  max: 4_096,
  pattern: {
    form: /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*$/,
    message: "must be the percent-encoded query of an address, without its question mark",
  },
});

/** Name of a stored record. It lacks the limits of a new name, so an answer never fails because of stored data. */
export const storedName = described(string(), "Its name, unique in the workspace; case-sensitive.");
const viewName = described(addressedName, "Its name, unique in the workspace; case-sensitive.");
const queryWords =
  "Query of the explorer's address, percent-encoded, such as `tab=errors&model=acme%2Flarge`; empty for the explorer as it opens.";
const query = described(
  viewQueryText,
  `${queryWords} It is stored in the form of URLSearchParams, which escapes more, and has at most 4,096 characters in that form.`,
);

export const view = named(
  "View",
  object(
    {
      name: storedName,
      query: described(string(), queryWords),
      created_by: described(
        string(),
        "Who made it: e-mail address of a person, hash of a management key, or name of a program.",
      ),
      created_at: described(time, "When it was made."),
      updated_at: described(time, "When its query was last changed."),
    },
    {
      required: ["name", "query", "created_by", "created_at", "updated_at"],
      description: "A saved view of the explorer.",
    },
  ),
);

export const viewSettings = named("ViewSettings", object({ query }, { required: ["query"], strict: true }));

export const viewList = named("ViewList", pageShape(view));

export const viewListQuery = object(pageQuery(defaultViewPage), { strict: true });

export const putViewAnswer = named(
  "PutViewAnswer",
  object({ data: view, ...putOutcome }, { required: ["data", ...Object.keys(putOutcome)] }),
);

export const deletedView = named("DeletedView", deleted);

/** A view as clients give it, over gRPC and on the command line. */
export const newView = object({ name: viewName, query }, { required: ["name", "query"] });

const times = { toMessage: timestampFromDate, toJson: instant };
const record = jsonCodec(ViewSchema, { conversions: { created_at: times, updated_at: times } });

/** Converts a view to its JSON in answers. */
export const toViewJson = (message: View): JsonObject => ({ query: "", ...record.json(message) });
