/** Settings of a key, each described once for requests, answers, the database and the command line. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { maxConcurrentRequests, maxRequestsPerMinute, maxTokensPerMinute } from "../../lib/limits/settings.ts";
import { instant } from "../../lib/time/instant.ts";
import { formatDollars } from "../../lib/ledger/money.ts";
import {
  type Shape,
  boolean,
  described,
  integer,
  map,
  nullable,
  number,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { readRecordedTags, tagsText } from "../../lib/turns/tags.ts";
import { tagMap } from "./tags.ts";
import { guardrailIds } from "./guardrail-ids.ts";
import { networkList } from "./networks.ts";
import { endUserName } from "./end-users.ts";
import { modelLimitsField, shownModelLimits, storedModelLimits } from "./model-limits.ts";
import { permissionsField, shownPermissions, storedPermissions } from "./permissions.ts";
import { requestTime, onlyNull, recordName, resetIntervals, time } from "./record-shapes.ts";

export const externalEndUser = object(
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

/** A non-negative amount in USD. */
export const nonNegativeUsd = number({ min: 0 });

const rateLimit = (max: number, description: string) => {
  const shape = described(nullable(integer({ min: 1, max })), `${description} Null: as the configuration file says.`);
  return { given: shape, shown: shape, unset: null };
};

interface Setting {
  readonly given: Shape;
  /** Name in the JSON of requests, if it differs. */
  readonly givenAs?: string;
  readonly shown: Shape;
  /** Name in the JSON of answers, if it differs. */
  readonly shownAs?: string;
  /**
   * Converts the JSON of a request to the stored value; `toShown` converts the stored value to the JSON of an answer.
   */
  readonly toStored?: (given: never) => unknown;
  readonly toShown?: (stored: never) => unknown;
  readonly unset: unknown;
}

/**
 * Every setting of a key, described once: allowed input, form in answers, and the stored value while it is unset. Names
 * are those of the database columns, the command line, and the messages, which have the rate limits in a nested
 * message.
 */
const settings = {
  name: {
    given: described(recordName, "Name for people."),
    shown: described(string({ min: 1 }), "Name for people."),
    unset: "",
  },
  expires_at: {
    given: described(
      nullable(requestTime),
      "From then on the key is refused; in the future. Null: it does not expire.",
    ),
    shown: described(nullable(time), "When it expires; null: never."),
    toStored: (given: string) => new Date(given),
    toShown: (stored: Date) => instant(timestampFromDate(stored)),
    unset: null,
  },
  limit_usd: {
    given: described(
      nullable(number({ min: 0, max: 1_000_000_000 })),
      "What the key may spend, in USD. A call that could exceed it is refused with 402. Null: any amount.",
    ),
    givenAs: "limit",
    shown: described(nullable(nonNegativeUsd), "Budget in USD; null: none."),
    shownAs: "limit",
    toStored: formatDollars,
    toShown: Number,
    unset: null,
  },
  limit_reset: {
    given: described(
      nullable(word(...resetIntervals)),
      "When the budget begins anew: at midnight UTC, on Mondays, on the first of the month. Null: never.",
    ),
    shown: described(nullable(word(...resetIntervals)), "When it begins anew."),
    unset: null,
  },
  requests_per_minute: rateLimit(
    maxRequestsPerMinute,
    "Requests that are answered: as many at once, then evenly. Above it 429.",
  ),
  tokens_per_minute: rateLimit(
    maxTokensPerMinute,
    "Tokens of input and output together, counted when a response ends. Once they are used up 429.",
  ),
  concurrent_requests: rateLimit(maxConcurrentRequests, "Requests that run at a time. Above it 429."),
  model_limits: {
    given: modelLimitsField("Limits of the key for models; those of its workspace hold as well."),
    shown: shownModelLimits,
    toStored: storedModelLimits,
    unset: null,
  },
  disabled: {
    given: described(boolean, "A disabled key is refused like an unknown one, until it is enabled again."),
    shown: described(boolean, "Whether it is refused until it is enabled again."),
    unset: false,
  },
  external_user: {
    given: described(nullable(externalEndUser), "The end user that the key is for; null: no particular one."),
    givenAs: "external",
    shown: described(nullable(string()), "The end user that it was made for."),
    toStored: ({ user }: { readonly user: string }) => user,
    unset: null,
  },
  permissions: {
    given: permissionsField("What the key may use; the permissions of its workspace hold as well."),
    shown: shownPermissions,
    toStored: storedPermissions,
    unset: null,
  },
  capture_content: {
    given: described(
      boolean,
      "Whether prompts and answers are stored, encrypted, for `GET /generation/content`. Needs `capture.key` of the configuration file.",
    ),
    shown: described(boolean, "Whether prompts and answers are stored for a while."),
    unset: false,
  },
  trace_content: {
    given: described(
      boolean,
      "Whether prompts and answers, after redaction, are attributes of its traces. Needs `tracing.content` of the configuration file.",
    ),
    shown: described(boolean, "Whether prompts and answers are attributes of its traces."),
    unset: false,
  },
  tags: {
    given: described(
      nullable(tagMap),
      "Tags of its requests, such as a team or a cost centre; they win over tags of the same name in a request. Null: none.",
    ),
    shown: described(nullable(map(string())), "Tags of its requests; null: none."),
    toStored: (given: Readonly<Record<string, string>>) => tagsText(Object.entries(given)) || null,
    toShown: (stored: string) => readRecordedTags(stored),
    unset: null,
  },
  allowed_networks: {
    given: described(
      nullable(networkList),
      "Addresses and networks from which the key may be used, such as `10.0.0.0/8` and `2001:db8::1`; a request from elsewhere is refused with 403. Null: from everywhere.",
    ),
    shown: described(nullable(networkList), "Networks from which it may be used; null: from everywhere."),
    unset: null,
  },
  further_guardrails: {
    given: described(
      nullable(guardrailIds),
      "Ids of guardrails of the workspace that apply besides the assigned one and the defaults. All of them add up. Null: none.",
    ),
    shown: described(nullable(guardrailIds), "Ids of its further guardrails; null: none."),
    unset: null,
  },
} as const satisfies Readonly<Record<string, Setting>>;

export type KeySettingName = keyof typeof settings;

/** The settings as a list of rows. A row lacks the parts that it does not need. */
export const keySettingRows = Object.entries<Setting>(settings) as readonly [KeySettingName, Setting][];

/** Stored settings of a key for which none was given. */
export const unsetKey = Object.fromEntries(keySettingRows.map(([name, { unset }]) => [name, unset])) as {
  readonly [Name in KeySettingName]: (typeof settings)[Name]["unset"];
};
