/** Keys: bodies, queries and answers of their operations. */
import { mostConcurrentRequests, mostRequestsPerMinute, mostTokensPerMinute } from "../runtime/limits/settings.ts";
import {
  array,
  boolean,
  constant,
  described,
  integer,
  named,
  nullable,
  number,
  object,
  string,
  word,
} from "../runtime/validation/shape.ts";
import { endUserName } from "./end-users.ts";
import {
  changeOf,
  deleted,
  givenTime,
  listOf,
  onlyFalse,
  onlyNull,
  ownWorkspace,
  pageQuery,
  recordName,
  resetIntervals,
  time,
} from "./records.ts";

const external = object(
  {
    user: endUserName,
    api_key: onlyNull("keys of your own making are"),
  },
  {
    required: ["user"],
    strict: true,
    description:
      "The end user that the key is for. A record: it neither registers the end user nor speaks for it in requests.",
  },
);

/** What a key is made of. Fields are named here as in JSON, for every door. */
const settings = {
  name: described(recordName, "Name for people."),
  expires_at: described(
    nullable(givenTime),
    "From then on the key is refused; in the future. Null: it does not expire.",
  ),
};

const budget = {
  limit: described(
    nullable(number({ min: 0, max: 1_000_000_000 })),
    "What the key may spend, in USD. A call that could exceed it is refused with 402. Null: any amount.",
  ),
  limit_reset: described(
    nullable(word(...resetIntervals)),
    "When the budget begins anew: at midnight UTC, on Mondays, on the first of the month. Null: never.",
  ),
};

/** Fields that are null leave it to the house. */
const rateLimits = {
  requests_per_minute: described(
    nullable(integer({ min: 1, max: mostRequestsPerMinute })),
    "Requests that are answered: as many at once, then evenly. Above it 429. Null: as the house is configured.",
  ),
  tokens_per_minute: described(
    nullable(integer({ min: 1, max: mostTokensPerMinute })),
    "Tokens of input and output together, counted when a response ends. Once they are used up 429. Null: as the house is configured.",
  ),
  concurrent_requests: described(
    nullable(integer({ min: 1, max: mostConcurrentRequests })),
    "Requests that run at a time. Above it 429. Null: as the house is configured.",
  ),
};

const unavailable = { include_byok_in_limit: onlyFalse("keys of your own are") };

export const newKey = named(
  "NewKey",
  object(
    {
      ...settings,
      ...budget,
      ...rateLimits,
      external,
      ...unavailable,
      creator_user_id: onlyNull("members are"),
      workspace_id: ownWorkspace,
    },
    { required: ["name"], strict: true },
  ),
);

const changes = {
  ...settings,
  ...budget,
  ...rateLimits,
  disabled: described(boolean, "A disabled key is refused like an unknown one, until it is enabled again."),
  external: described(nullable(external), "The end user that the key is for; null: nobody in particular."),
};

/** The fields that a change can set, whatever form they came in. */
export const keySettings = object(changes);

export const keyChange = named("KeyChange", changeOf({ ...changes, ...unavailable }));

export const keyQuery = object(
  {
    ...pageQuery(100),
    include_disabled: described(boolean, "Whether disabled keys are listed, too; false when absent."),
    workspace_id: ownWorkspace,
  },
  { strict: true },
);

const dollars = number({ min: 0 });
const uncounted = (what: string) => described(constant(0), `${what} Always 0: there are none.`);

/** Of budgets and usage, wherever a key is shown. */
const account = {
  limit: described(nullable(dollars), "Budget in USD; null: none."),
  limit_remaining: described(nullable(dollars), "What is left of it."),
  limit_reset: described(nullable(word(...resetIntervals)), "When it begins anew."),
  include_byok_in_limit: described(boolean, "Whether usage on keys of your own counts."),
  usage: described(dollars, "USD spent."),
  usage_daily: described(dollars, "USD spent since midnight UTC."),
  usage_weekly: described(dollars, "USD spent since Monday, UTC."),
  usage_monthly: described(dollars, "USD spent since the first of the month, UTC."),
  byok_usage: uncounted("USD spent on keys of your own."),
  byok_usage_daily: uncounted("The same since midnight UTC."),
  byok_usage_weekly: uncounted("The same since Monday, UTC."),
  byok_usage_monthly: uncounted("The same since the first of the month, UTC."),
};

const label = described(string({ min: 1 }), "The key with its middle left out.");
const expiry = described(nullable(time), "When it expires; null: never.");
const creator = described(nullable(string()), "Always null: there are no members.");
const workspace = described(string({ min: 1 }), "The workspace that owns it.");

const key = {
  hash: described(string({ min: 1 }), "SHA-256 of the whole key in hexadecimal: by this it is addressed."),
  name: described(string({ min: 1 }), "Name for people."),
  label,
  disabled: described(boolean, "Whether it is refused until it is enabled again."),
  expires_at: expiry,
  external_user: described(nullable(string()), "The end user that it was made for."),
  ...account,
  ...rateLimits,
  creator_user_id: creator,
  workspace_id: workspace,
  created_at: described(time, "When it was made."),
  updated_at: described(nullable(time), "When it was last changed; null: never."),
};

const keyRecord = named("Key", object(key, { required: Object.keys(key), description: "A key without its secret." }));

export const keyList = named("KeyList", listOf(keyRecord));

export const keyAnswer = named("KeyAnswer", object({ data: keyRecord }, { required: ["data"] }));

export const createdKey = named(
  "CreatedKey",
  object(
    {
      data: keyRecord,
      key: described(string({ min: 1 }), "The key itself. It is shown once: only its hash is stored."),
    },
    { required: ["data", "key"] },
  ),
);

export const deletedKey = named("DeletedKey", deleted);

const current = {
  label,
  is_management_key: described(boolean, "Whether it administers a workspace. Such a key creates no responses."),
  is_provisioning_key: described(boolean, "Older name of `is_management_key`."),
  is_free_tier: described(constant(false), "There are no tiers."),
  expires_at: expiry,
  ...account,
  ...rateLimits,
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

export const currentKeyAnswer = named(
  "CurrentKeyAnswer",
  object(
    { data: named("CurrentKey", object(current, { required: Object.keys(current), description: "The calling key." })) },
    { required: ["data"] },
  ),
);
