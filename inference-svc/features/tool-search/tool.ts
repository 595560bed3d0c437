/** service:tool_search: lets the model find deferred tools of the client, by a pattern or by words. It can call a found tool from then on. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { described, object, string } from "@sluice/proto/lib/validation/shape.js";
import { type Finder, pieceLengthOf } from "@sluice/proto/lib/pattern/finder.js";
import { compilePattern } from "@sluice/proto/lib/pattern/pattern.js";
import { PatternError } from "@sluice/proto/lib/pattern/refusal.js";
import { type DeferredTool, searchableFieldsOf, findDeferredTools } from "../../agent-loop/deferred-tools.ts";
import { type Fields, Index } from "../../content/ranking.ts";
import {
  type ServerTool,
  type ToolResult,
  type ToolSettings,
  errorOutput,
  isForRestoredCalls,
  resultNotStored,
  repeatedSearches,
} from "../../agent-loop/tool.ts";

/** Default number of results, as documented in the API. */
const standardResults = 5;
const maxQueryLength = 200;
/** Maximum number of further names listed after the found tools, as hints for a better search. */
const maxNames = 10;
const maxGroups = 20;

const args = object(
  {
    query: described(
      string({ min: 1, max: maxQueryLength }),
      "A few words for what the tool should do, or a regular expression over names, descriptions and arguments; case does not count.",
    ),
  },
  { strict: true, required: ["query"] },
);

export const toolSearch: ServerTool = {
  kinds: ["service:tool_search", "tool_search"],
  hasEffect: false,
  open(settings) {
    const { parameters, request } = settings;
    if (!isForRestoredCalls(settings)) refuseSearchOfClient(settings);
    const deferred = findDeferredTools(request);
    if (deferred.length === 0) return undefined;
    const held = deferred.filter(({ brought }) => !brought);
    const most = Number(parameters["max_results"] ?? standardResults);
    const index = new Index(held.map(indexed));
    const search = (query: string): ToolResult => {
      const item = { query };
      try {
        const found = isPattern(query) ? matching(index, query) : index.ranked(query);
        return {
          ...resultOf(
            found.map((at) => held[at] as DeferredTool),
            held,
            most,
          ),
          item,
        };
      } catch {
        const error = "the pattern cannot be used; look-around, back-references and long repetitions are not possible";
        return { output: errorOutput(error), item: { ...item, error }, failed: true };
      }
    };
    const again = repeatedSearches(search);
    return {
      description:
        `Searches ${held.length} more tools that are not listed here and loads those that it finds, so that they can be called. ` +
        `Call it before saying that something cannot be done. Their names begin with: ${groupsOf(held).join(", ")}.`,
      arguments: args,
      finds: deferred,
      async run({ query }) {
        return search(String(query));
      },
      recall({ query, error, tool_references: references }) {
        const searchText = typeof query === "string" ? query.slice(0, maxQueryLength) : "";
        if (typeof error === "string") return { args: { query: searchText }, output: errorOutput(error) };
        if (Array.isArray(references)) {
          const found = held.filter((each) => references.includes(nameOf(each)));
          return { args: { query: searchText }, ...resultOf(found, held, found.length) };
        }
        const { output = resultNotStored, loads = [] } = again(searchText) ?? {};
        return { args: { query: searchText }, output, loads };
      },
    };
  },
};

/** Refuses a search tool whose searches the client runs itself: such a client does not send its deferred tools. @throws Fault INVALID_REQUEST */
function refuseSearchOfClient({ request, path }: ToolSettings): void {
  const entry = request.tools.find((tool) => tool.type === "hosted" && toolSearch.kinds.includes(tool.kind));
  if (entry === undefined || (JSON.parse(entry.json) as JsonObject)["execution"] !== "client") return;
  const problems = new Problems();
  problems.add(`${path}.execution`, "no provider of this model has tools that the client searches for");
  problems.throwIfAny();
}

function resultOf(
  found: readonly DeferredTool[],
  held: readonly DeferredTool[],
  most: number,
): Omit<ToolResult, "item"> {
  const loaded = found.slice(0, most);
  const more = found.slice(most, most + maxNames).map(nameOf);
  const output = JSON.stringify({
    loaded: loaded.map((each) => ({ name: nameOf(each), description: each.tool.description })),
    ...(more.length > 0 && { also_matching: more }),
    ...(loaded.length === 0 && { names_begin_with: groupsOf(held) }),
  });
  return { output, loads: loaded.map(({ tool }) => tool) };
}

const nameOf = ({ tool, namespace }: DeferredTool): string =>
  namespace ? `${namespace.name}.${tool.name}` : tool.name;

/** The most frequent prefixes of tool names, most frequent first. */
function groupsOf(held: readonly DeferredTool[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const each of held) {
    const group = each.namespace?.name ?? /^[^_.-]+/.exec(each.tool.name)?.[0] ?? each.tool.name;
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, maxGroups)
    .map(([group]) => group);
}

function indexed(held: DeferredTool): Fields {
  const { args: names, texts } = searchableFieldsOf(held);
  return [
    [nameOf(held), 3],
    [held.tool.description ?? "", 1],
    [names.join(" "), 2],
    [texts.join(" "), 1],
  ];
}

/** Whether a query is a regular expression. Punctuation at the end of a sentence does not count: models also search with whole sentences. */
const isPattern = (query: string): boolean => /[\\^$.|?*+()[\]{}]/.test(query.replaceAll(sentenceEnd, ""));
const sentenceEnd = /(?<=\s.*\p{L})[.?](?=\s|$)/gu;

/**
 * Indices of the tools that match a pattern: matches in names come before those in descriptions, and these before those
 * in arguments. @throws PatternError
 */
function matching({ documents }: Index, query: string): readonly number[] {
  const finder = compilePattern(`(?i)${query}`);
  const firstField = documents.map((fields) => fields.findIndex(([text]) => isIn(finder, text)));
  const found = firstField.flatMap((field, at) => (field === -1 ? [] : [at]));
  return found.toSorted((one, other) => (firstField[one] as number) - (firstField[other] as number));
}

/** Maximum steps of one search, which take a tenth of a second; no other turn is served meanwhile. */
const maxSteps = 3_000_000;

/** Whether a pattern occurs in a text. @throws PatternError when the search has taken too many steps */
function isIn(finder: Finder, text: string): boolean {
  const scan = finder.open();
  const length = pieceLengthOf(finder);
  for (let at = 0; at < text.length; at += length) {
    if (scan.push(text.slice(at, at + length)).spans.length > 0) return true;
    if ((finder.automaton?.steps ?? 0) > maxSteps) throw new PatternError("takes too long on these tools");
  }
  return scan.end().spans.length > 0;
}
