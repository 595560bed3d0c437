/** Fields that every item of an answer has. */
import { type ObjectShape, type Shape, described, object, string, word } from "../../lib/validation/shape.ts";

/** State of an item while it streams, and at its end. */
export const itemStatuses = ["in_progress", "completed", "incomplete"] as const;

interface ItemRules {
  /** Further required fields of the item's type; `type`, `id` and `status` are always required. */
  readonly required?: readonly string[];
  readonly status?: readonly string[];
}

export function itemShape(
  type: string,
  description: string,
  fields: Readonly<Record<string, Shape>>,
  { required = [], status = itemStatuses }: ItemRules = {},
): ObjectShape {
  return object(
    {
      type: word(type),
      id: described(string({ min: 1 }), "Identifier of the item, unique in its response."),
      status: described(
        word(...status),
        "How far the item is. Without a stream it has ended, unless a subagent waits for functions of the client.",
      ),
      ...fields,
    },
    { required: ["type", "id", "status", ...required], description },
  );
}

export const callId = described(string(), "What the output of the call has to name.");
