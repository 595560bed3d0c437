/** Finds tags of doc comments with names that the code has lost: parameters in `@param`, classes in `@throws`. */
import { type Remark, readComments } from "./comments.ts";
import { type SourceFile, isProto, parseSource } from "./sources.ts";
import { type SyntaxNode, visitNodes } from "./syntax.ts";

const builtInErrors = ["AssertionError", "Error", "RangeError", "SyntaxError", "TypeError"];

/** @returns the `@param` tags that name no parameter, nor a part of one, in the declaration below the comment */
export function findUnknownParams(file: SourceFile): Remark[] {
  const unknown: Remark[] = [];
  if (isProto(file) || !file.text.includes("@param")) return unknown;
  visitNodes(parseSource(file).program, (node) => {
    const comment = lastLeadingComment(node);
    const names = [...(comment?.value.matchAll(/@param (\S+)/g) ?? [])].map(([, name]) => name as string);
    if (!comment || names.length === 0) return;
    const parameters = parameterNames(node);
    for (const name of names) {
      if (!parameters.has(name)) unknown.push({ path: file.path, line: comment.loc.start.line, text: name });
    }
  });
  return unknown;
}

interface NodeComment {
  readonly value: string;
  readonly loc: { readonly start: { readonly line: number } };
}

const lastLeadingComment = (node: SyntaxNode): NodeComment | undefined =>
  (node["leadingComments"] as readonly NodeComment[] | undefined)?.at(-1);

/** @returns all identifiers within parameters of the declaration, and of functions inside it */
function parameterNames(declaration: SyntaxNode): ReadonlySet<string> {
  const names = new Set<string>();
  visitNodes(declaration, ({ params, parameters = params }) => {
    visitNodes(parameters, ({ type, name }) => {
      if (type === "Identifier") names.add(name as string);
    });
  });
  return names;
}

/** @returns names of the classes declared in the file */
export function findClasses(file: SourceFile): string[] {
  const classes: string[] = [];
  if (isProto(file) || !file.text.includes("class ")) return classes;
  visitNodes(parseSource(file).program, ({ type, id }) => {
    if (type === "ClassDeclaration" && id) classes.push((id as { name: string }).name);
  });
  return classes;
}

/**
 * @param classes names of all declared classes
 * @returns the `@throws` tags that name neither a declared class nor a built-in one; a tag may also be plain words
 */
export function findUnknownErrors(file: SourceFile, classes: ReadonlySet<string>): Remark[] {
  if (!file.text.includes("@throws")) return [];
  const isKnown = (name: string): boolean => classes.has(name) || builtInErrors.includes(name);
  return readComments(file).flatMap(({ path, line, text }) =>
    [...text.matchAll(/@throws (?:an? )?([A-Z]\w+)/g)]
      .map(([, name]) => name as string)
      .filter((name) => !isKnown(name))
      .map((name) => ({ path, line, text: name })),
  );
}
