/** Finds the guardrail named by an argument: by its id, by the beginning of its id, or by its name. */
import type { Kysely } from "kysely";
import { isGuardrailId } from "../rules/guardrail.ts";
import type { Database } from "../store/database.ts";
import { listGuardrails } from "../store/guardrails.ts";
import { chooseReference, guardrailNoun, isNamed } from "./reference.ts";

/** Id of the only matching guardrail. @throws CommandError when no guardrail matches, or several do */
export async function findGuardrailId(database: Kysely<Database>, workspaceId: string, text: string): Promise<string> {
  if (isGuardrailId(text)) return text;
  const all = await listGuardrails(database, workspaceId);
  return chooseReference(
    text,
    all.filter((row) => isNamed(text, row)),
    guardrailNoun,
    () => all.map(({ name }) => name),
  );
}
