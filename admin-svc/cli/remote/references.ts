/** Finds records of another Sluice installation by the id, the beginning of the id, or the name in an argument. */
import { guardrailOperations } from "@sluice/proto/contract/operations/guardrails.js";
import { keyOperations } from "@sluice/proto/contract/operations/keys.js";
import type { Operation } from "@sluice/proto/contract/operations/operation.js";
import { workspaceOperations } from "@sluice/proto/contract/operations/workspaces.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { isKeyHash } from "../../rules/key.ts";
import {
  type Candidate,
  type RecordNoun,
  chooseReference,
  guardrailNoun,
  isNamed,
  keyNoun,
  workspaceNoun,
} from "../reference.ts";
import type { RemoteSluice } from "./client.ts";

/** Hash of the only key matching an argument. @throws CommandError when no key matches, or several do */
export const findRemoteKey = async (sluice: RemoteSluice, text: string): Promise<string> =>
  isKeyHash(text)
    ? text
    : choose(sluice, keyOperations.listKeys, { text, noun: keyNoun, id: "hash" }, { q: text, include_disabled: true });

export const findRemoteGuardrail = (sluice: RemoteSluice, text: string): Promise<string> =>
  choose(sluice, guardrailOperations.listGuardrails, { text, noun: guardrailNoun, id: "id" });

export const findRemoteWorkspace = (sluice: RemoteSluice, text: string): Promise<string> =>
  choose(sluice, workspaceOperations.listWorkspaces, { text, noun: workspaceNoun, id: "id" });

interface Sought {
  readonly text: string;
  readonly noun: RecordNoun;
  /** Name of the field identifying a record. */
  readonly id: string;
}

async function choose(
  sluice: RemoteSluice,
  list: Operation,
  { text, noun, id }: Sought,
  query: JsonObject = {},
): Promise<string> {
  const records = await sluice.list(list, query);
  const candidates = records.map((record): Candidate => ({ id: String(record[id]), name: String(record["name"]) }));
  return chooseReference(
    text,
    candidates.filter((candidate) => isNamed(text, candidate)),
    noun,
    async () => (await sluice.list(list)).map(({ name }) => String(name)),
  );
}
