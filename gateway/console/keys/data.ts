/** Keys and their guardrails. */
import { type KeyState, keyState } from "@sluice/proto/lib/policy/key-state.js";
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { everyPage } from "../api/lists.ts";
import { type Guardrail, loadGuardrails } from "../guardrails/data.ts";

export type Key = Schemas["Key"];

/** A request body without the members for which the contract accepts only null. */
type WithUser<Body, Empty = never> = Omit<Body, "creator_user_id" | "external"> & {
  readonly external?: { readonly user: string } | Empty;
};
export type KeyChange = WithUser<Schemas["KeyChange"], null>;
export type NewKey = WithUser<Schemas["NewKey"]>;

export const pageSize = 50;

export interface KeyPage {
  readonly keys: readonly Key[];
  readonly total: number;
  readonly next: string | null;
}

export const keyOrders = [
  ["-created", "Newest first"],
  ["created", "Oldest first"],
  ["name", "By name"],
  ["-spent", "Highest cost first"],
  ["-last_used", "Last used first"],
] as const;

export type KeyOrder = (typeof keyOrders)[number][0];

export interface KeySearch {
  readonly q: string;
  readonly sort: KeyOrder;
  readonly cursor: string | undefined;
}

export async function loadKeys({ q, sort, cursor }: KeySearch): Promise<KeyPage> {
  const query = { q: q === "" ? undefined : q, sort, cursor, limit: pageSize, include_disabled: true };
  const { data, total_count: total, next_cursor: next } = await unwrapAnswer(api.GET("/keys", { params: { query } }));
  return { keys: data, total, next };
}

export async function loadKey(hash: string): Promise<Key> {
  return (await unwrapAnswer(api.GET("/keys/{hash}", { params: { path: { hash } } }))).data;
}

/** Names of keys by their hash. */
export async function loadKeyNames(): Promise<ReadonlyMap<string, string>> {
  const keys = await everyPage((page) =>
    unwrapAnswer(api.GET("/keys", { params: { query: { ...page, sort: "name", include_disabled: true } } })),
  );
  return new Map(keys.map(({ hash, name }) => [hash, name]));
}

/** Guardrails of the workspace, and their assignment to keys. */
export interface GuardrailAssignments {
  readonly guardrails: readonly Guardrail[];
  /** Id of the assigned guardrail by key hash. */
  readonly held: ReadonlyMap<string, string>;
}

export async function loadGuardrailAssignments(): Promise<GuardrailAssignments> {
  const [guardrails, assignments] = await Promise.all([
    loadGuardrails(),
    everyPage((query) => unwrapAnswer(api.GET("/guardrails/assignments/keys", { params: { query } }))),
  ]);
  return { guardrails, held: new Map(assignments.map(({ key_hash: hash, guardrail_id: id }) => [hash, id])) };
}

/** Assigns another guardrail to a key, or removes its guardrail if `to` is empty. */
export async function assignGuardrail(hash: string, from: string | undefined, to: string): Promise<void> {
  const body = { key_hashes: [hash] };
  if (to !== "")
    await unwrapAnswer(api.POST("/guardrails/{id}/assignments/keys", { params: { path: { id: to } }, body }));
  else if (from !== undefined)
    await unwrapAnswer(api.POST("/guardrails/{id}/assignments/keys/remove", { params: { path: { id: from } }, body }));
}

export const describeKeyState = ({ disabled, expires_at: expiry }: Key): KeyState =>
  keyState({ disabled, expiresAt: expiry === null ? null : new Date(expiry) });
