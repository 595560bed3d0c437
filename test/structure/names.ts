/** Finds exported names with different meanings in two files of a room. */
import { type Program, type SourceFile, groupBy, isProto, parseSource } from "./sources.ts";

export interface SharedName {
  readonly room: string;
  readonly name: string;
  readonly paths: readonly string[];
}

/** Kysely prescribes the name of a migration's function. */
const isPrescribed = (path: string, name: string): boolean => name === "up" && path.startsWith("admin-svc/migrations/");

export const describeSharedName = ({ room, name, paths }: SharedName): string =>
  `${room}: ${name} in ${paths.join(", ")}`;

/** @returns names declared and exported by more than one file of a room; a type and a value in one file are one meaning */
export function findSharedNames(files: readonly SourceFile[]): SharedName[] {
  const declarations = files
    .filter((file) => !isProto(file))
    .flatMap((file) => exportedNames(parseSource(file).program).map((name) => ({ ...file, name })))
    .filter(({ path, name }) => !isPrescribed(path, name));
  return [...groupBy(declarations, ({ room, name }) => `${room} ${name}`).values()]
    .filter((group) => group.length > 1)
    .map((group) => ({
      room: group[0]?.room as string,
      name: group[0]?.name as string,
      paths: group.map(({ path }) => path),
    }));
}

/** @returns names that a module declares and exports, each once; re-exports are left out */
export function exportedNames({ body }: Program): string[] {
  const imported = new Set(
    body.flatMap((statement) =>
      statement.type === "ImportDeclaration" ? statement.specifiers.map(({ local }) => local.name) : [],
    ),
  );
  const names = body.flatMap((statement) => {
    if (statement.type !== "ExportNamedDeclaration" || statement.source) return [];
    const listed = statement.specifiers.flatMap((specifier) =>
      specifier.type === "ExportSpecifier" && !imported.has(specifier.local.name) ? specifier.local.name : [],
    );
    return statement.declaration ? declaredNames(statement.declaration) : listed;
  });
  return [...new Set(names)];
}

type Declaration = NonNullable<Extract<Program["body"][number], { type: "ExportNamedDeclaration" }>["declaration"]>;

function declaredNames(declaration: Declaration): string[] {
  if (declaration.type === "VariableDeclaration") {
    return declaration.declarations.flatMap(({ id }) => boundNames(id));
  }
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : [];
}

function boundNames(pattern: { readonly type: string }): string[] {
  const { type, ...parts } = pattern as { type: string; name?: string; properties?: unknown[]; elements?: unknown[] };
  if (type === "Identifier") return [parts.name as string];
  const children = (parts.properties ?? parts.elements ?? []) as ({ type: string; value?: { type: string } } | null)[];
  return children.flatMap((child) => (child ? boundNames(child.value ?? child) : []));
}
