/** Keys with limits on models, created and used over HTTP. */
import type { Installation } from "../../support/installation.ts";
import { administer } from "../permissions/keys.ts";

/** An entry of `model_limits`. */
export interface Entry {
  readonly models: readonly string[];
  readonly [limit: string]: number | readonly string[];
}

export async function limitedKey(
  installation: Installation,
  entries: readonly Entry[],
  settings: object = {},
): Promise<{ readonly key: string; readonly hash: string }> {
  const body = { name: "limited", ...settings, model_limits: entries };
  const made = await administer(installation, "POST", "/keys", body);
  const { key, data } = made as { readonly key: string; readonly data: { readonly hash: string } };
  return { key, hash: data.hash };
}

export const post = ({ baseUrl }: Installation, key: string, path: string, body: object): Promise<Response> =>
  fetch(`${baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

export const respond = (installation: Installation, key: string, body: object): Promise<Response> =>
  post(installation, key, "/responses", { input: "Hi", ...body });

export interface RefusedBody {
  readonly error: { readonly message: string; readonly metadata?: Readonly<Record<string, unknown>> };
}

export const errorIn = async (answer: Response): Promise<RefusedBody["error"]> =>
  ((await answer.json()) as RefusedBody).error;
