/** Walks syntax trees of TypeScript sources. */
import { type SourceFile, parseSource } from "./sources.ts";

/** A node of the syntax tree. Children are found in its fields, without a table of node kinds. */
export type SyntaxNode = Readonly<Record<string, unknown>> & {
  readonly type: string;
  readonly loc?: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
};

/** Calls `visit` with every node of a tree, parents first. */
export function visitNodes(tree: unknown, visit: (node: SyntaxNode) => void): void {
  if (Array.isArray(tree)) {
    for (const child of tree) visitNodes(child, visit);
  } else if (isNode(tree)) {
    visit(tree);
    for (const [key, child] of Object.entries(tree)) if (!commentKeys.has(key)) visitNodes(child, visit);
  }
}

/** Fields with comments are skipped, since the same comment is attached to several nodes. */
const commentKeys = new Set(["leadingComments", "innerComments", "trailingComments"]);

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";

const functionKinds = new Set([
  "ArrowFunctionExpression",
  "ClassMethod",
  "ClassPrivateMethod",
  "FunctionDeclaration",
  "FunctionExpression",
  "ObjectMethod",
]);

/** @returns each function of more lines than allowed, as "path:line, N lines" */
export function findLongFunctions(file: SourceFile, maxLines: number): string[] {
  const found: string[] = [];
  visitNodes(parseSource(file).program, ({ type, loc }) => {
    if (!functionKinds.has(type) || !loc) return;
    const lines = loc.end.line - loc.start.line + 1;
    if (lines > maxLines) found.push(`${file.path}:${loc.start.line}, ${lines} lines`);
  });
  return found;
}
