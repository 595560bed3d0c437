/** Chooses the only record that an argument matches: by its id, by the beginning of its id, or by its name. */
import { CommandError, escapeUnprintable } from "@sluice/proto/lib/process/cli.js";
import { nearestWord } from "@sluice/proto/lib/validation/edit-distance.js";

export interface Candidate {
  readonly id: string;
  readonly name: string;
  /** False for a deleted or revoked record. A name chooses such a record only when no live record has the name. */
  readonly isLive?: boolean;
}

/** Words that commands use for a kind of record. */
export interface RecordNoun {
  /** The noun for messages such as "no such key". */
  readonly called: string;
  /** Name of the identifying field, such as hash or id. */
  readonly id: string;
  /** Command that lists all records of the kind. */
  readonly list: string;
}

export const keyNoun: RecordNoun = { called: "key", id: "hash", list: "keys list" };
export const guardrailNoun: RecordNoun = { called: "guardrail", id: "id", list: "guardrails list" };
export const workspaceNoun: RecordNoun = { called: "workspace", id: "id", list: "workspaces list" };

/** Help of commands with a GUARDRAIL argument. */
export const guardrailHelp =
  "GUARDRAIL is the id of a guardrail, the beginning of it that no other has, or the name of the guardrail.";

/** The beginning of a hash or of an id; shorter texts would often be names. */
const prefixForm = /^[0-9a-f][0-9a-f-]{3,}$/;
/** Maximum number of candidates listed in an error text. */
const maxShown = 5;

/** Whether an argument matches a record: by its id, its name, or the beginning of its id. */
export const isNamed = (text: string, { id, name }: Candidate): boolean =>
  id === text || name === text || (prefixForm.test(text) && id.startsWith(text));

/**
 * @param found records matching the text
 * @param readNames reads the names of all records; called only for an error text
 * @throws CommandError when no record matches, or more than one
 */
export async function chooseReference(
  text: string,
  found: readonly Candidate[],
  noun: RecordNoun,
  readNames: () => readonly string[] | Promise<readonly string[]>,
): Promise<string> {
  const exact = found.find(({ id }) => id === text);
  if (exact) return exact.id;
  const live = found.filter(({ isLive = true }) => isLive);
  const [record, ...others] = live.length > 0 ? live : found;
  if (!record) throw noRecord(text, noun, await readNames());
  if (others.length > 0) throw new CommandError(describeCandidates(text, [record, ...others], noun));
  return record.id;
}

/** The error for an argument matching no record; it suggests the most similar name. */
export function noRecord(text: string, noun: RecordNoun, names: readonly string[]): CommandError {
  const nearest = nearestWord(text, names, Math.max(1, Math.floor(text.length / 3)));
  const remedy =
    nearest === undefined
      ? `\`${noun.list}\` shows ${noun.id === "hash" ? "hashes" : "ids"} and names`
      : `did you mean ${escapeUnprintable(nearest)}?`;
  return new CommandError(`no such ${noun.called}: ${escapeUnprintable(text)}; ${remedy}`);
}

function describeCandidates(text: string, found: readonly Candidate[], noun: RecordNoun): string {
  const shown = found.slice(0, maxShown).map(({ id, name }) => `  ${escapeUnprintable(name)}  ${id.slice(0, 16)}`);
  const more = found.length > maxShown ? [`  and ${found.length - maxShown} more`] : [];
  return [`${escapeUnprintable(text)} is ambiguous; give more of the ${noun.id}:`, ...shown, ...more].join("\n");
}
