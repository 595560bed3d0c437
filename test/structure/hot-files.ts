/** The files on the path of every turn, and their forbidden forms: each makes V8 leave its fast path at every request. */
import type { SourceFile } from "./sources.ts";
import { parseSource } from "./sources.ts";
import { type SyntaxNode, visitNodes } from "./syntax.ts";

/** Paths of the files, each with its folder. */
export const hotFiles: readonly string[] = [
  ...within("inference-svc", ["admission", "ask", "deliver", "engine", "open-keys", "wire"]),
  ...within("inference-svc/turn", ["answers", "applied-guardrails", "feature", "layers", "scope", "signal"]),
  ...within("inference-svc/turn", ["state", "trace", "turn", "usage"]),
  ...within("inference-svc/turn/parse", ["beginnings", "list-memo", "repeated-input"]),
  ...within("inference-svc/lane", ["local-session", "server-lane", "server-turn"]),
  ...within("inference-svc/routing/attempt", ["attempt", "ejection", "fallback", "measured", "schedule"]),
  ...within("inference-svc/routing/choose", ["candidate-memo", "order", "router", "session"]),
  ...within("inference-svc/routing/price", ["bill", "tariff"]),
  ...within("inference-svc/ledger", ["recorded"]),
  ...within("inference-svc/observe", ["call-metrics", "calls", "ledger-turns", "turns"]),
  ...within("inference-svc/guardrails", ["features"]),
  ...within("inference-svc/guardrails/output", ["answer-scan", "delivery-buffer", "guarded-item", "guarded-texts"]),
  ...within("inference-svc/guardrails/output", ["joined-text", "layer", "output-guard"]),
  ...within("inference-svc/guardrails/output/forms", ["encoded-words", "text-scan"]),
  ...within("inference-svc/guardrails/output/rules", ["rule-scans", "text-scanner"]),
  ...within("inference-svc/upstream/chat", ["repeated-messages"]),
  ...within("inference-svc/upstream/transport", ["exchange", "queue"]),
];

function within(folder: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `${folder}/${name}.ts`);
}

/** @returns each slow form as "path:line, form" */
export function findSlowForms(file: SourceFile): string[] {
  const found: string[] = [];
  visitNodes(parseSource(file).program, (node) => {
    const form = slowFormOf(node);
    if (form !== undefined) found.push(`${file.path}:${node.loc?.start.line ?? 0}, ${form}`);
  });
  return found;
}

function slowFormOf(node: SyntaxNode): string | undefined {
  if (node.type === "UnaryExpression" && node["operator"] === "delete") return "delete";
  if (node.type === "ObjectExpression") return hasConditionalSpread(node) ? "conditional spread" : undefined;
  if (node.type !== "MemberExpression") return undefined;
  const { object, property } = node as unknown as Readonly<Record<"object" | "property", { readonly name?: string }>>;
  const isListing = property.name === "entries" || property.name === "fromEntries";
  return object.name === "Object" && isListing ? `Object.${property.name}` : undefined;
}

/** An object with such a spread has another shape with each combination of its conditions. */
const hasConditionalSpread = ({ properties }: SyntaxNode): boolean =>
  (properties as readonly SyntaxNode[]).some(
    ({ type, argument }) => type === "SpreadElement" && conditions.has((argument as SyntaxNode).type),
  );

const conditions = new Set(["ConditionalExpression", "LogicalExpression"]);
