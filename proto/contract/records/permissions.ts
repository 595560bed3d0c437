/** Permissions: names that a key or a workspace may use, as one list for each kind of name, such as models. */
import { type JsonObject as ProtoJson, fromJson, toJson } from "@bufbuild/protobuf";
import { type Permissions, PermissionsSchema } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { type JsonObject, isObject } from "../../lib/validation/fields.ts";
import { array, described, nullable, object, string } from "../../lib/validation/shape.ts";

/** The lists by their names. Lists that are not set are absent; null when none is set. */
export type PermissionsJson = Readonly<Record<string, readonly string[]>>;

const names = (message: string) =>
  described(nullable(array(string({ min: 1, max: 256, identifier: true }), { max: 1_000, entry: "name" })), message);

/** Every list, in the order in which they are shown. */
const lists = {
  models: names(
    "Slugs of models that may serve, also as fallbacks, behind aliases and routers, and for tools that call models.",
  ),
  providers: names("Ids of providers that may serve, or `provider/tier` and `provider/quantization`."),
  mcp_servers: names(
    "Names of MCP servers in `mcp.servers` of the configuration file, or origins of others, such as https://mcp.example.com; `server/tool` stands for one tool of a server.",
  ),
  vector_stores: names("Ids of vector stores that `file_search` may search."),
  sandbox: names("Tools that may run code or commands: `bash`, `shell`, `code_interpreter`."),
  search_engines: names(
    "Search engines: `searxng`, `tavily`, `brave` and so on; `native` is the search of a provider.",
  ),
  plugins: names("Ids of plugins; `service/auto` and the other slugs of routers need the id of their plugin."),
  server_tools: names(
    "Tools that Sluice or a provider runs, without a prefix: `web_search`, `file_search`, `datetime`, `mcp` and so on.",
  ),
  doors: names(
    "Doors: `responses`, `chat`, `messages`, `embeddings`, and `grpc` for calls of inference-svc without a gateway.",
  ),
};

const listNames = Object.keys(lists);

/** Field for the permissions of a key or a workspace; null clears them. @param whose noun for the description */
export const permissionsField = (whose: string) =>
  described(
    nullable(object(lists, { strict: true })),
    `${whose} Each list has names, in which \`*\` stands for any characters. An absent list or null narrows nothing, an empty list allows nothing. Given as a whole. Null: no list.`,
  );

export const shownPermissions = described(
  nullable(object(lists)),
  "Lists of what may be used; null where there is none.",
);

/** The lists that are set, in a fixed order; null for none. @param given accepted by its shape */
export function storedPermissions(given: unknown): PermissionsJson | null {
  if (!isObject(given)) return null;
  const present = listNames.flatMap((name) =>
    Array.isArray(given[name]) ? [[name, given[name] as string[]] as const] : [],
  );
  return present.length === 0 ? null : Object.fromEntries(present);
}

/** Converts the lists to a message. */
export function permissionsMessage(given: PermissionsJson): Permissions {
  const json = Object.entries(storedPermissions(given) ?? {}).map(([name, list]) => [name, { names: [...list] }]);
  return fromJson(PermissionsSchema, Object.fromEntries(json) as ProtoJson);
}

/** Converts a message to its lists; null for none. */
export function permissionsJson(message: Permissions | undefined): PermissionsJson | null {
  if (message === undefined) return null;
  const json = toJson(PermissionsSchema, message, { useProtoFieldName: true, alwaysEmitImplicit: true }) as JsonObject;
  return storedPermissions(
    Object.fromEntries(Object.entries(json).map(([name, list]) => [name, (list as JsonObject)["names"]])),
  );
}
