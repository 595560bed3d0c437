/** The files that every turn runs through, and the forms forbidden in them, each of which makes V8 leave its fast path. */
import type { SourceFile } from "./sources.ts";
import { parseSource } from "./sources.ts";
import { type SyntaxNode, visitNodes } from "./syntax.ts";

/** Paths of the files, each with its folder. */
export const hotFiles: readonly string[] = [
  ...within("inference-svc/engine", [
    "admission",
    "deliver",
    "engine",
    "ledger-turns",
    "open-keys",
    "turn-recorder",
    "wire",
  ]),
  ...within("inference-svc/models", ["ask"]),
  ...within("inference-svc/turn", [
    "answer-kinds",
    "applied-guardrails",
    "feature",
    "layer-builders",
    "scope",
    "signal",
  ]),
  ...within("inference-svc/turn", ["trace", "turn", "turn-state", "usage"]),
  ...within("inference-svc/turn/parse", ["beginnings", "list-memo", "repeated-input", "text-only"]),
  ...within("inference-svc/entry/lane", ["local-session", "server-lane", "server-turn"]),
  ...within("inference-svc/models/routing/attempt", ["attempt", "ejection", "fallback", "measured", "schedule"]),
  ...within("inference-svc/models/routing/choose", ["candidate-memo", "order", "router", "session"]),
  ...within("inference-svc/models/routing/price", ["bill", "tariff"]),
  ...within("inference-svc/models/ledger", ["recorded"]),
  ...within("inference-svc/models/ledger/observers", ["call-metrics", "observed-calls"]),
  ...within("inference-svc/features", ["applies"]),
  ...within("inference-svc/features/guardrails", ["feature"]),
  ...within("inference-svc/features/guardrails/output", [
    "answer-scan",
    "delivery-buffer",
    "guarded-item",
    "guarded-texts",
  ]),
  ...within("inference-svc/features/guardrails/output", ["joined-text", "layer", "output-guard"]),
  ...within("inference-svc/features/guardrails/output/forms", ["encoded-words", "text-scan"]),
  ...within("inference-svc/features/guardrails/output/rules", ["rule-scans", "text-scanner"]),
  ...within("inference-svc/models/upstream/chat", ["repeated-messages"]),
  ...within("inference-svc/models/upstream/transport", ["exchange", "queue"]),
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

/** An object with such a spread has another shape for each combination of its conditions. */
const hasConditionalSpread = ({ properties }: SyntaxNode): boolean =>
  (properties as readonly SyntaxNode[]).some(
    ({ type, argument }) => type === "SpreadElement" && conditions.has((argument as SyntaxNode).type),
  );

const conditions = new Set(["ConditionalExpression", "LogicalExpression"]);
