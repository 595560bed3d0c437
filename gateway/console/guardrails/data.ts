/** Guardrails and their assigned keys. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { everyPage } from "../api/lists.ts";
import { session } from "../api/session.ts";
import type { RecordForm } from "../forms/edits.ts";
import { guardrailForm } from "../forms/records.ts";

export type Guardrail = Schemas["Guardrail"];
export type GuardrailChange = Schemas["GuardrailChange"];
export type NewGuardrail = Schemas["NewGuardrail"];

/** The form of a guardrail. Only a management key of the account applies one to every workspace. */
export function guardrailFields(): RecordForm {
  const isHidden = (name: string) => name === "account_default" && session.value?.account !== true;
  return { ...guardrailForm, fields: guardrailForm.fields.filter(({ name }) => !isHidden(name)) };
}

export const loadGuardrails = (): Promise<Guardrail[]> =>
  everyPage((query) => unwrapAnswer(api.GET("/guardrails", { params: { query } })));

export interface GuardrailKey {
  readonly hash: string;
  readonly name: string;
  readonly label: string;
  /** Whether the guardrail is assigned to this key. */
  readonly holds: boolean;
}

/** Every key of the workspace, assigned keys first. */
export async function loadGuardrailKeys(id: string): Promise<GuardrailKey[]> {
  const path = { id };
  const [keys, assignments] = await Promise.all([
    everyPage((page) => unwrapAnswer(api.GET("/keys", { params: { query: { ...page, include_disabled: true } } }))),
    everyPage((query) => unwrapAnswer(api.GET("/guardrails/{id}/assignments/keys", { params: { path, query } }))),
  ]);
  const held = new Set(assignments.map(({ key_hash: hash }) => hash));
  return keys
    .map(({ hash, name, label }) => ({ hash, name: name ?? "", label, holds: held.has(hash) }))
    .toSorted((a, b) => Number(b.holds) - Number(a.holds));
}

/** Assigns the guardrail to some keys, and removes it from others. */
export async function changeHolders(id: string, added: readonly string[], removed: readonly string[]): Promise<void> {
  const params = { path: { id } };
  if (added.length > 0) {
    await unwrapAnswer(api.POST("/guardrails/{id}/assignments/keys", { params, body: { key_hashes: [...added] } }));
  }
  if (removed.length > 0) {
    await unwrapAnswer(
      api.POST("/guardrails/{id}/assignments/keys/remove", { params, body: { key_hashes: [...removed] } }),
    );
  }
}

/** Short phrases that sum up the rules of a guardrail. */
export function rulesOf(guardrail: Guardrail): string[] {
  const counts: readonly (readonly [number, string])[] = [
    [guardrail.content_filter_builtins?.length ?? 0, "detector"],
    [guardrail.content_filters?.length ?? 0, "pattern"],
    [guardrail.judge_rules?.length ?? 0, "judge rule"],
    [guardrail.detectors?.length ?? 0, "external detector"],
  ];
  const scanned = counts.flatMap(([n, name]) => (n > 0 ? [`${n} ${n === 1 ? name : `${name}s`}`] : []));
  const routes = guardrail.allowed_models ?? guardrail.allowed_providers ?? guardrail.allowed_data_regions;
  return [...scanned, ...(routes ? ["routing"] : []), ...(guardrail.limit_usd === null ? [] : ["budget"])];
}
