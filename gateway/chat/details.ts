/** Writes reasoning as entries of `reasoning_details`, which clients send back unchanged. */
import { quoted } from "../turns/json.ts";
import { member } from "./content.ts";
import type { OutputItem } from "./item.ts";

type Kind = "reasoning.text" | "reasoning.summary" | "reasoning.encrypted";

const fieldOf: Readonly<Record<Kind, string>> = {
  "reasoning.text": "text",
  "reasoning.summary": "summary",
  "reasoning.encrypted": "data",
};

/**
 * @param id of the item @param index among the entries of the answer
 * @param seal the whole item, for the last entry of its kind
 */
export function detailJson(kind: Kind, text: string, id: string, index: number, seal?: OutputItem): string {
  const signature = kind === "reasoning.text" ? member("signature", seal?.signature) : "";
  return (
    `{"type":"${kind}","${fieldOf[kind]}":${quoted(text)}${signature},"id":${quoted(id)}` +
    `${member("format", seal?.format)},"index":${index}}`
  );
}

/**
 * The reasoning of an item that only its provider can read, where the signature does not stand for it already.
 * @param signed whether the signature goes out with the text of the item
 */
export function sealedPart({ signature, encrypted_content: sealed }: OutputItem, signed: boolean): string {
  if (!sealed) return "";
  return signed && signature && sealed.endsWith(signature) ? "" : sealed;
}
