/** Lists of guardrails in requests, by their ids. */
import { type Shape, array, string } from "../../lib/validation/shape.ts";

const form = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const text = string({ min: 1, max: 64 });

const guardrailId: Shape<string> = {
  ...text,
  check: (value, path, problems, or) => {
    const before = problems.count;
    text.check(value, path, problems, or);
    if (problems.count === before && !form.test(value as string)) problems.add(path, "must be the id of a guardrail");
  },
  schema: (components) => ({ ...text.schema(components), pattern: form.source }),
};

/** An empty list is refused, as null says the same. */
export const guardrailIds = array(guardrailId, { min: 1, max: 10, entry: "guardrail" });
