/**
 * Decides what a key may use: by the lists of its permissions and those of its workspace, each of which can only narrow
 * the other.
 *
 * A caller is one object until its policy changes, so patterns are compiled once for all requests of the caller.
 */
import { create } from "@bufbuild/protobuf";
import {
  type Caller,
  KeyKind,
  type Permissions as PermissionLists,
  PermissionsSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Globs } from "./globs.ts";

/** A list of permissions, by its field in the protobuf message. */
export type PermissionKind = Exclude<keyof PermissionLists, "$typeName" | "$unknown">;

interface Words {
  /** Name of the list in the API. */
  readonly name: string;
  /** Word for one entry of the list in errors. */
  readonly entry: string;
}

const words = {
  models: { name: "models", entry: "the model" },
  providers: { name: "providers", entry: "the provider" },
  mcpServers: { name: "mcp_servers", entry: "the MCP server" },
  vectorStores: { name: "vector_stores", entry: "the vector store" },
  sandbox: { name: "sandbox", entry: "the sandbox tool" },
  searchEngines: { name: "search_engines", entry: "the search engine" },
  plugins: { name: "plugins", entry: "the plugin" },
  serverTools: { name: "server_tools", entry: "the server tool" },
  doors: { name: "doors", entry: "the door" },
} as const satisfies Readonly<Record<PermissionKind, Words>>;

export const permissionKinds = Object.keys(words) as readonly PermissionKind[];

/** Path of a list as errors and receipts name it, such as `permissions.models`. */
export const permissionPath = <Kind extends PermissionKind>(
  kind: Kind,
): `permissions.${(typeof words)[Kind]["name"]}` => `permissions.${words[kind].name}`;

/** Decision when neither the key nor its workspace has a list: `permissions.default` of the configuration file. */
export type PermissionDefault = "allow" | "deny";

/** Maximum code points of a value an error shows. */
const maxShown = 256;

/** The fault for a value the permissions do not allow. @param others further members of the error's metadata */
export const notPermitted = (kind: PermissionKind, value: string, others: object = {}): Fault => {
  const shown = Array.from(value).slice(0, maxShown).join("");
  return new Fault(
    FaultReason.PERMISSION_DENIED,
    `This key may not use ${words[kind].entry} ${shown} (${permissionPath(kind)})`,
    {
      origin: FaultOrigin.CLIENT,
      metadata: { error_type: "permission_denied", permission: permissionPath(kind), value: shown, ...others },
    },
  );
};

/** A list of MCP servers, whose entries are whole servers or tools of servers. */
class ServerList {
  readonly #entries: readonly { readonly server: Globs; readonly tool: Globs; readonly isWhole: boolean }[];

  constructor(names: readonly string[]) {
    this.#entries = names.map((name) => {
      const slash = toolSlash(name);
      const [server, tool] = slash === -1 ? [name, "*"] : [name.slice(0, slash), name.slice(slash + 1)];
      return { server: new Globs([server]), tool: new Globs([tool]), isWhole: tool === "*" };
    });
  }

  allowsServer(server: string): boolean {
    return this.#entries.some((entry) => entry.server.matches(server));
  }

  allowsAll(server: string): boolean {
    return this.#entries.some((entry) => entry.server.matches(server) && entry.isWhole);
  }

  allowsTool(server: string, tool: string): boolean {
    return this.#entries.some((entry) => entry.server.matches(server) && entry.tool.matches(tool));
  }
}

/** Index of the slash between a server and its tool; the origin of a server contains slashes as well. */
function toolSlash(name: string): number {
  const scheme = name.indexOf("://");
  return name.indexOf("/", scheme === -1 ? 0 : scheme + 3);
}

/** Permissions of a caller, ready for checks. */
export class Permissions {
  /** Lists by kind of permission. A value must match every list; the default decides about a kind without a list. */
  readonly #lists = new Map<PermissionKind, readonly Globs[]>();
  readonly #servers: readonly ServerList[];
  readonly #all: readonly PermissionLists[];
  readonly #default: PermissionDefault;
  #ofProviders: Permissions | undefined;

  constructor(all: readonly PermissionLists[], byDefault: PermissionDefault) {
    this.#all = all;
    this.#default = byDefault;
    for (const kind of permissionKinds) {
      const lists = all.flatMap((each) => each[kind] ?? []);
      if (lists.length > 0)
        this.#lists.set(
          kind,
          lists.map(({ names }) => new Globs(names)),
        );
    }
    this.#servers = all.flatMap(({ mcpServers }) => (mcpServers ? [new ServerList(mcpServers.names)] : []));
  }

  /** The permissions with only the lists of providers; everything else is allowed. For models the operator has chosen. */
  ofProviders(): Permissions {
    this.#ofProviders ??= new Permissions(
      this.#all.flatMap(({ providers }) => (providers ? [create(PermissionsSchema, { providers })] : [])),
      "allow",
    );
    return this.#ofProviders;
  }

  /** Whether some value of this kind may be refused. */
  restricts(kind: PermissionKind): boolean {
    return this.#default === "deny" || this.#lists.has(kind);
  }

  allows(kind: Exclude<PermissionKind, "mcpServers">, value: string): boolean {
    return this.allowsAny(kind, [value]);
  }

  /** Whether each list has one of these names, which all mean the same thing. */
  allowsAny(kind: Exclude<PermissionKind, "mcpServers">, names: readonly string[]): boolean {
    const lists = this.#lists.get(kind);
    return lists ? lists.every((list) => names.some((name) => list.matches(name))) : this.#default === "allow";
  }

  /** Whether at least one tool of the MCP server may be used. */
  allowsServer(server: string): boolean {
    if (this.#servers.length === 0) return this.#default === "allow";
    return this.#servers.every((list) => list.allowsServer(server));
  }

  /** Whether every tool of the MCP server may be used. */
  allowsWholeServer(server: string): boolean {
    if (this.#servers.length === 0) return this.#default === "allow";
    return this.#servers.every((list) => list.allowsAll(server));
  }

  allowsServerTool(server: string, tool: string): boolean {
    if (this.#servers.length === 0) return this.#default === "allow";
    return this.#servers.every((list) => list.allowsTool(server, tool));
  }

  /** Checks a value. @throws Fault PERMISSION_DENIED naming the permission and the value */
  require(kind: Exclude<PermissionKind, "mcpServers">, value: string): void {
    if (!this.allows(kind, value)) throw notPermitted(kind, value);
  }

  /** Checks an MCP server. @throws Fault PERMISSION_DENIED naming the permission and the server */
  requireServer(server: string): void {
    if (!this.allowsServer(server)) throw notPermitted("mcpServers", server);
  }
}

const known = { allow: new WeakMap<Caller, Permissions>(), deny: new WeakMap<Caller, Permissions>() } as const;

/** The permissions of a caller. @returns undefined when it may use everything, as management keys may, which create no responses */
export function permissionsOf(caller: Caller, byDefault: PermissionDefault): Permissions | undefined {
  if (caller.permissions.length === 0 && byDefault === "allow") return undefined;
  if (caller.kind === KeyKind.MANAGEMENT) return undefined;
  let permissions = known[byDefault].get(caller);
  if (permissions === undefined) {
    permissions = new Permissions(caller.permissions, byDefault);
    known[byDefault].set(caller, permissions);
  }
  return permissions;
}
