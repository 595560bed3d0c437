/** Lists of sessions: the query, the answer, and the conversion of a message to JSON. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ListedSession } from "../../gen/sluice/admin/v1/usage_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { array, described, integer, named, nullable, object, string } from "../../lib/validation/shape.ts";
import { exactDollarsShape } from "./generations.ts";
import { nextCursor, pageCursor, requestTime, time } from "./record-shapes.ts";
import { tagsQuery } from "./tags.ts";

export const defaultSessions = 50;
export const maxSessionModels = 5;

/** Query of the list. The same rules apply over gRPC: see store/ledger/sessions.ts of admin-svc. */
export const sessionsQuery = object(
  {
    cursor: pageCursor,
    limit: described(integer({ min: 1, max: 100 }), `How many to list at most; ${defaultSessions} when absent.`),
    from: described(requestTime, "Requests that began then or later; those of 30 days before `to` when absent."),
    to: described(requestTime, "Requests that began earlier; until now when absent."),
    tags: tagsQuery,
  },
  { strict: true },
);

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

const session = {
  id: described(string({ min: 1 }), "As the requests named it: `session_id` at `GET /generations`."),
  first_at: described(time, "When its first request of the period began."),
  last_at: described(time, "When its last request of the period began."),
  requests: described(count, "Requests in the period."),
  failures: described(count, "Requests that failed, were refused or lost."),
  cost_usd: exactDollarsShape,
  models: described(
    array(string(), { max: maxSessionModels }),
    `The most frequent models, ${maxSessionModels} at most: those that were called last, or else asked for.`,
  ),
  key_hash: described(string(), "Hash of the key of its last request."),
  key_name: described(nullable(string()), "Name of that key; null when the key is gone."),
};

export const sessionList = named(
  "SessionList",
  object(
    {
      data: described(
        array(named("ListedSession", object(session, { required: Object.keys(session) }))),
        "By the last request, latest first.",
      ),
      next_cursor: nextCursor,
    },
    { required: ["data", "next_cursor"] },
  ),
);

const at = (ms: bigint): string => instant(timestampFromMs(Number(ms)));

export const toSessionJson = (listed: ListedSession): JsonObject => ({
  id: listed.id,
  first_at: at(listed.firstAtMs),
  last_at: at(listed.lastAtMs),
  requests: Number(listed.requests),
  failures: Number(listed.failures),
  cost_usd: listed.costUsd,
  models: listed.models,
  key_hash: listed.keyHash,
  key_name: listed.keyName || null,
});
