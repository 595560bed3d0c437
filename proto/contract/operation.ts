/** How an operation of the HTTP interface is described, and how the document has it. */
import type { JsonSchema, ObjectShape, Shape } from "../runtime/validation/shape.ts";

export interface Operation {
  readonly path: string;
  readonly method: "get" | "post" | "patch" | "delete";
  readonly id: string;
  readonly tag: "Responses" | "Administration" | "Catalogue";
  readonly summary: string;
  readonly description: string;
  /** Absent: administration needs a management key. */
  readonly anyKey?: true;
  readonly parameters?: readonly PublishedParameter[];
  /** Parameters of the query. */
  readonly query?: ObjectShape;
  readonly body?: Content;
  readonly answer: {
    /** 200 when absent. */
    readonly status?: 201 | 204;
    readonly says: string;
    readonly content: readonly Content[];
  };
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

/** Of every administration operation. */
export const administrationStatuses: readonly number[] = [400, 401, 403, 404, 500];

export const guardrailId: PublishedParameter = {
  name: "id",
  in: "path",
  required: true,
  description: "Identifier of the guardrail, as it was issued. Any other text names none: 404.",
  schema: { type: "string" },
};

export const keyHash: PublishedParameter = {
  name: "hash",
  in: "path",
  required: true,
  description: "Hash of the key, as it is listed. Any other text names none: 404.",
  schema: { type: "string" },
};
