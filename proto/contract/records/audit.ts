/** Entries of the audit log: queries and response bodies of their operations. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { AuditEntry, AuditState } from "../../gen/sluice/admin/v1/audit_service_pb.ts";
import { instant } from "../../lib/time/instant.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { anyValue, array, described, integer, named, nullable, object, string } from "../../lib/validation/shape.ts";
import { nextCursor, pageCursor, pageQuery, requestTime, time } from "./record-shapes.ts";

const workspace = described(
  string({ identifier: true }),
  "The only workspace that is meant. When absent: every workspace for a management key of the account, its own for any other. Any other is not found: 404.",
);

/** Text that can name any record; the longest name is that of an end user, 512 code points. */
const word = string({ min: 1, max: 1_024, identifier: true });

export const auditFilter = {
  actor: described(
    word,
    "Lists changes by this person alone, who is named by an e-mail address, or by this hash of a management key, or by `api`, `cli` or `bootstrap`.",
  ),
  target: described(
    word,
    "Lists changes of this record alone: the hash of a key, the id of a guardrail or of a workspace, the name of an end user.",
  ),
  action: described(word, "Lists changes of this kind alone, such as `keys.revoke`."),
  address: described(
    string({ min: 1, max: 64, identifier: true }),
    "Lists changes from this address of a client alone, in IPv4 or IPv6.",
  ),
  from: described(requestTime, "Lists changes from this time on."),
  to: described(requestTime, "Lists changes before this time."),
  q: described(
    string({ min: 1, max: 200, identifier: true }),
    "Lists changes with this text in their action, in the actor or its name, in the address, or in the changed record or its name, in any case.",
  ),
};

export const auditQuery = object(
  {
    ...auditFilter,
    workspace_id: workspace,
    cursor: pageCursor,
    limit: pageQuery(100).limit,
  },
  { strict: true },
);

export const auditStateQuery = object({ workspace_id: workspace }, { strict: true });

const entryFields = {
  sequence: described(integer({ min: 1 }), "Number within the workspace, from 1 without a gap."),
  workspace_id: described(string({ min: 1 }), "The workspace in whose log it is."),
  at: described(time, "When the change was made."),
  actor: described(
    string({ min: 1 }),
    "E-mail address of the person who made it in the console, or hash of the management key, or `api`, `cli`, `bootstrap`.",
  ),
  action: described(string({ min: 1 }), "Noun and verb, such as `keys.revoke`."),
  target: described(nullable(string()), "The changed record; null once it was erased."),
  actor_name: described(nullable(string()), "Name of the management key that made it; null for other actors."),
  target_name: described(
    nullable(string()),
    "Name of the changed key, guardrail or workspace: its present one, or else the one in this entry; null where neither is known.",
  ),
  before: described(anyValue, "What was there before, of a change the fields that differ; null for a new record."),
  after: described(anyValue, "What was there afterwards; null for a record that was removed."),
  request_id: described(nullable(string()), "The request; null for a change on the command line."),
  address: described(
    nullable(string()),
    "Address of the client that made it, in IPv4 or IPv6; null for a change on the command line, and before this field existed.",
  ),
  generation: described(nullable(integer({ min: 0 })), "The policy generation; null where no policy changed."),
  hash: described(string({ min: 1 }), "Hash of the entry in hexadecimal. It covers that of the entry before."),
  erased_at: described(nullable(time), "When target, before and after were erased; null: they were not."),
};

export const auditEntry = named(
  "AuditEntry",
  object(entryFields, { required: Object.keys(entryFields), description: "A change by an administrator." }),
);

export const auditList = named(
  "AuditList",
  object(
    {
      data: described(array(auditEntry, { max: 100 }), "The entries of this page, latest first."),
      next_cursor: nextCursor,
    },
    { required: ["data", "next_cursor"] },
  ),
);

const stateFields = {
  workspace_id: described(string({ min: 1 }), "The workspace."),
  name: described(string({ min: 1 }), "Its name."),
  entries: described(integer({ min: 0 }), "Entries that are there."),
  erased: described(integer({ min: 0 }), "Entries whose target, before and after were erased."),
  sequence: described(integer({ min: 0 }), "Number of the last entry."),
  head: described(string(), "Hash of the last entry. A copy kept elsewhere reveals a log that was written anew."),
  wrong: described(
    array(integer({ min: 0 })),
    "Numbers of the first ten entries that were changed, removed or inserted later; empty: the log is whole.",
  ),
  unverifiable: described(
    array(integer({ min: 0 })),
    "Numbers of the first ten entries that a build of before 2026-11-28 erased: it did not write which, so nobody can tell whether they are.",
  ),
};

export const auditState = named(
  "AuditState",
  object(stateFields, { required: Object.keys(stateFields), description: "The audit log of a workspace." }),
);

export const auditStateList = named(
  "AuditStateList",
  object({ data: described(array(auditState), "One for each workspace.") }, { required: ["data"] }),
);

/** Converts an entry to its JSON in answers. */
export const toAuditEntryJson = (entry: AuditEntry): JsonObject => ({
  sequence: Number(entry.sequence),
  workspace_id: entry.workspaceId,
  at: entry.at ? instant(entry.at) : null,
  actor: entry.actor,
  action: entry.action,
  target: entry.target ?? null,
  actor_name: entry.actorName ?? null,
  target_name: entry.targetName ?? null,
  before: parsed(entry.beforeJson),
  after: parsed(entry.afterJson),
  request_id: entry.requestId ?? null,
  address: entry.address ?? null,
  generation: entry.generation === undefined ? null : Number(entry.generation),
  hash: entry.hash,
  erased_at: entry.erasedAt ? instant(entry.erasedAt) : null,
});

const parsed = (json: Uint8Array): unknown => (json.length === 0 ? null : JSON.parse(Buffer.from(json).toString()));

/** Converts the outcome of a check to its JSON in answers. */
export const toAuditStateJson = (state: AuditState): JsonObject => ({
  workspace_id: state.workspaceId,
  name: state.name,
  entries: Number(state.entries),
  erased: Number(state.erased),
  sequence: Number(state.sequence),
  head: state.head,
  wrong: state.wrong.map(Number),
  unverifiable: state.unverifiable.map(Number),
});

/** Converts the text of a time to a message; undefined stays undefined. */
export const toTimestamp = (text: string | undefined) =>
  text === undefined ? undefined : timestampFromDate(new Date(text));
