/** Lists of guardrails in requests, by their ids. */
import { uuidForm } from "../../lib/ids/uuid.ts";
import { type Shape, array, string } from "../../lib/validation/shape.ts";

const text = string({ min: 1, max: 64 });

const guardrailId: Shape<string> = {
  ...text,
  check: (value, path, problems, or) => {
    const before = problems.count;
    text.check(value, path, problems, or);
    if (problems.count === before && !uuidForm.test(value as string))
      problems.add(path, "must be the id of a guardrail");
  },
  schema: (components) => ({ ...text.schema(components), pattern: uuidForm.source }),
};

/** A list of guardrail ids. An empty list is refused, because null has that meaning. */
export const guardrailIds = array(guardrailId, { min: 1, max: 10, entry: "guardrail" });
