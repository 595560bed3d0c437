/** How an operation of the HTTP interface is described, and how the document has it. */
import type { JsonSchema, Shape } from "../runtime/validation/shape.ts";

export interface Operation {
  readonly path: string;
  readonly method: "get" | "post" | "patch";
  readonly id: string;
  readonly tag: "Responses" | "Administration" | "Catalogue";
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly PublishedParameter[];
  readonly body?: Content;
  readonly answer: { readonly says: string; readonly content: readonly Content[] };
  /** Failures. */
  readonly statuses: readonly number[];
}

export interface Content {
  readonly type: string;
  readonly shape: Shape;
  readonly examples: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
}

export const json = (shape: Shape, examples: Content["examples"]): Content => ({
  type: "application/json",
  shape,
  examples,
});
export const example = (value: unknown, summary = "An example"): Content["examples"] => ({
  example: { summary, value },
});

export interface PublishedParameter {
  readonly name: string;
  readonly in: "header" | "path" | "query";
  readonly required?: boolean;
  readonly deprecated?: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}
