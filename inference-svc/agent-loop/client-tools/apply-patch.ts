/** apply_patch: file changes carried out by the client. Sluice checks their syntax, and never touches a file. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { described, nullable, object, string, word } from "@sluice/proto/lib/validation/shape.js";
import type { ClientTool } from "./client-tool.ts";
import { findCreateProblem, findPathProblem, findUpdateProblem } from "./patch-syntax.ts";

const description = `Creates, changes or deletes one file; call it once for each file. The diff is a V4A diff without headers.
create_file: every line of the new file begins with +.
update_file: one or more sections. A section begins with a line @@, or @@ and a space and a line of the file above the change, such as the head of a class or function. Then come lines of the file: a space before lines that stay, - before lines that are removed, + before lines that are added. Give about three unchanged lines before and after each change, exactly as they are in the file. There are no line numbers. A section at the end of the file may end with the line *** End of File.
delete_file: no diff.`;

/** Maximum length of a diff in code points, named in the error message. */
const maxDiffLength = 1_048_576;

const operation = object(
  {
    type: word("create_file", "update_file", "delete_file"),
    path: described(string({ min: 1 }), "Path of the file, relative to the working folder."),
    diff: described(nullable(string({ max: maxDiffLength })), "The diff; required except for delete_file."),
  },
  { required: ["type", "path"] },
);

const findProblem = { create_file: findCreateProblem, update_file: findUpdateProblem } as const;

function toOperation({ type, path, diff }: JsonObject): JsonObject | string {
  const problem = findPathProblem(String(path));
  if (problem !== undefined) return problem;
  if (type === "delete_file") return { type, path };
  if (typeof diff !== "string") return "diff: required";
  return findProblem[type as keyof typeof findProblem](diff) ?? { type, path, diff };
}

export const applyPatch: ClientTool = {
  kinds: ["apply_patch", "service:apply_patch"],
  name: "apply_patch",
  callType: "apply_patch_call",
  outputType: "apply_patch_call_output",
  idPrefix: "apc_",
  open: () => ({
    description,
    arguments: operation,
    toFields(args) {
      const made = toOperation(args);
      return typeof made === "string" ? made : { operation: made };
    },
  }),
};
