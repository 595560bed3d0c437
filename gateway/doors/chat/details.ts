/** Writes reasoning as entries of `reasoning_details`, which clients send back unchanged. */
import { toJsonString } from "../../edge/turns/json.ts";
import { jsonMember } from "./content.ts";
import type { OutputItem } from "./item.ts";

type Kind = "reasoning.text" | "reasoning.summary" | "reasoning.encrypted";

const fieldOf: Readonly<Record<Kind, string>> = {
  "reasoning.text": "text",
  "reasoning.summary": "summary",
  "reasoning.encrypted": "data",
};

/** Place of a reasoning item in an answer: before or after its text, and the number of calls before it. */
export interface ReasoningPosition {
  readonly afterText: boolean;
  readonly calls: number;
}

const first: ReasoningPosition = { afterText: false, calls: 0 };
const placed = /^(?<id>.*)~(?<text>[01])\.(?<calls>\d{1,4})$/s;

/**
 * The id of a reasoning item, extended by its position. Clients keep ids but drop unknown fields, and the model must get its reasoning back at the
 * same position.
 */
export const toPositionedId = (id: string, { afterText, calls }: ReasoningPosition): string =>
  afterText || calls > 0 ? `${id}~${afterText ? 1 : 0}.${calls}` : id;

export function parsePositionedId(id: string | null | undefined): {
  readonly id?: string;
  readonly place: ReasoningPosition;
} {
  if (!id) return { place: first };
  const { id: own, text, calls } = placed.exec(id)?.groups ?? {};
  return own === undefined
    ? { id, place: first }
    : { id: own, place: { afterText: text === "1", calls: Number(calls) } };
}

/**
 * An entry of `reasoning_details`.  @param id id of the reasoning item  @param index number of the entry in the answer  @param seal the complete
 * item, given for its last entry of this kind
 */
export function detailJson(kind: Kind, text: string, id: string, index: number, seal?: OutputItem): string {
  const signature = kind === "reasoning.text" ? jsonMember("signature", seal?.signature) : "";
  return (
    `{"type":"${kind}","${fieldOf[kind]}":${toJsonString(text)}${signature},"id":${toJsonString(id)}` +
    `${jsonMember("format", seal?.format)},"index":${index}}`
  );
}

/**
 * The entry with the part of a reasoning item that only its provider can read; empty if the signature already contains it.  @param signed whether the
 * signature is already in the entry with the item's text
 */
export function encryptedReasoningJson({ signature, encrypted_content: sealed }: OutputItem, signed: boolean): string {
  if (!sealed) return "";
  return signed && signature && sealed.endsWith(signature) ? "" : sealed;
}
