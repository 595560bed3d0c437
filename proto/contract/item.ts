/** What every item of an answer has, whoever made it. */
import { type ObjectShape, type Shape, described, object, string, word } from "../runtime/validation/shape.ts";

/** Where an item stands while it streams and how it ended. */
export const settled = ["in_progress", "completed", "incomplete"] as const;

interface ItemRules {
  /** Fields that each item of the kind has beside `type`, `id` and `status`. */
  readonly required?: readonly string[];
  readonly status?: readonly string[];
}

export function item(
  type: string,
  description: string,
  fields: Readonly<Record<string, Shape>>,
  { required = [], status = settled }: ItemRules = {},
): ObjectShape {
  return object(
    {
      type: word(type),
      id: described(string({ min: 1 }), "Identifier of the item, unique in its response."),
      status: described(word(...status), "How far the item is. Without a stream it has ended."),
      ...fields,
    },
    { required: ["type", "id", "status", ...required], description },
  );
}

export const callId = described(string(), "What the output of the call has to name.");
