/** Converts the sections of LiteLLM's file other than `model_list`, where Sluice has a setting. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { type Draft, variableName } from "../draft.ts";
import { type Findings, type Path, untakenField } from "../findings.ts";
import { Params } from "./params.ts";
import { milliseconds } from "./providers.ts";
import { callbackRemarks, generalRemarks, moduleRemarks, routerRemarks, sectionRemarks } from "./remarks.ts";

const retriesPage = "docs/providers/routing.md#retries-and-fallback";
const namesPage = "docs/providers/routing.md#names-of-models";
const limitsPage = "docs/reference/limits.md";
const mcpPage = "docs/tools/mcp.md";

/** Ids of the imported models, by the names used in requests. */
export type ModelIds = ReadonlyMap<string, string>;

type Section = Readonly<Record<string, unknown>>;

export class OtherSections {
  readonly #draft: Draft;
  readonly #findings: Findings;
  readonly #ids: ModelIds;

  constructor(draft: Draft, findings: Findings, ids: ModelIds) {
    this.#draft = draft;
    this.#findings = findings;
    this.#ids = ids;
  }

  /** Reads every section of one file except `model_list`. */
  read(file: Section, path: Path): void {
    this.#findings.addAll(path, file, sectionRemarks);
    this.#router(file["router_settings"], [...path, "router_settings"], routerRemarks);
    this.#router(file["litellm_settings"], [...path, "litellm_settings"], moduleRemarks);
    this.#general(file["general_settings"], [...path, "general_settings"]);
    this.#servers(file["mcp_servers"], [...path, "mcp_servers"]);
    this.#credentials(file["credential_list"], [...path, "credential_list"]);
  }

