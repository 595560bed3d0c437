/** Building blocks for the descriptions of plugins. */
import type { DescMessage } from "@bufbuild/protobuf";
import { type ObjectRules, type Shape, boolean, described, object, string, word } from "../../lib/validation/shape.ts";
import { type Codec, type CodecRules, jsonCodec } from "../codec/codec.ts";

export const enabled = described(boolean, "false turns the plugin off for the request.");

/**
 * A shape with its description. Receipt fields with the same name in several plugins share the shape but not the
 * description.
 */
export interface DescribedShape {
  readonly shape: Shape;
  readonly text: string;
}

export const describedAs = (shape: Shape, text: string): DescribedShape => ({ shape, text });

export interface PluginContract {
  readonly shape: Shape;
  readonly descriptor: DescMessage;
  readonly codec: Codec<DescMessage>;
  /** Fields of `data` in the plugin's stages of `service_metadata`. */
  readonly receipt: Readonly<Record<string, DescribedShape>>;
}

interface PluginRules extends ObjectRules {
  /** Paths of settings nested more deeply in the JSON than in the message. */
  readonly paths?: CodecRules["paths"];
  readonly receipt?: PluginContract["receipt"];
}

export const plugin = (
  id: string,
  descriptor: DescMessage,
  fields: Readonly<Record<string, Shape>>,
  { paths, receipt = {}, ...rules }: PluginRules = {},
): PluginContract => ({
  shape: object({ id: word(id), ...fields }, { ...rules, required: ["id", ...(rules.required ?? [])] }),
  descriptor,
  codec: jsonCodec(descriptor, paths && { paths }),
  receipt,
});

/** A rule of the alignment plugin, which is one line of text. */
export const alignmentRule = string({
  min: 1,
  max: 200,
  pattern: { form: /^[^\n\v\f\r\u0085\u2028\u2029]*$/, message: "must not contain line breaks" },
});

/**
 * Merges the receipt fields of all plugins. The description of a field with the same name in several plugins lists each
 * of them.
 */
export function receiptFields(contracts: Readonly<Record<string, PluginContract>>): Record<string, Shape> {
  const fields = new Map<string, { readonly shape: Shape; readonly texts: Map<string, string[]> }>();
  for (const [id, { receipt }] of Object.entries(contracts)) {
    for (const [field, { shape, text }] of Object.entries(receipt)) {
      const { texts } = fields.get(field) ?? fields.set(field, { shape, texts: new Map() }).get(field)!;
      texts.set(text, [...(texts.get(text) ?? []), id]);
    }
  }
  return Object.fromEntries(
    [...fields].map(([field, { shape, texts }]) => {
      const sentences = [...texts].map(([text, ids]) => `${ids.join(", ")}: ${text}.`);
      return [field, described(shape, sentences.join(" "))];
    }),
  );
}
