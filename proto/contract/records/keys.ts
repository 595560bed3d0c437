/** Keys: queries, request and response bodies of their operations. */
import {
  type Shape,
  array,
  boolean,
  constant,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { externalEndUser, keySettingRows, nonNegativeUsd } from "./key-settings.ts";
import {
  changeShape,
  putOutcome,
  externalIdField,
  deleted,
  pageShape,
  onlyFalse,
  onlyNull,
  ownWorkspace,
  pageQuery,
  time,
} from "./record-shapes.ts";

const given: Readonly<Record<string, Shape>> = Object.fromEntries(
  keySettingRows.map(([name, { given: shape, givenAs = name }]) => [givenAs, shape]),
);

const unavailable = { include_byok_in_limit: onlyFalse("keys of your own are") };

const { disabled: _, ...creation } = given;

export const newKey = named(
  "NewKey",
  object(
    {
      ...creation,
      external: externalEndUser,
      ...unavailable,
      creator_user_id: onlyNull("members are"),
      workspace_id: ownWorkspace,
    },
    { required: ["name"], strict: true },
  ),
);

/** Fields of a change, over HTTP, over gRPC and on the command line. */
export const keySettings = object(given);

export const keyChange = named("KeyChange", changeShape({ ...given, ...unavailable }));

/** Sort orders of the list of keys; a minus in front reverses an order. */
export const keyOrders = ["name", "created", "spent", "last_used"] as const;
export type KeyOrder = (typeof keyOrders)[number];
export type KeySort = KeyOrder | `-${KeyOrder}`;

/** Search text and sort order of the list of keys, also on the command line. */
export const keySearch = {
  q: described(
    string({ min: 1, max: 200 }),
    "Lists keys whose name or label contains this, in either case, or whose hash begins with it.",
  ),
  sort: described(
    word(...keyOrders, ...keyOrders.map((order): `-${KeyOrder}` => `-${order}`)),
    "Order of the list: `name`, `created`, `spent` or `last_used`, after a minus in the opposite direction; `created` when absent. Equal keys follow by hash, so pages never overlap.",
  ),
};

export const keyQuery = object(
  {
    ...pageQuery(100),
    ...keySearch,
    include_disabled: described(boolean, "Whether disabled keys are listed, too; false when absent."),
    workspace_id: ownWorkspace,
  },
  { strict: true },
);

const uncounted = (what: string) => described(constant(0), `${what} Always 0: there are none.`);

/** Fields about the spending of a key, in every answer with the key. */
const account = {
  limit_remaining: described(nullable(nonNegativeUsd), "What is left of it."),
  include_byok_in_limit: described(boolean, "Whether usage on keys of your own counts."),
  usage: described(nonNegativeUsd, "USD spent."),
  usage_daily: described(nonNegativeUsd, "USD spent since midnight UTC."),
  usage_weekly: described(nonNegativeUsd, "USD spent since Monday, UTC."),
  usage_monthly: described(nonNegativeUsd, "USD spent since the first of the month, UTC."),
  byok_usage: uncounted("USD spent on keys of your own."),
  byok_usage_daily: uncounted("The same since midnight UTC."),
  byok_usage_weekly: uncounted("The same since Monday, UTC."),
  byok_usage_monthly: uncounted("The same since the first of the month, UTC."),
};

const shown: Readonly<Record<string, Shape>> = Object.fromEntries(
  keySettingRows.map(([name, { shown: shape, shownAs = name }]) => [shownAs, shape]),
);

const label = described(string({ min: 1 }), "The key with its middle left out.");
const creator = described(nullable(string()), "Always null: there are no members.");
const workspace = described(string({ min: 1 }), "The workspace that owns it.");

const fields = {
  hash: described(string({ min: 1 }), "SHA-256 of the whole key in hexadecimal, by which it is addressed."),
  label,
  ...shown,
  ...account,
  creator_user_id: creator,
  external_id: externalIdField,
  workspace_id: workspace,
  created_at: described(time, "When it was made."),
  updated_at: described(nullable(time), "When it was last changed; null: never."),
  last_used_at: described(
    nullable(time),
    "When the latest of its calls to a provider began that are on record; null: there is none.",
  ),
};

export const key = named(
  "Key",
  object(fields, { required: Object.keys(fields), description: "A key without its secret." }),
);

export const keyList = named("KeyList", pageShape(key));

export const keyAnswer = named("KeyAnswer", object({ data: key }, { required: ["data"] }));

export const createdKey = named(
  "CreatedKey",
  object(
    {
      data: key,
      key: described(string({ min: 1 }), "The key itself. It is shown once: only its hash is stored."),
    },
    { required: ["data", "key"] },
  ),
);

export const putKeyAnswer = named(
  "PutKeyAnswer",
  object(
    {
      data: key,
      key: described(nullable(string()), "The key itself where this request made it, for the only time; else null."),
      ...putOutcome,
    },
    { required: ["data", "key", ...Object.keys(putOutcome)] },
  ),
);

export const deletedKey = named("DeletedKey", deleted);

/** Settings shown to a client that asks about its own key. */
const { name: _name, disabled: _disabled, external_user: _user, ...shownToBearer } = shown;

const current = {
  label,
  is_management_key: described(boolean, "Whether it administers a workspace. Such a key creates no responses."),
  is_provisioning_key: described(boolean, "Older name of `is_management_key`."),
  is_free_tier: described(constant(false), "There are no tiers."),
  ...shownToBearer,
  ...account,
  creator_user_id: creator,
  organization_id: described(nullable(string()), "Always null: there are no organizations."),
  workspace_id: workspace,
  allowed_data_regions: described(array(word("global")), "Where requests may enter."),
  free_model_daily_requests: object(
    { limit: integer({ min: 0 }), remaining: integer({ min: 0 }), used: integer({ min: 0 }) },
    { required: ["limit", "remaining", "used"], description: "Always 0: no model is free by count." },
  ),
  rate_limit: object(
    { requests: integer(), interval: string(), note: string() },
    { required: ["requests", "interval", "note"], description: "Out of use: no number of requests is promised here." },
  ),
};

export const currentKey = named(
  "CurrentKey",
  object(current, { required: Object.keys(current), description: "The calling key." }),
);

export const currentKeyAnswer = named("CurrentKeyAnswer", object({ data: currentKey }, { required: ["data"] }));