  /**
   * Reads `environment_variables`, the section of LiteLLM that sets variables; call it after all other sections, when
   * the needed variables are known.
   */
  environment(section: unknown, path: Path): void {
    if (!isObject(section)) return;
    const needed = new Set(this.#draft.variables);
    for (const name of Object.keys(section)) {
      const at = [...path, name];
      if (needed.has(name)) {
        this.#findings.taken(
          at,
          `the variable ${name}: set it to this value in the environment of Sluice`,
          "docs/reference/variables.md",
        );
      } else {
        this.#findings.add(
          at,
          untakenField("no setting of the new file names this variable", "docs/reference/variables.md"),
        );
      }
    }
  }

  #router(section: unknown, path: Path, remarks: typeof routerRemarks): void {
    if (!isObject(section)) return;
    this.#findings.addAll(path, section, remarks);
    this.#limits(section, path);
    for (const [name, value] of Object.entries(section)) {
      if (/^(?:\w+_)?fallbacks$/.test(name)) this.#fallbacks(name, value, [...path, name]);
      if (/callbacks?$/.test(name) && Array.isArray(value)) this.#callbacks(value, [...path, name]);
    }
    this.#aliases(section["model_group_alias"], [...path, "model_group_alias"]);
  }

  /** Converts the time limit of requests; `router_settings` is read first and wins over `litellm_settings`. */
  #limits(section: Section, path: Path): void {
    for (const name of ["timeout", "request_timeout"]) {
      const seconds = new Params([{ values: section, path }], this.#draft, this.#findings).number(name);
      const limit = milliseconds(seconds);
      if (limit === undefined) continue;
      if (this.#draft.sections.limits !== undefined) {
        this.#findings.add([...path, name], untakenField("the limit of another field is taken", limitsPage));
        continue;
      }
      this.#draft.sections.limits = { turn_ms: limit };
      this.#findings.taken([...path, name], "limits.turn_ms", limitsPage);
    }
  }

  #callbacks(callbacks: readonly unknown[], path: Path): void {
    for (const [index, name] of callbacks.entries()) {
      const remark = callbackRemarks[String(name)];
      if (remark !== undefined) this.#findings.add([...path, index], remark);
    }
  }

  /**
   * Remarks on lists of fallbacks: in Sluice a request lists the models to try, and the configuration file has no such
   * lists.
   */
  #fallbacks(name: string, value: unknown, path: Path): void {
    this.#findings.add(path, untakenField("a request lists the models to try: models instead of model", retriesPage));
    if (name === "default_fallbacks" || !Array.isArray(value)) return;
    for (const [index, entry] of value.entries()) {
      if (!isObject(entry)) continue;
      for (const [model, others] of Object.entries(entry)) {
        const models = [model, ...(Array.isArray(others) ? others : [others])].filter(
          (each) => typeof each === "string",
        );
        const advice = `send "models": ${JSON.stringify(models)} instead of "model"`;
        this.#findings.add([...path, index, model], untakenField(advice, retriesPage));
      }
    }
  }

  #aliases(value: unknown, path: Path): void {
    if (!isObject(value)) return;
    for (const [name, entry] of Object.entries(value)) {
      const target = isObject(entry) ? entry["model"] : entry;
      const model = typeof target === "string" ? this.#ids.get(target) : undefined;
      if (model === undefined) {
        this.#findings.add(
          [...path, name],
          untakenField("no model of the new file has the name that it stands for", namesPage),
        );
        continue;
      }
      this.#draft.aliases.push({ match: name, model });
      this.#findings.taken([...path, name], `model_aliases, for the model ${model}`, namesPage);
      if (isObject(entry) && "hidden" in entry) {
        const advice = "aliases are not in the list of models";
        this.#findings.add([...path, name, "hidden"], { outcome: "as it is", text: advice, page: namesPage });
      }
    }
  }

  #general(section: unknown, path: Path): void {
    if (!isObject(section)) return;
    this.#findings.addAll(path, section, generalRemarks);
    const { alerting } = section;
    if (!Array.isArray(alerting)) return;
    for (const [index, kind] of alerting.entries()) {
      const at = [...path, "alerting", index];
      if (kind !== "slack") {
        this.#findings.add(at, untakenField("alerts go to webhooks and Slack", "docs/operate/alerts.md"));
        continue;
      }
      this.#draft.sections.alerts = [
        { name: "slack", slack: { url: this.#draft.variable("SLACK_WEBHOOK_URL", "address") } },
      ];
      this.#findings.taken(
        at,
        "alerts[slack] with ${SLACK_WEBHOOK_URL}, for budgets and guardrails",
        "docs/operate/alerts.md#slack",
      );
    }
  }

  /** Remarks on `credential_list`: credentials used by a deployment are imported, the others are not. */
  #credentials(list: unknown, path: Path): void {
    if (!Array.isArray(list)) return;
    const advice = untakenField(
      "part of a provider where a deployment names the credential and the setting is known",
      "docs/providers/README.md",
    );
    this.#findings.add(path, advice);
  }

  #servers(servers: unknown, path: Path): void {
    if (!isObject(servers)) return;
    for (const [name, server] of Object.entries(servers)) this.#server(name, server, [...path, name]);
  }

  #server(name: string, server: unknown, path: Path): void {
    const values = isObject(server) ? server : {};
    const params = new Params([{ values, path }], this.#draft, this.#findings);
    const url = params.address("url", variableName(name, "mcp_url"));
    const { transport = "http" } = values;
    this.#findings.add(path, untakenField("servers of the new file have an address and header fields", mcpPage));
    if (url === undefined || transport !== "http" || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
      const advice =
        "the server is left out: it needs a name of letters, digits, _ and -, and an address with the transport http";
      return this.#findings.close(path, untakenField(advice, mcpPage));
    }
    const authorization = authorizationOf(name, params);
    const headers = this.#headers(name, values["static_headers"], [...path, "static_headers"]);
    const key = params.raw("auth_type") === "api_key" ? secretOf(name, params) : undefined;
    const mcp = (this.#draft.sections.mcp ??= {});
    mcp.servers = {
      ...mcp.servers,
      [name]: {
        url,
        ...(authorization !== undefined && { authorization }),
        ...((headers !== undefined || key !== undefined) && {
          headers: { ...headers, ...(key !== undefined && { "x-api-key": key }) },
        }),
      },
    };
    const setting = `mcp.servers[${name}]`;
    params.taken("url", `${setting}.url`, mcpPage);
    params.taken("transport", setting, mcpPage);
    if (authorization === undefined && key === undefined) return;
    for (const field of ["auth_type", "auth_value", "authentication_token"]) {
      params.taken(field, `${setting}.${key === undefined ? "authorization" : "headers"}`, mcpPage);
    }
  }

  #headers(name: string, headers: unknown, path: Path): Record<string, string> | undefined {
    if (!isObject(headers)) return undefined;
    const params = new Params([{ values: headers, path }], this.#draft, this.#findings);
    const read = Object.keys(headers).flatMap((field): [string, string][] => {
      const value = params.secret(field, variableName(name, "mcp", field));
      if (value === undefined) return [];
      params.taken(field, `mcp.servers[${name}].headers`, mcpPage);
      return [[field, value]];
    });
    return Object.fromEntries(read);
  }
}

const secretOf = (name: string, params: Params): string | undefined =>
  params.secret("auth_value", variableName(name, "mcp_key")) ??
  params.secret("authentication_token", variableName(name, "mcp_key"));

/** Prefix of the secret in the Authorization header, by LiteLLM's `auth_type`. */
const schemes: Readonly<Record<string, string>> = { bearer_token: "Bearer ", basic: "Basic ", authorization: "" };

function authorizationOf(name: string, params: Params): string | undefined {
  const scheme = schemes[String(params.raw("auth_type"))];
  const secret = scheme === undefined ? undefined : secretOf(name, params);
  return secret === undefined ? undefined : `${scheme}${secret}`;
}
