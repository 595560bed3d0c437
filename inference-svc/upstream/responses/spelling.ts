/** The types of items that the house's tools make, in the spelling of the request. */
import type { TurnRequest } from "../../turn/request.ts";

/** What follows the prefix; one kind has an older name. */
const kindOf = (type: string): string => type.slice(type.indexOf(":") + 1).replace(/^experimental__/, "");

/** As the request spells the tool of that kind; as the provider spells it where the request has none. */
export function spelled(type: string, request: TurnRequest): string {
  if (!type.includes(":")) return type;
  const kind = kindOf(type);
  const tool = request.tools.find(
    (candidate) => candidate.type === "hosted" && candidate.kind.includes(":") && kindOf(candidate.kind) === kind,
  );
  return tool?.type === "hosted" ? tool.spelling : type;
}
